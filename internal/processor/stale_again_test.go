package processor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/internal/config"
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
