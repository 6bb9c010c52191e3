package processor_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/broker/brokertest"
	"precis/internal/config"
	"precis/internal/parked"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/secrets"
	"precis/state"
	"precis/summarize"
)

var (
	crashSeeds = flag.Int("crash.seeds", 0, "how many crash schedules TestCrashSchedules runs; 0: 40, and 5 with the race detector")
	stuckSeeds = flag.Int("crash.stuck", 0, "how many schedules TestCrashSchedulesOfStuckSenders runs; 0: 12, and 3 with the race detector")
	crashFirst = flag.Uint64("crash.first", 1, "the first seed")
)

var errCrash = errors.New("crashed by the schedule")

// crasher makes a processor crash at its n-th failpoint: from there on nothing leaves it, and its disk
// is what a power cut at that moment would have left.
type crasher struct {
	mu    sync.Mutex
	left  int
	fs    *vfs.MemFS
	rng   *rand.Rand
	clone *vfs.MemFS
	where string
	stuck stuck
}

func (c *crasher) point(name string, partition int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clone != nil {
		return errCrash
	}
	if c.stuck.here(name, partition) {
		c.mu.Unlock()
		<-time.After(c.stuck.rest) // nothing says that what can go on beside it has
		c.mu.Lock()
		if c.clone == nil {
			c.cut(fmt.Sprintf("%s in partition %d, where it got stuck", name, partition))
		}
		return errCrash
	}
	if c.left--; c.left > 0 {
		return nil
	}
	c.cut(fmt.Sprintf("%s in partition %d", name, partition))
	return errCrash
}

// crash cuts the power now.
func (c *crasher) crash(where string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clone == nil {
		c.cut(where)
	}
}

func (c *crasher) cut(where string) {
	c.clone = c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.rng.IntN(101), RNG: c.rng})
	c.where = where
}

// stuck is a sender that stands still at its n-th batch. The zero value is none.
type stuck struct {
	partition, left int
	rest            time.Duration // then the power is cut
}

// here says whether a failpoint is where it stands still.
func (s *stuck) here(name string, partition int) bool {
	if s.left == 0 || name != processor.FailSending || partition != s.partition {
		return false
	}
	s.left--
	return s.left == 0
}

// schedule is one seeded story: agents publish, the processor crashes and starts again, several times.
type schedule struct {
	t      *testing.T
	rng    *rand.Rand
	broker *broker.Broker
	config *config.Config
	fs     *vfs.MemFS
	// byModel: summaries are made by a model, and what a model says can't be told beforehand. compacted
	// counts the compactions that it made.
	byModel   bool
	compacted int
	model     *model
	crashes   int
	// forgot: a store was lost, and with it which calls were under way.
	forgot bool
	// restless: there are reloads, sweeps, idle threads and requests beside the events; when they come depends on
	// what else the machine does.
	restless bool
	clock    clockAhead
	// rolledBack is the server whose streams fall back to an earlier day between lives; nil: none do.
	rolledBack *server
	forks      bool // threads are forked too
	mislays    bool // the objects of parked threads are lost from time to time
	missing    bool // they were, and nobody has found it yet
	// rivals: a second processor writes to the same streams for a while.
	rivals bool
	// sticks: in some lives the records of one partition wait, until the disk is lost, while others publish theirs.
	sticks bool
	// rivalled: one has written since the store was made, and rivalling is how many are at it.
	rivalled  bool
	rivalling int
	// faults is between the server and the processor, which connects to it by through; nil: no answer is lost.
	faults *brokertest.Faults
	// lag is between the server and the processor, which connects to it by through; nil: the log does not lag.
	lag     *brokertest.Lag
	through *broker.Broker
	// parks: threads are parked as soon as nothing happens to them; parked and back count them.
	parks        bool
	parked, back float64
	// lost: the store is being made again from the streams, and knows less than these until it has caught up.
	lost bool
}

// Threads are forked across partitions while the processor crashes.
func TestCrashSchedulesOfForks(t *testing.T) {
	t.Run("a fork that is to be compacted at once", func(t *testing.T) { // by its next event, and an audit misses nothing before
		t.Parallel()
		s := newSchedule(t, 1001)
		s.forks = true
		s.run()
	})
	runSchedules(t, cmp.Or(*crashSeeds, race.Fewer(3, 30)), func(s *schedule) { s.forks = true })
}

// The records of a parent wait while its fork goes on, and both are lost with the disk: the fork's may not be on record without them.
func TestCrashSchedulesOfStuckSenders(t *testing.T) {
	runSchedules(t, cmp.Or(*stuckSeeds, race.Fewer(3, 12)), func(s *schedule) { s.sticks = true; s.restlessly() })
}

func TestCrashSchedules(t *testing.T) {
	runSchedules(t, cmp.Or(*crashSeeds, race.Fewer(5, 40)), func(*schedule) {})
}

// runSchedules runs schedules that prepare has a last look at.
func runSchedules(t *testing.T, seeds int, prepare func(*schedule)) {
	for seed := *crashFirst; seed < *crashFirst+uint64(seeds); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			s := newSchedule(t, seed)
			prepare(s)
			s.run()
		})
	}
}

// The model of a schedule refuses every freeCalls-th call, which costs nothing; the usage of any other one is its number
// above callTokens.
const (
	freeCalls  = 7
	callTokens = 500
)

func newSchedule(t *testing.T, seed uint64) *schedule {
	s := &schedule{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), config: settings(t), fs: vfs.NewCrashableMem(),
	}
	if seed%5 < 2 {
		s.lags(seed)
	} else {
		s.broker = openBroker(t, t.TempDir())
	}
	if s.byModel = seed%3 == 0; s.byModel {
		s.model = newModel(t, func(call int64, w http.ResponseWriter, _ *http.Request) {
			if call%freeCalls == 0 { // no use in another try: the rules serve, or nothing
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			says(w, fmt.Sprintf("Compiled, as call %d says.", call), callTokens+int(call), 10)
		})
		s.config = byModel(t, s.model)
		s.config.Policies[0].OnFailure = []string{"fallback", "fail"}[seed%2]
	}
	compacting(s.config)
	if seed%3 == 0 {
		s.config.Policies[0].Tools = []summarize.Tool{{Match: "b*", Category: "structured_data", Keep: []string{"part7"}, Drop: []string{"step 1"}}}
	}
	if seed%4 < 2 {
		tells(&s.config.Policies[0])
	}
	s.config.Partitions = 3
	s.config.Limits.PendingEditEvents = 6
	return s
}

// compacting has threads compacted often.
func compacting(c *config.Config) {
	c.Policies[0].Compaction.Trigger = summarize.Condition{Any: []summarize.Condition{{Fraction: 0.01}, {Messages: 5}}}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 3}
}

// lags makes the processor, and nothing else, read its log from followers that lag.
func (s *schedule) lags(seed uint64) {
	s.broker = openBrokerWith(s.t, broker.Options{StoreDir: s.t.TempDir(), Sync: "2m", Listen: "127.0.0.1:0", Logger: logger(s.t)})
	s.lag = brokertest.StartLag(s.t, s.broker.URL(), seed)
	s.through = openBrokerWith(s.t, broker.Options{URL: s.lag.URL(), Logger: logger(s.t)})
}

func (s *schedule) run() {
	load := newLoad(s.rng)
	load.forks = s.forks
	var early backup
	if s.rolledBack != nil {
		s.broker = s.rolledBack.Broker
		s.life(load, 1<<30)
		early = s.backup()
	}
	points := 120
	if s.restless {
		points = 500
	}
	for range 2 + s.rng.IntN(4) {
		if s.mislays && s.rng.IntN(2) == 0 {
			s.purgeParked()
		}
		if s.sticks || (s.restless || s.forks) && s.rng.IntN(6) == 0 { // the disk is lost
			s.fs, s.lost, s.forgot = vfs.NewCrashableMem(), true, true
		}
		s.life(load, 1+s.rng.IntN(points))
	}
	if s.rolledBack != nil {
		s.rollBack(load, early)
	}
	s.life(load, 1<<30)
	for n := 0; s.parks && (n == 0 || s.back == 0 && n < 10); n++ { // what was parked may not be among the threads that get events
		s.life(load, 1<<30)
	}
	if s.lag != nil {
		s.t.Logf("deliveries rested %d times before the log's end", s.lag.Rests())
	}
	if s.faults != nil {
		s.t.Logf("%d acknowledgements were lost", s.faults.Lost())
	}
	if s.parks && (s.parked == 0 || s.back == 0) {
		s.t.Errorf("%v threads were parked, and %v came back", s.parked, s.back)
	}
	s.verify()
}

// way is the processor's connection.
func (s *schedule) way() *broker.Broker {
	if s.through != nil && s.rolledBack == nil {
		return s.through
	}
	return s.broker
}

// life runs a processor until it crashes, or until it has nothing left to do.
func (s *schedule) life(load *load, failAt int) {
	if last := failAt == 1<<30; s.rivals && !last && s.rng.IntN(2) == 0 {
		s.lost = true // what the second one publishes this one's store need not hold
		defer s.rival(load)()
	}
	c := &crasher{left: failAt, fs: s.fs, rng: rand.New(rand.NewPCG(s.rng.Uint64(), 0))}
	if s.sticks && failAt < 1<<30 {
		c.stuck = stuck{partition: s.rng.IntN(s.config.Partitions), left: 1 + s.rng.IntN(12), rest: 500 * time.Millisecond}
		c.left = 1 << 30
	}
	var patience time.Duration
	if s.faults != nil {
		patience = 200 * time.Millisecond
	}
	p, err := processor.Open(s.t.Context(), processor.Options{
		Config: s.config, Logger: logger(s.t), Broker: s.way(), FS: s.fs, Failpoint: c.point, AckTimeout: patience,
		BulkFrom:     []uint64{1, math.MaxUint64}[s.rng.IntN(2)],
		KeepUp:       1 + s.rng.Uint64N(30),
		AdvanceEvery: 1 + s.rng.Uint64N(20),
		Now:          s.clock.now, Tend: time.Hour, SweepPause: 1,
	})
	if errors.Is(err, errCrash) {
		s.fs = c.clone
		s.crashes++
		return
	}
	if s.overtaken(err) {
		s.life(load, failAt)
		return
	}
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(within(s.t))
	defer stop()
	ran := make(chan error, 1)
	alive, dead := context.WithCancel(ctx)
	go func() {
		defer dead()
		ran <- p.Run(ctx)
	}()
	if s.missing {
		s.miss(p)
	}
	load.publish(s.t, s.broker.Conn(), 10+s.rng.IntN(40))
	if s.restless {
		s.unrest(alive, p, load)
	}
	settled := make(chan error, 1)
	go func() { settled <- p.Settled(ctx) }()
	select {
	case err = <-ran:
	case err = <-settled:
		settled <- err
		s.lost = s.lost && err != nil
		if s.parks && err == nil {
			until(s.t, "no thread is parked", func() bool { parked, _ := p.Parked(); return parked > 0 || alive.Err() != nil })
		}
		stop()
		err = s.ended(ran) // Close has to wait for it, also where Settled has failed with the outbox
	}
	stop()
	unsettled := <-settled // Settled reads the store, so Close has to wait for it
	taken := s.overtaken(err)
	gone := s.mislays && errors.Is(err, state.ErrLost) && !errors.Is(err, processor.ErrNotInLog) // the next start makes them again
	if err != nil && !errors.Is(err, errCrash) && !taken && !gone {
		s.t.Fatalf("run: %v", err)
	}
	if unsettled != nil {
		s.t.Logf("not settled: %v", unsettled)
	}
	if n := p.Foreign(); n > 0 && !s.rivals {
		s.t.Errorf("%v records are taken for foreign, and there is no other writer", n)
	}
	if n := p.Missing(); n > 0 {
		s.t.Errorf("%v messages are reported as missing, and the streams have no gap", n)
	}
	if herr := p.CheckHot(); herr != nil {
		s.t.Error(herr)
	}
	parked, back := p.Parked()
	s.parked, s.back = s.parked+parked, s.back+back
	if cerr := p.Close(context.Background()); cerr != nil {
		s.t.Fatalf("close: %v", cerr)
	}
	if (taken || gone) && failAt == 1<<30 {
		s.life(load, failAt) // from the streams, where this one is alone
		return
	}
	if c.clone != nil && !taken {
		s.t.Logf("crashed %s", c.where)
		s.fs = c.clone
		s.crashes++
		if !s.lost {
			s.verifyDurable()
		}
	}
}

// purgeParked deletes all objects of parked threads. Stores that name them are made again.
func (s *schedule) purgeParked() {
	stream, err := s.broker.JetStream().Stream(within(s.t), parked.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return
	}
	if err == nil {
		err = stream.Purge(within(s.t))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Log("the objects of parked threads are lost")
	s.missing, s.lost, s.forgot = true, true, true
}

// miss reads a row of each parked thread twice, so that none is left whose loss nobody has found.
func (s *schedule) miss(p *processor.Processor) {
	for id := range s.config.Partitions {
		var names []string
		err := p.View(id).ParkedThreads(func(name string, _ state.Parked) (bool, error) {
			names = append(names, name)
			return true, nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, name := range names {
			for range 2 {
				_, _ = p.View(id).Message(name, "missed")
			}
		}
	}
	s.missing = false
}

// ended is what the Run of a processor that was stopped returns. One that never returns is a failure of its own: the
// schedule would wait until the test's time is over, and hide what the others found.
func (s *schedule) ended(ran <-chan error) error {
	select {
	case err := <-ran:
		return err
	case <-time.After(patience / 4):
		var all bytes.Buffer // what it waits for
		_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
		s.t.Fatalf("Run has not returned %s after it was stopped\n%s", patience/4, &all)
		return nil
	}
}

// verifyDurable holds what was published against what the crash has left on the disk: a record that an
// agent has seen may never have to be decided again.
func (s *schedule) verifyDurable() {
	store, err := state.Open(processor.StoreDir(s.config.DataDir), state.Options{FS: s.fs, Logger: logger(s.t), Objects: parked.New(s.broker.JetStream(), nil)})
	if err != nil {
		s.t.Fatal(err)
	}
	err = broker.NewLogReader(s.broker.JetStream(), broker.StreamSummaries).Scan(within(s.t), 1, nil, func(m broker.Stored) error {
		var head events.Head
		if err := json.Unmarshal(m.Data, &head); err != nil {
			return err
		}
		if head.ThreadID == nil {
			return nil // claims are no decisions, and configurations get their places when they are published
		}
		h, err := store.View(head.Partition).Header(*head.ThreadID)
		if err == nil && (h == nil || h.ChainSeq < head.ChainSeq) {
			s.t.Errorf("%s was published before it was durable", m.Header.Get(nats.MsgIdHdr))
		}
		return err
	}, nil)
	if err := errors.Join(err, store.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// verify holds the store against its log, and the streams against what one undisturbed fold says.
func (s *schedule) verify() {
	store, err := state.Open(processor.StoreDir(s.config.DataDir), state.Options{FS: s.fs, Logger: logger(s.t), Objects: parked.New(s.broker.JetStream(), nil)})
	if err != nil {
		s.t.Fatal(err)
	}
	report := func(p state.Problem) { s.t.Errorf("%+v", p) }
	if err := store.Check(s.config.Partitions+1, report); err != nil {
		s.t.Error(err)
	}
	s.checkLive(store.View)
	s.checkPrompts(store.View)
	s.checkRecords(store.View)
	s.compare(store)
	s.replay(store)
	if err := store.Close(); err != nil {
		s.t.Error(err)
	}
	if s.byModel {
		s.verifyJobs()
		if s.rolledBack == nil && !s.rivals {
			s.verifyCalls()
		}
	}
	if s.byModel || s.restless { // what they say can't be told from the events alone
		return
	}
	want := s.undisturbed()
	for _, stream := range []string{broker.StreamSummaries, broker.StreamRejected} {
		compareRecords(s.t, stream, want[stream], records(s.t, s.broker, stream))
	}
}

// compare holds the store against a fold of its log.
func (s *schedule) compare(store *state.Store) {
	report := func(p state.Problem) { s.t.Errorf("%+v", p) }
	_, err := audit.Compare(within(s.t), audit.Options{JetStream: s.broker.JetStream(), Store: store, Logger: logger(s.t)}, report)
	if err != nil {
		s.t.Error(err)
	}
}

// replay audits the log, beside the store: after any crashes it bears out everything on record.
func (s *schedule) replay(store *state.Store) {
	masker, err := secrets.Load()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, rules := range []bool{true, false} {
		scratch, err := state.Open("scratch", state.Options{FS: state.Memory(), Logger: logger(s.t)})
		if err != nil {
			s.t.Fatal(err)
		}
		rep, err := audit.Replay(within(s.t), audit.Options{
			JetStream: s.broker.JetStream(), Scratch: scratch, Store: store, Rules: rules,
			Mask: masker.Mask, Workers: 2, Now: time.Now, Logger: logger(s.t),
		})
		if err := errors.Join(err, scratch.Close()); err != nil {
			s.t.Fatal(err)
		}
		for _, f := range rep.Findings {
			s.t.Errorf("replay: %+v", f)
		}
	}
}

// verifyJobs holds every started summary to one end, and every paid call to one record.
func (s *schedule) verifyJobs() {
	started, ended := map[string]int{}, map[string]int{}
	seen := map[string]bool{}
	err := broker.NewLogReader(s.broker.JetStream(), broker.StreamSummaries).Scan(within(s.t), 1, nil, func(m broker.Stored) error {
		id := m.Header.Get(nats.MsgIdHdr)
		if seen[id] {
			s.t.Errorf("%s is on record twice", id)
		}
		seen[id] = true
		kind, summary, _ := strings.Cut(id, "/")
		switch events.Type(kind) {
		case events.SummaryStarted:
			started[summary]++
		case events.SummaryCreated, events.SummaryFailed:
			ended[summary]++
			// Of compactions only the model's is started: the rules' are made as their event is applied.
			// With reloads a policy may ask for no model in between.
			byRules := (s.restless || strings.Contains(string(m.Data), `"kind":"compaction"`)) && strings.Contains(string(m.Data), `"method":"rules"`)
			if started[summary] != 1 && !byRules {
				s.t.Errorf("%s without a start before it", id)
			}
			if strings.Contains(string(m.Data), `"slot":"current"`) && strings.Contains(string(m.Data), `"method":"llm"`) {
				s.compacted++
			}
		}
		return nil
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for id := range started {
		if ended[id] != 1 {
			s.t.Errorf("summary %s ended %d times", id, ended[id])
		}
	}
	s.t.Logf("%d compactions by a model", s.compacted)
}

// verifyCalls holds the calls on record against those that the model's server has received: each is recorded once, with
// its usage, or as unknown where a crash has lost its answer. A crash loses no more calls than there are places for.
func (s *schedule) verifyCalls() {
	recorded, unknown := map[int64]int{}, 0
	err := broker.NewLogReader(s.broker.JetStream(), broker.StreamSummaries).Scan(within(s.t), 1, []string{"usage.recorded.*"}, func(m broker.Stored) error {
		rec := events.UsageRecord{}
		if err := json.Unmarshal(m.Data, &rec); err != nil {
			return err
		}
		switch {
		case rec.Outcome != "unknown":
			recorded[rec.Usage.InputTokens-callTokens]++
		case rec.Usage.InputTokens == 0 || rec.Cost.AmountMicroUSD == nil:
			s.t.Errorf("a lost call without an estimate: %+v", rec)
		default:
			unknown++
		}
		return nil
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	unrecorded, received := 0, s.model.calls.Load()
	for call := int64(1); call <= received; call++ {
		if n := recorded[call]; n > 1 {
			s.t.Errorf("call %d is on record %d times", call, n)
		} else if n == 0 && call%freeCalls != 0 {
			unrecorded++
		}
		delete(recorded, call)
	}
	if len(recorded) > 0 {
		s.t.Errorf("on record are calls that the model has not received: %v", recorded)
	}
	if unrecorded > unknown && !s.forgot {
		s.t.Errorf("%d calls were received and are not on record, %d are recorded as unknown", unrecorded, unknown)
	}
	places := s.config.Providers[config.ProviderSummarizer].MaxConcurrency
	if !s.restless && unknown > s.crashes*places { // a reload begins with places of its own
		s.t.Errorf("%d calls are recorded as unknown: %d crashes lose %d calls each at most", unknown, s.crashes, places)
	}
	s.t.Logf("%d calls received, %d lost, %d recorded as unknown", received, unrecorded, unknown)
}

// undisturbed is what a processor that never crashes publishes for the same log, in streams of its own.
func (s *schedule) undisturbed() map[string]map[string][]string {
	b := openBroker(s.t, s.t.TempDir())
	c := settings(s.t)
	c.Partitions, c.Limits, c.Policies = s.config.Partitions, s.config.Limits, s.config.Policies
	p := start(s.t, processor.Options{Config: c, Logger: logger(s.t), Broker: b})
	copyEvents(s.t, s.broker, b)
	if err := p.Settled(within(s.t)); err != nil {
		s.t.Fatal(err)
	}
	p.end()
	return map[string]map[string][]string{
		broker.StreamSummaries: records(s.t, b, broker.StreamSummaries),
		broker.StreamRejected:  records(s.t, b, broker.StreamRejected),
	}
}

// copyEvents publishes what one log holds into another, in the same order.
func copyEvents(t *testing.T, from, to *broker.Broker) {
	t.Helper()
	pub, err := broker.NewPublisher(to.Conn(), broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	var msgs []*nats.Msg
	err = broker.NewLogReader(from.JetStream(), broker.StreamEvents).Scan(within(t), 1, nil, func(m broker.Stored) error {
		_, subject, _ := strings.Cut(m.Subject, ".")
		msgs = append(msgs, &nats.Msg{Subject: subject, Header: m.Header, Data: m.Data})
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ack := range pub.PublishBatch(within(t), msgs) {
		if ack.Err != nil {
			t.Fatal(ack.Err)
		}
	}
}

// records are a stream's records by subject, in order, as far as they don't depend on the clock.
func records(t *testing.T, b *broker.Broker, stream string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := broker.NewLogReader(b.JetStream(), stream).Scan(within(t), 1, nil, func(m broker.Stored) error {
		if strings.HasPrefix(m.Subject, "config.applied.") {
			found["config.applied"] = append(found["config.applied"], m.Header.Get(nats.MsgIdHdr))
			return nil
		}
		if strings.HasPrefix(m.Subject, "partition.claimed.") {
			return nil
		}
		thread := m.Subject[strings.LastIndexByte(m.Subject, '.'):]
		found[thread] = append(found[thread], m.Header.Get(nats.MsgIdHdr)+" "+timeless(m.Data))
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func compareRecords(t *testing.T, stream string, want, got map[string][]string) {
	t.Helper()
	for thread, records := range got {
		if want[thread] == nil {
			t.Errorf("%s has %d records of %s, none are wanted", stream, len(records), thread)
		}
	}
	for thread, records := range want {
		have := got[thread]
		if thread == "config.applied" || stream == broker.StreamRejected { // no order among these
			if len(have) != len(records) {
				t.Errorf("%s of %s: want %d records, got %d", stream, thread, len(records), len(have))
			}
			continue
		}
		for i := range max(len(records), len(have)) {
			switch {
			case i >= len(have):
				t.Errorf("%s of %s: record %d is missing: %.300s", stream, thread, i, records[i])
			case i >= len(records):
				t.Errorf("%s of %s: record %d is one too many: %.300s", stream, thread, i, have[i])
			case have[i] != records[i]:
				t.Errorf("%s of %s: record %d\nwant %.2000s\ngot  %.2000s", stream, thread, i, records[i], have[i])
			}
		}
	}
}
