package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/state"
	"precis/summarize"
)

// longThread publishes a thread whose ids alone are more than a record may hold, before it is compacted for the first time.
func (w *world) longThread(messages int, id func(i int) string) {
	w.t.Helper()
	pub, err := broker.NewPublisher(w.broker.Conn(), broker.PublisherConfig{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer pub.Close()
	msgs := make([]*nats.Msg, messages)
	for i := range msgs {
		role := []string{"user", "assistant"}[i%2]
		msgs[i] = &nats.Msg{Subject: "thread.message.long", Data: fmt.Appendf(nil, `{"message_id":%s,"role":%q,"content":"Part %d is done."}`, quoted(id(i)), role, i)}
	}
	for _, ack := range pub.PublishBatch(within(w.t), msgs) {
		if ack.Err != nil {
			w.t.Fatal(ack.Err)
		}
	}
}

// No record grows with its thread: one that is compacted for the first time when its ids alone are more than a message may
// hold is cut leaf by leaf, an event each, and what makes the store anew or audits the log does the same.
func TestNoRecordOutgrowsItsServer(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	for name, c := range map[string]struct {
		messages int
		id       func(i int) string
	}{
		// 220 bytes, which are 1,290 in JSON: as much as 42,000 ids of 220 letters.
		"long ids": {7_200, func(i int) string { return strings.Repeat("\x01", 214) + fmt.Sprintf("%06d", i) }},
		"UUIDs":    {27_000, func(i int) string { return fmt.Sprintf("018f3a5e-7b2c-7d41-9c0e-%012d", i) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.bulkFrom = 1000
			w.config.Policies = w.config.Policies[:1]
			p := &w.config.Policies[0]
			p.Compaction.Trigger = summarize.Condition{Messages: 1_000_000}
			p.Compaction.Keep = summarize.Keep{Messages: 20}
			w.run(func(*processor.Processor) {}) // which makes the streams
			w.longThread(c.messages, c.id)
			w.run(func(*processor.Processor) {})
			p.Compaction.Trigger = summarize.Condition{Messages: 100}
			w.run(func(*processor.Processor) {
				for i := range 60 {
					w.put([2]string{"thread.message.long", say(fmt.Sprint("late", i), []string{"user", "assistant"}[i%2], "Go on.")})
				}
			})
			left := c.messages + 60
			for _, m := range w.messages(broker.StreamSummaries) {
				if size := len(m.Data); size > fold.LeastPayload/2 {
					t.Errorf("%s has %d bytes", m.Subject, size)
				}
				if rec := created(t, m); rec != nil && rec.Level == 0 && strings.HasPrefix(rec.Slot, "leaf:") {
					left -= len(rec.SourceMessageIDs)
				}
			}
			if left > 20+100 {
				t.Errorf("%d messages are not summarized", left)
			}
			clean(t, w.replay())
			w.remade()
		})
	}
}

// remade has the store made anew from the streams, and holds the thread against what it was.
func (w *world) remade() {
	w.t.Helper()
	was := w.store()
	again := w.rebuiltStore(func(*processor.Processor) {})
	defer again.Close()
	for id := range w.config.Partitions {
		err := was.Diff(again, id, func(p state.Problem) {
			if p.Thread == "long" {
				w.t.Errorf("%s: %s, was %s", p.Check, p.Got, p.Want)
			}
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func quoted(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // texts of the test's own
	}
	return b
}

// created reads a summary.created; nil for any other record.
func created(t *testing.T, m broker.Stored) *events.Summary {
	t.Helper()
	if !strings.HasPrefix(m.Subject, string(events.SummaryCreated)+".") {
		return nil
	}
	rec := &events.Summary{}
	if err := json.Unmarshal(m.Data, rec); err != nil {
		t.Fatal(err)
	}
	return rec
}
