package processor_test

import (
	"fmt"
	"testing"
	"time"

	"precis/internal/broker"
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
			f.config.Cluster.Standbys = standbys
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

// An edit is followed while it waits for its message, and rejected later: once, whoever has the partition when the message would have
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
