package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// launchAll runs all agents concurrently and returns the duration when all have ended.
func launchAll(ctx context.Context, url string, o options, agents []*agent, count *published) (time.Duration, error) {
	conns, err := connectAll(url, o)
	defer func() {
		for _, c := range conns {
			c.nc.Close()
		}
	}()
	if err != nil {
		return 0, err
	}
	var every time.Duration
	if o.Rate > 0 {
		every = time.Second * time.Duration(o.Agents) / time.Duration(o.Rate)
	}
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for i, a := range agents {
		s := sender{js: conns[i%len(conns)].js, window: o.Window, every: every, first: start.Add(every * time.Duration(i) / time.Duration(len(agents))), count: count}
		group.Go(func() error { return s.send(ctx, a, share(o.Events, len(agents), i)) })
	}
	err = group.Wait()
	return time.Since(start), err
}

// share returns the ith of n shares of a total.
func share(total, n, i int) int { return (total*(i+1))/n - total*i/n }

type connection struct {
	nc *nats.Conn
	js jetstream.JetStream
}

func connectAll(url string, o options) ([]connection, error) {
	var all []connection
	// Windows bound what is in flight; the client's own limit must not be reached first.
	pending := o.Window * (o.Agents/o.Connections + 2)
	for range o.Connections {
		nc, err := connect(url)
		if err != nil {
			return all, err
		}
		js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(pending), jetstream.WithPublishAsyncTimeout(ackTime))
		if err != nil {
			nc.Close()
			return all, fmt.Errorf("open jetstream: %w", err)
		}
		all = append(all, connection{nc, js})
	}
	return all, nil
}

// ackTime is how long an ack is waited for: that of a server which dies never comes.
const ackTime = 5 * time.Second

func connect(url string) (*nats.Conn, error) {
	nc, err := nats.Connect(url, nats.Name("precis-loadtest"), nats.MaxReconnects(-1))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	return nc, nil
}
