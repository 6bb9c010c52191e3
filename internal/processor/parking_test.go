package processor_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/api"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/parked"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/service"
	"precis/state"
)

// Whatever crashes while threads leave the store and come back all the time, the store, the records, prompts and audits are those of a processor that parks
// none: what a schedule verifies does not know of it.
func TestCrashSchedulesOfParkedThreads(t *testing.T) {
	runSchedules(t, race.Fewer(3, 12), func(s *schedule) {
		s.forks = s.rng.IntN(2) == 0
		processor.ParkAtOnce(s.config)
		s.parks = true
	})
}

// A processor without a store begins from snapshots that have parked threads, and goes on with them.
func TestBeginsFromSnapshotsOfParkedThreads(t *testing.T) {
	t.Parallel()
	f, load := parkingFlock(t, 21, 0)
	first := f.join()
	load.publish(t, f.broker.Conn(), 400)
	f.settleAll()
	until(t, "no threads are parked", func() bool { parked, back := first.Parked(); return parked-back > 4 })
	f.snapshotsOf()
	f.end(first, true)
	f.disks = nil
	second := f.join()
	f.settleAll()
	if n := valueOf(t, second.Processor, "precis_snapshots_total", "used"); n == 0 {
		t.Error("no partition begins from a snapshot")
	}
	load.publish(t, f.broker.Conn(), 100)
	f.settleAll()
	until(t, "none is parked, or came back", func() bool { parked, back := second.Parked(); return parked > 0 && back > 0 })
	f.exact()
	f.end(second, false)
}

// snapshotsOf waits until each partition has a snapshot of what is there. One is made where there are events: those of other threads leave the
// parked ones alone.
func (f *flock) snapshotsOf() {
	f.t.Helper()
	f.snapshotsFrom(f.beside())
}

// beside publishes an event of another thread.
func (f *flock) beside() (seq uint64) {
	f.besides++
	return put(f.t, f.broker.Conn(), fmt.Sprint("thread.message.beside", f.besides%12), fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"Look at the harbour."}`, f.besides))
}

// snapshotsFrom waits until each partition has a snapshot that was taken at an event, or behind it.
func (f *flock) snapshotsFrom(seq uint64) {
	f.t.Helper()
	last := time.Time{}
	until(f.t, "there are no snapshots", func() bool {
		if time.Since(last) > 20*time.Millisecond {
			f.beside()
			last = time.Now()
		}
		for id := range f.config.Partitions + 1 {
			if !slices.ContainsFunc(f.live, func(m *sharer) bool { return m.SnapshotAt(id) >= seq }) {
				return false
			}
		}
		return true
	})
	f.settleAll()
}

// purge removes objects of parked threads.
func (f *flock) purge(subject string) error {
	stream, err := f.broker.JetStream().Stream(within(f.t), parked.Stream)
	if err != nil {
		return err
	}
	return stream.Purge(within(f.t), jetstream.WithPurgeSubject(subject))
}

// parkedObjects are, by partition, the objects of the threads that are parked in a processor's store.
func (f *flock) parkedObjects(m *sharer) [][]string {
	f.t.Helper()
	all := make([][]string, f.config.Partitions+1)
	for id := range all {
		err := m.View(id).ParkedThreads(func(name string, k state.Parked) (bool, error) {
			if !strings.HasPrefix(name, "beside") {
				all[id] = append(all[id], k.Object)
			}
			return true, nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return all
}

// parkingFlock is a cluster whose processors park every thread, and make snapshots all the time. Their clocks agree: by one that is behind, a thread is idle later.
func parkingFlock(t *testing.T, seed uint64, standbys int) (*flock, *load) {
	f := newFlock(t, seed)
	processor.ParkAtOnce(f.config)
	f.config.Cluster.Standbys, f.config.Cluster.Snapshots, f.bulkFrom, f.skew = standbys, time.Millisecond, 10, new(time.Duration)
	load := newLoad(f.rng)
	load.threads = 12
	return f, load
}

// Two processors whose stores and snapshots name objects that are gone make the partitions again from the log, and go on.
func TestLostRowsInCluster(t *testing.T) {
	t.Parallel()
	f, load := parkingFlock(t, 22, 1)
	first, second := f.join(), f.join()
	load.publish(t, f.broker.Conn(), 400)
	f.settleAll()
	parkedBy := func(m *sharer) float64 { return valueOf(t, m.Processor, "precis_parked_threads", "") }
	until(t, "no threads are parked", func() bool { return parkedBy(first)+parkedBy(second) > 4 })
	f.snapshotsOf()
	stream, err := f.broker.JetStream().Stream(within(t), parked.Stream)
	if err == nil {
		err = stream.Purge(within(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	lost := func() float64 {
		return valueOf(t, first.Processor, "precis_parking_total", "lost") + valueOf(t, second.Processor, "precis_parking_total", "lost")
	}
	until(t, "nothing is lost", func() bool {
		load.publish(t, f.broker.Conn(), 20)
		f.settleAll()
		return lost() > 0
	})
	f.settleAll()
	until(t, "partitions stay marked", func() bool {
		for _, m := range f.live {
			for _, id := range m.Owned() {
				if mark, err := m.Lost(id); err != nil || mark.Set || m.MadeAgain(id) {
					return false
				}
			}
		}
		return true
	})
	f.exact()
	f.end(first, false)
	f.end(second, false)
}

// A partition whose rows were dropped begins from no snapshot that names what it has lost, and from others, whatever happened to the process that dropped them.
func TestMarkedPartitionsAndSnapshots(t *testing.T) {
	t.Parallel()
	f, load := parkingFlock(t, 23, 0)
	first := f.join()
	load.publish(t, f.broker.Conn(), 400)
	f.settleAll()
	var objects [][]string
	until(t, "no threads are parked", func() bool {
		parked, back := first.Parked()
		objects = f.parkedObjects(first)
		return parked-back > 4 && len(objects[1])+len(objects[3]) > 0
	})
	f.snapshotsFrom(f.beside()) // the newest ones name these objects
	f.end(first, false)
	f.disks = nil
	store, err := state.Open(processor.StoreDir(f.config.DataDir), state.Options{FS: first.fs, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	named, others := 0, 0
	for id, lost := range objects { // their rows are dropped, and the process ends before they are made
		if len(lost) == 0 || id%2 == 0 {
			lost, others = []string{"another"}, others+1
		} else {
			named++
		}
		for _, object := range lost {
			err = errors.Join(err, store.MarkLost(id, object), store.Drop(id), f.purge(fmt.Sprintf("precis.parked.%d.%s.*", id, object)))
		}
	}
	if err = errors.Join(err, store.Close()); err != nil || named == 0 || others == 0 {
		t.Fatalf("%d and %d partitions: %v", named, others, err)
	}
	f.disk, f.bulkFrom = first.fs, 1<<40 // however little a snapshot is ahead, and the next one is due
	second := f.join()
	f.settleAll()
	if used, refused := valueOf(t, second.Processor, "precis_snapshots_total", "used"), valueOf(t, second.Processor, "precis_snapshots_total", "refused"); used < float64(others) || refused < float64(named) {
		t.Errorf("%v snapshots are used, of %d, and %v refused, of %d", used, others, refused, named)
	}
	until(t, "partitions stay marked", func() bool {
		for id := range f.config.Partitions + 1 {
			if mark, err := second.Lost(id); err != nil || mark.Set {
				return false
			}
		}
		return true
	})
	until(t, "no other snapshots are made", func() bool {
		return valueOf(t, second.Processor, "precis_snapshots_total", "made") >= float64(f.config.Partitions+1)
	})
	f.exact()
	f.end(second, false)
}

// parkedByNext ends a processor whose partition has a parked thread, and has the next owner park it as well. It returns the former's disk.
func (f *flock) parkedByNext(first *sharer, id int) (away *vfs.MemFS, second *sharer) {
	f.t.Helper()
	isParked := func(m *sharer) bool { return len(f.parkedObjects(m)[id]) > 0 }
	until(f.t, "the thread is not parked", func() bool { return isParked(first) })
	f.end(first, false)
	f.disks = nil
	second = f.join()
	f.settleAll()
	until(f.t, "the thread is not parked by the next owner", func() bool { return isParked(second) })
	return first.fs, second
}

// A processor that was away for so long that objects which its store names were deleted in order begins from a snapshot, however few events it lacks: nothing is lost.
func TestObjectsDeletedWhileAway(t *testing.T) {
	t.Parallel()
	f, _ := parkingFlock(t, 25, 0)
	f.bulkFrom = 1 << 40
	first := f.join()
	say := func(n int) uint64 { return put(t, f.broker.Conn(), "thread.message.p", message(fmt.Sprint("m", n))) }
	id := broker.PartitionOf("p", f.config.Partitions)
	say(1)
	f.settleAll()
	away, second := f.parkedByNext(first, id)
	seq := say(2)
	f.settleAll()
	until(t, "the object is not noted", func() bool {
		n := 0
		err := second.View(id).UnparkedObjects(func(u state.Unparked) (bool, error) {
			if !u.Since.IsZero() {
				n++
			}
			return true, nil
		})
		return err == nil && n > 0
	})
	f.clock.forward(15 * 24 * time.Hour)
	until(t, "the object is not deleted", func() bool { return valueOf(t, second.Processor, "precis_parking_total", "deleted") > 0 })
	until(t, "there is no snapshot of few events", func() bool { return second.SnapshotAt(id) >= seq })
	f.end(second, false)
	f.disks, f.disk = nil, away
	third := f.join()
	f.settleAll()
	if n := valueOf(t, third.Processor, "precis_snapshots_total", "used"); n == 0 {
		t.Error("no partition begins from a snapshot")
	}
	say(3)
	f.settleAll()
	if n := valueOf(t, third.Processor, "precis_parking_total", "lost") + valueOf(t, third.Processor, "precis_parking_total", "unread"); n > 0 {
		t.Errorf("%v reads find nothing", n)
	}
	if rows, err := third.View(id).Messages("p", 1, 4); err != nil || len(rows) != 3 {
		t.Errorf("%d messages: %v", len(rows), err)
	}
	f.exact()
	f.end(third, false)
}

// So does one that lacks no event, but what was decided by the clock while it was away.
func TestExpiredWhileAway(t *testing.T) {
	t.Parallel()
	f, _ := parkingFlock(t, 30, 0)
	f.bulkFrom = 1 << 40
	f.config.Policies = requested(t).Policies
	f.config.Policies[0].Staleness.TTL = time.Hour
	id := broker.PartitionOf("p", f.config.Partitions)
	tended := func(m *sharer) {
		f.settleAll()
		if err := m.Tended(within(t)); err != nil {
			t.Fatal(err)
		}
		f.settleAll()
	}
	first := f.join()
	put(t, f.broker.Conn(), "tool.result.p", large("a"))
	tended(first)
	away, second := f.parkedByNext(first, id)
	f.clock.forward(61 * time.Minute)
	tended(second)
	f.clock.forward(4 * 24 * time.Hour)
	began := f.clock.now()
	until(t, "there is no snapshot of what has expired", func() bool { return !second.SnapshotTime(id).Before(began) })
	f.clock.forward(15 * 24 * time.Hour)
	until(t, "the object is not deleted", func() bool { return valueOf(t, second.Processor, "precis_parking_total", "deleted") > 0 })
	f.end(second, false)
	f.disks, f.disk = nil, away
	third := f.join()
	f.settleAll()
	if n := valueOf(t, third.Processor, "precis_snapshots_total", "used"); n == 0 {
		t.Error("no partition begins from a snapshot")
	}
	if n := valueOf(t, third.Processor, "precis_parking_total", "lost") + valueOf(t, third.Processor, "precis_parking_total", "unread"); n > 0 {
		t.Errorf("%v reads find nothing", n)
	}
	if h, err := third.View(id).Header("p"); err != nil || h.SummariesActive != 0 {
		t.Errorf("%+v: %v", h, err)
	}
	f.end(third, false)
}

// A snapshot that another processor has made in the future, by its clock, does not keep its successor from making one.
func TestSnapshotFromTheFuture(t *testing.T) {
	t.Parallel()
	f, load := parkingFlock(t, 24, 0)
	ahead := time.Hour
	f.skew = &ahead // of the first one's clock
	first := f.join()
	load.publish(t, f.broker.Conn(), 200)
	f.settleAll()
	f.snapshotsOf()
	f.end(first, false)
	f.disks, f.skew = nil, new(time.Duration)
	second := f.join()
	f.settleAll()
	until(t, "its successor makes no snapshot", func() bool {
		load.publish(t, f.broker.Conn(), 20)
		f.settleAll()
		return valueOf(t, second.Processor, "precis_snapshots_total", "made") > 0
	})
	f.end(second, false)
}

// parkedScene is a processor with one parked thread, which has one message.
type parkedScene struct {
	*scene
	t    *testing.T
	svc  *service.Service
	name string // of the thread; empty: p
}

func newParkedScene(t *testing.T) *parkedScene {
	t.Helper()
	return newParkedSceneWith(t, settings(t))
}

func newParkedSceneWith(t *testing.T, c *config.Config) *parkedScene {
	t.Helper()
	processor.ParkAtOnce(c)
	s := &parkedScene{scene: stage(t, c), t: t}
	s.publish("thread.message.p", `{"message_id":"m1","role":"user","content":"Look at the harbour."}`)
	until(t, "the thread is not parked", s.parked)
	var err error
	if s.svc, err = service.Start(s.schedule.broker.Conn(), s.Processor, service.Options{Logger: logger(t)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.svc.Stop() })
	return s
}

func (s *parkedScene) parked() bool {
	name := cmp.Or(s.name, "p")
	stub, err := s.View(s.partition(name)).Parked(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return stub != nil
}

// prompt is how many messages the thread's prompt has, or the code of the error, with its text.
func (s *parkedScene) prompt() (messages int, code, text string) {
	s.t.Helper()
	m, err := s.schedule.broker.Conn().RequestWithContext(within(s.t), api.ThreadContext+"p", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var r api.ContextReply
	if code = m.Header.Get("Nats-Service-Error-Code"); code == "" {
		err = json.Unmarshal(m.Data, &r)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Count(string(r.Messages), `"message_id"`), code, m.Header.Get("Nats-Service-Error") + string(m.Data)
}

// takeAway deletes the stream of parked threads and returns what brings it back.
func (s *parkedScene) takeAway() (back func()) {
	s.t.Helper()
	js := s.schedule.broker.JetStream()
	stream, err := js.Stream(within(s.t), parked.Stream)
	if err != nil {
		s.t.Fatal(err)
	}
	var all []*nats.Msg
	err = broker.NewLogReader(js, parked.Stream).Scan(within(s.t), 1, nil, func(m broker.Stored) error {
		all = append(all, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
		return nil
	}, nil)
	if err != nil || len(all) == 0 {
		s.t.Fatal(len(all), err)
	}
	config := stream.CachedInfo().Config
	if err := js.DeleteStream(within(s.t), parked.Stream); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		if _, err := js.CreateStream(within(s.t), config); err != nil {
			s.t.Fatal(err)
		}
		for _, m := range all {
			if _, err := js.PublishMsg(within(s.t), m); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// Reading a parked thread leaves it where it is; an event brings it back, and a message that it has is a duplicate.
func TestParkedThreadIsReadAndComesBack(t *testing.T) {
	t.Parallel()
	s := newParkedScene(t)
	defer s.finish()
	if n, code, text := s.prompt(); n != 1 || code != "" || !s.parked() {
		t.Errorf("%d messages, %s %s; parked %t", n, code, text, s.parked())
	}
	s.publish("thread.message.p", `{"message_id":"m1","role":"user","content":"Look at the harbour."}`)
	if _, back := s.Parked(); back == 0 {
		t.Error("the thread is not back")
	}
	h, err := s.View(s.partition("p")).Header("p")
	if err != nil || h.Duplicates != 1 || h.Messages != 1 {
		t.Errorf("%+v: %v", h, err)
	}
}

// While rows of a parked thread can't be read, a request for them is answered with 503 and an event of the thread waits; no answer is made without them.
func TestParkedRowsAreAway(t *testing.T) {
	t.Parallel()
	s := newParkedScene(t)
	defer s.finish()
	s.end() // and begins without anything in memory
	if err := s.svc.Stop(); err != nil {
		t.Fatal(err)
	}
	back := s.takeAway()
	s.config.Parking.After = 0
	s.open()
	svc, err := service.Start(s.schedule.broker.Conn(), s.Processor, service.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = svc.Stop() }()
	if n, code, text := s.prompt(); code != "503" || !strings.Contains(text, "parked") {
		t.Errorf("%d messages, %s %s", n, code, text)
	}
	put(t, s.schedule.broker.Conn(), "thread.message.p", `{"message_id":"m1","role":"user","content":"Look at the harbour."}`, `{"message_id":"m2","role":"user","content":"And at the sea."}`)
	until(t, "the event does not wait", func() bool { return valueOf(t, s.Processor, "precis_parking_total", "unread") > 1 })
	if h, err := s.View(s.partition("p")).Header("p"); err != nil || h.Events != 1 {
		t.Errorf("%+v: %v", h, err)
	}
	s.end() // a stream that is half restored would be one that has lost objects
	back()
	s.open()
	s.settled()
	if h, err := s.View(s.partition("p")).Header("p"); err != nil || h.Duplicates != 1 || h.Messages != 2 {
		t.Errorf("%+v: %v", h, err)
	}
	if rows, err := s.View(s.partition("p")).Messages("p", 1, 3); err != nil || len(rows) != 2 {
		t.Errorf("%d messages: %v", len(rows), err)
	}
}

// If the rows of a parked thread are lost, or others, a processor that is alone ends at the thread's next event and says so, and its next start makes the partition again
// from the log.
func TestParkedRowsAreLost(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, js jetstream.JetStream, subject string, data []byte) error{
		"missing": func(t *testing.T, js jetstream.JetStream, subject string, _ []byte) error {
			stream, err := js.Stream(within(t), parked.Stream)
			if err != nil {
				return err
			}
			return stream.Purge(within(t), jetstream.WithPurgeSubject(subject))
		},
		"altered": func(t *testing.T, js jetstream.JetStream, subject string, data []byte) error {
			data[len(data)-1] ^= 1
			_, err := js.PublishMsg(within(t), &nats.Msg{Subject: subject, Data: data, Header: nats.Header{"Precis-Parts": {"1"}}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newParkedScene(t)
			id := s.partition("p")
			stub, err := s.View(id).Parked("p")
			if err != nil {
				t.Fatal(err)
			}
			s.end()
			if err := s.svc.Stop(); err != nil {
				t.Fatal(err)
			}
			subject := fmt.Sprintf("precis.parked.%d.%s.0", id, stub.Object)
			js := s.schedule.broker.JetStream()
			m, err := broker.NewLogReader(js, parked.Stream).Last(within(t), subject)
			if err == nil {
				err = spoil(t, js, subject, m.Data)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.config.Parking.After = 0
			s.open()
			put(t, s.schedule.broker.Conn(), "thread.message.p", `{"message_id":"m2","role":"user","content":"And at the sea."}`)
			select {
			case err = <-s.done:
			case <-within(t).Done():
				t.Fatal("the processor goes on")
			}
			if err == nil || !strings.Contains(err.Error(), `parked thread "p"`) || !errors.Is(err, state.ErrLost) || errors.Is(err, state.ErrDamaged) {
				t.Errorf("it ends with %v", err)
			}
			if mark, err := s.Lost(id); err != nil || mark.Object != stub.Object {
				t.Errorf("marked %+v: %v", mark, err)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.open()
			s.settled()
			if mark, err := s.Lost(id); err != nil || mark.Set {
				t.Errorf("still marked %+v: %v", mark, err)
			}
			if h, err := s.View(s.partition("p")).Header("p"); err != nil || h.Messages != 2 {
				t.Errorf("%+v: %v", h, err)
			}
			s.finish()
		})
	}
}

// object is the one that the thread's rows are in.
func (s *parkedScene) object() string {
	s.t.Helper()
	name := cmp.Or(s.name, "p")
	stub, err := s.View(s.partition(name)).Parked(name)
	if err != nil || stub == nil {
		s.t.Fatal(stub, err)
	}
	return stub.Object
}

// takeOne deletes an object of the thread, and returns what brings it back.
func (s *parkedScene) takeOne(object string) (back func()) {
	s.t.Helper()
	js := s.schedule.broker.JetStream()
	subject := fmt.Sprintf("precis.parked.%d.%s.0", broker.PartitionOf(cmp.Or(s.name, "p"), s.config.Partitions), object)
	m, err := broker.NewLogReader(js, parked.Stream).Last(within(s.t), subject)
	if err != nil {
		s.t.Fatal(err)
	}
	stream, err := js.Stream(within(s.t), parked.Stream)
	if err == nil {
		err = stream.Purge(within(s.t), jetstream.WithPurgeSubject(subject))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		if _, err := js.PublishMsg(within(s.t), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// reopened ends the processor, takes the thread's object away, and begins again without anything in memory.
func (s *parkedScene) reopened() (back func()) {
	s.t.Helper()
	back = s.takeOne(s.object())
	s.end()
	if err := s.svc.Stop(); err != nil {
		s.t.Fatal(err)
	}
	s.config.Parking.After = 0
	s.open()
	return back
}

// Rows that are missing for a while, however often they are looked for, are not lost.
func TestRowsThatAreMissingForAWhile(t *testing.T) {
	t.Parallel()
	s := newParkedScene(t)
	s.confirms = time.Hour
	back := s.reopened()
	defer s.finish()
	put(t, s.schedule.broker.Conn(), "thread.message.p", `{"message_id":"m2","role":"user","content":"And at the sea."}`)
	until(t, "they are not looked for again", func() bool { return valueOf(t, s.Processor, "precis_parking_total", "unread") > 2 })
	if n := valueOf(t, s.Processor, "precis_parking_total", "lost"); n > 0 {
		t.Errorf("%v lost", n)
	}
	back()
	s.settled()
	if rows, err := s.View(s.partition("p")).Messages("p", 1, 3); err != nil || len(rows) != 2 {
		t.Errorf("%d messages: %v", len(rows), err)
	}
}

// A processor that is alone drops nothing that the log may not be able to make again: it ends, says so, and goes on when the object is back.
func TestLostRowsThatTheLogMayLack(t *testing.T) {
	t.Parallel()
	c := settings(t)
	c.Retention.Events = 720 * time.Hour
	s := newParkedSceneWith(t, c)
	back := s.reopened()
	put(t, s.schedule.broker.Conn(), "thread.message.p", `{"message_id":"m2","role":"user","content":"And at the sea."}`)
	select {
	case err := <-s.done:
		if !errors.Is(err, processor.ErrNotInLog) || !errors.Is(err, state.ErrLost) {
			t.Errorf("it ends with %v", err)
		}
	case <-within(t).Done():
		t.Fatal("the processor goes on")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := start(t, processor.Options{Config: s.config, Logger: logger(t), Broker: s.schedule.broker, FS: s.fs, Now: s.clock.now, Tend: time.Hour})
	select {
	case err := <-again.done:
		if !errors.Is(err, processor.ErrNotInLog) {
			t.Errorf("a start ends with %v", err)
		}
	case <-within(t).Done():
		t.Fatal("a start goes on")
	}
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	back()
	s.open()
	defer s.finish()
	s.settled()
	if rows, err := s.View(s.partition("p")).Messages("p", 1, 3); err != nil || len(rows) != 2 {
		t.Errorf("%d messages: %v", len(rows), err)
	}
	if n := valueOf(t, s.Processor, "precis_parking_total", "back"); n != 1 {
		t.Errorf("%v threads came back: the store is another one", n)
	}
	if mark, err := s.Lost(s.partition("p")); err != nil || mark.Set {
		t.Errorf("still marked %+v: %v", mark, err)
	}
}

// An empty stream is not made in the place of one that has the rows of parked threads.
func TestParkedStreamIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	s := newParkedScene(t)
	s.end()
	if err := s.svc.Stop(); err != nil {
		t.Fatal(err)
	}
	back := s.takeAway()
	s.open() // it is to park threads
	put(t, s.schedule.broker.Conn(), "thread.message.p", `{"message_id":"m2","role":"user","content":"And at the sea."}`)
	until(t, "the event does not wait", func() bool { return valueOf(t, s.Processor, "precis_parking_total", "unread") > 1 })
	if _, err := s.schedule.broker.JetStream().Stream(within(t), parked.Stream); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("there is a stream: %v", err)
	}
	if n := valueOf(t, s.Processor, "precis_parking_total", "lost"); n > 0 {
		t.Errorf("%v lost", n)
	}
	s.end()
	back()
	s.open()
	defer s.finish()
	s.settled()
	if rows, err := s.View(s.partition("p")).Messages("p", 1, 3); err != nil || len(rows) != 2 {
		t.Errorf("%d messages: %v", len(rows), err)
	}
}

// An object that a thread has left is deleted when nothing can name it any more, and one that it has come to again is not.
func TestObjectsOfParkedThreadsAreDeleted(t *testing.T) {
	t.Parallel()
	s := newParkedScene(t)
	defer s.finish()
	objects := func() uint64 {
		msgs, _, err := parked.New(s.schedule.broker.JetStream(), nil).Size(within(t))
		if err != nil {
			t.Fatal(err)
		}
		return msgs
	}
	for n := range 5 {
		s.publish("thread.message.p", fmt.Sprintf(`{"message_id":"n%d","role":"user","content":"And at the sea."}`, n))
		until(t, "the thread is not parked again", s.parked)
	}
	if n := objects(); n < 6 {
		t.Fatalf("%d objects", n)
	}
	until(t, "they are not noted", func() bool { return s.unparked() >= 5 })
	s.clock.forward(15 * 24 * time.Hour)
	until(t, "they are not deleted", func() bool { return s.unparked() == 0 && objects() == 1 })
	if n, code, text := s.prompt(); n != 6 || code != "" {
		t.Errorf("%d messages, %s %s", n, code, text)
	}
}

// unparked is how many objects are known to have no thread's rows, since when.
func (s *parkedScene) unparked() (n int) {
	s.t.Helper()
	err := s.View(s.partition("p")).UnparkedObjects(func(state.Unparked) (bool, error) { n++; return true, nil })
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// A server that loses what it has acknowledged before the rows have left for it, and what it makes anew in its place, moves no rows.
func TestParkedOnlyWhatTheServerStillHas(t *testing.T) {
	t.Parallel()
	c := settings(t)
	c.Partitions = 2
	processor.ParkAtOnce(c)
	s := &scene{schedule: &schedule{t: t, broker: openBroker(t, t.TempDir()), config: c, fs: vfs.NewCrashableMem()}, clock: &clockAhead{}}
	p, js, ctx := &parkedScene{scene: s, t: t}, s.schedule.broker.JetStream(), within(t)
	there := func() bool {
		msgs, _, err := parked.New(js, nil).Size(ctx)
		return err == nil && msgs > 0
	}
	// A round of parking begins with a look at the clock: the object is gone before the round that moves rows for it.
	s.clock.jumpWhen(func() bool {
		if !there() {
			return false
		}
		stream, err := js.Stream(ctx, parked.Stream)
		if err == nil {
			err = stream.Purge(ctx)
		}
		if err != nil {
			t.Error(err)
		}
		return true
	}, 0)
	s.open()
	defer s.finish()
	s.publish("thread.message.p", `{"message_id":"m1","role":"user","content":"Look at the harbour."}`)
	until(t, "nobody has noticed", func() bool {
		if p.parked() && !there() {
			t.Fatal("the rows have left for what is not there")
		}
		return valueOf(t, s.Processor, "precis_parking_total", "unsettled") > 0
	})
	until(t, "the thread is not parked", p.parked)
	if rows, err := s.View(s.partition("p")).Messages("p", 1, 2); err != nil || len(rows) != 1 {
		t.Errorf("%d messages: %v", len(rows), err)
	}
}

// A failure of the batch with which rows leave ends the processor: nothing else may become durable with it.
func TestParkingThatFails(t *testing.T) {
	t.Parallel()
	c := settings(t)
	c.Partitions = 2
	processor.ParkAtOnce(c)
	b, fails := openBroker(t, t.TempDir()), errors.New("the batch fails")
	var failed atomic.Bool
	p := start(t, processor.Options{
		Config: c, Logger: logger(t), Broker: b, FS: state.Memory(), Tend: time.Hour,
		Failpoint: func(point string, _ int) error {
			if point == processor.FailFlush && strings.Contains(string(debug.Stack()), "(*partition).park(") && failed.CompareAndSwap(false, true) {
				return fails
			}
			return nil
		},
	})
	put(t, b.Conn(), "thread.message.p", `{"message_id":"m1","role":"user","content":"Look at the harbour."}`)
	select {
	case err := <-p.done:
		if !errors.Is(err, fails) {
			t.Errorf("it ends with %v", err)
		}
	case <-within(t).Done():
		t.Fatalf("it goes on; a batch has failed: %t", failed.Load())
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A store that is behind the record of a parked thread's expiry can't adopt it while the thread's rows can't be read: its partition is not current meanwhile, and the others are.
func TestAdoptsWhenParkedRowsAreBack(t *testing.T) {
	t.Parallel()
	c := requested(t)
	c.Policies[0].Staleness.TTL = time.Hour
	processor.ParkAtOnce(c)
	s := &parkedScene{scene: stage(t, c), t: t}
	defer s.finish()
	s.publish("tool.result.p", large("a"))
	s.tended()
	until(t, "the thread is not parked", s.parked)
	s.end()
	before := s.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	s.open()
	other := "q" // whose event comes before the expiry
	for s.publish("tool.result."+other, large("b")); s.partition(other) != s.partition("p"); s.publish("tool.result."+other, large("b")) {
		other += "q"
	}
	s.clock.forward(61 * time.Minute)
	s.tended()
	s.saw("p", 1, "stale tool:a ttl_expired regenerate")
	s.end()
	s.fs = before
	back := s.takeAway()
	s.config.Parking.After = 0
	s.running = start(t, processor.Options{Config: s.config, Logger: logger(t), Broker: s.schedule.broker, FS: s.fs, Now: s.clock.now, Tend: time.Hour, SweepPause: 1})
	until(t, "the record is not waited for", func() bool {
		select {
		case err := <-s.done:
			t.Fatalf("it ends: %v", err)
		default:
		}
		return valueOf(t, s.Processor, "precis_parking_total", "unread") > 1
	})
	if s.Current(s.partition("p")) {
		t.Error("a partition that lacks a record is current")
	}
	back()
	s.settled()
	until(t, "the partition is not current", func() bool { return s.Current(s.partition("p")) })
	if sum, err := s.View(s.partition("p")).Header("p"); err != nil || sum.SummariesActive != 0 {
		t.Errorf("%+v: %v", sum, err)
	}
}

// Expired summaries of threads whose rows can be read do not wait for those of a parked one.
func TestExpiryBesideParkedRowsThatAreAway(t *testing.T) {
	t.Parallel()
	c := requested(t)
	c.Policies[0].Staleness.TTL = time.Hour
	processor.ParkAtOnce(c)
	s := &parkedScene{scene: stage(t, c), t: t}
	defer s.finish()
	s.publish("tool.result.p", large("a"))
	s.tended()
	until(t, "the thread is not parked", s.parked)
	s.end()
	back := s.takeAway()
	s.config.Parking.After = 0
	s.open()
	other := "q"
	for s.publish("tool.result."+other, large("b")); s.partition(other) != s.partition("p"); s.publish("tool.result."+other, large("b")) {
		other += "q"
	}
	s.tended()
	s.clock.forward(61 * time.Minute)
	s.tended()
	s.saw(other, 1, "stale tool:b ttl_expired regenerate")
	s.saw("p", 1)
	if more := s.FindJob(t.Context(), s.partition("p"), "p", "none", 100*time.Millisecond); more {
		t.Error("a job of a thread whose rows can't be read is found to have ended")
	}
	s.end()
	back()
	s.open()
	s.tended()
	s.saw("p", 1, "stale tool:a ttl_expired regenerate")
	if more := s.FindJob(t.Context(), s.partition("p"), "p", "none", time.Minute); !more {
		t.Error("a job that has ended is looked for until the end")
	}
}

// Objects that the server does not delete are noted all the same, and tried again.
func TestObjectsThatCantBeDeleted(t *testing.T) {
	t.Parallel()
	c := settings(t)
	processor.ParkAtOnce(c)
	b := openBroker(t, t.TempDir())
	_, err := b.JetStream().CreateStream(within(t), jetstream.StreamConfig{Name: parked.Stream, Subjects: []string{"precis.parked.*.*.*"}, MaxMsgsPerSubject: 1, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	c.Partitions = 2
	s := &parkedScene{t: t, scene: &scene{schedule: &schedule{t: t, broker: b, config: c, fs: vfs.NewCrashableMem()}, clock: &clockAhead{}}}
	s.open()
	defer s.finish()
	noted := func() (n int) {
		err := s.View(s.partition("p")).UnparkedObjects(func(u state.Unparked) (bool, error) {
			if !u.Since.IsZero() {
				n++
			}
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for n := range 2 {
		s.publish("thread.message.p", fmt.Sprintf(`{"message_id":"n%d","role":"user","content":"And at the sea."}`, n))
		until(t, "the thread is not parked", s.parked)
	}
	until(t, "it is not noted", func() bool { return noted() == 1 })
	s.clock.forward(15 * 24 * time.Hour)
	until(t, "it is deleted", func() bool { return valueOf(t, s.Processor, "precis_parking_total", "failed") > 0 })
	before := valueOf(t, s.Processor, "precis_parking_total", "failed")
	other := &parkedScene{scene: s.scene, t: t, name: "q"}
	const said = `{"message_id":"m1","role":"user","content":"Look at the harbour."}`
	for s.publish("thread.message."+other.name, said); s.partition(other.name) != s.partition("p"); s.publish("thread.message."+other.name, said) {
		other.name += "q"
	}
	until(t, "another thread of the partition is not parked", func() bool { s.clock.forward(10 * time.Minute); return other.parked() })
	s.publish("thread.message.p", `{"message_id":"n3","role":"user","content":"And at the sea."}`)
	until(t, "the next one is not noted", func() bool { s.clock.forward(10 * time.Minute); return noted() == 2 }) // which it rests for
	if n := valueOf(t, s.Processor, "precis_parking_total", "deleted"); n > 0 || before == 0 {
		t.Errorf("deleted %v, failed %v", n, before)
	}
}

// An owner's own rows that hold what is not on record yet are kept, however old what comes behind them is: no snapshot takes their place.
func TestOutboxBehindAQuietWeek(t *testing.T) {
	t.Parallel()
	f, _ := parkingFlock(t, 35, 0)
	f.bulkFrom = 1 << 40
	f.config.Policies = requested(t).Policies
	f.config.Policies[0].Staleness.TTL = 5 * 24 * time.Hour
	id := broker.PartitionOf("p", f.config.Partitions)
	first := f.join()
	put(t, f.broker.Conn(), "tool.result.p", large("a"))
	f.settleAll()
	until(t, "the thread is not parked", func() bool { return len(f.parkedObjects(first)[id]) > 0 })
	f.clock.forward(4 * 24 * time.Hour)
	began := f.clock.now()
	until(t, "there is no snapshot", func() bool { return !first.SnapshotTime(id).Before(began) })
	first.crash.mu.Lock()
	first.crash.stuck = stuck{partition: id, left: 1}
	first.crash.mu.Unlock()
	f.clock.forward(2 * 24 * time.Hour)
	_ = first.Tended(within(t)) // it crashes meanwhile
	until(t, "nothing is to be published", func() bool {
		first.crash.mu.Lock()
		defer first.crash.mu.Unlock()
		return first.crash.clone != nil
	})
	f.end(first, true)
	store, err := state.Open(processor.StoreDir(f.config.DataDir), state.Options{FS: first.fs, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	waits, err := store.View(id).Outbox()
	if err = errors.Join(err, store.Close()); err != nil || len(waits) == 0 {
		t.Fatalf("%d records wait: %v", len(waits), err)
	}
	f.besides = 0
	for broker.PartitionOf(fmt.Sprint("beside", f.besides+1), f.config.Partitions) == id {
		f.besides++
	}
	f.beside()
	f.clock.forward(15 * 24 * time.Hour)
	f.disks, f.disk = nil, first.fs
	second := f.join()
	f.settleAll()
	err = broker.NewLogReader(f.broker.JetStream(), broker.StreamSummaries).Scan(within(t), 1, nil, func(m broker.Stored) error {
		waits = slices.DeleteFunc(waits, func(o *state.Outgoing) bool { return bytes.Equal(o.Data, m.Data) })
		return nil
	}, nil)
	if err != nil || len(waits) > 0 {
		t.Errorf("%d records are gone: %v", len(waits), err)
	}
	f.end(second, false)
}
