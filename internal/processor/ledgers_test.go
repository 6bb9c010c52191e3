package processor_test

import (
	"bytes"
	"testing"

	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/thread"
	"precis/summarize"
)

// A summary that another has taken the place of keeps no ledger in the store: an edit in a long thread would leave
// some 100 KiB behind for good. It can still be made again, byte for byte.
func TestReplacedLedgersGo(t *testing.T) {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 10}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 5}
	s := stage(t, c)
	defer s.finish()
	send := func(msg *nats.Msg) { s.publish(msg.Subject, string(msg.Data)) }
	for i := range 120 {
		send(turnOf("t", i))
	}
	before := ledgersOf(t, s)
	send(editOf("t", 20, 0))
	after := ledgersOf(t, s)
	replaced := 0
	for sum, err := range summaries(s.View(s.partition("t")), "t") {
		if err != nil {
			t.Fatal(err)
		}
		if sum.Kind != events.KindCompaction || sum.Slot == events.SlotCurrent {
			continue
		}
		if sum.Status == thread.Active {
			if after[sum.ID] == nil {
				t.Errorf("%s %s has no ledger", sum.Slot, sum.ID)
			}
			continue
		}
		replaced++
		if after[sum.ID] != nil {
			t.Errorf("%s %s is %s and has a ledger", sum.Slot, sum.ID, sum.Status)
		}
		log := content.Uncached{Log: broker.NewLogReader(s.schedule.broker.JetStream(), broker.StreamEvents)}
		l, err := content.LedgerOf(within(t), s.View(s.partition("t")), log, "t", sum.ID)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := l.MarshalBinary(); err != nil || !bytes.Equal(data, before[sum.ID]) {
			t.Errorf("%s %s is made again otherwise than it was (%v)", sum.Slot, sum.ID, err)
		}
	}
	if replaced < 2 {
		t.Fatalf("%d were replaced: the edit touched no node", replaced)
	}
}

// ledgersOf are the ledgers that the store has of the thread's summaries.
func ledgersOf(t *testing.T, s *scene) map[string][]byte {
	stored := map[string][]byte{}
	v := s.View(s.partition("t"))
	for sum, err := range summaries(v, "t") {
		if err != nil {
			t.Fatal(err)
		}
		data, err := v.Ledger("t", sum.ID)
		if err != nil {
			t.Fatal(err)
		}
		if data != nil {
			stored[sum.ID] = data
		}
	}
	return stored
}
