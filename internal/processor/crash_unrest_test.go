package processor_test

import (
	"cmp"
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"precis/events"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/summarize"
)

var restlessSeeds = flag.Int("crash.restless", 0, "how many schedules TestRestlessCrashSchedules runs; 0: 12, and 4 with the race detector")

// Beside the events there are reloads, sweeps, idle threads, requests, and stores that are lost.
func TestRestlessCrashSchedules(t *testing.T) {
	runSchedules(t, cmp.Or(*restlessSeeds, race.Fewer(2, 12)), (*schedule).restlessly)
}

func (s *schedule) restlessly() {
	s.restless, s.forks = true, true
	other := s.config.Policies[0]
	other.Name, other.ToolOutput.MaxSummaryChars, other.Compaction.MaxSummaryTokens = "other", 700, 250
	s.config.Policies = append(s.config.Policies, other)
}

// unrest goes on until it is enough, or the processor has crashed.
func (s *schedule) unrest(alive context.Context, p *processor.Processor, load *load) {
	for n := 4 + s.rng.IntN(12); n > 0 && alive.Err() == nil; n-- {
		s.disturb(alive, p)
		load.publish(s.t, s.broker.Conn(), 1+s.rng.IntN(8))
	}
}

// disturb does something that no event calls for: another configuration, a clock that has gone on, a sweep, a
// request. What comes of it is on record, and may not depend on where the processor crashes. It ends with ctx,
// and what fails by that fails.
func (s *schedule) disturb(ctx context.Context, p *processor.Processor) {
	switch n := s.rng.IntN(12); {
	case n < 4:
		next := *s.config
		next.Policies = slices.Clone(next.Policies)
		s.change(&next)
		s.config = &next
		_ = p.Reload(ctx, &next)
	case n < 6:
		s.clock.forward(time.Duration(s.rng.IntN(100)) * time.Minute)
		_ = p.Tended(ctx)
	case n < 7:
		_ = p.Tended(ctx)
	case n < 9: // somebody asks for a prompt
		s.ask(p, func(id int, name string) {
			p.Renew(id, name, nil)
			_ = p.Tended(ctx)
		})
	default:
		kind := []string{events.KindCompaction, events.KindHistory}[s.rng.IntN(2)]
		s.ask(p, func(id int, name string) { _, _ = p.Summarize(ctx, id, name, kind) })
	}
}

// ask asks for a thread, where something was accepted of it.
func (s *schedule) ask(p *processor.Processor, what func(partition int, name string)) {
	name := newLoad(s.rng).thread(s.rng.IntN(4))
	if id, ok := partitionOf(s.t, p, s.config.Partitions, name); ok {
		what(id, name)
	}
}

// change makes another configuration.
func (s *schedule) change(c *config.Config) {
	p, n := &c.Policies[0], s.rng.IntN(4)
	switch s.rng.IntN(11) {
	case 9:
		p.Staleness.Meanwhile = []string{summarize.MeanwhileServe, summarize.MeanwhileRaw}[n%2]
	case 0:
		p.ToolOutput.MaxSummaryChars = summarize.Size(400 + 200*n)
	case 1:
		p.ToolOutput.OverChars = 1000 + 500*n
	case 2:
		p.Compaction.MaxSummaryTokens = summarize.Size(200 + 100*n)
	case 3:
		p.Compaction.Trigger = summarize.Condition{Any: []summarize.Condition{{Messages: 4 + n}, {Idle: time.Hour}}}
	case 4:
		p.History = summarize.History{Enabled: n > 0, EveryMessages: 2 + n, MaxSummaryTokens: 60}
	case 5:
		p.Staleness.Action = []string{events.ActionRegenerate, events.ActionRegenerate, events.ActionTrim, events.ActionFail}[n]
	case 6:
		p.Staleness.TTL = time.Duration(n) * time.Hour
	case 7:
		slices.Reverse(c.Policies)
	case 8:
		p.Staleness.On = [][]string{{"source", "policy"}, {"policy", "model"}, summarize.Default().Staleness.On, {"source", "ttl"}}[n]
	default:
		s.changeModel(c, n)
	}
}

// changeModel has another model, another prompt, or none, make summaries.
func (s *schedule) changeModel(c *config.Config, n int) {
	if !s.byModel {
		return
	}
	p := &c.Policies[0]
	switch n {
	case 0:
		p.Mode = []string{summarize.ModeLLM, summarize.ModeLLM, summarize.ModeRules}[s.rng.IntN(3)]
	case 1:
		p.OnFailure = []string{"fallback", "fail"}[s.rng.IntN(2)]
	case 2:
		p.Prompts = map[string]string{"compaction": "Say what was done, in {limit}." + string(rune('a'+s.rng.IntN(3)))}
	default:
		provider := c.Providers[config.ProviderSummarizer]
		provider.Model = []string{"claude-haiku-4-5-20251001", "claude-sonnet-4-5"}[s.rng.IntN(2)]
		c.Providers = map[string]config.Provider{config.ProviderSummarizer: provider}
	}
}

// partitionOf is where a thread's events are; false where nothing was accepted of it.
func partitionOf(t *testing.T, p *processor.Processor, partitions int, name string) (int, bool) {
	t.Helper()
	for id := range partitions {
		h, err := p.View(id).Header(name)
		if err != nil {
			t.Fatal(err)
		}
		if h != nil {
			return id, true
		}
	}
	return 0, false
}
