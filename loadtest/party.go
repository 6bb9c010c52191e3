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

	"github.com/nats-io/nats.go"
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
	strangers  int      // processors that came by mistake, so far
}

// process is one of them.
type process struct {
	name   string
	args   []string
	env    []string
	web    string   // where a processor says whether it is ready
	group  string   // its control group; empty: none
	ways   []*relay // to the servers, if faults bend them
	disk   string   // its own file system; empty: it has none
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
			_ = os.RemoveAll(p.dir)
		}
	}()
	fmt.Fprintf(progress, "starting 3 servers and %d processors in %s\n", o.Processors, p.dir)
	if err := p.startServers(); err != nil {
		return nil, err
	}
	if err := p.startProcessors(ctx); err != nil {
		return nil, err
	}
	return p, nil
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
	if p.opts.Faults > 0 {
		if proc.disk, err = p.mountDisk(name); err != nil {
			return nil, err
		}
	}
	program := filepath.Join(p.opts.Programs, "processor")
	if p.opts.Beside != "" && len(p.processors)%2 == 1 {
		program = p.opts.Beside
	}
	proc.args = []string{program, "run", "--data", filepath.Join(p.dir, name), "--nats", url, "--http", web, "--api", ""}
	proc.env = []string{
		"PRECIS_CLUSTER_NAME=" + clusterName, "PRECIS_CLUSTER_STANDBYS=" + strconv.Itoa(p.opts.Standbys), "PRECIS_NATS_REPLICAS=" + strconv.Itoa(p.opts.Replicas),
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
	p.processors = p.processors[:len(p.processors)-1]
	return errors.Join(p.dismiss(proc), p.settled(ctx, nc))
}

// dismiss ends a processor for good.
func (p *party) dismiss(s *process) error {
	err := s.ends(syscall.SIGTERM)()
	if errors.Is(err, os.ErrProcessDone) {
		p.exits, err = append(p.exits, s.lastWords()), nil
	}
	s.clear()
	return err
}

// clear gives back what a process that has ended had.
func (s *process) clear() {
	_ = s.log.Close()
	for _, r := range s.ways {
		r.close()
	}
	if s.disk != "" {
		unmount(s.disk)
	}
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

// lastWords are the last lines of a process's log.
func (s *process) lastWords() string {
	data, err := os.ReadFile(s.log.Name())
	if err != nil {
		return s.name + ": " + err.Error()
	}
	return s.name + ": …" + string(data[max(0, len(data)-400):])
}

// replay has the processor's own command prove all records.
func (p *party) replay(ctx context.Context) (out []byte, err error) {
	return exec.CommandContext(ctx, filepath.Join(p.opts.Programs, "processor"), "replay", "--nats", p.url).CombinedOutput()
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

// stop ends all processes.
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
			s.clear()
		}
	}
	for _, group := range p.shares {
		_ = os.Remove(group)
	}
}
