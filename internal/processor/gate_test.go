package processor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/processor"
)

// gateOf is a gate over a connection of its own, as an agent has it.
func gateOf(t *testing.T, p *running, maxWait time.Duration) (*events.Gate, *nats.Conn) {
	t.Helper()
	nc, err := events.Connect(p.Broker().URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	gate, err := events.NewGate(nc, events.GateOptions{MaxWait: maxWait})
	if err != nil {
		t.Fatal(err)
	}
	return gate, nc
}

// What an agent has published is decided, and the summary that it leads to has ended, when the gate opens: however
// soon the gate is asked.
func TestGateWaitsForWhatIsPublished(t *testing.T) {
	m := newModel(t, func(_ int64, w http.ResponseWriter, _ *http.Request) {
		says(w, "The build compiled 100 parts without an error.", 1200, 40)
	})
	b := listening(t)
	p := serving(t, processor.Options{Config: byModel(t, m), Logger: logger(t), Broker: b})
	gate, _ := gateOf(t, p, patience)
	for i := range 20 {
		thread := fmt.Sprint("t", i%3)
		seq := put(t, b.Conn(), "tool.result."+thread, toolResult(fmt.Sprint("m", i), 100))
		if err := gate.Wait(within(t), thread, seq); err != nil {
			t.Fatal(err)
		}
		if calls := m.calls.Load(); calls != int64(i+1) {
			t.Fatalf("the gate opened after %d calls of the model, want %d", calls, i+1)
		}
	}
	if err := gate.Wait(within(t), "nothing-published", 0); err != nil {
		t.Errorf("a thread without events: %v", err)
	}
}

// The gate holds for summaries that others have caused, up to its bound and the context's, and through a processor
// that goes away and comes back.
func TestGateHolds(t *testing.T) {
	answer := make(chan struct{})
	m := newModel(t, func(_ int64, w http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
			says(w, "The build compiled 100 parts without an error.", 1200, 40)
		case <-r.Context().Done():
		}
	})
	b := listening(t)
	options := processor.Options{Config: byModel(t, m), Logger: logger(t), Broker: b}
	p, stop := servingUntil(t, options)
	seq := put(t, b.Conn(), "tool.result.t1", toolResult("m1", 100))
	ended(t, p, "t1", 1)

	short, _ := gateOf(t, p, 20*time.Millisecond)
	if err := short.Wait(within(t), "t1", seq); !errors.Is(err, events.ErrGateTimeout) {
		t.Errorf("at the gate's bound: %v", err)
	}
	gate, nc := gateOf(t, p, patience)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := gate.Wait(ctx, "t1", seq); !errors.Is(err, context.Canceled) {
		t.Errorf("at the context's end: %v", err)
	}
	if err := gate.Wait(within(t), "", seq); !errors.Is(err, events.ErrThreadID) {
		t.Errorf("no thread: %v", err)
	}
	if err := gate.Wait(within(t), "t2", 0); err != nil {
		t.Errorf("another thread: %v", err)
	}

	stop()
	result := make(chan error, 1)
	go func() { result <- gate.Wait(within(t), "t1", seq) }()
	p = serving(t, options)
	close(answer)
	if err := <-result; err != nil {
		t.Errorf("through a restart of the processor: %v", err)
	}
	if err := p.Settled(within(t)); err != nil { // what was decided is on its way
		t.Fatal(err)
	}
	if got := types(story(t, b, "t1")); got[len(got)-1] != "summary.created" {
		t.Errorf("the gate opened after %v", got)
	}
	nc.Close()
	if err := gate.Wait(within(t), "t1", seq); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("on a closed connection: %v", err)
	}
}

// listening is a server that agents connect to by themselves.
func listening(t *testing.T) *broker.Broker {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Sync: "2m", Listen: "127.0.0.1:0", Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close broker: %v", err)
		}
	})
	return b
}
