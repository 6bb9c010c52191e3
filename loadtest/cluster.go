package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// clusterOptions are what "loadtest cluster" takes.
type clusterOptions struct {
	Processors int           `default:"3" help:"Processors (${default})."`
	Partitions int           `default:"16" help:"Partitions that they share (${default})."`
	Standbys   int           `default:"1" help:"How many follow each partition beside its owner (${default})."`
	Share      float64       `placeholder:"PART" help:"Hold each processor to this part of a core, such as 0.2: it needs the right to make control groups. Without it they take what they get."`
	Replicas   int           `default:"3" help:"Replicas of each stream, on so many of the three servers (${default})."`
	Kills      int           `default:"10" help:"Processors to kill with SIGKILL and start again, one after the other (${default})."`
	Stops      int           `default:"5" help:"Processors to stop with SIGSTOP until others have what they had, and to continue then (${default})."`
	Leaves     int           `default:"5" help:"Processors to end with SIGTERM and start again (${default})."`
	Joins      int           `default:"0" help:"Processors on an empty disk to start beside them, and to end when they have their share (${default})."`
	Faults     int           `default:"0" help:"Random faults of processors, servers and the ways between them, after those above (${default})."`
	Only       string        `placeholder:"PATTERN" help:"Only random faults whose names match this regular expression."`
	Lasting    time.Duration `placeholder:"TIME" help:"How long a random fault lasts; 0.3 to 4.3 s where it is not given."`
	Beside     string        `placeholder:"PROGRAM" help:"Every second processor runs this program: one of another version."`
	Runs       int           `default:"1" help:"Runs, each with a seed of its own, from --seed on (${default})."`
	Agents     int           `default:"50" help:"Agents that publish meanwhile (${default})."`
	Events     int           `default:"20000" help:"Events that they publish (${default})."`
	Rate       int           `default:"200" help:"Events a second over all agents; as fast as acks allow where 0 (${default})."`
	Seed       uint64        `default:"1" help:"Of everything random (${default})."`
	Timeout    time.Duration `default:"60s" help:"How long to wait with nothing coming any more (${default})."`
	JSON       bool          `name:"json" help:"Print the report as JSON."`
	Programs   string        `placeholder:"DIR" help:"Start processor and nats-server from this directory, instead of building them."`
	Keep       bool          `help:"Keep the directory of a run that is wrong: logs, and what servers and processors stored."`

	only *regexp.Regexp // nil: all
}

// clusterReport is the result of a run.
type clusterReport struct {
	Processors int     `json:"processors"`
	Standbys   int     `json:"standbys"`
	Share      float64 `json:"share,omitzero"`
	// Yardstick is how many times the work of one process as many as there are processors do that only compute, each with the same share.
	Yardstick float64 `json:"yardstick,omitzero"`
	// From a fault to the next summary.created of a new thread of each partition that the processor had; of SIGTERM the longest from an output to its summary.
	Killed   latency  `json:"killed"`
	Stopped  latency  `json:"stopped"`
	Left     latency  `json:"left"`
	Exits    []string `json:"exits,omitzero"` // the last words of processors that ended in the faults, and were started again
	Load     *report  `json:"load"`
	Problems []string `json:"problems"`
}

func parseCluster(args []string, out io.Writer) (o clusterOptions, err error) {
	helped := false
	parser, err := kong.New(&o, kong.Name("loadtest cluster"),
		kong.Description("Starts three NATS servers and several processors on this machine, publishes, kills, stops and ends processors meanwhile, measures how long their partitions stand still, and validates everything as loadtest does. With --faults, servers are killed, stopped, emptied and relieved of leading, and the ways of processors cut, frozen, made one-way and slow, too. Exit status: as loadtest's."),
		kong.Writers(out, out), kong.Exit(func(int) { helped = true }))
	if err != nil {
		return o, fmt.Errorf("describe the options: %w", err)
	}
	if _, err = parser.Parse(args); helped {
		return o, errHelp
	}
	if err == nil && o.Only != "" {
		o.only, err = regexp.Compile(o.Only)
	}
	switch {
	case err != nil:
		return o, err
	case o.Processors < 1 || o.Partitions < 1 || o.Share < 0 || min(o.Kills, o.Stops, o.Leaves, o.Joins, o.Faults) < 0 || o.Runs < 1:
		return o, errors.New("--processors, --partitions and --runs are at least 1, the others at least 0")
	case o.Replicas != 1 && o.Replicas != 3:
		return o, errors.New("--replicas is 1 or 3")
	case o.Lasting < 0:
		return o, errors.New("--lasting is at least 0")
	case o.Processors < 2 && o.Stops > 0:
		return o, errors.New("--stops needs another processor: --processors is 1")
	}
	return o, nil
}

// runCluster is "loadtest cluster".
func runCluster(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseCluster(args, stderr)
	if errors.Is(err, errHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "loadtest: %v\n", err)
		return exitUsage
	}
	if o.Programs == "" {
		if o.Programs, err = buildPrograms(ctx); err != nil {
			fmt.Fprintf(stderr, "loadtest: %v\n", err)
			return exitUnreachable
		}
		defer func() { _ = os.RemoveAll(o.Programs) }()
	}
	status := 0
	for range o.Runs {
		r, err := measureCluster(ctx, o, stderr)
		if err == nil {
			err = r.write(stdout, o.JSON)
		}
		switch {
		case err != nil:
			fmt.Fprintf(stderr, "loadtest: seed %d: %v\n", o.Seed, err)
			status = max(status, exitUnreachable)
		case len(r.Problems)+len(r.Load.Problems) > 0:
			fmt.Fprintf(stderr, "loadtest: seed %d: wrong\n", o.Seed)
			status = max(status, exitWrong)
		default:
			fmt.Fprintf(stderr, "loadtest: seed %d: clean\n", o.Seed)
		}
		if ctx.Err() != nil {
			break
		}
		o.Seed++
	}
	return status
}

// measureCluster is one run: the faults happen while the load is published, and what the load expects is verified behind them.
func measureCluster(ctx context.Context, o clusterOptions, progress io.Writer) (r *clusterReport, err error) {
	var times float64
	if o.Share > 0 && o.Processors > 1 {
		if times, err = yardstick(ctx, fmt.Sprint("precis-", os.Getpid()), o.Processors, o.Share); err != nil {
			return nil, err
		}
	}
	p, err := startParty(ctx, o, progress)
	if err != nil {
		return nil, err
	}
	defer func() {
		p.stop()
		if wrong := err != nil || len(r.Problems)+len(r.Load.Problems) > 0; wrong && o.Keep {
			fmt.Fprintf(progress, "kept %s\n", p.dir)
			return
		}
		_ = os.RemoveAll(p.dir)
	}()
	nc, err := connect(p.url)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	if err := p.settled(ctx, nc); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun, faults := make(chan struct{}), make(chan struct{})
	load := options{
		NATS: p.url, Agents: o.Agents, Events: o.Events, Rate: o.Rate, Window: 16, Connections: 20, Seed: o.Seed, Timeout: o.Timeout, begun: begun, faults: faults,
	}.withDefaults()
	if o.Faults > 0 {
		load.Window = 1 // what is expected goes by the order of each thread's events, which acks that never come must not change
	}
	r = &clusterReport{Processors: o.Processors, Standbys: o.Standbys, Share: o.Share, Yardstick: times, Problems: []string{}}
	var working sync.WaitGroup
	working.Go(func() {
		var failed error
		if r.Load, failed = measure(ctx, load, progress); failed != nil {
			cancel(failed)
		}
	})
	select {
	case <-begun: // a fault may keep consumers from being made
	case <-ctx.Done():
	}
	err = r.disturb(ctx, p, nc, progress)
	if err == nil {
		err = p.confuse(ctx, nc, rand.New(rand.NewPCG(o.Seed, 18)), progress)
	}
	r.Exits = p.exits
	close(faults)
	if err != nil {
		cancel(err)
	}
	working.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if out, err := p.replay(ctx); err != nil {
		r.Problems = append(r.Problems, fmt.Sprintf("processor replay: %v: %s", err, out))
	}
	return r, nil
}

// disturb makes the faults, one after the other in a random order.
func (r *clusterReport) disturb(ctx context.Context, p *party, nc *nats.Conn, progress io.Writer) error {
	created, stop, err := createdThreads(ctx, nc)
	if err != nil {
		return fmt.Errorf("follow summaries: %w", err)
	}
	defer stop()
	var faults []syscall.Signal
	faults = append(faults, slices.Repeat([]syscall.Signal{syscall.SIGKILL}, p.opts.Kills)...)
	faults = append(faults, slices.Repeat([]syscall.Signal{syscall.SIGSTOP}, p.opts.Stops)...)
	faults = append(faults, slices.Repeat([]syscall.Signal{syscall.SIGTERM}, p.opts.Leaves)...)
	rng := rand.New(rand.NewPCG(p.opts.Seed, 17))
	rng.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	took, seen := map[syscall.Signal][]time.Duration{}, map[string]int{}
	for n, fault := range faults {
		if err := p.settled(ctx, nc); err != nil {
			return err
		}
		victim := p.processors[rng.IntN(len(p.processors))]
		waits, err := p.strike(ctx, nc, created, victim, fault, n, seen)
		if err != nil {
			return fmt.Errorf("%s of a processor: %w", fault, err)
		}
		took[fault] = append(took[fault], waits...)
		fmt.Fprintf(progress, "%d of %d, %s: %d partitions, longest %s\n", n+1, len(faults), fault, len(waits), slices.Max(append(waits, 0)).Round(time.Millisecond))
	}
	r.Killed, r.Stopped, r.Left = quantiles(took[syscall.SIGKILL]), quantiles(took[syscall.SIGSTOP]), quantiles(took[syscall.SIGTERM])
	if len(faults) > 0 {
		if err := p.settled(ctx, nc); err != nil {
			return err
		}
	}
	for n := range p.opts.Joins {
		began := time.Now()
		if err := p.join(ctx, nc, n); err != nil {
			return fmt.Errorf("a processor joins and leaves: %w", err)
		}
		fmt.Fprintf(progress, "%d of %d: a processor has joined and left, in %s\n", n+1, p.opts.Joins, time.Since(began).Round(time.Millisecond))
	}
	for len(created) > 0 {
		if name := <-created; seen[name] > 0 {
			seen[name]++
		}
	}
	for name, times := range seen {
		if times > 1 {
			r.Problems = append(r.Problems, fmt.Sprintf("%d summaries of thread %s, want 1", times, name))
		}
	}
	return nil
}

// probeEvery is how often something new comes to a partition whose owner ends in order, which goes on for a while.
const probeEvery = 25 * time.Millisecond

// probes are threads of a victim's partitions that something new was published to.
type probes struct {
	nc      *nats.Conn
	units   []int // partitions
	all     int   // that there are
	seen    map[string]int
	missing map[string]probe
	longest map[int]time.Duration // by partition
}

type probe struct {
	partition int
	began     time.Time
}

// publish has each partition summarize something new.
func (p *probes) publish(round int) error {
	for _, partition := range p.units {
		name := threadIn(partition, p.all, round)
		p.missing[name], p.seen[name] = probe{partition, time.Now()}, 0
		m := &nats.Msg{Subject: "tool.result." + name, Data: []byte(`{"message_id":"m","content":"` + strings.Repeat("line of an output\\n", 200) + `"}`)}
		if err := p.nc.PublishMsg(m); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	return nil
}

// created notes a thread's summary.
func (p *probes) created(name string) {
	if _, ours := p.seen[name]; ours {
		p.seen[name]++
	}
	if probe, ok := p.missing[name]; ok {
		delete(p.missing, name)
		p.longest[probe.partition] = max(p.longest[probe.partition], time.Since(probe.began))
	}
}

// probeRounds is more than probes of one fault, whose rounds have numbers of their own.
const probeRounds = 100_000

// strike makes one fault and returns how long each of the victim's partitions took to summarize something new: at most, until it has ended, where it ends in order.
func (p *party) strike(ctx context.Context, nc *nats.Conn, created <-chan string, victim *process, fault syscall.Signal, n int, seen map[string]int) ([]time.Duration, error) {
	owned, err := owners(ctx, nc)
	if err != nil {
		return nil, err
	}
	list := &probes{nc: nc, all: p.opts.Partitions, seen: seen, missing: map[string]probe{}, longest: map[int]time.Duration{}}
	list.units = slices.DeleteFunc(owned.of(victim), func(partition int) bool { return partition >= p.opts.Partitions })
	if err := victim.cmd.Process.Signal(fault); err != nil {
		return nil, fmt.Errorf("send signal: %w", err)
	}
	round := n * probeRounds
	if err := list.publish(round); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, p.opts.Timeout)
	defer cancel()
	var again <-chan time.Time
	var exited <-chan struct{}
	if fault == syscall.SIGTERM {
		tick := time.NewTicker(probeEvery)
		defer tick.Stop()
		again, exited = tick.C, victim.exited
	}
	for err == nil && (exited != nil || len(list.missing) > 0) {
		select {
		case name := <-created:
			list.created(name)
		case <-again:
			round++
			err = list.publish(round)
		case <-exited:
			again, exited = nil, nil
			round++
			err = list.publish(round)
		case <-waiting.Done():
			return nil, fmt.Errorf("wait for summaries of %d partitions: %w", len(list.missing), context.Cause(waiting))
		}
	}
	if err != nil {
		return nil, err
	}
	waits := slices.Collect(maps.Values(list.longest))
	if fault == syscall.SIGSTOP {
		return waits, victim.cmd.Process.Signal(syscall.SIGCONT)
	}
	<-victim.exited
	return waits, p.restart(victim)
}

// createdThreads yields the token of each thread whose summary SUMMARIES stores. A plain subscription would also see what the stream refuses:
// what a processor that was stopped publishes behind another one's claim.
func createdThreads(ctx context.Context, nc *nats.Conn) (created <-chan string, stop func(), err error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, nil, err
	}
	stream, err := js.Stream(ctx, "SUMMARIES")
	if err != nil {
		return nil, nil, err
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"summary.created.*"}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: stream.CachedInfo().State.LastSeq + 1,
	})
	if err != nil {
		return nil, nil, err
	}
	list := make(chan string, 1<<20) // more than any run makes between two faults
	consuming, err := consumer.Consume(func(m jetstream.Msg) { list <- strings.TrimPrefix(m.Subject(), "summary.created.") })
	if err != nil {
		return nil, nil, err
	}
	return list, consuming.Stop, nil
}

func (r *clusterReport) write(w io.Writer, asJSON bool) error {
	if asJSON {
		if err := json.MarshalWrite(w, r, jsontext.WithIndent("  ")); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		_, err := fmt.Fprintln(w)
		return err
	}
	fmt.Fprintf(w, "%d processors, %d standbys", r.Processors, r.Standbys)
	if r.Share > 0 {
		fmt.Fprintf(w, ", %.2f of a core each", r.Share)
	}
	if r.Yardstick > 0 {
		fmt.Fprintf(w, " (as many processes that only compute do %.2f times the work of one)", r.Yardstick)
	}
	fmt.Fprintln(w, "; from the fault to the next summary of a partition that the processor had (SIGTERM: of several until its end, the longest):")
	for _, f := range []struct {
		name string
		took latency
	}{{"SIGKILL", r.Killed}, {"SIGSTOP", r.Stopped}, {"SIGTERM", r.Left}} {
		if f.took.N > 0 {
			fmt.Fprintf(w, "%s       %s\n", f.name, f.took)
		}
	}
	for _, words := range r.Exits {
		fmt.Fprintf(w, "ended in a fault and started again: %s\n", words)
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(w, "  %s\n", problem)
	}
	return r.Load.write(w, false)
}
