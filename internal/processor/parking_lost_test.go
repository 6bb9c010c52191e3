package processor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"precis/internal/broker"
	"precis/internal/parked"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/state"
)

// A processor that is alone makes all partitions again if rows of one are lost: what a fork of another partition's thread began with was taken, and is handed over again.
func TestLostRowsOfAFork(t *testing.T) {
	t.Parallel()
	s := newParkedScene(t)
	s.name = s.elsewhere("f", "p")
	s.forkOf(s.name, "p", "")
	s.publish("thread.message."+s.name, message("m2"))
	until(t, "the fork is not parked", s.parked)
	n, home := 0, s.partition("p")
	until(t, "what is handed over stays", func() bool {
		n++
		s.publish("thread.message."+s.beside("b", "p"), message(fmt.Sprint("b", n)))
		list, err := s.View(home).HandedOver()
		return err == nil && len(list) == 0
	})
	until(t, "the fork is not parked", s.parked)
	s.reopened()
	put(t, s.schedule.broker.Conn(), "thread.message."+s.name, message("m3"))
	select {
	case err := <-s.done:
		if !errors.Is(err, state.ErrLost) {
			t.Errorf("it ends with %v", err)
		}
	case <-within(t).Done():
		t.Fatal("the processor goes on")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.open()
	defer s.finish()
	s.settled()
	if h := s.header(s.name); h.Fork.Reason != "" || h.Fork.Messages != 1 || h.Messages != 2 {
		t.Errorf("%+v", h)
	}
	for id := range s.config.Partitions + 1 {
		if mark, err := s.Lost(id); err != nil || mark.Set {
			t.Errorf("partition %d is marked %+v: %v", id, mark, err)
		}
	}
}

// What is missing in a stream that was made since the processor began is not lost, however often it is looked for.
func TestMissingInAnotherStream(t *testing.T) {
	t.Parallel()
	s := newParkedScene(t)
	s.end()
	if err := s.svc.Stop(); err != nil {
		t.Fatal(err)
	}
	s.config.Parking.After = 0
	s.open() // without anything in memory
	defer s.finish()
	js := s.schedule.broker.JetStream()
	stream, err := js.Stream(within(t), parked.Stream)
	if err != nil {
		t.Fatal(err)
	}
	back := s.takeAway()
	if _, err := js.CreateStream(within(t), stream.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
	put(t, s.schedule.broker.Conn(), "thread.message.p", message("m2"))
	until(t, "they are not looked for again", func() bool { return valueOf(t, s.Processor, "precis_parking_total", "unread") > 3 })
	if n := valueOf(t, s.Processor, "precis_parking_total", "lost"); n > 0 {
		t.Errorf("%v lost", n)
	}
	if mark, err := s.Lost(s.partition("p")); err != nil || mark.Set {
		t.Errorf("marked %+v: %v", mark, err)
	}
	back()
	s.settled()
	if rows, err := s.View(s.partition("p")).Messages("p", 1, 3); err != nil || len(rows) != 2 {
		t.Errorf("%d messages: %v", len(rows), err)
	}
}

// A start that has to adopt a record of a parked thread at its position, and does not find the rows, looks once more, and makes the partitions again.
func TestAdoptsWithoutLostRows(t *testing.T) {
	t.Parallel()
	c := requested(t)
	c.Policies[0].Staleness.TTL = time.Hour
	processor.ParkAtOnce(c)
	s := &parkedScene{scene: stage(t, c), t: t}
	defer s.finish()
	s.publish("tool.result.p", large("a"))
	s.tended()
	until(t, "the thread is not parked", s.parked)
	object := s.object()
	s.end()
	before := s.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	s.open()
	s.clock.forward(61 * time.Minute)
	s.tended()
	s.saw("p", 1, "stale tool:a ttl_expired regenerate")
	s.end()
	s.fs = before
	s.takeOne(object)
	s.config.Parking.After = 0
	s.open()
	if n := valueOf(t, s.Processor, "precis_parking_total", "lost"); n != 1 {
		t.Errorf("%v lost", n)
	}
	s.settled()
	id := s.partition("p")
	if h, err := s.View(id).Header("p"); err != nil || h.SummariesActive != 0 {
		t.Errorf("%+v: %v", h, err)
	}
	if mark, err := s.Lost(id); err != nil || mark.Set {
		t.Errorf("marked %+v: %v", mark, err)
	}
	s.saw("p", 1, "stale tool:a ttl_expired regenerate")
}

// stacks are those of all goroutines.
func stacks() string {
	b := make([]byte, 16<<20)
	return string(b[:runtime.Stack(b, true)])
}

// A partition that leaves while it is being parked does not end the parking of the others. No other test runs meanwhile: its stacks would count.
func TestParkingGoesOnBehindAPartitionThatLeaves(t *testing.T) {
	f, _ := parkingFlock(t, 26, 0)
	f.lease, f.settles, f.config.Cluster.Snapshots = time.Minute, 3*time.Second, 0
	m := f.join()
	put(t, f.broker.Conn(), "thread.message.p", message("m1"))
	f.settleAll()
	shelf := parked.New(f.broker.JetStream(), nil)
	until(t, "there is no object", func() bool {
		msgs, _, err := shelf.Size(within(t))
		return err == nil && msgs > 0
	})
	until(t, "the object is not acknowledged", func() bool { return !strings.Contains(stacks(), "(*Shelf).Put(") })
	m.faults.Hold() // before it is parked, for which the server is asked
	until(t, "it is not to be parked", func() bool {
		all := stacks()
		return strings.Contains(all, "(*Processor).settled(") && strings.Contains(all, "(*Shelf).Now(")
	})
	id := broker.PartitionOf("p", f.config.Partitions)
	m.MakeAgain(id)
	until(t, "the partition does not leave", func() bool { return !m.Runs(id) })
	m.faults.Release()
	other := "q"
	for broker.PartitionOf(other, f.config.Partitions) == id {
		other += "q"
	}
	put(t, f.broker.Conn(), "thread.message."+other, message("m1"))
	until(t, "another partition's thread is not parked", func() bool {
		stub, err := m.View(broker.PartitionOf(other, f.config.Partitions)).Parked(other)
		return err == nil && stub != nil
	})
	f.settleAll()
	f.end(m, false)
}

// slowObjects answers, once it is on, when whoever asks gives up.
type slowObjects struct {
	from            state.Objects
	on              atomic.Bool
	waits, canceled atomic.Int64 // those that wait, and those that had to wait no longer, before their time was over
}

func (s *slowObjects) wrap(from state.Objects) state.Objects {
	s.from = from
	return s
}

func (s *slowObjects) Get(ctx context.Context, partition int, object string) ([]byte, error) {
	if !s.on.Load() {
		return s.from.Get(ctx, partition, object)
	}
	s.waits.Add(1)
	defer s.waits.Add(-1)
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.Canceled) {
		s.canceled.Add(1)
	}
	return nil, ctx.Err()
}

// A change of the set of partitions waits for no object that a lane waits for.
func TestSetChangesBesideASlowObject(t *testing.T) {
	t.Parallel()
	f, _ := parkingFlock(t, 27, 0)
	f.config.Cluster.Snapshots = 0
	id := broker.PartitionOf("p", f.config.Partitions)
	first := f.join()
	put(t, f.broker.Conn(), "thread.message.p", message("m1"))
	f.settleAll()
	until(t, "the thread is not parked", func() bool { return len(f.parkedObjects(first)[id]) > 0 })
	f.end(first, false)
	slow := &slowObjects{}
	slow.on.Store(true)
	f.disks, f.disk, f.objects = nil, first.fs, slow.wrap
	second := f.join() // without anything in memory
	f.settleAll()
	put(t, f.broker.Conn(), "thread.message.p", message("m2"))
	other := (id + 1) % f.config.Partitions
	until(t, "each change waits for the object", func() bool {
		if slow.waits.Load() > 0 && second.Runs(other) && !second.MadeAgain(other) {
			second.MakeAgain(other)
		}
		return slow.canceled.Load() > 0
	})
	slow.on.Store(false)
	until(t, "the other partition is not taken again", func() bool { return slices.Contains(second.Owned(), other) })
	f.settleAll()
	f.exact()
	f.end(second, false)
}

// Who takes over a partition that is followed waits for no object that the follower waits for.
func TestTakeOverBesideASlowObject(t *testing.T) {
	t.Parallel()
	f, load := parkingFlock(t, 28, 1)
	id := broker.PartitionOf("p", f.config.Partitions)
	first := f.join()
	load.publish(t, f.broker.Conn(), 100)
	put(t, f.broker.Conn(), "thread.message.p", message("m1"))
	f.settleAll()
	if err := first.Together(within(t)); err != nil {
		t.Fatal(err)
	}
	isParked := func(m *sharer) bool {
		stub, err := m.View(id).Parked("p")
		return err == nil && stub != nil
	}
	until(t, "the thread is not parked", func() bool { return isParked(first) })
	f.snapshotsFrom(f.beside())
	slow, n := &slowObjects{}, 0
	f.objects = slow.wrap
	second := f.join()
	until(t, "the second one does not follow from a snapshot", func() bool { return second.Near(id) && isParked(second) })
	slow.on.Store(true)
	put(t, f.broker.Conn(), "thread.message.p", message("m2"))
	until(t, "a take-over waits for the object", func() bool {
		if n++; n%200 == 0 { // what can't be followed is left alone for a while
			f.clock.forward(11 * time.Second)
		}
		if slow.waits.Load() > 0 {
			second.Yield(id)
		}
		return slow.canceled.Load() > 0
	})
	slow.on.Store(false)
	f.end(first, true)
	f.settleAll()
	f.exact()
	f.end(second, false)
}

// A partition that can't adopt a record at its position, since the rows of a parked thread can't be read, waits alone: what is taken over with it is answered for.
func TestTakeOverBesideRowsThatAreAway(t *testing.T) {
	t.Parallel()
	f, _ := parkingFlock(t, 36, 0)
	f.config.Cluster.Snapshots, f.bulkFrom = 0, 1<<40
	f.config.Policies = requested(t).Policies
	f.config.Policies[0].Staleness.TTL = time.Hour
	id := broker.PartitionOf("p", f.config.Partitions)
	first := f.join()
	put(t, f.broker.Conn(), "tool.result.p", large("a"))
	f.settleAll()
	until(t, "the thread is not parked", func() bool { return len(f.parkedObjects(first)[id]) > 0 })
	f.end(first, false)
	before := first.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	f.disks, f.disk = nil, first.fs
	second := f.join()
	f.settleAll()
	f.clock.forward(61 * time.Minute)
	if err := second.Tended(within(t)); err != nil {
		t.Fatal(err)
	}
	f.settleAll()
	f.end(second, false)
	slow := &slowObjects{}
	slow.on.Store(true)
	f.disks, f.disk, f.objects = nil, before, slow.wrap
	third := f.join()
	until(t, "the others wait for it", func() bool { return len(third.Owned()) == f.config.Partitions })
	if slices.Contains(third.Owned(), id) {
		t.Error("it answers for a partition that lacks a record")
	}
	slow.on.Store(false)
	f.settleAll()
	if h, err := third.View(id).Header("p"); err != nil || h.SummariesActive != 0 {
		t.Errorf("%+v: %v", h, err)
	}
	for _, finding := range replayed(t, f.broker) {
		t.Errorf("replay: %+v", finding)
	}
	f.end(third, false)
}

// awayObject can't be read while it is away.
type awayObject struct {
	from   state.Objects
	object string
	back   atomic.Bool
	asked  atomic.Int64
}

func (o *awayObject) wrap(from state.Objects) state.Objects {
	o.from = from
	return o
}

func (o *awayObject) Get(ctx context.Context, partition int, object string) ([]byte, error) {
	if object == o.object && !o.back.Load() {
		o.asked.Add(1)
		return nil, errors.New("no answer")
	}
	return o.from.Get(ctx, partition, object)
}

// An event with which many records are adopted waits for the rows of all of their parked threads, before anything of it is done.
func TestAdoptsManyRecordsWhenParkedRowsAreBack(t *testing.T) {
	t.Parallel()
	c := requested(t)
	c.Policies[0].Staleness.TTL = time.Hour
	processor.ParkAtOnce(c)
	s := &parkedScene{scene: stage(t, c), t: t}
	defer s.finish()
	outputs := make([]string, 300) // more than are adopted at a time
	for n := range outputs {
		outputs[n] = large(fmt.Sprint("o", n))
	}
	front := "a" // whose records are adopted before those of p
	for broker.PartitionOf(front, s.config.Partitions) != broker.PartitionOf("p", s.config.Partitions) {
		front = string(front[0] + 1)
	}
	put(t, s.schedule.broker.Conn(), "tool.result."+front, outputs...)
	s.publish("tool.result.p", large("a"))
	s.tended()
	until(t, "the thread is not parked", s.parked)
	away := &awayObject{object: s.object()}
	s.end()
	before := s.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	s.open()
	s.publish("tool.result."+s.beside("r", "p"), large("b")) // the records are adopted with it, as what it has decided is
	s.clock.forward(61 * time.Minute)
	s.tended()
	s.saw("p", 1, "stale tool:a ttl_expired regenerate")
	s.end()
	s.fs = before
	s.config.Parking.After = 0
	s.running = start(t, processor.Options{Config: s.config, Logger: logger(t), Broker: s.schedule.broker, FS: s.fs, Now: s.clock.now, Tend: time.Hour, SweepPause: 1, Objects: away.wrap})
	until(t, "the rows are not waited for", func() bool {
		select {
		case err := <-s.done:
			t.Fatalf("it ends: %v", err)
		default:
		}
		return away.asked.Load() > 2
	})
	away.back.Store(true)
	s.settled()
	id := s.partition("p")
	until(t, "the partition is not current", func() bool { return s.Current(id) })
	if h, err := s.View(id).Header("p"); err != nil || h.SummariesActive != 0 {
		t.Errorf("%+v: %v", h, err)
	}
}

// Background work that has waited in vain for the rows of a parked thread leaves its partition alone for a while: whatever else happens there would wait with it.
func TestChoresRestBesideRowsThatAreAway(t *testing.T) {
	t.Parallel()
	c := requested(t)
	c.Policies[0].Staleness.TTL = time.Hour
	processor.ParkAtOnce(c)
	s := &parkedScene{scene: stage(t, c), t: t}
	defer s.finish()
	s.publish("tool.result.p", large("a"))
	s.tended()
	until(t, "the thread is not parked", s.parked)
	away := &awayObject{object: s.object()}
	s.end()
	s.config.Parking.After = 0
	s.running = start(t, processor.Options{Config: s.config, Logger: logger(t), Broker: s.schedule.broker, FS: s.fs, Now: s.clock.now, Tend: time.Hour, SweepPause: 1, Objects: away.wrap})
	s.tended()
	s.clock.forward(61 * time.Minute)
	tend := s.Tender()
	for range 3 {
		tend(within(t))
	}
	if n := away.asked.Load(); n != 1 {
		t.Errorf("the rows are asked for %d times", n)
	}
	s.clock.forward(processor.UnreadRest)
	tend(within(t))
	if n := away.asked.Load(); n != 2 {
		t.Errorf("the rows are asked for %d times behind the rest", n)
	}
	away.back.Store(true)
	s.clock.forward(processor.UnreadRest)
	tend(within(t))
	s.settled()
	s.saw("p", 1, "stale tool:a ttl_expired regenerate")
}

// Whatever crashes, and whenever the objects of parked threads are lost, with forks between the partitions: each start makes again what is lost, and everything is as if nothing had been.
func TestCrashSchedulesOfLostRows(t *testing.T) {
	runSchedules(t, race.Fewer(2, 8), func(s *schedule) {
		s.forks, s.parks, s.mislays = true, true, true
		processor.ParkAtOnce(s.config)
	})
}

// A loss of all rows makes again what is lost, also with forks between the partitions: a bulk that waits for a parent that is given up meanwhile ends.
func TestLostRowsOfForksInCluster(t *testing.T) {
	t.Parallel()
	f, load := parkingFlock(t, 29, 0)
	load.forks = true
	m := f.join()
	for round := range 3 {
		before, lost := valueOf(t, m.Processor, "precis_parking_total", "parked"), valueOf(t, m.Processor, "precis_parking_total", "lost")
		load.publish(t, f.broker.Conn(), 150)
		f.settleAll()
		until(t, "no threads are parked", func() bool { return valueOf(t, m.Processor, "precis_parking_total", "parked") > before })
		if err := f.purge("precis.parked.>"); err != nil {
			t.Fatal(err)
		}
		until(t, fmt.Sprintf("round %d: nothing is lost", round), func() bool {
			load.publish(t, f.broker.Conn(), 20)
			f.settleAll()
			return valueOf(t, m.Processor, "precis_parking_total", "lost") > lost
		})
	}
	f.settleAll()
	f.exact()
	f.end(m, false)
}

// A partition of a cluster keeps its rows if what was lost of them is back when it is opened the next time.
func TestLostRowsThatAreBackInCluster(t *testing.T) {
	t.Parallel()
	f, _ := parkingFlock(t, 34, 0)
	f.config.Cluster.Snapshots, f.bulkFrom = 0, 1<<40
	id := broker.PartitionOf("p", f.config.Partitions)
	first := f.join()
	put(t, f.broker.Conn(), "thread.message.p", message("m1"))
	f.settleAll()
	var objects []string
	until(t, "the thread is not parked", func() bool {
		objects = f.parkedObjects(first)[id]
		return len(objects) > 0
	})
	f.end(first, false)
	store, err := state.Open(processor.StoreDir(f.config.DataDir), state.Options{FS: first.fs, Logger: logger(t)})
	if err == nil {
		err = errors.Join(store.MarkLost(id, objects[0]), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	f.disks, f.disk = nil, first.fs
	second := f.join()
	f.settleAll()
	kept := func(what string) {
		t.Helper()
		if mark, err := second.Lost(id); err != nil || mark.Set {
			t.Errorf("%s: it is marked %+v: %v", what, mark, err)
		}
		if n := second.folded.in([]int{id}); n > 0 {
			t.Errorf("%s: %d events are folded again", what, n)
		}
	}
	kept("marked before the start")
	second.LoseRows(id)
	until(t, "it is not taken again", func() bool { return !second.MadeAgain(id) && slices.Contains(second.Owned(), id) })
	f.settleAll()
	kept("given up")
	f.exact()
	f.end(second, false)
}
