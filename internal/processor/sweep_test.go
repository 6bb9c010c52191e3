package processor_test

import (
	"testing"

	"precis/internal/config"
	"precis/summarize"
)

// lookedAt is how many summaries a sweep of this processor has looked at so far.
func lookedAt(t *testing.T, s *scene) (n float64) {
	t.Helper()
	families, err := s.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "precis_sweep_summaries_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == "looked_at" {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

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
	if n := lookedAt(t, s); n != 0 {
		t.Errorf("another build had %v summaries swept", n)
	}
	s.reload(func(c *config.Config) {
		p := &c.Policies[0]
		p.ToolOutput.OverChars, p.Compaction.Trigger, p.Staleness.Action = 1000, summarize.Condition{Messages: 50000}, summarize.ActionTrim
		c.Limits.EventBytes = 4096
	})
	if n := lookedAt(t, s); n != 0 {
		t.Errorf("settings that change no result had %v summaries swept", n)
	}
	s.reload(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = 500 })
	if n := lookedAt(t, s); n != 2 {
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
