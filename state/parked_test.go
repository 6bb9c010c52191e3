package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/thread"
)

// shelf has the rows of parked threads in memory.
type shelf struct {
	mu      sync.Mutex
	objects map[string][]byte
	away    error // of gets behind the first ones
	before  int
	gets    int
}

func newShelf() *shelf { return &shelf{objects: map[string][]byte{}} }

func (s *shelf) Get(_ context.Context, partition int, object string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	if s.away != nil && s.gets > s.before {
		return nil, s.away
	}
	data, ok := s.objects[fmt.Sprint(partition, "/", object)]
	if !ok {
		return nil, ErrNoObject
	}
	return data, nil
}

func (s *shelf) put(partition int, k *Packed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[fmt.Sprint(partition, "/", k.Object)] = k.Data
}

// each changes every object.
func (s *shelf) each(change func(data []byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, data := range s.objects {
		if data = change(bytes.Clone(data)); data == nil {
			delete(s.objects, name)
			continue
		}
		s.objects[name] = data
	}
}

func openParking(t *testing.T, fs FS, s *shelf) *Store {
	t.Helper()
	store, err := Open("store", Options{FS: fs, Objects: s, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func commit(t *testing.T, p *Partition) {
	t.Helper()
	if _, err := p.Commit(NoSync); err != nil {
		t.Fatal(err)
	}
}

// park parks a thread of a partition whose open batch is empty.
func park(t *testing.T, s *Store, p *Partition, shelf *shelf, name string) bool {
	t.Helper()
	snapshot := s.Snapshot(p.ID())
	k, err := snapshot.Pack(name)
	if err = errors.Join(err, snapshot.Close()); err != nil {
		t.Fatal(err)
	}
	if k == nil {
		return false
	}
	shelf.put(p.ID(), k)
	done, err := p.Park(k)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, p)
	return done
}

// step is a random change to a thread, the same one for each partition that it is made in.
type step struct {
	name, id, made string
	seq            uint64
	kind           int
}

func (s step) do(t *testing.T, p *Partition) {
	t.Helper()
	st, err := p.LoadEvent(s.name, &events.Event{Message: &events.Message{MessageID: s.id}})
	if err != nil {
		t.Fatal(err)
	}
	h := &st.Header
	h.Events, h.EventSeq, h.LastAt = h.Events+1, s.seq, int64(s.seq)
	switch {
	case s.kind == 0 && st.Message != nil:
		h.Duplicates++
	case st.Message == nil:
		h.Messages, h.Ordinals = h.Messages+1, h.Ordinals+1
		st.Message = &thread.Message{ID: s.id, Ordinal: h.Ordinals, FirstSeq: s.seq, Seq: s.seq}
		st.Changes.MessagePut, st.Changes.MessageNew = true, true
	case s.kind == 1:
		st.Message.Revision++
		st.Message.Seq = s.seq
		st.Changes.MessagePut, st.Changes.Revisions = true, []thread.Revision{{Number: st.Message.Revision, Seq: s.seq}}
		st.Changes.EditKeys = []string{fmt.Sprint(s.seq)}
	case s.kind == 2:
		sum := &thread.Summary{ID: s.made, Kind: "tool_output", Slot: s.id, Status: thread.Active, Sources: []string{s.id}, ChainSeq: h.ChainSeq + 1, Record: jsontext.Value(`{}`)}
		h.ChainSeq++
		h.SummariesActive++
		st.Changes.SummariesMade, st.Changes.SummaryPuts = 1, []*thread.Summary{sum}
		st.Changes.SlotPuts = []*thread.Slot{{Name: s.id, Version: 1, Holder: s.made}}
		st.Changes.Ledgers = map[string][]byte{s.made: []byte(s.made)}
	case s.kind == 3:
		p.SaveSeen(s.name, s.seq, []byte("seen"))
	default:
		p.place(events.SummaryCreated, s.name, h.ChainSeq, s.seq)
	}
	p.Save(st)
}

// A store with parked threads says what one without says, whatever is read, and whenever threads leave and come back.
func TestParkedThreadsAreReadAsOthers(t *testing.T) {
	for seed := range uint64(6) {
		r, shelf, fs := rand.New(rand.NewPCG(seed, 1)), newShelf(), Memory()
		plain, parking := openOn(t, Memory(), "store"), openParking(t, fs, shelf)
		a, b := partitionOf(t, plain), partitionOf(t, parking)
		parked := 0
		for n := range 600 {
			s := step{name: fmt.Sprint("t", r.IntN(8)), id: fmt.Sprint("m", r.IntN(30)), made: fmt.Sprint("s", n), seq: uint64(n + 1), kind: r.IntN(5)}
			s.do(t, a)
			s.do(t, b)
			if r.IntN(3) > 0 {
				continue
			}
			if r.IntN(9) == 0 { // the batch is lost, and made again
				a, b = again(t, plain, a), again(t, parking, b)
			}
			commit(t, a)
			commit(t, b)
			for range r.IntN(4) {
				if park(t, parking, b, shelf, fmt.Sprint("t", r.IntN(8))) {
					parked++
				}
			}
			if r.IntN(4) == 0 {
				parking.packs = newPacks()
			}
			if n%20 < 3 {
				sameReads(t, plain, parking)
			}
		}
		sameReads(t, plain, parking)
		if err := b.CheckHot(); err != nil || parked < 100 {
			t.Errorf("seed %d: parked %d times: %v", seed, parked, err)
		}
		if got := count(t, parking, kindMessage); got >= count(t, plain, kindMessage) {
			t.Errorf("the store has %d rows of messages", got)
		}
		_ = errors.Join(a.Close(), b.Close())
		parking.closes(t)
		parking = openParking(t, fs, shelf)
		sameReads(t, plain, parking)
		parking.closes(t)
		plain.closes(t)
	}
}

func partitionOf(t *testing.T, s *Store) *Partition {
	t.Helper()
	p, err := s.Partition(3)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func again(t *testing.T, s *Store, p *Partition) *Partition {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return partitionOf(t, s)
}

// count counts the rows of a kind that are in the store itself.
func count(t *testing.T, s *Store, kind byte) (n int) {
	t.Helper()
	prefix := newKey(3, kind)
	if err := s.View(3).raw(prefix, prefix.end(), func(it *pebble.Iterator) error {
		for ok := it.First(); ok; ok = it.Next() {
			n++
		}
		return it.Error()
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// sameReads compares two stores by everything that reads rows which may be parked.
func sameReads(t *testing.T, plain, parking *Store) {
	t.Helper()
	for _, way := range [][2]*Store{{plain, parking}, {parking, plain}} {
		if err := way[0].Diff(way[1], 3, func(p Problem) { t.Errorf("%+v", p) }); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := parking.Snapshot(3)
	defer func() { _ = snapshot.Close() }()
	want := readAll(t, plain.View(3))
	for what, v := range map[string]View{"store": parking.View(3), "snapshot": snapshot.View} {
		got := readAll(t, v)
		for name := range want {
			if !reflect.DeepEqual(got[name], want[name]) {
				t.Fatalf("%s: %s: %v, want %v", what, name, got[name], want[name])
			}
		}
	}
}

func readAll(t *testing.T, v View) map[string]any {
	all := map[string]any{}
	note := func(what string, value any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(what, err)
		}
		all[what] = value
	}
	var refs []Ref
	for after := []byte(nil); ; {
		some, last, more, err := v.NextSummaries(after, 3)
		note("summaries", nil, err)
		if refs, after = append(refs, some...), last; !more {
			break
		}
	}
	all["summaries"] = refs
	ledgers := map[string]string{}
	note("ledgers", ledgers, v.Ledgers(func(name, id string, b []byte) (bool, error) { ledgers[name+id] = string(b); return true, nil }))
	for n := range 8 {
		name := fmt.Sprint("t", n)
		ids := []string{"m7", "m1", "m29", "none"}
		rows, err := v.Messages(name, 2, 9)
		note(name+" messages", rows, err)
		rows, err = v.MessagesOf(name, ids)
		note(name+" messages of", rows, err)
		rows, err = v.MessagesAt(name, []uint64{1, 3, 99})
		note(name+" messages at", rows, err)
		ending, err := v.MessagesEnding(name, "1")
		note(name+" messages ending", ending, err)
		upTo, seen, err := v.Seen(name)
		note(name+" seen", fmt.Sprint(upTo, seen), err)
		for _, id := range ids {
			m, err := v.Message(name, id)
			note(name+id, m, err)
			made, err := v.MadeFromMessage(name, id)
			note(name+id+" made", made, err)
			slot, err := v.Slot(name, id)
			note(name+id+" slot", slot, err)
		}
		var revisions []thread.MessageRevision
		note(name+" revisions", nil, v.Revisions(name, func(r thread.MessageRevision) (bool, error) { revisions = append(revisions, r); return true, nil }))
		all[name+" revisions"] = revisions
		for seq := range uint64(4) {
			at, found, err := v.placed(name, seq)
			note(fmt.Sprint(name, " place ", seq), fmt.Sprint(at, found), err)
		}
	}
	return all
}

// A reader of what is committed finds every row while threads leave and come back.
func TestReadWhileThreadsAreParked(t *testing.T) {
	shelf := newShelf()
	s := openParking(t, Memory(), shelf)
	defer s.closes(t)
	p := partitionOf(t, s)
	defer func() { _ = p.Close() }()
	for n := range 40 {
		step{name: "t1", id: fmt.Sprint("m", n), seq: uint64(n + 1)}.do(t, p)
	}
	commit(t, p)
	stop, found := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(found)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			m, err := s.View(3).Message("t1", fmt.Sprint("m", n%40))
			rows, also := s.View(3).Messages("t1", 1, 41)
			if err = errors.Join(err, also); err != nil || m == nil || len(rows) != 40 {
				found <- fmt.Errorf("message %v, %d of 40 in order: %w", m, len(rows), err)
				return
			}
		}
	}()
	for n := range 300 {
		if !park(t, s, p, shelf, "t1") {
			t.Fatal("not parked")
		}
		step{name: "t1", id: "m1", seq: uint64(100 + n)}.do(t, p) // a duplicate
		commit(t, p)
	}
	close(stop)
	if err := <-found; err != nil {
		t.Error(err)
	}
}

// What stands under way, or has changed since it was packed, is not parked.
func TestNotParked(t *testing.T) {
	shelf := newShelf()
	s := openParking(t, Memory(), shelf)
	defer s.closes(t)
	p := partitionOf(t, s)
	defer func() { _ = p.Close() }()
	pack := func() *Packed {
		snapshot := s.Snapshot(3)
		defer func() { _ = snapshot.Close() }()
		k, err := snapshot.Pack("t1")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	refused := func(why string, k *Packed) {
		t.Helper()
		if done, err := p.Park(k); done || err != nil {
			t.Errorf("%s: parked %v: %v", why, done, err)
		}
	}
	if k := pack(); k != nil {
		t.Error("a thread without rows is packed")
	}
	step{name: "t1", id: "m1", seq: 1}.do(t, p)
	commit(t, p)
	before := pack()
	step{name: "t2", id: "m1", seq: 2}.do(t, p)
	refused("another thread's step is open", before)
	commit(t, p)
	p.SaveSeen("t1", 1, []byte("seen"))
	refused("a row is open", before)
	commit(t, p)
	refused("a row is new", before)
	step{name: "t1", id: "m1", seq: 3}.do(t, p)
	commit(t, p)
	for why, under := range map[string]func(h *thread.Header){
		"an edit waits": func(h *thread.Header) { h.Waiting = 1 }, "a job": func(h *thread.Header) { h.Jobs = 1 }, "a renewal": func(h *thread.Header) { h.Renewals = 1 },
	} {
		st, err := p.LoadThread("t1")
		if err != nil {
			t.Fatal(err)
		}
		was := st.Header
		under(&st.Header)
		p.Save(st)
		commit(t, p)
		refused(why, pack())
		p.Save(&thread.State{Header: was})
		commit(t, p)
	}
	record := &Outgoing{Thread: "t1", Type: events.SummaryInvalidated, ID: "r1", ChainSeq: 1, Guarded: true, Data: []byte("{}")}
	p.Send(record)
	commit(t, p)
	refused("a record waits for the server", pack())
	p.Delivered(record, 7)
	commit(t, p)
	if done, err := p.Park(pack()); !done || err != nil {
		t.Fatal(done, err)
	}
	p.SaveSeen("t1", 9, []byte("seen"))
	if _, err := p.Commit(NoSync); err == nil {
		t.Error("a batch that parks a thread has a row of it")
	}
	_ = p.Close()
	p = partitionOf(t, s)
	if done, err := p.Park(pack()); !done || err != nil {
		t.Fatal(done, err)
	}
	commit(t, p)
	if k := pack(); k != nil {
		t.Error("a parked thread is packed")
	}
}

// Many rows of a thread leave as a range, those of the threads beside it stay, and all are back as they were.
func TestManyRowsAreParked(t *testing.T) {
	shelf := newShelf()
	plain, parking := openParking(t, Memory(), nil), openParking(t, Memory(), shelf)
	defer plain.closes(t)
	defer parking.closes(t)
	for _, s := range []*Store{plain, parking} {
		p := partitionOf(t, s)
		for _, name := range []string{"t", "t1", "t10", "t2"} {
			for n := range 3 * parkEach {
				step{name: name, id: fmt.Sprint("m", n), made: fmt.Sprint(name, n), seq: uint64(n + 1), kind: n % 4}.do(t, p)
			}
		}
		commit(t, p)
		if s == parking {
			for _, name := range []string{"t1", "t2"} {
				if !park(t, s, p, shelf, name) {
					t.Fatal("not parked")
				}
			}
			if n := count(t, s, kindMessage); n != 2*3*parkEach {
				t.Errorf("%d messages are left", n)
			}
		}
		_ = p.Close()
	}
	sameReads(t, plain, parking)
	for _, s := range []*Store{plain, parking} {
		p := partitionOf(t, s)
		step{name: "t1", id: "m1", seq: 999}.do(t, p)
		commit(t, p)
		_ = p.Close()
	}
	sameReads(t, plain, parking)
}

// waitingShelf answers when it is told to.
type waitingShelf struct {
	*shelf
	under, most atomic.Int32
	on          chan struct{}
}

func (s *waitingShelf) Get(ctx context.Context, partition int, object string) ([]byte, error) {
	if n := s.under.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	defer s.under.Add(-1)
	select {
	case <-s.on:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.shelf.Get(ctx, partition, object)
}

// Rows that many ask for are read once, and few objects are read at a time; a partition does not queue behind requests.
func TestFewObjectsAreReadAtOnce(t *testing.T) {
	const threads, readers = 3 * fetchesAtOnce, 10
	shelf := newShelf()
	s := openParking(t, Memory(), shelf)
	defer s.closes(t)
	p := partitionOf(t, s)
	defer func() { _ = p.Close() }()
	for n := range threads + 1 {
		step{name: fmt.Sprint("t", n), id: "m1", seq: 1}.do(t, p)
	}
	commit(t, p)
	for n := range threads + 1 {
		if !park(t, s, p, shelf, fmt.Sprint("t", n)) {
			t.Fatal("not parked")
		}
	}
	s.packs, shelf.gets = newPacks(), 0
	slow := &waitingShelf{shelf: shelf, on: make(chan struct{}, threads+1)}
	s.opts.Objects = slow
	p.Until(make(chan struct{}))
	var all sync.WaitGroup
	for n := range threads * readers {
		all.Go(func() {
			if m, err := s.View(3).Message(fmt.Sprint("t", n%threads), "m1"); m == nil || err != nil {
				t.Errorf("%v: %v", m, err)
			}
		})
	}
	for slow.under.Load() < fetchesAtOnce {
		runtime.Gosched()
	}
	all.Go(func() {
		if _, err := p.LoadThread(fmt.Sprint("t", threads)); err != nil {
			t.Error(err)
		}
	})
	for slow.under.Load() < fetchesAtOnce+1 {
		runtime.Gosched()
	}
	for range threads + 1 {
		slow.on <- struct{}{}
	}
	all.Wait()
	if n := slow.most.Load(); n != fetchesAtOnce+1 {
		t.Errorf("%d at once", n)
	}
	if shelf.gets != threads+1 {
		t.Errorf("%d reads of %d objects", shelf.gets, threads+1)
	}
}

// Rows that can't be had are never taken for rows that do not exist, and a step that needs them leaves the partition as it was.
func TestParkedRowsThatCantBeHad(t *testing.T) {
	gone := func([]byte) []byte { return nil }
	for name, c := range map[string]struct {
		breaks func(s *shelf)
		want   error
	}{
		"away":      {func(s *shelf) { s.away = errors.New("no answer") }, ErrParked},
		"missing":   {func(s *shelf) { s.each(gone) }, ErrNoObject},
		"cut short": {func(s *shelf) { s.each(func(b []byte) []byte { return b[:len(b)-1] }) }, ErrLost},
		"altered":   {func(s *shelf) { s.each(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }) }, ErrLost},
		"another's": {func(s *shelf) { s.each(func([]byte) []byte { return s.objects["other"] }) }, ErrLost},
		"empty":     {func(s *shelf) { s.each(func([]byte) []byte { return []byte{} }) }, ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			shelf := newShelf()
			s := openParking(t, Memory(), shelf)
			defer s.closes(t)
			p := partitionOf(t, s)
			defer func() { _ = p.Close() }()
			for _, thread := range []string{"t1", "t2"} {
				step{name: thread, id: "m1", seq: 1}.do(t, p)
			}
			commit(t, p)
			park(t, s, p, shelf, "t2")
			for _, data := range shelf.objects {
				shelf.objects = map[string][]byte{"other": data}
			}
			if !park(t, s, p, shelf, "t1") {
				t.Fatal("not parked")
			}
			whole := maps.Clone(shelf.objects)
			c.breaks(shelf)
			fails := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, c.want) || errors.Is(err, ErrLost) == errors.Is(err, ErrParked) || errors.Is(err, ErrDamaged) {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := s.View(3).Message("t1", "m1")
			fails("message", err)
			_, err = s.View(3).Message("t1", "none")
			fails("no message", err)
			_, err = s.View(3).Messages("t1", 1, 2)
			fails("messages", err)
			_, err = s.View(3).Placed("t1", 1)
			fails("place", err)
			_, _, err = s.View(3).Seen("t1")
			fails("seen", err)
			prefix := newKey(3, kindMessage)
			fails("messages of all threads", s.View(3).scan(prefix, prefix, func(_, _ []byte) (bool, error) { return true, nil }))
			if refs, _, _, err := s.View(3).NextSummaries(nil, 10); len(refs) > 0 || err != nil {
				t.Errorf("summaries, of which there are none: %v, %v", refs, err)
			}
			_, err = p.LoadEvent("t1", &events.Event{Message: &events.Message{MessageID: "m1"}})
			fails("event", err)
			p.SaveSeen("t1", 1, nil) // a write beside the steps
			_, err = p.Commit(NoSync)
			fails("commit", err)
			if h, err := s.View(3).Header("t1"); h == nil || err != nil {
				t.Errorf("header: %v, %v", h, err)
			}
			shelf.objects, shelf.away = whole, nil
			if m, err := s.View(3).Message("t1", "m1"); m == nil || err != nil {
				t.Errorf("when it is back: %v, %v", m, err)
			}
		})
	}
}

// A store that has had parked threads has another format, which programs without them refuse, and its copies have it too.
func TestFormatOfParkedThreads(t *testing.T) {
	shelf, fs := newShelf(), Memory()
	s := openParking(t, fs, shelf)
	p := partitionOf(t, s)
	step{name: "t1", id: "m1", seq: 1}.do(t, p)
	commit(t, p)
	if s.Format() != format {
		t.Errorf("the format is %s", s.Format())
	}
	park(t, s, p, shelf, "t1")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := s.Export(3, func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	other := openParking(t, Memory(), shelf)
	defer other.closes(t)
	got, err := other.Receive(3, func(w io.Writer) error {
		f, err := table.Open()
		if err != nil {
			return err
		}
		var all bytes.Buffer
		_, err = all.ReadFrom(f)
		_, werr := w.Write(all.Bytes())
		return errors.Join(err, werr, f.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Install(got); err != nil {
		t.Fatal(err)
	}
	s.closes(t)
	s = openParking(t, fs, shelf)
	defer s.closes(t)
	for _, store := range []*Store{s, other} {
		if m, err := store.View(3).Message("t1", "m1"); m == nil || err != nil || store.Format() != formatParked {
			t.Errorf("%v, %v, format %s", m, err, store.Format())
		}
	}
	if slices.Contains([]string{format}, formatParked) || Reads("precis-0") || !Reads(formatParked) || !Reads(format) {
		t.Error("formats")
	}
}

// A thread that comes back leaves a row of its object, until that has the rows of the thread again.
func TestUnparkedObjects(t *testing.T) {
	shelf := newShelf()
	s := openParking(t, Memory(), shelf)
	defer s.closes(t)
	p := partitionOf(t, s)
	defer func() { _ = p.Close() }()
	list := func() (names []string) {
		if err := s.View(3).UnparkedObjects(func(u Unparked) (bool, error) { names = append(names, u.Object); return true, nil }); err != nil {
			t.Fatal(err)
		}
		return names
	}
	step{name: "t1", id: "m1", seq: 1}.do(t, p)
	commit(t, p)
	park(t, s, p, shelf, "t1")
	stub, err := s.View(3).Parked("t1")
	if err != nil || stub == nil || len(list()) != 0 {
		t.Fatal(stub, err, list())
	}
	p.SaveSeen("t1", 1, nil)
	p.remove(p.key(kindSeen).rest("t1"))
	commit(t, p)
	if got := list(); len(got) != 1 || got[0] != stub.Object {
		t.Fatalf("objects: %v", got)
	}
	park(t, s, p, shelf, "t1") // as it was
	if again, err := s.View(3).Parked("t1"); err != nil || again == nil || *again != *stub || len(list()) != 0 {
		t.Errorf("%+v, was %+v; %v; %v", again, stub, list(), err)
	}
}

// A slice of a sweep leaves the objects alone that have no summaries, fetches few of those that have, and goes on where it came to, also behind one that can't be read now.
func TestSlicesOfSummariesFetchFew(t *testing.T) {
	shelf := newShelf()
	s := openParking(t, Memory(), shelf)
	defer s.closes(t)
	p := partitionOf(t, s)
	defer func() { _ = p.Close() }()
	want := 0
	for n := range 100 {
		name := fmt.Sprintf("t%03d", n)
		step{name: name, id: "m", seq: uint64(2*n + 1)}.do(t, p)
		if n%2 == 0 {
			step{name: name, id: "m", made: "s", seq: uint64(2*n + 2), kind: 2}.do(t, p)
			want++
		}
		commit(t, p)
		if n%10 != 0 && !park(t, s, p, shelf, name) {
			t.Fatal("not parked")
		}
	}
	slice := func(after []byte) (refs []Ref, last []byte, gets int, err error) {
		s.packs, shelf.gets = newPacks(), 0
		refs, last, more, err := s.View(3).NextSummaries(after, 64)
		if !more {
			last = nil
		}
		return refs, last, shelf.gets, err
	}
	var all []string
	var after, second []byte
	for n := 0; ; n++ {
		refs, last, gets, err := slice(after)
		if err != nil || gets > sweepLooks || len(refs) == 0 {
			t.Fatalf("%d summaries, %d objects fetched: %v", len(refs), gets, err)
		}
		for _, ref := range refs {
			all = append(all, ref.Thread)
		}
		if n == 0 {
			second = last
		}
		if after = last; last == nil {
			break
		}
	}
	if len(all) != want || !slices.IsSorted(all) || len(slices.Compact(all)) != want {
		t.Errorf("%d summaries, want %d: %v", len(all), want, all)
	}
	shelf.away, shelf.before = errors.New("no answer"), 5
	refs, last, _, err := slice(second)
	if err != nil || len(refs) < 5 || last == nil {
		t.Errorf("behind %q: %d summaries: %v", last, len(refs), err)
	}
	shelf.before = 0
	if _, _, _, err := slice(last); !errors.Is(err, ErrParked) {
		t.Errorf("at one that can't be read: %v", err)
	}
	shelf.away = nil
	if more, _, _, err := slice(last); err != nil || len(more) == 0 || more[0].Thread <= refs[len(refs)-1].Thread {
		t.Errorf("goes on with %v behind %v: %v", more, refs, err)
	}
}

// A slice of a sweep fetches little where objects are large, and what it has fetched is in memory for who looks at its summaries. It fetches one that is larger than that alone.
func TestSlicesOfSummariesFetchLittle(t *testing.T) {
	shelf, r := newShelf(), rand.NewChaCha8([32]byte{1})
	s := openParking(t, Memory(), shelf)
	defer s.closes(t)
	p := partitionOf(t, s)
	defer func() { _ = p.Close() }()
	sizes := []int{3 << 19, 3 << 19, 3 << 19, 5 << 20, 3 << 19, 3 << 19, 3 << 19, 7 << 20, 7 << 20}
	for n, size := range sizes {
		name, seen := fmt.Sprintf("t%d", n), make([]byte, size)
		_, _ = r.Read(seen)
		step{name: name, id: "m", seq: uint64(2*n + 1)}.do(t, p)
		step{name: name, id: "m", made: "s", seq: uint64(2*n + 2), kind: 2}.do(t, p)
		p.SaveSeen(name, 1, seen)
		commit(t, p)
		if !park(t, s, p, shelf, name) {
			t.Fatal("not parked")
		}
	}
	var got []int
	var after []byte
	for more := true; more && len(got) < 2*len(sizes); {
		var refs []Ref
		var err error
		s.packs, shelf.gets = newPacks(), 0
		if refs, after, more, err = s.View(3).NextSummaries(after, 64); err != nil {
			t.Fatal(err)
		}
		fetched := shelf.gets
		for _, ref := range refs {
			if sum, err := s.View(3).Summary(ref.Thread, ref.Summary); err != nil || sum == nil {
				t.Fatal(ref, sum, err)
			}
		}
		if shelf.gets > fetched {
			t.Errorf("slice %d: %d objects are fetched, and %d of them once more", len(got), fetched, shelf.gets-fetched)
		}
		got = append(got, len(refs))
	}
	if got, want := fmt.Sprint(got), "[2 1 1 2 1 1 1]"; got != want {
		t.Errorf("slices of %s summaries, want %s", got, want)
	}
}

// slowShelf answers when its context has ended.
type slowShelf struct{ asked chan time.Time }

func (s slowShelf) Get(ctx context.Context, _ int, _ string) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	s.asked <- deadline
	<-ctx.Done()
	return nil, ctx.Err()
}

// A partition that ends waits for no object.
func TestEndOfWaitForObject(t *testing.T) {
	shelf, fs := newShelf(), Memory()
	s := openParking(t, fs, shelf)
	p := partitionOf(t, s)
	step{name: "t1", id: "m1", seq: 1}.do(t, p)
	commit(t, p)
	park(t, s, p, shelf, "t1")
	s.packs = newPacks()
	slow, end := slowShelf{make(chan time.Time, 1)}, make(chan struct{})
	s.opts.Objects = slow
	p.Until(end)
	go func() { <-slow.asked; close(end) }()
	began := time.Now()
	if _, err := p.LoadThread("t1"); !errors.Is(err, ErrParked) || time.Since(began) >= parkedPatience {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	began = time.Now()
	end = make(chan struct{})
	deadline := make(chan time.Time, 1)
	go func() { deadline <- <-slow.asked; close(end) }()
	if _, err := s.fetch(3, "t1", Parked{Stored: 5 << 20}, &stops{end: end}); !errors.Is(err, ErrParked) {
		t.Error(err)
	}
	if left := (<-deadline).Sub(began); left < 7*time.Second || left > 8*time.Second {
		t.Errorf("%s for 5 MiB", left)
	}
	_ = p.Close()
	s.closes(t)
}

// A thread that is large stays in the store.
func TestLargeThreadsAreNotParked(t *testing.T) {
	shelf := newShelf()
	s := openParking(t, Memory(), shelf)
	defer s.closes(t)
	p := partitionOf(t, s)
	defer func() { _ = p.Close() }()
	step{name: "t1", id: "m1", seq: 1}.do(t, p)
	commit(t, p)
	for _, large := range []bool{true, false} {
		size := packedBytes / 2
		if large {
			size = packedBytes
		}
		p.SaveSeen("t1", 1, make([]byte, size))
		commit(t, p)
		if park(t, s, p, shelf, "t1") == large {
			t.Errorf("large %t: parked %t", large, !large)
		}
	}
}
