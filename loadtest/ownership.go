package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

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

// askTime bounds one question to a server.
const askTime = 5 * time.Second
