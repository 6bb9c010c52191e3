package processor_test

import (
	"fmt"
	"testing"
	"time"

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
