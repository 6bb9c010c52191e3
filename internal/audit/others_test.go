package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/summarize"
)

// countedOtherwise are the records as a tokenizer would have them that counts more.
func countedOtherwise(t *testing.T, list []broker.Stored) (changed int) {
	t.Helper()
	for i, m := range list {
		if !strings.HasPrefix(m.Subject, string(events.SummaryCreated)+".") {
			continue
		}
		rec := events.Summary{}
		if err := json.Unmarshal(m.Data, &rec); err != nil {
			t.Fatal(err)
		}
		change := map[string]any{"token_count_before": rec.TokenCountBefore + 7}
		if rec.Trigger.Reason == events.TriggerThreadTokens || rec.Trigger.Reason == events.TriggerToolOutputTokens {
			change["trigger.value"] = *rec.Trigger.Value + 7
		}
		list[i].Data = set(t, m.Data, change)
		changed++
	}
	reseal(t, list)
	return changed
}

// Tokens that another version of the rules counted can't be counted again: they are not provable. By the version that
// the records name, they are wrong.
func TestCountsOfOtherRules(t *testing.T) {
	for name, trigger := range map[string]summarize.Condition{"tokens": {Tokens: 400}, "messages": {Messages: 8}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.config.Policies[0].Compaction.Trigger = trigger
			w.config.Policies[0].ToolOutput.OverTokens = 300
			w.run(func(*processor.Processor) {
				for i := range 60 {
					w.put(line(i, "user"))
				}
				w.put([2]string{"tool.result.long", output("r1", 80, "")})
			})
			w.proved()
			list := w.messages(broker.StreamSummaries)
			if n := countedOtherwise(t, list); n < 6 {
				t.Fatalf("only %d summaries", n)
			}
			w.rewrite(broker.StreamSummaries, list)
			for _, rules := range []bool{true, false} {
				set := func(o *audit.Options) { o.Rules = rules }
				if rep := w.replay(set); len(rep.Findings) == 0 {
					t.Errorf("rules again %v: wrong counts of this program's rules are no finding", rules)
				}
				rep := w.replay(set, func(o *audit.Options) { o.RulesVersion = "rules-of-another-day" })
				clean(t, rep)
				if !slices.ContainsFunc(rep.Unproved, func(u audit.Unproved) bool {
					return strings.Contains(u.Reason, "this program has rules-of-another-day")
				}) && rules {
					t.Errorf("not provable: %+v", rep.Unproved)
				}
			}
		})
	}
}
