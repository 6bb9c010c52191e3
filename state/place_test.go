package state

import (
	"testing"

	"precis/events"
)

// A record that waits is read from the outbox, one that was stored has its place. One that is nowhere has that as its place: it is not looked for in the
// outbox, all of whose rows each request for it would read.
func TestRecorded(t *testing.T) {
	s := openOn(t, Memory(), "store")
	defer s.closes(t)
	p, err := s.Partition(3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	commit := func() {
		t.Helper()
		if _, err := p.Commit(Sync); err != nil {
			t.Fatal(err)
		}
	}
	var rows []*Outgoing
	for n := range uint64(2) {
		row := &Outgoing{Type: events.SummaryCreated, Thread: "t", ChainSeq: n + 1, Guarded: true, Data: []byte(`{"id":"s"}`)}
		p.Send(row)
		rows = append(rows, row)
	}
	commit()
	if seq, data, err := p.Recorded("t", 1); seq != 0 || string(data) != `{"id":"s"}` || err != nil {
		t.Errorf("one that waits: %d, %s, %v", seq, data, err)
	}
	p.Delivered(rows[0], 7)
	p.Delivered(rows[1], 0)
	p.set(p.key(kindOutbox).number(99), []byte("not to be read"))
	commit()
	for chainSeq, want := range map[uint64]uint64{1: 7, 2: 0} {
		if seq, data, err := p.Recorded("t", chainSeq); seq != want || data != nil || err != nil {
			t.Errorf("record %d: %d, %s, %v", chainSeq, seq, data, err)
		}
	}
	if _, _, err := p.Recorded("t", 3); err == nil {
		t.Error("the outbox can be read")
	}
}
