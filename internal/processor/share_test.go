package processor_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/broker/brokertest"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/state"
)

var clusterSeeds = flag.Int("cluster.seeds", 0, "how many schedules TestClusterSchedules runs; 0: 6, and 2 with the race detector")

// sharer is one processor of a cluster, with a store and a way to the server of its own.
type sharer struct {
	*processor.Processor
	name   string
	fs     *vfs.MemFS
	faults *brokertest.Faults
	crash  *crasher
	folded *tally      // events of its own partitions
	full   atomic.Bool // its disk
	stop   context.CancelFunc
	ran    chan error
}

// tally counts the events that are applied in each partition.
type tally struct {
	mu sync.Mutex
	of map[int]int
}

func (c *tally) note(name string, partition int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == processor.FailApplied {
		c.of[partition]++
	}
}

func (c *tally) in(partitions []int) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range partitions {
		n += c.of[id]
	}
	return n
}

// flock is a cluster of processors under a schedule.
type flock struct {
	*schedule
	live  []*sharer
	disks []*vfs.MemFS // of those that have ended
	disk  *vfs.MemFS   // of the next one; nil: any
	next  int
	lease time.Duration

	besides int                               // events of threads beside those of the load
	settles time.Duration                     // of parked threads
	objects func(state.Objects) state.Objects // of the next one; nil: nothing stands between

	skew     *time.Duration // of the next one's clock; nil: another one for each
	bulkFrom uint64         // 0: another one for each processor
	pages    string         // where the next one that answers has its pages; empty: nowhere
}

func newFlock(t *testing.T, seed uint64) *flock {
	s := &schedule{t: t, rng: rand.New(rand.NewPCG(seed, 7)), config: settings(t)}
	compacting(s.config)
	s.broker = openBrokerWith(t, broker.Options{StoreDir: t.TempDir(), Sync: "2m", Listen: "127.0.0.1:0", Logger: logger(t)})
	s.config.Partitions = 5
	s.config.Limits.PendingEditEvents = 6
	s.config.Cluster.Name, s.config.Cluster.Standbys = "flock", s.rng.IntN(3)
	s.config.Cluster.Snapshots = time.Duration(s.rng.IntN(2)) * time.Millisecond // 0: none
	return &flock{schedule: s, lease: 400 * time.Millisecond}
}

// followLogger fails the test if a follower decides something: what it folds is on record.
func followLogger(t *testing.T) zerolog.Logger {
	return logger(t).Output(zerolog.MultiLevelWriter(zerolog.NewTestWriter(t), decisions{t}))
}

type decisions struct{ t *testing.T }

func (d decisions) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("what follows from its events is not on record")) {
		d.t.Errorf("a follower decides: %s", line)
	}
	return len(line), nil
}

// join starts another processor, on an empty disk or on that of one that has ended.
func (f *flock) join() *sharer {
	f.next++
	m := &sharer{name: fmt.Sprint("member", f.next), fs: vfs.NewCrashableMem(), folded: &tally{of: map[int]int{}}, ran: make(chan error, 1)}
	if f.disk != nil {
		m.fs, f.disk = f.disk, nil
	} else if len(f.disks) > 0 && f.rng.IntN(3) > 0 {
		at := f.rng.IntN(len(f.disks))
		m.fs = f.disks[at]
		f.disks = slices.Delete(f.disks, at, at+1)
	}
	m.faults = brokertest.StartFaults(f.t, f.broker.URL(), f.rng.Uint64(), int64(f.rng.IntN(3)))
	m.crash = &crasher{left: 1 << 30, fs: m.fs, rng: rand.New(rand.NewPCG(f.rng.Uint64(), 0))}
	c := *f.config
	wrong := time.Duration(f.rng.IntN(21)-10) * time.Second // its clock, which nothing between processors may depend on
	if f.skew != nil {
		wrong = *f.skew
	}
	var err error
	m.Processor, err = processor.Open(f.t.Context(), processor.Options{
		Config: &c, Logger: followLogger(f.t).With().Str("member", m.name).Logger(), FS: m.fs,
		Failpoint: func(name string, partition int) error {
			m.folded.note(name, partition)
			return m.crash.point(name, partition)
		},
		Broker:     openBrokerWith(f.t, broker.Options{URL: m.faults.URL(), Logger: logger(f.t)}),
		AckTimeout: 200 * time.Millisecond, CloseTimeout: 2 * time.Second, Lease: f.lease,
		BulkFrom: cmp.Or(f.bulkFrom, 1+f.rng.Uint64N(200)), KeepUp: 1 + f.rng.Uint64N(30), AdvanceEvery: 1 + f.rng.Uint64N(20),
		Now: func() time.Time { return f.clock.now().Add(wrong) }, Tend: time.Hour, SweepPause: 1, Disk: m.disk, ParkSettles: f.settles, Objects: f.objects,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(within(f.t))
	m.stop = stop
	go func() { m.ran <- m.Run(ctx) }()
	f.live = append(f.live, m)
	f.t.Logf("%s joins", m.name)
	return m
}

// disk says that little is free on a full disk, and nothing of any other.
func (m *sharer) disk() (free, total int64, ok bool) { return 1 << 20, 1 << 30, m.full.Load() }

// end ends a processor: in order, or as kill -9 would.
func (f *flock) end(m *sharer, kill bool) {
	f.live = slices.DeleteFunc(f.live, func(x *sharer) bool { return x == m })
	if kill {
		f.t.Logf("%s is killed", m.name)
		m.faults.Cut()
		m.crash.crash("killed")
	} else {
		f.t.Logf("%s leaves", m.name)
		m.faults.Release()
	}
	m.stop()
	err := f.ended(m.ran)
	if err != nil && !kill && !errors.Is(err, processor.ErrOtherWriter) {
		f.t.Errorf("%s: %v", m.name, err)
	}
	if err := m.CheckHot(); err != nil && !kill {
		f.t.Error(err)
	}
	if err := m.Close(context.Background()); err != nil && !kill {
		f.t.Errorf("close %s: %v", m.name, err)
	}
	if kill {
		m.fs = m.crash.clone
	}
	f.disks = append(f.disks, m.fs)
}

// settle waits until the cluster has every partition, and each has applied and published what the log holds for it.
func (f *flock) settleAll() {
	f.t.Helper()
	ctx := within(f.t)
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for {
		owned := map[int]bool{}
		for _, m := range f.live {
			short, cancel := context.WithTimeout(ctx, 5*time.Second)
			if m.Settled(short) == nil {
				for _, id := range m.Owned() {
					owned[id] = true
				}
			}
			cancel()
		}
		if len(owned) == f.config.Partitions+1 {
			return
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			for _, m := range f.live {
				f.t.Logf("%s has %v", m.name, m.Owned())
			}
			f.t.Fatal("the cluster does not settle")
		}
	}
}

// pass lets some time pass, in which the cluster works.
func (f *flock) pass(most time.Duration) {
	timer := time.NewTimer(time.Duration(f.rng.Int64N(int64(most))))
	defer timer.Stop()
	<-timer.C
}

// step is one thing that happens to the cluster.
func (f *flock) step(load *load) {
	load.publish(f.t, f.broker.Conn(), 1+f.rng.IntN(40))
	var some *sharer
	if len(f.live) > 0 {
		some = f.live[f.rng.IntN(len(f.live))]
	}
	switch n := f.rng.IntN(11); {
	case len(f.live) == 0 || n < 3 && len(f.live) < 4:
		f.join()
	case n < 5:
		f.end(some, false)
	case n < 7:
		f.end(some, true)
	case n < 9: // stopped for longer than a lease: what it sends arrives behind another one's claims
		f.t.Logf("%s is stopped", some.name)
		some.faults.Hold()
		load.publish(f.t, f.broker.Conn(), 1+f.rng.IntN(20))
		f.pass(3 * f.lease)
		if f.rng.IntN(2) == 0 {
			f.pass(3 * f.lease)
		}
		f.t.Logf("%s goes on", some.name)
		some.faults.Release()
	case n < 10 && some.full.CompareAndSwap(false, true):
		f.t.Logf("%s has a full disk", some.name)
	case n < 10:
		f.t.Logf("%s has room again", some.name)
		some.full.Store(false)
	default:
		f.settleAll()
	}
	f.pass(f.lease)
}

// Processors of a cluster join, leave, are killed and are stopped until others have taken what they had, while agents publish: everything is
// on record once, as a processor that is alone and never disturbed decides it.
func TestClusterSchedules(t *testing.T) { clusterSchedules(t, false) }

// Threads are forked across partitions: from the first such fork on, one processor has all partitions.
func TestClusterSchedulesOfForks(t *testing.T) { clusterSchedules(t, true) }

func clusterSchedules(t *testing.T, forks bool) {
	for seed := *crashFirst; seed < *crashFirst+uint64(cmp.Or(*clusterSeeds, race.Fewer(2, 6))); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			f := newFlock(t, seed)
			load := newLoad(f.rng)
			load.threads, load.forks = 12, forks
			f.join()
			for range 6 + f.rng.IntN(8) {
				f.step(load)
			}
			if len(f.live) == 0 {
				f.join()
			}
			f.settleAll()
			want := f.undisturbed()
			for _, stream := range []string{broker.StreamSummaries, broker.StreamRejected} {
				compareRecords(t, stream, want[stream], records(t, f.broker, stream))
			}
			for _, finding := range replayed(t, f.broker) {
				t.Errorf("replay: %+v", finding)
			}
			for len(f.live) > 0 {
				f.end(f.live[0], false)
			}
		})
	}
}
