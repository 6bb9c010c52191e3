package processor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"precis/events"
	"precis/internal/config"
	"precis/summarize"
)

// Another build of the program, and settings that change no summary that was made, have nothing swept.
func TestOnlyWhatChangesResultsIsSwept(t *testing.T) {
	c := requested(t)
	s := stage(t, c)
	defer s.finish()
	s.publish("tool.result.t", large("a"), large("b"))
	s.end()
	s.version = "v2 fedcba"
	s.open()
	s.tended()
	if n := s.LookedAt(); n != 0 {
		t.Errorf("another build had %v summaries swept", n)
	}
	s.reload(func(c *config.Config) {
		p := &c.Policies[0]
		p.ToolOutput.OverChars, p.Compaction.Trigger, p.Staleness.Action = 1000, summarize.Condition{Messages: 50000}, summarize.ActionTrim
		c.Limits.EventBytes = 4096
	})
	if n := s.LookedAt(); n != 0 {
		t.Errorf("settings that change no result had %v summaries swept", n)
	}
	s.reload(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = 500 })
	if n := s.LookedAt(); n != 2 {
		t.Errorf("another budget had %v summaries swept, want 2", n)
	}
}

// A configuration that comes back is held against what was made meanwhile, although the last sweep was its own.
func TestAConfigurationThatComesBackIsSweptAnew(t *testing.T) {
	s := stage(t, requested(t))
	defer s.finish()
	s.publish("tool.result.t", large("a"))
	s.tended()
	first := *s.config
	s.alter(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = 500 })
	s.publish("tool.result.t", large("b"))
	s.alter(func(c *config.Config) { *c = first })
	s.tended()
	s.saw("t", 2, "stale tool:b policy_changed regenerate")
}

// A summary that expires during a sweep is made stale before the sweep goes on by more than its next slices: background
// work takes turns.
func TestExpiryTakesTurnsWithASweep(t *testing.T) {
	c := requested(t)
	c.Policies[0].ToolOutput.OverChars = 100
	expiring := c.Policies[0]
	expiring.Name, expiring.Match, expiring.Staleness.TTL = "expiring", summarize.Match{ThreadID: "short"}, time.Hour
	c.Policies = append([]summarize.Policy{expiring}, c.Policies...)
	s := stage(t, c)
	defer s.finish()
	const swept = 400
	var bodies []string
	for i := range swept {
		bodies = append(bodies, fmt.Sprintf(`{"message_id":"m%d","tool_name":"bash","content":%q}`, i, strings.Repeat("built it, and it ran\n", 10)))
	}
	s.publish("tool.result.long", bodies...)
	s.publish("tool.result.short", large("out"))
	s.tended()
	s.alter(func(c *config.Config) { c.Policies[1].ToolOutput.MaxSummaryChars = 90 })
	jumped := s.clock.jumpWhen(func() bool { return s.LookedAt() >= 64 }, 2*time.Hour) // the sweep is under way
	s.tended()
	over := jumped()
	var expired time.Time
	after := 0
	for _, rec := range story(t, s.schedule.broker, "short") {
		if rec.Reason == events.ReasonTTLExpired {
			expired = rec.InvalidatedAt
		}
	}
	for _, rec := range story(t, s.schedule.broker, "long") {
		if rec.Type == string(events.SummaryInvalidated) && !rec.InvalidatedAt.Before(over) && rec.InvalidatedAt.Before(expired) {
			after++
		}
	}
	if expired.IsZero() || after > 2*64 {
		t.Errorf("expired at %s; from the moment that it was due the sweep went on by %d of %d summaries", expired, after, swept)
	}
}
