package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"precis/events"
)

func startSubscription(t *testing.T) (*testServer, records) {
	t.Helper()
	checkLeaks(t)
	s := startServer(t)
	nc := s.connect()
	s.stream(nc, summariesStream())
	return s, records{t, nc}
}

// follow runs a subscription until it has handled n records, and returns them as "type id".
func follow(t *testing.T, s *testServer, opts events.SubscriptionOptions, n int, handle func(events.Delivery) error) []string {
	t.Helper()
	sub, err := events.Subscribe(within(t), s.connect(), opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	var got []string
	err = sub.Run(ctx, func(_ context.Context, d events.Delivery) error {
		if err := handle(d); err != nil {
			return err
		}
		got = append(got, d.ID)
		if len(got) == n {
			stop()
		}
		return nil
	})
	if err != nil {
		t.Errorf("run: %v", err)
	}
	return got
}

func always(events.Delivery) error { return nil }

func want(t *testing.T, got []string, ids ...string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(ids, " ") {
		t.Errorf("got %v, want %v", got, ids)
	}
}

func TestSubscriptionResumes(t *testing.T) {
	s, r := startSubscription(t)
	for n := range 4 {
		r.created(fmt.Sprintf("t.%d", n), fmt.Sprintf("sum_%d", n))
	}
	// A restarted server has forgotten the naks, and redelivers after the ack wait.
	opts := events.SubscriptionOptions{Durable: "mine", AckWait: time.Second}
	want(t, follow(t, s, opts, 2, always), "summary.created/sum_0", "summary.created/sum_1")
	s.stop()
	s.start()
	opts.From = events.FromNow // has no effect: the server knows the name
	want(t, follow(t, s, opts, 2, always), "summary.created/sum_2", "summary.created/sum_3")
}

func TestSubscriptionFilters(t *testing.T) {
	s, r := startSubscription(t)
	r.started("a b", "sum_1")
	r.created("other", "sum_2")
	r.created("a b", "sum_1")
	r.failed("a b", "sum_3")
	for name, c := range map[string]struct {
		opts events.SubscriptionOptions
		want []string
	}{
		"thread": {events.SubscriptionOptions{Thread: "a b"}, []string{"summary.started/sum_1", "summary.created/sum_1", "summary.failed/sum_3"}},
		"type":   {events.SubscriptionOptions{Types: []events.Type{events.SummaryCreated}}, []string{"summary.created/sum_2", "summary.created/sum_1"}},
		"both":   {events.SubscriptionOptions{Thread: "other", Types: []events.Type{events.SummaryCreated, events.SummaryFailed}}, []string{"summary.created/sum_2"}},
	} {
		c.opts.Durable = name
		want(t, follow(t, s, c.opts, len(c.want), always), c.want...)
	}
}

func TestSubscriptionFromNow(t *testing.T) {
	s, r := startSubscription(t)
	r.created("t", "sum_old")
	opts := events.SubscriptionOptions{Durable: "now", From: events.FromNow}
	if _, err := events.Subscribe(within(t), r.nc, opts); err != nil {
		t.Fatal(err)
	}
	r.created("t", "sum_new")
	want(t, follow(t, s, opts, 1, always), "summary.created/sum_new")
}

// A record whose handler fails is redelivered, and none overtakes it.
func TestSubscriptionRetries(t *testing.T) {
	s, r := startSubscription(t)
	for n := range 3 {
		r.created("t", fmt.Sprintf("sum_%d", n))
	}
	var tries []uint64
	got := follow(t, s, events.SubscriptionOptions{Durable: "mine", RetryWait: 50 * time.Millisecond}, 3, func(d events.Delivery) error {
		if d.ID != "summary.created/sum_1" {
			return nil
		}
		if tries = append(tries, d.Attempt); len(tries) < 3 {
			return errors.New("not now")
		}
		return nil
	})
	want(t, got, "summary.created/sum_0", "summary.created/sum_1", "summary.created/sum_2")
	if fmt.Sprint(tries) != "[1 2 3]" {
		t.Errorf("attempts %v", tries)
	}
}

// A record whose handling the context interrupted is redelivered at once.
func TestSubscriptionInterrupted(t *testing.T) {
	s, r := startSubscription(t)
	r.created("t", "sum_1")
	opts := events.SubscriptionOptions{Durable: "mine", AckWait: time.Hour}
	sub, err := events.Subscribe(within(t), s.connect(), opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(within(t))
	err = sub.Run(ctx, func(ctx context.Context, _ events.Delivery) error { stop(); return ctx.Err() })
	if err != nil {
		t.Errorf("run: %v", err)
	}
	want(t, follow(t, s, opts, 1, always), "summary.created/sum_1")
}

func TestSubscriptionThroughRestart(t *testing.T) {
	s, r := startSubscription(t)
	r.created("t", "sum_0")
	restarted := false
	got := follow(t, s, events.SubscriptionOptions{Durable: "mine"}, 2, func(d events.Delivery) error {
		if !restarted { // between two records
			restarted = true
			s.stop()
			s.start()
			r.created("t", "sum_1")
		}
		return nil
	})
	// The first ack may have been lost with the server: then the record may arrive twice.
	if got[0] != "summary.created/sum_0" || got[1] != "summary.created/sum_0" && got[1] != "summary.created/sum_1" {
		t.Errorf("got %v", got)
	}
}

func TestDeliveryRecord(t *testing.T) {
	s, r := startSubscription(t)
	r.started("a b", "sum_1")
	r.created("a b", "sum_1")
	r.publish(events.SummaryInvalidated, "a b", "sum_1", &events.Invalidated{SummaryID: "sum_1"})
	r.failed("a b", "sum_1")
	r.publish(events.UsageRecorded, "a b", "sum_1", &events.UsageRecord{SummaryID: "sum_1"})
	seq := uint64(0)
	follow(t, s, events.SubscriptionOptions{Durable: "mine"}, 5, func(d events.Delivery) error {
		seq++
		record, err := d.Record()
		if err != nil {
			t.Errorf("%s: %v", d.ID, err)
			return nil
		}
		if *record.Common().ThreadID != "a b" || d.Thread != "a b" || d.Seq != seq || d.Time.IsZero() || d.Attempt != 1 {
			t.Errorf("%+v", d)
		}
		return nil
	})
	if _, err := (events.Delivery{Type: events.ToolResult}).Record(); !errors.Is(err, events.ErrType) {
		t.Errorf("an event: %v", err)
	}
	if _, err := (events.Delivery{Type: events.SummaryCreated, Data: []byte("{")}).Record(); err == nil {
		t.Error("broken data is read")
	}
}

func TestSubscriptionWrongUse(t *testing.T) {
	_, r := startSubscription(t)
	for name, bad := range map[string]events.SubscriptionOptions{
		"from":     {Durable: "d", From: "yesterday"},
		"ack wait": {Durable: "d", AckWait: time.Millisecond},
		"type":     {Durable: "d", Types: []events.Type{events.ToolResult}},
		"thread":   {Durable: "d", Thread: strings.Repeat("a", 300)},
	} {
		if _, err := events.Subscribe(within(t), r.nc, bad); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A second session that shares a durable name by mistake gets an error; the first one keeps its filters.
func TestDurableNameInUse(t *testing.T) {
	s, r := startSubscription(t)
	first := events.SubscriptionOptions{Durable: "agent", Thread: "a"}
	sub, err := events.Subscribe(within(t), r.nc, first)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]events.SubscriptionOptions{
		"thread": {Durable: "agent", Thread: "b"},
		"all":    {Durable: "agent"},
		"types":  {Durable: "agent", Thread: "a", Types: []events.Type{events.SummaryCreated}},
	} {
		_, err := events.Subscribe(within(t), r.nc, other)
		if !errors.Is(err, events.ErrDurableInUse) || !strings.Contains(err.Error(), "summary.created.a") {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if _, err := events.Subscribe(within(t), r.nc, first); err != nil {
		t.Errorf("the same again: %v", err)
	}
	r.created("b", "sum_b")
	r.created("a", "sum_a")
	ctx, stop := context.WithCancel(within(t))
	var got []string
	err = sub.Run(ctx, func(_ context.Context, d events.Delivery) error {
		got = append(got, d.ID)
		stop()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	want(t, got, "summary.created/sum_a")
	if err := events.Unsubscribe(within(t), r.nc, "agent"); err != nil {
		t.Error(err)
	}
	want(t, follow(t, s, events.SubscriptionOptions{Durable: "agent", Thread: "b"}, 1, always), "summary.created/sum_b")
	if err := events.Unsubscribe(within(t), r.nc, "unknown"); err != nil {
		t.Errorf("unsubscribe of an unknown name: %v", err)
	}
}

// Without a durable name nothing stays on the server, a failed record is retried, and a server restart neither loses
// nor repeats one.
func TestSubscriptionOfASession(t *testing.T) {
	s, r := startSubscription(t)
	r.created("t", "sum_0")
	sub, err := events.Subscribe(within(t), r.nc, events.SubscriptionOptions{Thread: "t", From: events.FromNow, RetryWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r.created("t", "sum_1") // before Run, and after Subscribe
	r.created("other", "sum_x")
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	var got []string
	attempts := 0
	err = sub.Run(ctx, func(_ context.Context, d events.Delivery) error {
		if attempts++; attempts < 3 {
			return errors.New("not yet")
		}
		got = append(got, d.ID)
		switch len(got) {
		case 1:
			s.stop()
			s.start()
			go r.created("t", "sum_2")
		case 2:
			stop()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	want(t, got, "summary.created/sum_1", "summary.created/sum_2")
	want(t, follow(t, s, events.SubscriptionOptions{Thread: "t"}, 3, always), "summary.created/sum_0", "summary.created/sum_1", "summary.created/sum_2")
}

// A subscription that includes rejections gets them from REJECTED, beside the records of SUMMARIES.
func TestSubscriptionOfRejections(t *testing.T) {
	s, r := startSubscription(t)
	s.stream(r.nc, rejectedStream())
	r.created("t", "sum_1")
	r.rejected("t", 7)
	r.rejected("other", 8)
	for _, durable := range []string{"", "mine"} {
		opts := events.SubscriptionOptions{Durable: durable, Thread: "t", Types: []events.Type{events.SummaryCreated, events.EventRejected}}
		var refused []uint64
		got := follow(t, s, opts, 2, func(d events.Delivery) error {
			if d.Type != events.EventRejected {
				_, err := d.Rejected()
				if !errors.Is(err, events.ErrType) {
					t.Errorf("a record read as a rejection: %v", err)
				}
				return nil
			}
			rejected, err := d.Rejected()
			if err != nil || d.Thread != "t" {
				return fmt.Errorf("thread %q: %w", d.Thread, err)
			}
			refused = append(refused, rejected.StreamSeq)
			return nil
		})
		if len(got) != 2 || len(refused) != 1 || refused[0] != 7 {
			t.Errorf("durable %q: records %v, rejections of %v", durable, got, refused)
		}
	}
}

// A handler may take longer than the server waits for a dead one: no other consumer gets its record.
func TestSubscriptionSlowHandler(t *testing.T) {
	s, r := startSubscription(t)
	r.created("t", "sum_1")
	r.created("t", "sum_2")
	opts := events.SubscriptionOptions{Durable: "mine", AckWait: time.Second}
	ctx, stop := context.WithCancel(within(t))
	handled := make(chan string, 10)
	var running sync.WaitGroup
	for range 2 {
		sub, err := events.Subscribe(within(t), s.connect(), opts)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			err := sub.Run(ctx, func(_ context.Context, d events.Delivery) error {
				handled <- d.ID
				if d.ID == "summary.created/sum_1" {
					<-time.After(opts.AckWait * 3 / 2)
				}
				return nil
			})
			if err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	want(t, []string{<-handled, <-handled}, "summary.created/sum_1", "summary.created/sum_2")
	stop()
	running.Wait()
}

// Run ends with its context even while there is no server.
func TestSubscriptionEndsWithoutServer(t *testing.T) {
	s, _ := startSubscription(t)
	sub, err := events.Subscribe(within(t), s.connect(), events.SubscriptionOptions{Durable: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() { ended <- sub.Run(ctx, func(context.Context, events.Delivery) error { return nil }) }()
	s.stop()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("run: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it still runs")
	}
}
