package processor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/summarize"
)

// until waits for something that needs no event.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, every := within(t), time.NewTicker(5*time.Millisecond)
	defer every.Stop()
	for !holds() {
		select {
		case <-every.C:
		case <-ctx.Done():
			t.Fatal(what)
		}
	}
}

// follows waits until a processor's store has partitions of others up to their last events.
func (f *flock) follows(m *sharer, partitions []int) {
	f.t.Helper()
	last := map[int]uint64{}
	log := broker.NewLogReader(f.broker.JetStream(), broker.StreamEvents)
	for _, id := range partitions {
		filter := broker.StrayLane().Filters
		if id < f.config.Partitions {
			filter = broker.PartitionLane(id).Filters
		}
		for _, subject := range filter {
			if at, err := log.Last(within(f.t), subject); err == nil {
				last[id] = max(last[id], at.Seq)
			}
		}
	}
	until(f.t, "the standby does not come near", func() bool {
		for id, seq := range last {
			if at, err := m.Stands(id); err != nil || at < seq {
				return false
			}
		}
		return true
	})
}

// exact compares everything on record with what a processor that is alone decides.
func (f *flock) exact() {
	f.t.Helper()
	want := f.undisturbed()
	for _, stream := range []string{broker.StreamSummaries, broker.StreamRejected} {
		compareRecords(f.t, stream, want[stream], records(f.t, f.broker, stream))
	}
	for _, finding := range replayed(f.t, f.broker) {
		f.t.Errorf("replay: %+v", finding)
	}
}

// A standby takes over what a killed processor had, and folds nothing but what came last. Without one, the whole log of the partitions
// is folded.
func TestStandbyTakesOver(t *testing.T) {
	for _, standbys := range []int{1, 0} {
		t.Run(fmt.Sprint("standbys=", standbys), func(t *testing.T) {
			t.Parallel()
			f := newFlock(t, 3)
			f.config.Cluster.Standbys, f.config.Cluster.Snapshots = standbys, 0
			load := newLoad(f.rng)
			load.threads = 12
			first, second := f.pair(func() { load.publish(t, f.broker.Conn(), 150) })
			load.publish(t, f.broker.Conn(), 150)
			f.settleAll()
			had := first.Owned()
			if standbys > 0 {
				f.follows(second, had)
			}
			before := second.folded.in(had)
			f.end(first, true)
			load.publish(t, f.broker.Conn(), 10)
			f.settleAll()
			all, folded := f.eventsOf(had), second.folded.in(had)-before
			if standbys > 0 && folded > 10 || standbys == 0 && folded < all-10 {
				t.Errorf("of %d events the next owner folds %d", all, folded)
			}
			f.exact()
			f.end(second, false)
		})
	}
}

// pair starts a processor, and another one that takes its share when something has been published.
func (f *flock) pair(publish func()) (first, second *sharer) {
	f.t.Helper()
	first = f.join()
	publish()
	second = f.join()
	until(f.t, "the second processor takes nothing", func() bool { return len(second.Owned()) > 0 })
	f.settleAll()
	return first, second
}

// An edit is followed while it waits for its message, and rejected later: once, by the processor that has the partition when the message would have
// come.
func TestStandbyFollowsWaitingEdit(t *testing.T) {
	t.Parallel()
	f := newFlock(t, 1)
	f.config.Cluster.Standbys = 1
	first, second := f.pair(func() {})
	had := first.Owned()
	names := f.threadsOf(had, 0)
	say := func(n int) {
		for _, name := range names {
			for range n {
				f.next++
				put(t, f.broker.Conn(), "thread.message."+name, fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"Go on."}`, f.next))
			}
		}
	}
	say(1)
	for _, name := range names {
		put(t, f.broker.Conn(), "message.edited."+name, `{"message_id":"none","edit_id":"e","action":"replace","content":"New."}`)
	}
	f.follows(second, had)
	say(f.config.Limits.PendingEditEvents)
	f.follows(second, had)
	f.end(first, true)
	say(1)
	f.settleAll()
	rejected := 0
	for _, list := range records(t, f.broker, broker.StreamRejected) {
		rejected += len(list)
	}
	if rejected != len(names) {
		t.Errorf("%d rejections of %d edits", rejected, len(names))
	}
	f.exact()
	f.end(second, false)
}

// eventsOf counts the events of partitions.
func (f *flock) eventsOf(partitions []int) (n int) {
	for _, id := range partitions {
		if id == f.config.Partitions {
			continue
		}
		err := broker.NewLogReader(f.broker.JetStream(), broker.StreamEvents).Scan(within(f.t), 1, broker.PartitionLane(id).Filters, func(broker.Stored) error {
			n++
			return nil
		}, nil)
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return n
}

// A store has applied an event of a thread, as one whose processor has yet to notice that it lost the partition does. The next owner had decided
// something before that event came: the rows are not what a recovery would make of it, and are refused.
func TestStoreAheadOfARecord(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	now, later := &clockAhead{}, &clockAhead{} // the first one's own: to it, nothing expires
	c.Partitions = 1
	c.Policies[0].Staleness.TTL = time.Hour
	open := func(fs vfs.FS, clock *clockAhead) (*processor.Processor, error) {
		return processor.Open(t.Context(), processor.Options{Config: c, Logger: logger(t), Broker: b, FS: fs, Now: clock.now, Tend: time.Hour})
	}
	run := func(fs vfs.FS, clock *clockAhead) (p *processor.Processor, end func()) {
		p, err := open(fs, clock)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(within(t))
		ran := make(chan error, 1)
		go func() { ran <- p.Run(ctx) }()
		if err := p.Settled(ctx); err != nil {
			t.Fatal(err)
		}
		return p, func() {
			stop()
			if err := errors.Join(<-ran, p.Close(context.Background())); err != nil && !errors.Is(err, processor.ErrOtherWriter) {
				t.Error(err)
			}
		}
	}
	fs := vfs.NewMem()
	first, endFirst := run(fs, now)
	put(t, b.Conn(), "tool.result.t", toolResult("m1", 100))
	if err := first.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	second, endSecond := run(vfs.NewMem(), later)
	later.forward(2 * time.Hour)
	if err := second.Tended(within(t)); err != nil { // the summary expires
		t.Fatal(err)
	}
	seq := put(t, b.Conn(), "thread.message.t", `{"message_id":"m2","role":"user","content":"Go on."}`)
	if err := first.Wait(within(t), 0, seq); err != nil {
		t.Fatal(err)
	}
	endFirst()
	if err := second.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	endSecond()
	p, err := open(fs, now)
	if err == nil {
		_ = p.Close(context.Background())
	}
	if !errors.Is(err, processor.ErrOtherWriter) || !strings.Contains(err.Error(), "took effect at event 1, and the store has applied event 2 of its thread") {
		t.Errorf("the store is opened: %v", err)
	}
}

// A next owner that begins far back puts its configuration in force where the log ended at its claim, and not before: up to there others may
// have folded the partition under the configuration on record.
func TestNextOwnerConfiguresAtTheEnd(t *testing.T) {
	b := openBroker(t, t.TempDir())
	run := func(maxChars summarize.Size) {
		t.Helper()
		c := settings(t)
		c.Partitions, c.Cluster.Name, c.Policies[0].ToolOutput.MaxSummaryChars = 1, "c", maxChars
		p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b, FS: vfs.NewMem()})
		until(t, "the partitions are not taken", func() bool { return len(p.Owned()) == 2 })
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		p.end()
	}
	run(800)
	var last uint64
	for n := range 20 {
		last = put(t, b.Conn(), "thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"Go on."}`, n))
	}
	run(700)
	m, err := broker.NewLogReader(b.JetStream(), broker.StreamSummaries).Last(within(t), string(events.ConfigApplied)+"."+events.PartitionToken(0))
	if err != nil {
		t.Fatal(err)
	}
	var head events.Head
	if err := json.Unmarshal(m.Data, &head); err != nil {
		t.Fatal(err)
	}
	if head.EffectiveSeq != last {
		t.Errorf("the configuration takes effect at event %d of %d", head.EffectiveSeq, last)
	}
}
