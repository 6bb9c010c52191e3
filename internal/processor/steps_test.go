package processor_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
)

// The records of a step are one atomic batch: what an edit makes stale and made again, a compaction's leaf, nodes and
// current summary.
func TestStepsAreStoredWhole(t *testing.T) {
	s := rewound(t)
	put(t, s.schedule.broker.Conn(), "message.edited.t", `{"message_id":"m3","content":"another hull3.go","edit_id":"e1"}`)
	s.settled()
	batches := map[uint64]map[string]int{} // the records of each event, by their batch
	seqs := map[uint64][]uint64{}
	kinds := map[string]int{}
	err := broker.NewLogReader(s.schedule.broker.JetStream(), broker.StreamSummaries).Scan(within(t), 1, []string{"summary.*.t"}, func(m broker.Stored) error {
		var rec struct {
			EventSeq uint64 `json:"event_seq"`
			Slot     string `json:"slot"`
		}
		if err := json.Unmarshal(m.Data, &rec); err != nil {
			return err
		}
		if batches[rec.EventSeq] == nil {
			batches[rec.EventSeq] = map[string]int{}
		}
		batches[rec.EventSeq][nats.Header(m.Header).Get("Nats-Batch-Id")]++
		seqs[rec.EventSeq] = append(seqs[rec.EventSeq], m.Seq)
		if rec.Slot == events.SlotCurrent {
			kinds[m.Header.Get("ce-type")]++
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if kinds["summary.created"] < 3 || len(batches) < 3 {
		t.Fatalf("%d events decided something, %v: the test needs several steps of several records", len(batches), kinds)
	}
	for event, of := range batches {
		if n := len(seqs[event]); n < 2 || len(of) != 1 || of[""] > 0 {
			t.Errorf("event %d: %d records in batches %v", event, n, of)
		}
		for i, seq := range seqs[event] {
			if want := seqs[event][0] + uint64(i); seq != want {
				t.Errorf("event %d: record %d of its step is at %d of SUMMARIES, want %d", event, i+1, seq, want)
			}
		}
	}
}
