package processor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/handlers"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/state"
)

// alone is a processor that a test runs itself.
type alone struct {
	*processor.Processor
	t    *testing.T
	once sync.Once
}

func openAlone(t *testing.T, o processor.Options) *alone {
	t.Helper()
	p, err := processor.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	a := &alone{Processor: p, t: t}
	t.Cleanup(a.close)
	return a
}

// close closes the processor; Run must have returned.
func (a *alone) close() {
	a.t.Helper()
	a.once.Do(func() {
		if err := a.Close(context.Background()); err != nil {
			a.t.Errorf("close: %v", err)
		}
	})
}

// ends waits for a run that is to end.
func ends(t *testing.T, ran <-chan error) error {
	t.Helper()
	select {
	case err := <-ran:
		return err
	case <-within(t).Done():
		t.Fatal("the processor does not end")
		return nil
	}
}

// verifyStore holds a store at rest against itself and its log.
func verifyStore(t *testing.T, c *config.Config, b *broker.Broker) *state.Store {
	t.Helper()
	store := openStore(t, c)
	t.Cleanup(func() { _ = store.Close() })
	report := func(p state.Problem) { t.Errorf("%+v", p) }
	_, err := audit.Compare(within(t), audit.Options{JetStream: b.JetStream(), Store: store, Logger: logger(t)}, report)
	if err = errors.Join(store.Check(c.Partitions+1, report), err); err != nil {
		t.Error(err)
	}
	return store
}

func openStore(t testing.TB, c *config.Config) *state.Store {
	t.Helper()
	store, err := state.Open(processor.StoreDir(c.DataDir), state.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// events adds up the events of all threads.
func eventsOf(t testing.TB, s *state.Store, partitions int) (n uint64) {
	t.Helper()
	for id := range partitions + 1 {
		for h, err := range headers(s.View(id)) {
			if err != nil {
				t.Fatal(err)
			}
			n += h.Events
		}
	}
	return n
}

func TestRunEndsWhereThereIsNothingToConsume(t *testing.T) {
	b := openBroker(t, t.TempDir())
	p := openAlone(t, processor.Options{Config: settings(t), Logger: logger(t), Broker: b})
	if err := b.JetStream().DeleteStream(t.Context(), broker.StreamEvents); err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- p.Run(t.Context()) }()
	if err := ends(t, ran); err == nil || !strings.Contains(err.Error(), "stream not found") {
		t.Errorf("run: %v", err)
	}
}

func TestStopBeforeItHasBegun(t *testing.T) {
	b := openBroker(t, t.TempDir())
	for range 10 {
		p := openAlone(t, processor.Options{Config: settings(t), Logger: logger(t), Broker: b})
		ctx, stop := context.WithCancel(t.Context())
		stop()
		ran := make(chan error, 1)
		go func() { ran <- p.Run(ctx) }()
		if err := ends(t, ran); err != nil {
			t.Fatal(err)
		}
		p.close()
	}
}

// A panic leaves a batch of which nobody knows what it holds: it may not be committed, the event may not be
// applied again on top of it.
func TestPanicEndsTheProcessor(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	var calls atomic.Int64
	p := openAlone(t, processor.Options{Config: c, Logger: logger(t), Broker: b, Failpoint: func(point string, _ int) error {
		if point == processor.FailApplied && calls.Add(1) == 3 {
			panic("as planned")
		}
		return nil
	}})
	last := put(t, b.Conn(), "thread.message.t1", message("m1"), message("m2"), message("m3"), message("m4"))
	ran := make(chan error, 1)
	go func() { ran <- p.Run(t.Context()) }()
	err := ends(t, ran)
	if !errors.Is(err, handlers.ErrPanic) || !strings.Contains(err.Error(), "as planned") || !strings.Contains(err.Error(), fmt.Sprint(last-1)) {
		t.Errorf("run: %v", err)
	}
	p.close()
	again := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	if err := again.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	again.end()
	if n := eventsOf(t, verifyStore(t, c, b), c.Partitions); n != 4 {
		t.Errorf("%d events counted, 4 were sent", n)
	}
}

func message(id string) string {
	return fmt.Sprintf(`{"message_id":%q,"role":"user","content":"hello"}`, id)
}

// A lane without events moves on with the log; else every start would read all of it again.
func TestIdleLanesMoveOn(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Policies[0].Tokenizer = "estimate"
	bodies := make([]string, 25_000)
	for i := range bodies {
		bodies[i] = message(fmt.Sprint("m", i))
	}
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	put(t, b.Conn(), "thread.message.t1", bodies...)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	store, err := state.Open(processor.StoreDir(c.DataDir), state.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for id := range c.Partitions + 1 {
		meta, err := store.View(id).Meta()
		if err != nil || meta.Position < 10_000 {
			t.Errorf("partition %d stands at %d: %v", id, meta.Position, err)
		}
	}
}

// Rejections hold what they reject: they may fill neither a batch nor memory, and an end must come also
// where the server takes none of them.
func TestStopWithAFullOutbox(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 1
	p := openAlone(t, processor.Options{Config: c, Logger: logger(t), Broker: b, CloseTimeout: 3 * time.Second})
	if err := b.JetStream().DeleteStream(t.Context(), broker.StreamRejected); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 2<<20) // no JSON, and too large
	bodies := make([]string, 16)        // half of them fill the outbox
	for i := range bodies {
		bodies[i] = large
	}
	last := put(t, b.Conn(), "tool.result.t1", bodies...)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	if err := p.Wait(within(t), 0, last-11); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := ends(t, ran); err != nil {
		t.Errorf("run: %v", err)
	}
	p.close()
	again := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b}) // makes the stream anew
	if err := again.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	again.end()
	stream, err := broker.StateOf(t.Context(), b.JetStream(), broker.StreamRejected)
	if err != nil || stream.Msgs != uint64(len(bodies)) {
		t.Errorf("%d rejections, %v", stream.Msgs, err)
	}
	verifyStore(t, c, b)
}

// Events pour in while the processor is stopped and started again; each counts once.
func TestStopWhileEventsPourIn(t *testing.T) {
	const lives = 4
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 3
	openAlone(t, processor.Options{Config: c, Logger: logger(t), Broker: b}).close() // makes the streams
	pouring, stop := context.WithCancel(t.Context())
	defer stop()
	var sent atomic.Int64
	var wg sync.WaitGroup
	for agent := range 3 {
		wg.Go(func() { sent.Add(pour(pouring, t, b.Conn(), fmt.Sprint("t", agent))) })
	}
	for life := range lives {
		p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
		stream, err := broker.StateOf(t.Context(), b.JetStream(), broker.StreamEvents)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := waitAny(within(t), p, c.Partitions, stream.Last); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		p.end()
	}
	stop()
	wg.Wait()
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	if n := eventsOf(t, verifyStore(t, c, b), c.Partitions); n != uint64(sent.Load()) {
		t.Errorf("%d events counted, %d sent", n, sent.Load())
	}
}

// waitAny waits until one of the partitions has come as far as seq.
func waitAny(ctx context.Context, p *running, partitions int, seq uint64) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	came := make(chan int, partitions)
	for id := range partitions {
		go func() {
			if p.Wait(ctx, id, seq) == nil {
				came <- id
			}
		}()
	}
	select {
	case id := <-came:
		return id, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// pour publishes small and large events until ctx ends or it is enough, and returns how many.
func pour(ctx context.Context, t *testing.T, nc *nats.Conn, thread string) (n int64) {
	pub, err := broker.NewPublisher(nc, broker.PublisherConfig{})
	if err != nil {
		t.Error(err)
		return 0
	}
	defer pub.Close()
	for ctx.Err() == nil && n < 900 { // an edit of a summarized message makes its leaf again: no endless load
		lines := 2
		if n%60 == 0 {
			lines = 60 // large enough for a summary
		}
		msgs := []*nats.Msg{
			{Subject: "thread.message." + thread, Data: []byte(message(fmt.Sprint("m", n)))},
			{Subject: "tool.result." + thread, Data: []byte(toolResult(fmt.Sprint("r", n), lines))},
			{Subject: "message.edited." + thread, Data: fmt.Appendf(nil, `{"message_id":"r%d","content":"short","edit_id":"e"}`, n)},
		}
		for _, ack := range pub.PublishBatch(t.Context(), msgs) {
			if ack.Err != nil {
				t.Error(ack.Err)
				return n
			}
			n++
		}
	}
	return n
}
