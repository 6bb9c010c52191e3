package processor_test

import (
	"strconv"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/race"
	"precis/summarize"
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

// longestStep is how many records the longest step of a stream has.
func longestStep(t *testing.T, b *broker.Broker) (most int) {
	t.Helper()
	for _, m := range stored(t, b, broker.StreamSummaries) {
		n, err := strconv.Atoi(m.Header.Get(events.StepSize))
		if err != nil {
			t.Fatalf("%s: %v", m.Header.Get("ce-id"), err)
		}
		most = max(most, n)
	}
	return most
}

// No step has more records than the server stores at once, however long the thread: neither where the policy keeps thousands of
// messages more than before, nor where a request finds all its compactions stale.
func TestStepsAreBounded(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	const messages, kept = 4200, 3300
	c := settings(t)
	p := &c.Policies[0]
	p.Tokenizer = summarize.TokenizerEstimate
	p.Compaction.Trigger, p.Compaction.Keep = summarize.Condition{Messages: 4}, summarize.Keep{Messages: 2}
	s := stage(t, c)
	defer s.finish()
	conn := s.schedule.broker.Conn()
	for i := range messages {
		put(t, conn, "thread.message.t", asked(i))
	}
	s.settled()

	s.reload(func(c *config.Config) { c.Policies[0].Compaction.Keep.Messages = kept })
	steps := 0
	for i := messages; s.lacks("t"); i++ {
		put(t, conn, "thread.message.t", asked(i))
		s.settled()
		steps++
	}
	if n := longestStep(t, s.schedule.broker); n > broker.MaxAtomic || steps < 10 {
		t.Errorf("%d events gave messages back, in steps of up to %d records", steps, n)
	}

	s.reload(func(c *config.Config) { c.Policies[0].Compaction.MaxSummaryTokens = 400 })
	id := s.partition("t")
	h, err := s.View(id).Header("t")
	if err != nil || h.RenewCompactions < 300 {
		t.Fatalf("%+v, %v: want more stale compactions than two steps recompute", h, err)
	}
	steps = 0
	for more := true; more; steps++ {
		if more, err = s.SummarizeOnce(within(t), id, "t", events.KindCompaction); err != nil {
			t.Fatal(err)
		}
	}
	s.settled()
	if h, err = s.View(id).Header("t"); err != nil || h.RenewCompactions > 0 || h.SummariesStale > 0 {
		t.Errorf("%+v, %v: some are still stale", h, err)
	}
	if n := longestStep(t, s.schedule.broker); n > broker.MaxAtomic || steps < 3 {
		t.Errorf("%d steps of a request, of up to %d records", steps, n)
	}
	t.Logf("%d records in the longest step", longestStep(t, s.schedule.broker))
}

// lacks reports whether a thread has fewer messages verbatim than its policy keeps.
func (s *scene) lacks(name string) bool {
	c, err := s.View(s.partition(name)).Compaction(name)
	if err != nil {
		s.schedule.t.Fatal(err)
	}
	return c.Cut.Lacks(s.config.Policies[0].Compaction.Keep)
}
