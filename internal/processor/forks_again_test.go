package processor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
)

// kin are a thread, a fork of it in another partition, and a thread beside the fork that had begun when it was to be forked.
type kin struct {
	parent, fork, late string
	from, to           int
}

// forked publishes a thread and forks of it.
func (f *flock) forked() (k kin) {
	f.t.Helper()
	home := func(name string) int { return broker.PartitionOf(name, f.config.Partitions) }
	k = kin{parent: "parent", fork: "fork", late: "late"}
	for k.from = home(k.parent); home(k.fork) == k.from; k.fork += "k" {
	}
	for k.to = home(k.fork); home(k.late) != k.to; k.late += "e" {
	}
	conn := f.broker.Conn()
	put(f.t, conn, "thread.message."+k.parent, message("m1"), message("m2"), message("m3"))
	put(f.t, conn, "tool.result."+k.parent, toolResult("r1", 300))
	put(f.t, conn, "thread.message."+k.late, message("m1"))
	for _, name := range []string{k.fork, k.late} {
		put(f.t, conn, "thread.forked."+name, fmt.Sprintf(`{"parent_thread_id":%q,"fork_id":"of %s"}`, k.parent, name))
	}
	put(f.t, conn, "thread.message."+k.fork, message("m4"))
	return k
}

// inherits verifies what the fork began with, in the store of one processor.
func (k kin) inherits(t *testing.T, what string, m *sharer) {
	t.Helper()
	h, err := m.View(k.to).Header(k.fork)
	if err != nil || h == nil || h.Fork.Reason != "" || h.Fork.Messages != 4 || h.Messages != 1 {
		t.Errorf("%s: %+v: %v", what, h, err)
	}
}

// nothingHanded waits until the parent's partition holds no copy for a fork, which has what was handed over.
func (f *flock) nothingHanded(k kin, what string, m *sharer) {
	f.t.Helper()
	n := 0
	until(f.t, what+": a copy stays", func() bool {
		n++
		put(f.t, f.broker.Conn(), "thread.message."+k.parent, message(fmt.Sprint(what, n)))
		f.settleAll()
		list, err := m.View(k.from).HandedOver()
		return err == nil && len(list) == 0
	})
}

// A fork begins with its parent, whichever of their partitions is made again, and in which order.
func TestForkWhosePartitionsAreMadeAgain(t *testing.T) {
	t.Parallel()
	f := newFlock(t, 31)
	f.config.Cluster.Standbys, f.config.Cluster.Snapshots = 0, 0
	first := f.join()
	k := f.forked()
	f.settleAll()
	k.inherits(t, "at first", first)
	again := func(id int) {
		t.Helper()
		first.MakeAgain(id)
		until(t, "it is not made again", func() bool { return !first.MadeAgain(id) })
		f.settleAll()
	}
	for round, ids := range [][]int{{k.from, k.to}, {k.to}, {k.from}, {k.from, k.to}} {
		for _, id := range ids {
			again(id)
		}
		what := fmt.Sprintf("round-%d-", round)
		k.inherits(t, what, first)
		f.nothingHanded(k, what, first)
	}
	put(t, f.broker.Conn(), "message.edited."+k.fork, `{"message_id":"m2","content":"short","edit_id":"e"}`)
	f.settleAll()
	f.exact()
	f.end(first, false)
}

// So it does where the partitions are followed.
func TestForkWhosePartitionsAreFollowedAgain(t *testing.T) {
	t.Parallel()
	f := newFlock(t, 32)
	f.config.Cluster.Standbys, f.config.Cluster.Snapshots = 1, 0
	first := f.join()
	k := f.forked()
	f.settleAll()
	if err := first.Together(within(t)); err != nil {
		t.Fatal(err)
	}
	second, n := f.join(), 0
	follows := func() bool {
		if n++; n%200 == 0 { // what can't be followed is left alone for a while
			f.clock.forward(11 * time.Second)
		}
		return second.Near(k.from) && second.Near(k.to)
	}
	until(t, "the second one does not follow", follows)
	again := func(id int) {
		t.Helper()
		second.FollowAgain(id)
		until(t, "it is not followed again", func() bool { return follows() && !second.MadeAgain(id) })
		f.settleAll()
		f.follows(second, []int{k.from, k.to})
	}
	again(k.from)
	f.nothingHanded(k, "followed", second)
	again(k.to)
	k.inherits(t, "followed", second)
	f.end(first, true)
	f.settleAll()
	k.inherits(t, "taken over", second)
	f.exact()
	f.end(second, false)
}

// A partition that can't be followed behind a fork has the cluster keep all partitions together only where the parent's is to stay another processor's.
func TestOrphanOfAnOwnPartition(t *testing.T) {
	t.Parallel()
	f := newFlock(t, 33)
	f.config.Cluster.Standbys, f.config.Cluster.Snapshots, f.lease = 0, 0, 5*time.Second
	first, second := f.join(), f.join()
	until(t, "the partitions are not divided", func() bool {
		a, b := first.Owned(), second.Owned()
		return len(a) > 1 && len(b) > 0 && len(a)+len(b) == f.config.Partitions+1
	})
	kv, err := f.broker.JetStream().KeyValue(within(t), "precis_flock")
	if err != nil {
		t.Fatal(err)
	}
	own := first.Owned()
	first.Orphan(within(t), own[0], own[1])
	if _, err := kv.Get(within(t), "together"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("behind a fork of an own partition's thread: %v", err)
	}
	first.Orphan(within(t), own[0], second.Owned()[0])
	if _, err := kv.Get(within(t), "together"); err != nil {
		t.Errorf("behind a fork of another one's: %v", err)
	}
	f.end(first, false)
	f.end(second, false)
}
