package state

import (
	"fmt"
	"testing"

	"precis/events"
	"precis/internal/thread"
)

func TestUnseen(t *testing.T) {
	const rows = 100_000
	u := newUnseen(rows, unseenBytes)
	k := func(i int) key { return newKey(3, kindHeader).rest(fmt.Sprintf("thread-%d", i)) }
	for i := range rows {
		u.add(k(i))
	}
	for i := range rows {
		if u.rulesOut(k(i)) {
			t.Fatalf("row %d was added and is ruled out", i)
		}
	}
	inVain := 0
	for i := range rows {
		if !u.rulesOut(k(rows + i)) {
			inVain++
		}
	}
	if inVain > rows/50 {
		t.Errorf("%d of %d rows that were never added are not ruled out, want one in fifty at most", inVain, rows)
	}
}

// TestFill: while a log is read at once each message and each thread is found that was saved, in the open batch, behind
// it and before it, whatever the filter's size, and no other one.
func TestFill(t *testing.T) {
	for _, events := range []int{1, 100, 100_000} {
		s := openOn(t, Memory(), "store")
		defer s.closes(t)
		p, err := s.Partition(0)
		if err != nil {
			t.Fatal(err)
		}
		p.hot = newHot(1) // every header is read
		saves := map[int]uint64{}
		save := func(i int, revision uint64) {
			st := load(t, p, i)
			m := &thread.Message{ID: fmt.Sprintf("m%d", i), Ordinal: uint64(i), Revision: revision}
			st.Message, st.Changes.MessagePut, st.Changes.MessageNew = m, true, st.Message == nil
			st.Header.Ordinals++
			saves[i/5]++
			p.Save(st)
		}
		for i := range 10 {
			save(i, 1) // the partition is not empty
		}
		if _, err := p.Commit(NoSync); err != nil {
			t.Fatal(err)
		}
		if err := p.Fill(events); err != nil {
			t.Fatal(err)
		}
		const all = 1000
		want := map[int]uint64{}
		for i := range all {
			save(i, 1)
			save(i/2, 2)
			want[i], want[i/2] = 1, 2
			for _, at := range []int{i, i / 2, i / 3, i + 1, i + all} {
				st := load(t, p, at)
				if got := st.Header.Ordinals; got != saves[at/5] {
					t.Fatalf("filter for %d events: thread %d was saved %d times, want %d", events, at/5, got, saves[at/5])
				}
				if got := st.Message != nil; got != (want[at] > 0 || at < 10) {
					t.Fatalf("filter for %d events, behind message %d: message %d is there: %v", events, i, at, got)
				}
				if st.Message != nil && want[at] > 0 && st.Message.Revision != want[at] {
					t.Fatalf("filter for %d events: message %d has revision %d, want %d", events, at, st.Message.Revision, want[at])
				}
			}
			if i%97 == 0 {
				if _, err := p.Commit(NoSync); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// load is what an event of message i loads; five messages are a thread's.
func load(t *testing.T, p *Partition, i int) *thread.State {
	t.Helper()
	st, err := p.LoadEvent(fmt.Sprintf("t%d", i/5), &events.Event{Message: &events.Message{MessageID: fmt.Sprintf("m%d", i)}})
	if err != nil {
		t.Fatal(err)
	}
	return st
}
