package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

// fault is something that happens to the party. It returns when it is over; what follows from it may last longer.
type fault struct {
	name    string
	do      func(ctx context.Context) error
	servers bool // it is one of servers
}

// lasting is how long a fault lasts: longer than a lease, and some less than one.
func (p *party) lasting(rng *rand.Rand) time.Duration {
	random := 300*time.Millisecond + time.Duration(rng.Int64N(int64(4*time.Second)))
	if p.opts.Lasting > 0 {
		return p.opts.Lasting
	}
	return random
}

// during is a fault with a begin and an end.
func during(for1 time.Duration, begin, end func() error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := begin(); err != nil {
			return err
		}
		return errors.Join(waitUntil(ctx, time.Now().Add(for1)), end())
	}
}

func (s *process) signals(sig syscall.Signal) func() error {
	return func() error { return s.cmd.Process.Signal(sig) }
}

// ends has a signal end the process.
func (s *process) ends(sig syscall.Signal) func() error {
	return func() error {
		err := s.cmd.Process.Signal(sig)
		<-s.exited
		return err
	}
}

// faults are those that may come next: of processors, servers, and the ways between them.
func (p *party) faults(nc *nats.Conn, rng *rand.Rand) []fault {
	return slices.Concat(p.processorFaults(rng), p.serverFaults(nc, rng), p.wayFaults(rng))
}

func (p *party) processorFaults(rng *rand.Rand) []fault {
	proc, for1 := p.processors[rng.IntN(len(p.processors))], p.lasting(rng)
	again := func() error { return p.restart(proc) }
	bent := func(b bend) func(context.Context) error {
		return during(for1, func() error { proc.bend(b); return nil }, func() error { proc.bend(bend{}); return nil })
	}
	list := []fault{
		{name: "killed", do: during(for1, proc.ends(syscall.SIGKILL), again)},
		{name: "ended", do: during(for1, proc.ends(syscall.SIGTERM), again)},
		{name: "stopped", do: during(for1, proc.signals(syscall.SIGSTOP), proc.signals(syscall.SIGCONT))},
		{name: "starved", do: func(ctx context.Context) error { return proc.starve(ctx, for1) }},
		{name: "cut off", do: bent(bend{cut: true})},
		{name: "frozen", do: bent(bend{toward: true, back: true})},
		{name: "unheard", do: bent(bend{toward: true})},
		{name: "deaf", do: bent(bend{back: true})},
		{name: "slow", do: bent(bend{slow: 200 * time.Millisecond})},
		{name: "lossy", do: bent(bend{lossy: true})},
	}
	if proc.disk != "" {
		list = append(list, fault{name: "without room on its disk", do: func(ctx context.Context) error { return p.full(ctx, proc, for1) }})
	}
	for i := range list {
		list[i].name = proc.name + " " + list[i].name
	}
	return append(list,
		fault{name: "all processors restarted, one after the other", do: func(ctx context.Context) error { return p.rollProcessors(ctx) }},
		fault{name: "another cluster on the same streams", do: func(ctx context.Context) error { return p.intruder(ctx, for1, "PRECIS_CLUSTER_NAME=other") }},
		fault{name: "two more processors of the cluster, with another configuration", do: func(ctx context.Context) error {
			return p.intruder(ctx, for1, "PRECIS_CLUSTER_WEIGHT=3", "PRECIS_LIMITS_PENDING_EDIT_EVENTS=500")
		}},
	)
}

func (p *party) serverFaults(nc *nats.Conn, rng *rand.Rand) []fault {
	server, for1 := p.servers[rng.IntN(len(p.servers))], p.lasting(rng)
	stream := streamNames()[rng.IntN(len(streamNames()))]
	again := func() error { return p.restart(server) }
	return []fault{
		{server.name + " killed", during(for1, server.ends(syscall.SIGKILL), again), true},
		{server.name + " ended", during(for1, server.ends(syscall.SIGTERM), again), true},
		{server.name + " stopped", during(for1, server.signals(syscall.SIGSTOP), server.signals(syscall.SIGCONT)), true},
		{server.name + " killed and emptied", during(for1, server.ends(syscall.SIGKILL), func() error {
			return errors.Join(os.RemoveAll(filepath.Join(p.dir, server.name)), again())
		}), true},
		{"all servers restarted, one after the other", func(ctx context.Context) error { return p.rollServers(ctx, nc) }, true},
		{"leader of " + stream + " steps down", func(ctx context.Context) error {
			asking, cancel := context.WithTimeout(ctx, askTime)
			defer cancel()
			_, err := nc.RequestWithContext(asking, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
			if ctx.Err() == nil {
				err = nil // it has none, which is as good
			}
			return err
		}, true},
	}
}

// wayFaults are those of the ways between servers.
func (p *party) wayFaults(rng *rand.Rand) (list []fault) {
	a, for1 := rng.IntN(len(p.servers)), p.lasting(rng)
	b := (a + 1 + rng.IntN(len(p.servers)-1)) % len(p.servers)
	for _, way := range []struct {
		name string
		bend bend
	}{
		{"cut", bend{cut: true}}, {"frozen", bend{toward: true, back: true}}, {"one-way", bend{toward: true}},
		{"slow", bend{slow: 200 * time.Millisecond}}, {"lossy", bend{lossy: true}},
	} {
		list = append(list, fault{
			fmt.Sprintf("%s to %s %s", p.servers[a].name, p.servers[b].name, way.name),
			during(for1, func() error { p.between(a, b, way.bend); return nil }, func() error { p.between(a, b, bend{}); return nil }), true,
		})
	}
	return list
}

// starve has a process run for 2 of each 200 ms.
func (s *process) starve(ctx context.Context, for1 time.Duration) error {
	for end := time.Now().Add(for1); time.Now().Before(end); {
		err := errors.Join(s.cmd.Process.Signal(syscall.SIGSTOP), waitUntil(ctx, time.Now().Add(198*time.Millisecond)), s.cmd.Process.Signal(syscall.SIGCONT))
		if err != nil {
			return err
		}
		if err := waitUntil(ctx, time.Now().Add(2*time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// full fills a processor's disk. It may end then, and is started again as what supervises it would.
func (p *party) full(ctx context.Context, s *process, for1 time.Duration) error {
	release, err := fill(s.disk)
	if err != nil {
		return err
	}
	end := time.Now().Add(for1)
	for ended := false; err == nil && time.Now().Before(end); {
		select {
		case <-s.exited:
			ended = true
		default:
		}
		if ended {
			p.exits = append(p.exits, s.lastWords())
			err = p.restart(s)
			ended = false
		}
		err = errors.Join(err, waitUntil(ctx, time.Now().Add(100*time.Millisecond)))
	}
	return errors.Join(err, release())
}

func (p *party) rollProcessors(ctx context.Context) error {
	for _, s := range p.processors {
		if err := s.ends(syscall.SIGTERM)(); err != nil {
			return err
		}
		if err := p.restart(s); err != nil {
			return err
		}
		if !p.ready(ctx, s) && ctx.Err() == nil {
			return fmt.Errorf("%w: %s", errEnded, s.lastWords())
		}
	}
	return context.Cause(ctx)
}

func (p *party) rollServers(ctx context.Context, nc *nats.Conn) error {
	for _, s := range p.servers {
		if err := s.ends(syscall.SIGTERM)(); err != nil {
			return err
		}
		if err := p.restart(s); err != nil {
			return err
		}
		if err := p.replicated(ctx, nc); err != nil {
			return err
		}
	}
	return nil
}

// intruder starts two processors of another configuration on the same servers, as by mistake, and ends them.
func (p *party) intruder(ctx context.Context, for1 time.Duration, env ...string) error {
	var list []*process
	for range 2 {
		p.strangers++
		s, err := p.newProcessor(fmt.Sprint("x", p.strangers))
		if err != nil {
			return err
		}
		s.env = append(s.env, env...) // the last of a name counts
		if err := p.restart(s); err != nil {
			return err
		}
		list = append(list, s)
	}
	err := waitUntil(ctx, time.Now().Add(for1))
	for _, s := range list {
		err = errors.Join(err, p.dismiss(s))
	}
	return err
}

// confuse has random faults happen, one after the other, with a pause in which some of what follows from one is still under way.
func (p *party) confuse(ctx context.Context, nc *nats.Conn, rng *rand.Rand, progress io.Writer) error {
	for n := range p.opts.Faults {
		list := slices.DeleteFunc(p.faults(nc, rng), func(f fault) bool { return p.opts.only != nil && !p.opts.only.MatchString(f.name) })
		if len(list) == 0 {
			return fmt.Errorf("no fault matches %s", p.opts.Only)
		}
		f := list[rng.IntN(len(list))]
		began := time.Now()
		if err := f.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(progress, "fault %d of %d: %s, for %s\n", n+1, p.opts.Faults, f.name, time.Since(began).Round(time.Millisecond))
		if err := waitUntil(ctx, time.Now().Add(time.Duration(rng.Int64N(int64(2*time.Second))))); err != nil {
			return err
		}
		// A majority of the servers has what every one of them has before the next one goes.
		if f.servers {
			if err := p.replicated(ctx, nc); err != nil {
				return err
			}
		}
	}
	if p.opts.Faults == 0 {
		return nil
	}
	return p.settled(ctx, nc)
}
