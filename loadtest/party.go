package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// party is three servers and some processors, each a process of its own.
type party struct {
	opts       clusterOptions
	dir        string
	url        string
	servers    []*process
	processors []*process
	shares     []string // control groups
	exits      []string // the last words of processors that ended without being told to
}

// process is one of them.
type process struct {
	name   string
	args   []string
	env    []string
	web    string   // where a processor says whether it is ready
	group  string   // its control group; empty: none
	ways   []*relay // to the servers, if faults bend them
	log    *os.File
	cmd    *exec.Cmd
	exited chan struct{} // closed behind the exit
}

// clusterName is the processors' cluster.name, and its bucket precis_<name>.
const clusterName = "loadtest"

func startParty(ctx context.Context, o clusterOptions, progress io.Writer) (_ *party, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	p := &party{opts: o}
	if p.dir, err = os.MkdirTemp("", "precis-loadtest-"); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	defer func() {
		if err != nil {
			p.stop()
		}
	}()
	fmt.Fprintf(progress, "starting 3 servers and %d processors in %s\n", o.Processors, p.dir)
	for name, pkg := range map[string]string{"processor": "precis/cmd/processor", "nats-server": "github.com/nats-io/nats-server/v2"} {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(p.dir, name), pkg).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w: %s", name, err, out)
		}
	}
	if err := p.startServers(); err != nil {
		return nil, err
	}
	if err := p.startProcessors(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *party) startServers() error {
	const servers = 3
	var routes, clients []string
	for range servers {
		for _, list := range []*[]string{&routes, &clients} {
			addr, err := freeAddress()
			if err != nil {
				return err
			}
			*list = append(*list, addr)
		}
	}
	for i, addr := range clients {
		host, port, _ := strings.Cut(addr, ":")
		name := fmt.Sprint("n", i+1)
		s := &process{name: name, args: []string{
			filepath.Join(p.dir, "nats-server"), "-a", host, "-p", port, "-n", name, "-js", "-sd", filepath.Join(p.dir, name),
			"--no_advertise", // or clients would find ways around relays
			"--cluster_name", clusterName, "--cluster", "nats://" + routes[i], "--routes", "nats://" + strings.Join(routes, ",nats://"),
		}}
		p.servers = append(p.servers, s)
		if err := p.restart(s); err != nil {
			return err
		}
	}
	p.url = "nats://" + strings.Join(clients, ",nats://")
	return nil
}

// startProcessors starts them, the first alone: it makes the streams, as soon as the servers have a leader.
func (p *party) startProcessors(ctx context.Context) error {
	for i := range p.opts.Processors {
		proc, err := p.newProcessor(fmt.Sprint("p", i+1))
		if err != nil {
			return err
		}
		p.processors = append(p.processors, proc)
		for err := p.restart(proc); ; err = p.restart(proc) {
			if err != nil {
				return err
			}
			if p.ready(ctx, proc) {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("start %s: %w", proc.name, context.Cause(ctx))
			}
		}
	}
	return nil
}

// newProcessor is a processor that is not started yet.
func (p *party) newProcessor(name string) (*process, error) {
	web, err := freeAddress()
	if err != nil {
		return nil, err
	}
	proc := &process{name: name, web: web}
	url := p.url
	if p.opts.Faults > 0 {
		if url, err = proc.relayed(url); err != nil {
			return nil, err
		}
	}
	proc.args = []string{filepath.Join(p.dir, "processor"), "run", "--data", filepath.Join(p.dir, name), "--nats", url, "--http", web, "--api", ""}
	proc.env = []string{
		"PRECIS_CLUSTER_NAME=" + clusterName, "PRECIS_CLUSTER_STANDBYS=" + strconv.Itoa(p.opts.Standbys), "PRECIS_NATS_REPLICAS=3",
		"PRECIS_PARTITIONS=" + strconv.Itoa(p.opts.Partitions),
	}
	if p.opts.Share == 0 {
		return proc, nil
	}
	if proc.group, err = newShare(fmt.Sprintf("%s-%s", filepath.Base(p.dir), name), p.opts.Share); err != nil {
		return nil, fmt.Errorf("hold processors to a share: %w", err)
	}
	p.shares = append(p.shares, proc.group)
	return proc, nil
}

// relayed puts a relay between the process and each server, and returns the servers' addresses for it.
func (s *process) relayed(urls string) (string, error) {
	var list []string
	for server := range strings.SplitSeq(urls, ",") {
		r, err := newRelay(strings.TrimPrefix(server, "nats://"))
		if err != nil {
			return "", err
		}
		s.ways, list = append(s.ways, r), append(list, "nats://"+r.address())
	}
	return strings.Join(list, ","), nil
}

// bend bends all ways of a process to the servers.
func (s *process) bend(b bend) {
	for _, r := range s.ways {
		r.bend(b)
	}
}

// join starts another processor, on an empty disk, waits until it has its share, ends it, and waits until the others have that.
func (p *party) join(ctx context.Context, nc *nats.Conn, n int) error {
	proc, err := p.newProcessor(fmt.Sprint("j", n+1))
	if err != nil {
		return err
	}
	p.processors = append(p.processors, proc)
	if err := p.restart(proc); err != nil {
		return err
	}
	if err := p.settled(ctx, nc); err != nil {
		return err
	}
	if err := proc.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("send signal: %w", err)
	}
	<-proc.exited
	p.processors = p.processors[:len(p.processors)-1]
	return errors.Join(proc.log.Close(), p.settled(ctx, nc))
}

// restart starts a process, again if it has exited.
func (p *party) restart(s *process) (err error) {
	if s.log == nil {
		if s.log, err = os.Create(filepath.Join(p.dir, s.name+".log")); err != nil {
			return fmt.Errorf("make log: %w", err)
		}
	}
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Env = s.log, s.log, append(os.Environ(), s.env...)
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	exited, cmd := make(chan struct{}), s.cmd
	s.exited = exited
	go func() {
		_ = cmd.Wait() // a fault ends it, or stop does
		close(exited)
	}()
	if s.group == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(s.group, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
}

// ready waits until a processor is; false: it has exited, or ctx has ended.
func (p *party) ready(ctx context.Context, s *process) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		req, err := http.NewRequestWithContext(asking, http.MethodGet, "http://"+s.web+"/readyz", nil)
		if err == nil {
			var resp *http.Response
			if resp, err = http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
			}
			if err == nil && resp.StatusCode == http.StatusOK {
				cancel()
				return true
			}
		}
		cancel()
		select {
		case <-s.exited:
			return false
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// ownership is what the cluster's bucket says.
type ownership struct {
	partitions map[int]string    // the lease of the owner, by partition
	planned    []string          // of that which is to have it
	processes  map[string]string // what a lease says of its process: host/pid/random
}

// owners reads the bucket.
func owners(ctx context.Context, nc *nats.Conn) (o ownership, err error) {
	o = ownership{partitions: map[int]string{}, processes: map[string]string{}}
	js, err := jetstream.New(nc)
	if err != nil {
		return o, fmt.Errorf("open jetstream: %w", err)
	}
	kv, err := js.KeyValue(ctx, "precis_"+clusterName)
	if err != nil {
		return o, fmt.Errorf("open bucket of the cluster: %w", err)
	}
	watch, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return o, fmt.Errorf("read bucket of the cluster: %w", err)
	}
	defer func() { _ = watch.Stop() }()
	for {
		select {
		case e := <-watch.Updates():
			if e == nil {
				return o, nil
			}
			var v struct {
				ID     string   `json:"id"`
				Owner  string   `json:"owner"`
				Owners []string `json:"owners"`
			}
			if json.Unmarshal(e.Value(), &v) != nil {
				continue
			}
			kind, rest, _ := strings.Cut(e.Key(), ".")
			switch kind {
			case "member":
				o.processes[e.Key()] = v.ID
			case "plan":
				o.planned = v.Owners
			case "partition":
				if n, err := strconv.Atoi(rest); err == nil {
					o.partitions[n] = v.Owner
				}
			}
		case <-ctx.Done():
			return o, context.Cause(ctx)
		}
	}
}

// of lists the partitions that a process has.
func (o ownership) of(s *process) (list []int) {
	for n, lease := range o.partitions {
		if parts := strings.Split(o.processes[lease], "/"); len(parts) == 3 && parts[1] == strconv.Itoa(s.cmd.Process.Pid) {
			list = append(list, n)
		}
	}
	return list
}

// settled waits until every processor is ready, and each partition is where the plan has it.
func (p *party) settled(ctx context.Context, nc *nats.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("the processors do not settle"))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		all := true
		for _, s := range p.processors {
			if p.ready(ctx, s) {
				continue
			}
			if p.opts.Faults == 0 || ctx.Err() != nil {
				return fmt.Errorf("wait for %s, whose log is in %s: %w", s.name, p.dir, errors.Join(errEnded, context.Cause(ctx)))
			}
			p.exits = append(p.exits, s.lastWords())
			if err := p.restart(s); err != nil { // as what supervises it would
				return err
			}
		}
		asking, cancel := context.WithTimeout(ctx, askTime)
		o, err := owners(asking, nc)
		cancel()
		if err != nil && p.opts.Faults == 0 {
			return err
		}
		for n, lease := range o.planned {
			all = all && o.partitions[n] == lease && o.processes[lease] != ""
		}
		for _, s := range p.processors {
			all = all && len(o.of(s)) > 0
		}
		if all && len(o.planned) == p.opts.Partitions+1 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lastWords are the last lines of a process's log.
func (s *process) lastWords() string {
	data, err := os.ReadFile(s.log.Name())
	if err != nil {
		return s.name + ": " + err.Error()
	}
	return s.name + ": …" + string(data[max(0, len(data)-400):])
}

// askTime bounds one question to a server.
const askTime = 5 * time.Second

// replicated waits until each stream of the processors has a leader and all its replicas up to date.
func (p *party) replicated(ctx context.Context, nc *nats.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("the servers do not catch up"))
	defer cancel()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("open jetstream: %w", err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		all := true
		for _, name := range []string{"EVENTS", "SUMMARIES", "REJECTED", "KV_precis_" + clusterName} {
			asking, cancel := context.WithTimeout(ctx, askTime) // what asks a server that dies has no answer
			stream, err := js.Stream(asking, name)
			cancel()
			if err != nil || stream.CachedInfo().Cluster == nil || stream.CachedInfo().Cluster.Leader == "" {
				all = false
				continue
			}
			for _, r := range stream.CachedInfo().Cluster.Replicas {
				all = all && r.Current && !r.Offline
			}
		}
		if all {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// replay has the processor's own command prove all records.
func (p *party) replay(ctx context.Context) (out []byte, err error) {
	return exec.CommandContext(ctx, filepath.Join(p.dir, "processor"), "replay", "--nats", p.url).CombinedOutput()
}

// threadIn names a thread of a partition: the server's transform hashes the token with FNV-1a.
func threadIn(partition, partitions, round int) string {
	for n := 0; ; n++ {
		name := fmt.Sprintf("fault-%d-%d-%d", round, partition, n)
		h := fnv.New32a()
		_, _ = h.Write([]byte(name)) // never fails
		if int(h.Sum32()%uint32(partitions)) == partition {
			return name
		}
	}
}

// stop ends all processes and removes their data.
func (p *party) stop() {
	for _, list := range [][]*process{p.processors, p.servers} {
		for _, s := range list {
			if s.cmd == nil {
				continue
			}
			_ = s.cmd.Process.Signal(syscall.SIGCONT)
			_ = s.cmd.Process.Signal(syscall.SIGTERM)
		}
		for _, s := range list {
			if s.cmd == nil {
				continue
			}
			select {
			case <-s.exited:
			case <-time.After(30 * time.Second):
				_ = s.cmd.Process.Kill()
				<-s.exited
			}
			_ = s.log.Close()
			for _, r := range s.ways {
				r.close()
			}
		}
	}
	for _, group := range p.shares {
		_ = os.Remove(group)
	}
	_ = os.RemoveAll(p.dir)
}

// newShare makes a control group, of version 2 or 1, whose processes get a part of a core.
func newShare(name string, part float64) (dir string, err error) {
	const period = 20_000 // µs
	quota := int(part * period)
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		dir = filepath.Join("/sys/fs/cgroup", name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", err
		}
		return dir, os.WriteFile(filepath.Join(dir, "cpu.max"), fmt.Appendf(nil, "%d %d", quota, period), 0o600)
	}
	dir = filepath.Join("/sys/fs/cgroup/cpu", name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	return dir, errors.Join(
		os.WriteFile(filepath.Join(dir, "cpu.cfs_period_us"), []byte(strconv.Itoa(period)), 0o600),
		os.WriteFile(filepath.Join(dir, "cpu.cfs_quota_us"), []byte(strconv.Itoa(quota)), 0o600))
}
