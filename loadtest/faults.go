package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

// fault is something that happens to the party. It returns when it is over; what follows from it may last longer.
type fault struct {
	name string
	do   func(ctx context.Context) error
}

// lasting is how long a fault lasts: longer than a lease, and some less than one.
func lasting(rng *rand.Rand) time.Duration {
	return 300*time.Millisecond + time.Duration(rng.Int64N(int64(4*time.Second)))
}

// faults are those of processors, servers, and the ways between them.
func (p *party) faults(nc *nats.Conn, rng *rand.Rand) []fault {
	proc, server, for1 := p.processors[rng.IntN(len(p.processors))], p.servers[rng.IntN(len(p.servers))], lasting(rng)
	stream := []string{"EVENTS", "SUMMARIES", "REJECTED", "KV_precis_" + clusterName}[rng.IntN(4)]
	during := func(begin, end func() error) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := begin(); err != nil {
				return err
			}
			return errors.Join(waitUntil(ctx, time.Now().Add(for1)), end())
		}
	}
	signal := func(s *process, sig syscall.Signal) func() error {
		return func() error { return s.cmd.Process.Signal(sig) }
	}
	ended := func(s *process, sig syscall.Signal) func() error {
		return func() error {
			err := s.cmd.Process.Signal(sig)
			<-s.exited
			return err
		}
	}
	again := func(s *process) func() error { return func() error { return p.restart(s) } }
	bent := func(b bend) func(context.Context) error {
		return during(func() error { proc.bend(b); return nil }, func() error { proc.bend(bend{}); return nil })
	}
	return []fault{
		{proc.name + " killed", during(ended(proc, syscall.SIGKILL), again(proc))},
		{proc.name + " ended", during(ended(proc, syscall.SIGTERM), again(proc))},
		{proc.name + " stopped", during(signal(proc, syscall.SIGSTOP), signal(proc, syscall.SIGCONT))},
		{proc.name + " cut off", bent(bend{cut: true})},
		{proc.name + " frozen", bent(bend{toward: true, back: true})},
		{proc.name + " unheard", bent(bend{toward: true})},
		{proc.name + " deaf", bent(bend{back: true})},
		{proc.name + " slow", bent(bend{slow: 200 * time.Millisecond})},
		{server.name + " killed", during(ended(server, syscall.SIGKILL), again(server))},
		{server.name + " ended", during(ended(server, syscall.SIGTERM), again(server))},
		{server.name + " stopped", during(signal(server, syscall.SIGSTOP), signal(server, syscall.SIGCONT))},
		{server.name + " killed and emptied", during(ended(server, syscall.SIGKILL), func() error {
			return errors.Join(os.RemoveAll(filepath.Join(p.dir, server.name)), p.restart(server))
		})},
		{"leader of " + stream + " steps down", func(ctx context.Context) error {
			asking, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			_, err := nc.RequestWithContext(asking, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
			if ctx.Err() == nil {
				err = nil // it has none, which is as good
			}
			return err
		}},
	}
}

// confuse has random faults happen, one after the other, with a pause in which some of what follows from one is still under way.
func (p *party) confuse(ctx context.Context, nc *nats.Conn, rng *rand.Rand, progress io.Writer) error {
	for n := range p.opts.Faults {
		list := p.faults(nc, rng)
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
		if strings.Contains(f.name, "emptied") || strings.HasPrefix(f.name, "n") {
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
