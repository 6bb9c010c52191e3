package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/rs/zerolog"
)

// parkedStore has the parked threads t1 and t2 in partition 3, and nothing of them in memory.
func parkedStore(t *testing.T, fs FS, shelf *shelf) (*Store, *Partition) {
	t.Helper()
	s := openParking(t, fs, shelf)
	p := partitionOf(t, s)
	for n, name := range []string{"t1", "t2"} {
		step{name: name, id: "m1", seq: uint64(n + 1)}.do(t, p)
	}
	commit(t, p)
	for _, name := range []string{"t1", "t2"} {
		if !park(t, s, p, shelf, name) {
			t.Fatal("not parked")
		}
	}
	s.packs = newPacks()
	return s, p
}

// Partitions are dropped together or not at all, whenever the process ends.
func TestDropsAllOrNone(t *testing.T) {
	disk, shelf := vfs.NewCrashableMem(), newShelf()
	var dropping atomic.Bool
	var left []*vfs.MemFS
	s, p := parkedStore(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if dropping.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			left = append(left, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}))
		}
		return nil
	})), shelf)
	_ = p.Close()
	for _, id := range []int{0, 7} {
		other, err := s.Partition(id)
		if err != nil {
			t.Fatal(err)
		}
		step{name: "t1", id: "m1", seq: 1}.do(t, other)
		if _, err := other.Commit(Sync); err != nil {
			t.Fatal(err)
		}
		_ = other.Close()
	}
	if err := s.MarkLost(3, "one"); err != nil {
		t.Fatal(err)
	}
	dropping.Store(true)
	if err := s.Drop(0, 3, 7); err != nil {
		t.Fatal(err)
	}
	dropping.Store(false)
	seen := map[string]bool{}
	for _, disk := range append(left, disk.CrashClone(vfs.CrashCloneCfg{})) {
		s := openParking(t, disk, shelf)
		mark, err := s.Lost(3)
		there := fmt.Sprint("marked ", mark.Object)
		for _, id := range []int{0, 3, 7} {
			h, unread := s.View(id).Header("t1")
			there, err = fmt.Sprint(there, " ", h != nil), errors.Join(err, unread)
		}
		if seen[there] = true; err != nil {
			t.Error(err)
		}
		s.closes(t)
	}
	if want := map[string]bool{"marked one true true true": true, "marked  false false false": true}; !maps.Equal(seen, want) {
		t.Errorf("%v", seen)
	}
	s.closes(t)
}

// A mark says that a partition's rows are to be dropped until they are, and that they are made again until somebody says that they are; a process that ends does not forget it.
func TestMarkOfLostRows(t *testing.T) {
	shelf, fs := newShelf(), Memory()
	s, p := parkedStore(t, fs, shelf)
	_ = p.Close()
	var at Lost
	is := func(what string, want Lost) {
		t.Helper()
		var err error
		if at, err = s.Lost(3); err != nil || at.Set != want.Set || at.Object != want.Object || !slices.Equal(at.Gone, want.Gone) {
			t.Errorf("%s: %+v: %v", what, at, err)
		}
	}
	again := func() {
		s.closes(t)
		s = openParking(t, fs, shelf)
	}
	is("at first", Lost{})
	for _, object := range []string{"one", "another"} {
		if err := s.MarkLost(3, object); err != nil {
			t.Fatal(err)
		}
		again()
		is("marked", Lost{Set: true, Object: "one"})
	}
	if other, err := s.Lost(4); err != nil || other.Set {
		t.Errorf("another partition: %+v, %v", other, err)
	}
	for range 2 {
		if err := s.Drop(3); err != nil {
			t.Fatal(err)
		}
		again()
		is("dropped", Lost{Set: true, Gone: []string{"one"}})
	}
	if h, err := s.View(3).Header("t1"); h != nil || err != nil {
		t.Errorf("its rows: %v, %v", h, err)
	}
	if err := s.MarkLost(3, "third"); err != nil { // while they are made
		t.Fatal(err)
	}
	is("marked again", Lost{Set: true, Object: "third", Gone: []string{"one"}})
	if err := s.Drop(3); err != nil {
		t.Fatal(err)
	}
	is("dropped again", Lost{Set: true, Gone: []string{"one", "third"}})
	for range 2 {
		if err := s.ClearLost(3); err != nil {
			t.Fatal(err)
		}
		is("cleared", Lost{})
	}
	again()
	is("cleared", Lost{})
	s.closes(t)
}

// No table that names what is lost takes the place of rows that were dropped for it, and others do, until what was lost is back, or the mark is removed.
func TestNoTableNamesWhatIsLost(t *testing.T) {
	shelf := newShelf()
	s, p := parkedStore(t, Memory(), shelf)
	defer s.closes(t)
	_ = p.Close()
	stub, err := s.View(3).Parked("t2")
	if err != nil || stub == nil {
		t.Fatal(stub, err)
	}
	table, err := s.Export(3, func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	take := func() error {
		again, err := s.Receive(3, func(w io.Writer) error {
			f, err := table.Open()
			if err == nil {
				_, err = io.Copy(w, f)
				err = errors.Join(err, f.Close())
			}
			return err
		})
		if err == nil {
			err = s.Install(again)
		}
		return err
	}
	kept, none := maps.Clone(shelf.objects), func([]byte) []byte { return nil }
	shelf.each(none)
	for _, object := range []string{"another", stub.Object} { // each is lost, and the rows dropped for it
		if err := errors.Join(s.MarkLost(3, object), s.Drop(3)); err != nil {
			t.Fatal(err)
		}
		if err := take(); (object == stub.Object) != errors.Is(err, ErrLost) || err != nil && !errors.Is(err, ErrLost) {
			t.Errorf("for %s: %v", object, err)
		}
	}
	if h, err := s.View(3).Header("t1"); h != nil || err != nil {
		t.Errorf("rows of a table that is not taken: %v, %v", h, err)
	}
	for n, back := range []func() error{func() error { shelf.objects = kept; return nil }, func() error { shelf.each(none); return s.ClearLost(3) }} {
		if err := errors.Join(back(), take()); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		if h, err := s.View(3).Header("t1"); h == nil || err != nil {
			t.Errorf("%d: rows of a table that is taken: %v, %v", n, h, err)
		}
		if err := s.Drop(3); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Remove(); err != nil {
		t.Error(err)
	}
}

// Rows that are missing are away, as long as it is not confirmed that they are lost.
func TestLossIsConfirmed(t *testing.T) {
	shelf, fs := newShelf(), Memory()
	s, p := parkedStore(t, fs, shelf)
	_ = p.Close()
	s.closes(t)
	stub, confirmed, asked := (*Parked)(nil), false, 0
	s, err := Open("store", Options{FS: fs, Objects: shelf, Logger: zerolog.Nop(), Lost: func(partition int, object string, err error) bool {
		if asked++; partition != 3 || object != stub.Object || !errors.Is(err, ErrLost) {
			t.Errorf("lost: %d, %s, %v", partition, object, err)
		}
		return confirmed
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.closes(t)
	if stub, err = s.View(3).Parked("t1"); err != nil || stub == nil {
		t.Fatal(stub, err)
	}
	for _, spoil := range []func([]byte) []byte{func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, func([]byte) []byte { return nil }} {
		shelf.each(spoil)
		for confirmed = range map[bool]bool{false: true, true: true} {
			_, err := s.View(3).Message("t1", "m1")
			if errors.Is(err, ErrLost) != confirmed || errors.Is(err, ErrParked) == confirmed {
				t.Errorf("confirmed %t: %v", confirmed, err)
			}
		}
	}
	if asked != 4 {
		t.Errorf("asked %d times", asked)
	}
}

// Rows that are larger than a program reads are there all the same.
func TestLargerThanReadIsNotLost(t *testing.T) {
	shelf := newShelf()
	s, p := parkedStore(t, Memory(), shelf)
	defer s.closes(t)
	defer func() { _ = p.Close() }()
	stub, err := s.View(3).Parked("t1")
	if err != nil {
		t.Fatal(err)
	}
	stub.Bytes = packedBytes + 1
	if _, err := unpack(nil, 3, "t1", *stub); !errors.Is(err, ErrParked) || errors.Is(err, ErrLost) {
		t.Error(err)
	}
}

// A partition that needs a thread which a request is about to read does not wait in the requests' queue.
func TestPartitionBesideRequestForTheSameThread(t *testing.T) {
	shelf := newShelf()
	s, p := parkedStore(t, Memory(), shelf)
	defer s.closes(t)
	defer func() { _ = p.Close() }()
	p.Until(make(chan struct{}))
	for range fetchesAtOnce { // others are read
		s.packs.requests <- struct{}{}
	}
	boarded, answered := make(chan struct{}), make(chan error, 1)
	go func() {
		close(boarded)
		_, err := s.View(3).Message("t1", "m1")
		answered <- err
	}()
	<-boarded
	for waits := false; !waits; {
		s.packs.mu.Lock()
		waits = len(s.packs.flights) > 0
		s.packs.mu.Unlock()
	}
	if _, err := p.LoadThread("t1"); err != nil {
		t.Error(err)
	}
	for range fetchesAtOnce {
		<-s.packs.requests
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// An end of the step that waits for an object ends the wait, and not that of the next step.
func TestEndOfStepThatWaitsForObject(t *testing.T) {
	shelf := newShelf()
	s, p := parkedStore(t, Memory(), shelf)
	defer s.closes(t)
	defer func() { _ = p.Close() }()
	s.opts.Objects = slowUntilEnd{}
	p.Until(make(chan struct{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.During(ctx.Done())
	if _, err := p.LoadThread("t1"); !errors.Is(err, ErrParked) || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Error(err)
	}
	p.During(nil)
	s.opts.Objects = shelf
	if _, err := p.LoadThread("t1"); err != nil {
		t.Error(err)
	}
}

// slowUntilEnd answers when its context has ended.
type slowUntilEnd struct{}

func (slowUntilEnd) Get(ctx context.Context, _ int, _ string) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// panicking is a place that panics.
type panicking struct{ waits chan struct{} }

func (p panicking) Get(context.Context, int, string) ([]byte, error) { <-p.waits; panic("no answer") }

// Who waits for a read that panics gets an error.
func TestReadThatPanics(t *testing.T) {
	shelf := newShelf()
	s, p := parkedStore(t, Memory(), shelf)
	defer s.closes(t)
	defer func() { _ = p.Close() }()
	stub, err := s.View(3).Parked("t1")
	if err != nil {
		t.Fatal(err)
	}
	from := panicking{make(chan struct{})}
	s.opts.Objects = from
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		_, _ = s.fetch(3, "t1", *stub, nil)
	}()
	var f *flight
	for f == nil {
		s.packs.mu.Lock()
		f = s.packs.flights[aboard{stub.Object, false}]
		s.packs.mu.Unlock()
	}
	close(from.waits)
	<-f.done
	if f.rows != nil || !errors.Is(f.err, ErrParked) || <-ended == nil {
		t.Errorf("%v, %v", f.rows, f.err)
	}
}

// A slice of a sweep gives what is in front of a thread that can't be read, also rows that are in the store.
func TestSliceInFrontOfWhatCantBeRead(t *testing.T) {
	shelf := newShelf()
	s := openParking(t, Memory(), shelf)
	defer s.closes(t)
	p := partitionOf(t, s)
	defer func() { _ = p.Close() }()
	for n, name := range []string{"t1", "t2", "t3"} {
		step{name: name, id: "m", seq: uint64(2*n + 1)}.do(t, p)
		step{name: name, id: "m", made: "s", seq: uint64(2*n + 2), kind: 2}.do(t, p)
	}
	commit(t, p)
	if !park(t, s, p, shelf, "t2") {
		t.Fatal("not parked")
	}
	s.packs, shelf.away = newPacks(), errors.New("no answer")
	refs, last, more, err := s.View(3).NextSummaries(nil, 64)
	if err != nil || !more || len(refs) != 1 || refs[0].Thread != "t1" {
		t.Fatalf("%v, more %t: %v", refs, more, err)
	}
	if refs, _, _, err := s.View(3).NextSummaries(last, 64); !errors.Is(err, ErrParked) || len(refs) > 0 {
		t.Errorf("%v: %v", refs, err)
	}
	shelf.away = nil
	if refs, _, more, err := s.View(3).NextSummaries(last, 64); err != nil || more || len(refs) != 2 || refs[0].Thread != "t2" {
		t.Errorf("%v, more %t: %v", refs, more, err)
	}
}
