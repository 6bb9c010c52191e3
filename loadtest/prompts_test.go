package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestPromptsOfAProcessor plants one error at a time into what a processor's prompts are held against.
func TestPromptsOfAProcessor(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds and starts a processor")
	}
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := startProcessor(ctx, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	args := []string{"--nats", c.url, "--agents", "2", "--threads", "2", "--events", "400", "--run", "prompts", "--timeout", "30s"}
	var out bytes.Buffer
	if status := run(ctx, args, &out, &out); status != 0 {
		t.Fatalf("exit %d\n%s", status, out.String())
	}
	o, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var all []*expectation
	for _, a := range newAgents(o) {
		for a.left > 0 {
			a.next()
		}
		for _, th := range a.threads {
			all = append(all, th.expectation)
		}
	}
	nc, err := connect(c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	live := all[0].live
	for name, plant := range map[string]struct {
		live    []string
		problem string
	}{
		"as it must be":        {live, ""},
		"one that vanished":    {append([]string{"vanished"}, live...), `message "vanished" stands in 0 places`},
		"one that was deleted": {live[:len(live)/2], "is not there any more"},
	} {
		all[0].live = plant.live
		wrong, err := checkPrompts(ctx, nc, all)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(wrong, "\n"); (plant.problem == "") != (text == "") || !strings.Contains(text, plant.problem) {
			t.Errorf("%s: %q, want %q", name, text, plant.problem)
		}
	}
}
