package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
)

func eventLine(i int) string {
	return fmt.Sprintf(`{"type":"tool.result","thread_id":"t","message_id":"m%d","content":""}`+"\n", i)
}

// A server that is killed and comes back in the middle costs nothing, and order holds.
func TestPublishOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, "127.0.0.1:0")
	address := strings.TrimPrefix(first.URL(), "nats://")
	provision(t, first)
	t.Setenv("NATS_URL", first.URL())
	input, lines := io.Pipe()
	var stdout, stderr bytes.Buffer
	ended := make(chan int)
	go func() {
		status := run(t.Context(), []string{"publish", "-"}, input, &stdout, &stderr)
		input.Close() // or a program that ends early would leave the test writing
		ended <- status
	}()

	const half = 1000
	for i := range half {
		fmt.Fprint(lines, eventLine(i))
	}
	shut(t, first)
	second := open(t, dir, address)
	defer shut(t, second)
	for i := half; i < 2*half; i++ {
		fmt.Fprint(lines, eventLine(i))
	}
	lines.Close()
	if status := <-ended; status != exitDone {
		t.Fatalf("status %d\n%s", status, stderr.String())
	}
	// A batch whose answer was lost stands twice; first occurrences are in order.
	seen := map[string]bool{}
	for _, event := range stored(t, second, broker.StreamEvents) {
		if want := fmt.Sprintf(`"m%d"`, len(seen)); !seen[event] && !strings.Contains(event, want) {
			t.Fatalf("got %s, want %s", event, want)
		}
		seen[event] = true
	}
	if len(seen) != 2*half {
		t.Errorf("stored %d different events, want %d", len(seen), 2*half)
	}
}

// A stream that somebody made without atomic batches takes the events one by one.
func TestPublishWithoutBatches(t *testing.T) {
	b := newBareServer(t)
	makeEvents(t, b, jetstream.StreamConfig{})
	command(t, b, eventLine(1)+eventLine(2)+eventLine(3), "publish", "-").wants(t, exitDone, "3 events of 1 thread", "")
	if got := stored(t, b, broker.StreamEvents); len(got) != 3 || !strings.Contains(got[2], `"m3"`) {
		t.Errorf("stored %q", got)
	}
}

// What the server won't ever take is a broken line; the rest goes on.
func TestPublishRefused(t *testing.T) {
	for _, atomic := range []bool{false, true} {
		b := newBareServer(t)
		makeEvents(t, b, jetstream.StreamConfig{MaxMsgSize: 1000, AllowAtomicPublish: atomic})
		long := strings.Replace(eventLine(2), `""`, `"`+strings.Repeat("x", 2000)+`"`, 1)
		got := command(t, b, eventLine(1)+long+eventLine(3), "publish", "-")
		got.wants(t, exitWrong, "2 events of 1 thread from 1 file published", "-: line 2: ")
		if events := stored(t, b, broker.StreamEvents); len(events) != 2 || !strings.Contains(events[1], `"m3"`) {
			t.Errorf("stored %q", events)
		}
	}
}

func TestPublishTooLong(t *testing.T) {
	b := newServer(t)
	long := fmt.Sprintf(`{"type":"tool.result","thread_id":"t","message_id":"m","content":"%s"}`+"\n", strings.Repeat("x", broker.MaxPayload))
	command(t, b, long+eventLine(2), "publish", "-").wants(t, exitWrong, "1 event of 1 thread", "-: line 1: ")
}

func makeEvents(t *testing.T, b *broker.Broker, cfg jetstream.StreamConfig) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	cfg.Name, cfg.Subjects = broker.StreamEvents, []string{"tool.result.*"}
	if _, err := b.JetStream().CreateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
}
