package main

import (
	"context"
	"io"
	"strings"
	"testing"
)

// Two processors on one server are given nothing but its address: they share the partitions, and when one ends, the other has them all.
func TestTwoProcessorsShare(t *testing.T) {
	b := newBareServer(t)
	type one struct {
		log  lines
		stop func()
	}
	start := func(args ...string) one {
		ctx, cancel := context.WithCancel(t.Context())
		out, stderr := newLines(t)
		status := make(chan int, 1)
		go func() {
			status <- run(ctx, append([]string{"run", "--nats", b.URL(), "--data", t.TempDir(), "--http", "", "--api", "", "--log-format", "json"}, args...), strings.NewReader(""), io.Discard, stderr)
		}()
		return one{out, func() {
			cancel()
			if got := <-status; got != exitDone {
				t.Errorf("status %d", got)
			}
		}}
	}
	says := func(p one, text string) {
		t.Helper()
		for !strings.Contains(p.log.next(t), text) {
			continue
		}
	}
	takes := func(p one) {
		t.Helper()
		says(p, "partitions taken over")
	}
	first := start()
	takes(first)
	second := start()
	takes(second)
	first.stop()
	takes(second)
	for _, thread := range []string{"a", "b", "c", "d"} {
		publish(t, b.JetStream(), "thread.message."+thread, `{"message_id":"m1","role":"user","content":"Hello."}`)
		got := program(t, "", "thread", thread, "--nats", b.URL())
		for got.status != exitDone { // it moves, or the event is under way
			got = program(t, "", "thread", thread, "--nats", b.URL())
		}
	}
	second.stop()
}
