package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/race"
	"precis/summarize"
)

// A copy of an output whose summary waits to be made again asks for it like any event; it is made once, in its slot.
func TestACopyOfAStaleOutput(t *testing.T) {
	s := stage(t, requested(t))
	defer s.finish()
	s.publish("tool.result.t", large("a"))
	s.reload(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = 500 })
	s.saw("t", 0, "created tool:a v1 rules tool_output_chars", "stale tool:a policy_changed regenerate")
	s.publish("tool.result.t", large("a"))
	s.saw("t", 2, "created tool:a v2 rules regenerated")
	s.publish("tool.result.t", large("a"))
	s.publish("thread.message.t", asked(0))
	s.saw("t", 3)
}

// A result that does not name its tool has the one of its call, also when its summary is made again.
func TestStaleOutputOfACall(t *testing.T) {
	s := stage(t, requested(t))
	defer s.finish()
	s.publish("thread.message.t", `{"message_id":"m","role":"assistant","content":"","tool_calls":[{"id":"c","name":"Grep","arguments":{"pattern":"a"}}]}`)
	s.publish("thread.message.t", fmt.Sprintf(`{"message_id":"a","role":"tool","tool_call_id":"c","content":%q}`, strings.Repeat("a.go:1:	a line\n", 200)))
	s.reload(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = 500 })
	s.publish("thread.message.t", asked(0))
	s.saw("t", 0, "created tool:a v1 rules tool_output_chars", "stale tool:a policy_changed regenerate", "created tool:a v2 rules regenerated")
	for _, rec := range story(t, s.schedule.broker, "t") {
		if rec.Type == "summary.created" && !strings.HasPrefix(rec.Content, "[✓ Grep: ") {
			t.Errorf("version %d begins %.40q", rec.Version, rec.Content)
		}
	}
}

// trimmedThread is a thread with many leaves and nodes that a changed policy has made stale for good.
func trimmedThread(t *testing.T) (s *scene, stale int) {
	c := settings(t)
	p := &c.Policies[0]
	p.Compaction.Trigger, p.Compaction.Keep, p.Staleness.Action = summarize.Condition{Messages: 4}, summarize.Keep{Messages: 2}, events.ActionTrim
	s = stage(t, c)
	for i := range 110 {
		s.publish("thread.message.t", asked(i))
	}
	s.reload(func(c *config.Config) { c.Policies[0].Compaction.MaxSummaryTokens += 100 })
	for _, line := range s.told("t") {
		if strings.HasPrefix(line, "stale leaf:") || strings.HasPrefix(line, "stale node:") {
			stale++
		}
	}
	if stale < 20 {
		t.Fatalf("%d leaves and nodes are stale, want more than two events make again", stale)
	}
	return s, stale
}

// madeAgain are the leaves and nodes behind the first records that were made again, by the event that did, and how many
// records there are.
func madeAgain(s *scene, from int) (byEvent map[uint64]int, made, records int) {
	byEvent = map[uint64]int{}
	list := story(s.schedule.t, s.schedule.broker, "t")
	for _, rec := range list[from:] {
		if rec.Type == "summary.created" && rec.Version > 1 && rec.Slot != events.SlotCurrent {
			byEvent[rec.EventSeq]++
			made++
		}
	}
	return byEvent, made, len(list)
}

// What a new compaction would stand on and was trimmed is made again a few at an event, and nothing is made of them
// before the last: no event holds up those behind it for all of a long thread.
func TestTrimmedOnesAreMadeAgainAFewAtAnEvent(t *testing.T) {
	s, stale := trimmedThread(t)
	defer s.finish()
	before := len(story(t, s.schedule.broker, "t"))
	for i := range 12 {
		s.publish("thread.message.t", asked(110+i))
	}
	byEvent, made, records := madeAgain(s, before)
	for seq, n := range byEvent {
		if n > 8 {
			t.Errorf("event %d made %d again", seq, n)
		}
	}
	if made != stale {
		t.Errorf("%d of %d were made again", made, stale)
	}
	last := uint64(0)
	for seq := range byEvent {
		last = max(last, seq)
	}
	for _, rec := range story(t, s.schedule.broker, "t")[before:] {
		if fresh := rec.Version == 1 || rec.Slot == events.SlotCurrent; fresh && rec.Type == "summary.created" && rec.EventSeq < last {
			t.Errorf("%s was made at event %d, before what it stands on at event %d", rec.Slot, rec.EventSeq, last)
		}
	}
	// A store that is lost comes back with nothing made twice.
	s.end()
	s.schedule.fs = vfs.NewCrashableMem()
	s.open()
	s.settled()
	if now := len(story(t, s.schedule.broker, "t")); now != records {
		t.Errorf("%d records behind a recovery, %d before", now, records)
	}
}

// Where the record ends in the middle of what an event has made again, the rest is made that it would have made, and
// no more.
func TestTrimmedOnesAreMadeAgainBehindALostTail(t *testing.T) {
	race.Slow(t)
	s, _ := trimmedThread(t)
	before := len(placed(s))
	for i := range 8 {
		s.publish("thread.message.t", asked(110+i))
	}
	s.end()
	want := placed(s)
	for lost := len(want) - before - 1; lost > 0; lost -= 5 {
		loseTail(t, s.schedule.broker, lost)
		s.schedule.fs = vfs.NewCrashableMem()
		s.open()
		s.settled()
		s.finish()
		if got := placed(s); !slices.Equal(got, want) {
			t.Fatalf("without the last %d records: %q behind a recovery, %q before", lost, got[before:], want[before:])
		}
	}
}

// Where the record ends behind a leaf that somebody has asked for, or that the clock called for, what stands on it is
// made as it was: no event of the thread has to come for that.
func TestACompactionNoEventCalledForIsMadeWhole(t *testing.T) {
	for name, ask := range map[string]func(*scene){
		"requested": func(s *scene) { s.summarize("t") },
		"idle": func(s *scene) {
			s.clock.forward(2 * time.Hour)
			s.tended()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := requested(t)
			c.Policies[0].Compaction.Trigger = summarize.Condition{Idle: time.Hour}
			s := stage(t, c)
			for i := range 60 {
				s.publish("thread.message.t", asked(i))
				if i%12 == 11 && i > 12 { // the last leaf completes a node
					ask(s)
				}
			}
			s.publish("thread.message.other", asked(0))
			s.end()
			want := placed(s)
			if !strings.Contains(want[len(want)-2], "node:1:") {
				t.Fatalf("the last of %q is no node", want[:len(want)-1])
			}
			for lost := 1; lost <= 2; lost++ {
				loseTail(t, s.schedule.broker, lost)
				s.schedule.fs = vfs.NewCrashableMem()
				s.open()
				s.settled()
				s.finish()
				if got := placed(s); !slices.Equal(got, want) {
					t.Fatalf("without the last %d: %q behind a recovery, %q before", lost, got, want)
				}
			}
		})
	}
}

// placed are the thread's records, each with the event that it was decided at.
func placed(s *scene) (list []string) {
	for _, rec := range story(s.schedule.t, s.schedule.broker, "t") {
		list = append(list, fmt.Sprintf("%d: %s %s%s v%d", rec.EventSeq, rec.Slot, rec.ID, rec.SummaryID, rec.Version))
	}
	return list
}

// loseTail makes SUMMARIES anew, without its last records.
func loseTail(t *testing.T, b *broker.Broker, lost int) {
	t.Helper()
	ctx := within(t)
	var kept []*nats.Msg
	err := broker.NewLogReader(b.JetStream(), broker.StreamSummaries).Scan(ctx, 1, nil, func(m broker.Stored) error {
		msg := &nats.Msg{Subject: m.Subject, Header: nats.Header{}, Data: slices.Clone(m.Data)}
		for key, values := range m.Header {
			if !strings.HasPrefix(key, "Nats-Expected") && !strings.HasPrefix(key, "Nats-Batch") {
				msg.Header[key] = values
			}
		}
		kept = append(kept, msg)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := b.JetStream().Stream(ctx, broker.StreamSummaries)
	if err != nil {
		t.Fatal(err)
	}
	settings := stream.CachedInfo().Config
	if err := b.JetStream().DeleteStream(ctx, broker.StreamSummaries); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JetStream().CreateStream(ctx, settings); err != nil {
		t.Fatal(err)
	}
	for _, msg := range kept[:len(kept)-lost] {
		if _, err := b.JetStream().PublishMsg(ctx, msg); err != nil {
			t.Fatal(err)
		}
	}
}

// Whoever asks waits for all of them.
func TestARequestMakesAllTrimmedOnesAgain(t *testing.T) {
	s, stale := trimmedThread(t)
	defer s.finish()
	before := len(story(t, s.schedule.broker, "t"))
	if id := s.summarize("t"); id == "" {
		t.Fatal("nothing stands for the thread")
	}
	if _, made, _ := madeAgain(s, before); made != stale {
		t.Errorf("%d of %d were made again", made, stale)
	}
}

// Threads of which nothing is accepted have nothing to compact, and keep nobody else from being compacted.
func TestStrangersDoNotHoldUpIdleThreads(t *testing.T) {
	c := requested(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Idle: time.Hour}
	s := stage(t, c)
	defer s.finish()
	for i := range 8 { // some of them in each partition
		s.publish(fmt.Sprint("message.edited.stranger", i), `{"message_id":"x","content":"nobody sent it"}`)
	}
	for i := range 10 {
		s.publish("thread.message.t", asked(i))
	}
	s.clock.forward(2 * time.Hour)
	s.tended()
	s.saw("t", 0, "created leaf:n0 v1 rules idle", "created current v1 rules idle")
	s.publish("thread.message.stranger1", `{"message_id":"x","role":"user","content":"now it is there"}`)
	s.clock.forward(2 * time.Hour)
	s.tended()
	s.saw("stranger1", 0)
}

// What the log no longer holds can't be made again, and is given up: it keeps nothing from being made that can.
func TestRetentionDoesNotHoldUpRenewals(t *testing.T) {
	s := stage(t, requested(t))
	defer s.finish()
	var last uint64
	for i := range 12 {
		last = put(t, s.schedule.broker.Conn(), "tool.result.t", large(fmt.Sprint("gone", i)))
	}
	s.publish("tool.result.t", large("a"), large("b"), large("c"), large("d"))
	s.end()
	stream, err := s.schedule.broker.JetStream().Stream(within(t), broker.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(within(t), jetstream.WithPurgeSequence(last+1)); err != nil {
		t.Fatal(err)
	}
	// A retention on record accounts for what is gone: without one it is a finding.
	limited := stream.CachedInfo().Config
	limited.MaxAge = time.Hour
	if _, err := s.schedule.broker.JetStream().UpdateStream(within(t), limited); err != nil {
		t.Fatal(err)
	}
	s.schedule.config.Retention.Events = time.Hour
	s.clock.forward(2 * time.Hour)
	s.open()
	s.reload(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = 500 })
	seen := len(s.told("t"))
	for i := range 3 {
		s.publish("thread.message.t", asked(i))
	}
	made := s.told("t")[seen:]
	slices.Sort(made)
	if want := []string{"created tool:a v2 rules regenerated", "created tool:b v2 rules regenerated", "created tool:c v2 rules regenerated", "created tool:d v2 rules regenerated"}; !slices.Equal(made, want) {
		t.Errorf("made again: %q", made)
	}
	h, err := s.View(s.partition("t")).Header("t")
	if err != nil || h.Renewals != 0 {
		t.Errorf("%d still wait to be made again: %v", h.Renewals, err)
	}
}
