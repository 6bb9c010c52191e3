package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
)

// counters are the predictable part of the service's answer about a thread.
type counters struct {
	Messages    int `json:"messages"`
	ToolResults int `json:"tool_results"`
	Edits       int `json:"edits"`
	Bytes       int `json:"bytes"`
}

func (e *expectation) counters() counters {
	return counters{e.Messages, e.ToolResults, e.Edits, e.Bytes}
}

// errUnreachable: no processor answers.
var errUnreachable = errors.New("no answer from the service precis")

// errRefused: it answers with an error.
var errRefused = errors.New("the service answers")

// compareThreads polls every thread's counters until they match, or have not
// changed for the timeout, and returns the threads that differ.
func compareThreads(ctx context.Context, nc *nats.Conn, all []*expectation, timeout time.Duration) ([]string, error) {
	return eachThread(ctx, all, func(ctx context.Context, e *expectation) ([]string, error) {
		got, err := await(ctx, nc, e, timeout)
		if err != nil || got == e.counters() {
			return nil, err
		}
		return []string{fmt.Sprintf("thread %q: has %+v, want %+v", e.Thread, got, e.counters())}, nil
	})
}

// eachThread checks the threads that have events, several at once, and returns everything that is wrong.
func eachThread(ctx context.Context, all []*expectation, check func(context.Context, *expectation) ([]string, error)) ([]string, error) {
	var mu sync.Mutex
	var wrong []string
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for _, e := range all {
		if e.counters() == (counters{}) {
			continue // has no events
		}
		group.Go(func() error {
			found, err := check(ctx, e)
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, found...)
			return err
		})
	}
	return wrong, group.Wait()
}

func await(ctx context.Context, nc *nats.Conn, e *expectation, timeout time.Duration) (counters, error) {
	var last counters
	since := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		got, err := ask(ctx, nc, e.Thread)
		switch {
		case err == nil && got == e.counters():
			return got, nil
		case err == nil && got != last:
			last, since = got, time.Now()
		case time.Since(since) > timeout:
			return last, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last, context.Cause(ctx)
		}
	}
}

func ask(ctx context.Context, nc *nats.Conn, thread string) (counters, error) {
	var c counters
	if err := request(ctx, nc, "precis.thread.get."+token(thread), nil, &c); err != nil {
		return c, fmt.Errorf("thread %q: %w", thread, err)
	}
	return c, nil
}

// again is how long a 503 lets a client wait: a partition moves, or its processor is short of time.
const again = time.Second

// answerTime is how long one request waits: a processor answers within three seconds, if only by a 503.
const answerTime = 4 * time.Second

// request asks the service for what it reads into answer, and again after a 503, for ten seconds.
func request(ctx context.Context, nc *nats.Conn, subject string, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var refused error
	for {
		asking, cancel := context.WithTimeout(ctx, answerTime)
		reply, err := nc.RequestWithContext(asking, subject, body)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			continue // it had reached a processor or a way that is gone
		}
		if err != nil {
			return cmp.Or(refused, fmt.Errorf("%s: %w: %w", subject, errUnreachable, err))
		}
		code := reply.Header.Get("Nats-Service-Error-Code")
		if code == "" {
			if err := json.Unmarshal(reply.Data, answer); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			return nil
		}
		refused = fmt.Errorf("%s: %w %s %s", subject, errRefused, code, reply.Header.Get("Nats-Service-Error"))
		if code != "503" {
			return refused
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return refused
		}
	}
}
