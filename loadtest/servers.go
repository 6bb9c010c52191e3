package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// buildPrograms builds what the runs start, in a directory of its own.
func buildPrograms(ctx context.Context) (dir string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if dir, err = os.MkdirTemp("", "precis-loadtest-programs-"); err != nil {
		return "", fmt.Errorf("make directory of programs: %w", err)
	}
	for name, pkg := range map[string]string{"processor": "precis/cmd/processor", "nats-server": "github.com/nats-io/nats-server/v2"} {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
			return "", errors.Join(fmt.Errorf("build %s: %w: %s", name, err, out), os.RemoveAll(dir))
		}
	}
	return dir, nil
}

// startServers starts them. Where faults bend the ways between them, each dials those behind it alone, through relays: two that dial each other
// at the same time both refuse the other's route, again and again.
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
		s := &process{name: fmt.Sprint("n", i+1)}
		to, advertise := slices.Clone(routes), routes[i]
		if p.opts.Faults > 0 {
			advertise = nowhere
			for j := range to {
				if j <= i {
					to[j] = nowhere
					continue
				}
				way, err := newRelay(routes[j])
				if err != nil {
					return err
				}
				s.ways, to[j] = append(s.ways, way), way.address()
			}
		}
		s.args = []string{
			filepath.Join(p.opts.Programs, "nats-server"), "-a", host, "-p", port, "-n", s.name, "-js", "-sd", filepath.Join(p.dir, s.name),
			"--no_advertise", // or clients would find ways around relays
			"--cluster_name", clusterName, "--cluster", "nats://" + routes[i], "--routes", "nats://" + strings.Join(to, ",nats://"), "--cluster_advertise", advertise,
		}
		p.servers = append(p.servers, s)
		if err := p.restart(s); err != nil {
			return err
		}
	}
	p.url = "nats://" + strings.Join(clients, ",nats://")
	return nil
}

// nowhere is what servers tell each other of how to reach them: nothing listens there, so that the relays are the only ways.
const nowhere = "127.0.0.1:1"

// between bends the way between two servers, with toward for what a sends.
func (p *party) between(a, b int, with bend) {
	if a > b {
		a, b = b, a
		with.toward, with.back = with.back, with.toward
	}
	p.servers[a].ways[b-a-1].bend(with)
}

// streamNames are the streams of the processors.
func streamNames() []string {
	return []string{"EVENTS", "SUMMARIES", "REJECTED", "KV_precis_" + clusterName}
}

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
		for _, name := range streamNames() {
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
