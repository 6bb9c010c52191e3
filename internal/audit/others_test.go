package audit_test

import (
	"fmt"
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

// byOtherRules has another version of the rules have made all of the records: ids name it, and what stands on other summaries their ids.
func byOtherRules(t *testing.T, list []broker.Stored) {
	t.Helper()
	const version = "rules-1"
	ids, jobs := map[string]string{}, map[string]bool{}
	renamed := func(text string) string {
		for old, id := range ids {
			text = strings.ReplaceAll(text, old, id)
		}
		return text
	}
	for i, m := range list {
		rec := map[string]any{}
		if err := json.Unmarshal([]byte(renamed(string(m.Data))), &rec); err != nil {
			t.Fatal(err)
		}
		if rec["rules_version"] != nil {
			rec["rules_version"] = version
		}
		if summaries, _ := rec["source_summary_ids"].([]any); len(summaries) > 0 {
			var sources []summarize.Source
			for _, id := range summaries {
				sources = append(sources, summarize.Source{ID: id.(string)})
			}
			rec["source_digest"] = summarize.SourceDigest(sources)
		}
		key, method, model := "id", version, ""
		if strings.HasPrefix(m.Subject, string(events.SummaryStarted)) {
			key, method, model = "summary_id", rec["prompt_version"].(string), rec["model"].(string)
		}
		if id, _ := rec[key].(string); rec["source_digest"] != nil && !jobs[id] {
			made := summarize.Identity{
				Thread: rec["thread_id"].(string), Kind: rec["kind"].(string), Slot: rec["slot"].(string), Version: uint64(rec["version"].(float64)),
				SourceDigest: rec["source_digest"].(string), PolicyFingerprint: rec["policy_fingerprint"].(string), Method: method, Model: model,
			}.ID()
			rec[key], ids[id], jobs[made] = made, made, key == "summary_id"
		}
		data, err := json.Marshal(rec, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		list[i].Data, list[i].Header = data, clone(m.Header, renamed(m.Header.Get("ce-id")))
	}
	reseal(t, list)
}

// What the fold makes of other rules' compactions has this program's version in its ids, and so has what stands on them: the records
// are no less true.
func TestIDsOfOtherRules(t *testing.T) {
	w := newWorld(t)
	for i := range w.config.Policies {
		w.config.Policies[i].Compaction.Trigger, w.config.Policies[i].Compaction.Keep = summarize.Condition{Messages: 4}, summarize.Keep{Messages: 2}
	}
	w.run(func(*processor.Processor) {
		for i := range 60 {
			w.put(line(i, "user"))
			w.put([2]string{"thread.message.model", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"Line %d of a talk.","policy":"by-model"}`, i, i)})
		}
	})
	w.proved()
	list := w.messages(broker.StreamSummaries)
	byOtherRules(t, list)
	w.rewrite(broker.StreamSummaries, list)
	rep := w.replay()
	clean(t, rep)
	if rep.Proved[audit.CheckTrigger] < 40 {
		t.Errorf("%d triggers proved", rep.Proved[audit.CheckTrigger])
	}
	at := slices.IndexFunc(list, func(m broker.Stored) bool {
		return strings.HasPrefix(m.Subject, string(events.SummaryCreated)) && member(t, m.Data, "slot") == events.SlotCurrent
	})
	list[at].Data = set(t, list[at].Data, map[string]any{"source_digest": "sha256:" + strings.Repeat("0", 64)})
	reseal(t, list)
	w.rewrite(broker.StreamSummaries, list)
	named(t, w.replay(), audit.CheckSources, summaryIn(list, at))
}
