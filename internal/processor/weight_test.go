package processor_test

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/summarize"
)

// A record says how many characters its text stands for, whatever lies between it and the messages.
func TestCompactionsSayWhatTheyStandFor(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 6}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 2}
	c.Policies[0].History = summarize.History{Enabled: true, EveryMessages: 60, MaxSummaryTokens: 100}
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	for n := range 60 {
		put(t, b.Conn(), "thread.message.t1", message(fmt.Sprint("m", n)))
	}
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	chars, kinds := map[string]int64{}, map[string]int{}
	err := broker.NewLogReader(b.JetStream(), broker.StreamSummaries).Scan(within(t), 1, nil, func(m broker.Stored) error {
		if m.Header.Get(nats.MsgIdHdr)[:9] != "summary.c" {
			return nil
		}
		var s events.Summary
		if err := json.Unmarshal(m.Data, &s); err != nil {
			return err
		}
		want := int64(len("hello") * len(s.SourceMessageIDs))
		for _, id := range s.SourceSummaryIDs {
			want += chars[id]
		}
		if s.CharsBefore != want || want == 0 {
			t.Errorf("%s of %d messages and %d summaries: %d characters before, want %d",
				s.Slot, len(s.SourceMessageIDs), len(s.SourceSummaryIDs), s.CharsBefore, want)
		}
		chars[s.ID] = s.CharsBefore
		kinds[fmt.Sprint(s.Kind, s.Level)]++
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"compaction0", "compaction1", "compaction2"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s among %v", kind, kinds)
		}
	}
	if len(kinds) < 4 {
		t.Errorf("no history among %v", kinds)
	}
}
