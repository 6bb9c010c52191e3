package events_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
)

type gateTest struct {
	records
	server *testServer
	stream jetstream.Stream
	gate   *events.Gate
}

func startGate(t *testing.T, maxWait time.Duration) gateTest {
	t.Helper()
	checkLeaks(t)
	s := startServer(t)
	nc := s.connect()
	stream := s.stream(nc, summariesStream())
	gate, err := events.NewGate(nc, events.GateOptions{MaxWait: maxWait})
	if err != nil {
		t.Fatal(err)
	}
	return gateTest{records{t, nc}, s, stream, gate}
}

// waiting starts a Wait and returns when it has begun to follow the log.
func (g gateTest) waiting(thread string) <-chan error {
	g.t.Helper()
	result := make(chan error, 1)
	go func() { result <- g.gate.Wait(within(g.t), thread) }()
	g.following()
	return result
}

func (g gateTest) following() {
	g.t.Helper()
	for ctx := within(g.t); ; {
		info, err := g.stream.Info(ctx)
		if ctx.Err() != nil {
			g.t.Fatal("nobody follows the log")
		}
		if err == nil && info.State.Consumers > 0 {
			return
		}
	}
}

func wantNil(t *testing.T, result <-chan error) {
	t.Helper()
	select {
	case err := <-result:
		if err != nil {
			t.Errorf("wait: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the gate still holds")
	}
}

func wantHolding(t *testing.T, result <-chan error) {
	t.Helper()
	select {
	case err := <-result:
		t.Fatalf("the gate opened: %v", err)
	default:
	}
}

func TestGateOpen(t *testing.T) {
	g := startGate(t, 0)
	g.created("rules", "sum_1") // by rules: never started
	g.started("done", "sum_2")
	g.created("done", "sum_2")
	g.started("failed", "sum_3")
	g.failed("failed", "sum_3")
	g.started("busy", "sum_4")
	for _, thread := range []string{"nobody", "rules", "done", "failed", "done", "with space"} {
		if err := g.gate.Wait(within(t), thread); err != nil {
			t.Errorf("%s: %v", thread, err)
		}
	}
}

func TestGateHolds(t *testing.T) {
	g := startGate(t, 0)
	const thread = "a.thread"
	for round, end := range []func(thread, id string){g.created, g.failed} {
		first, second := fmt.Sprintf("sum_%da", round), fmt.Sprintf("sum_%db", round)
		g.started(thread, first)
		result := g.waiting(thread)
		g.started(thread, second) // while it holds: a session waits for this one too
		g.created("another", first+"x")
		g.created(thread, fmt.Sprintf("sum_%drules", round))
		end(thread, first)
		wantHolding(t, result)
		end(thread, second)
		wantNil(t, result)
		if err := g.gate.Wait(within(t), thread); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

func TestGateBounds(t *testing.T) {
	g := startGate(t, 20*time.Millisecond)
	g.started("t", "sum_1")
	if err := g.gate.Wait(within(t), "t"); !errors.Is(err, events.ErrGateTimeout) {
		t.Errorf("at the gate's bound: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := g.gate.Wait(ctx, "t"); !errors.Is(err, context.Canceled) {
		t.Errorf("at the context's end: %v", err)
	}
	if err := g.gate.Wait(within(t), ""); !errors.Is(err, events.ErrThreadID) {
		t.Errorf("no thread: %v", err)
	}
	if _, err := events.NewGate(g.nc, events.GateOptions{MaxWait: -1}); err == nil {
		t.Error("a negative wait is accepted")
	}
}

func TestGateThroughRestart(t *testing.T) {
	g := startGate(t, 0)
	g.started("t", "sum_1")
	result := g.waiting("t")
	g.server.stop()
	g.server.start()
	g.created("t", "sum_1")
	wantNil(t, result)
}

// A stream made anew starts its sequences anew: what was known of the old one must not open the gate.
func TestGateOfAnotherStream(t *testing.T) {
	g := startGate(t, 0)
	for n := range 5 {
		g.started("t", fmt.Sprintf("sum_%d", n))
		g.created("t", fmt.Sprintf("sum_%d", n))
	}
	if err := g.gate.Wait(within(t), "t"); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(g.nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(within(t), "SUMMARIES"); err != nil {
		t.Fatal(err)
	}
	if err := g.gate.Wait(within(t), "t"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("no stream: %v", err)
	}
	g.stream = g.server.stream(g.nc, summariesStream())
	g.started("t", "sum_x")
	result := g.waiting("t")
	g.created("t", "sum_x")
	wantNil(t, result)
}

func TestGateLeavesNoConsumers(t *testing.T) {
	g := startGate(t, time.Minute)
	g.started("t", "sum_1")
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_ = g.gate.Wait(short, "t")
	g.created("t", "sum_1")
	if err := g.gate.Wait(within(t), "t"); err != nil {
		t.Fatal(err)
	}
	info, err := g.stream.Info(within(t))
	if err != nil || info.State.Consumers != 0 {
		t.Errorf("%d consumers are left, %v", info.State.Consumers, err)
	}
}
