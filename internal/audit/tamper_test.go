package audit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/state"
	"precis/summarize"
)

// set changes members of a record's data.
func set(t testing.TB, data []byte, change map[string]any) []byte {
	t.Helper()
	rec := map[string]any{}
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	for path, value := range change {
		at, names := rec, strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			at = at[name].(map[string]any)
		}
		at[names[len(names)-1]] = value
	}
	b, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reseal makes the chains of all threads anew, as somebody can who knows how they are made.
func reseal(t testing.TB, list []broker.Stored) {
	t.Helper()
	chains, seqs := map[string]string{}, map[string]uint64{}
	for i := range list {
		rec := map[string]any{}
		if err := json.Unmarshal(list[i].Data, &rec); err != nil {
			t.Fatal(err)
		}
		token := list[i].Subject[strings.LastIndexByte(list[i].Subject, '.')+1:]
		delete(rec, "chain")
		seqs[token]++
		rec["chain_seq"] = seqs[token]
		data, chain, err := events.Seal(chains[token], rec)
		if err != nil {
			t.Fatal(err)
		}
		list[i].Data, chains[token] = data, chain
	}
}

// nth is the place of the n-th record of a type in a thread, from 0.
func nth(t testing.TB, list []broker.Stored, typ events.Type, thread string, n int) int {
	t.Helper()
	for i, m := range list {
		if m.Subject == string(typ)+"."+thread {
			if n == 0 {
				return i
			}
			n--
		}
	}
	t.Fatalf("no such %s of %s", typ, thread)
	return -1
}

// lastOf is the place of a thread's last record.
func lastOf(list []broker.Stored, thread string) int {
	at := -1
	for i, m := range list {
		if strings.HasSuffix(m.Subject, "."+thread) {
			at = i
		}
	}
	return at
}

func TestTamperedRecords(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.story()
	original := w.messages(broker.StreamSummaries)
	tool := nth(t, original, events.SummaryCreated, "rules", 0)
	leaf := nth(t, original, events.SummaryCreated, "long", 0)
	paid := nth(t, original, events.UsageRecorded, "model", 0)
	late := nth(t, original, events.UsageRecorded, "model", 1)
	byModel := nth(t, original, events.SummaryCreated, "model", 0)
	stale := nth(t, original, events.SummaryInvalidated, "rules", 0)
	began := nth(t, original, events.SummaryStarted, "model", 1)
	last := lastOf(original, "rules")
	for _, c := range []struct {
		name   string
		tamper func(list []broker.Stored) []broker.Stored
		reseal bool // the chain is made anew behind it
		at     int  // the record that is to be named, in the original
		check  string
	}{
		{"a text altered", func(l []broker.Stored) []broker.Stored {
			l[tool].Data = set(t, l[tool].Data, map[string]any{"content": "Nothing happened."})
			return l
		}, false, tool, audit.CheckChain},
		{"a text altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[tool].Data = set(t, l[tool].Data, map[string]any{"content": "Nothing happened."})
			return l
		}, true, tool, audit.CheckRemade},
		{"a compaction altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[leaf].Data = set(t, l[leaf].Data, map[string]any{"content": "They agreed."})
			return l
		}, true, leaf, audit.CheckRemade},
		{"a trigger altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[tool].Data = set(t, l[tool].Data, map[string]any{"trigger.threshold": 10})
			return l
		}, true, tool, audit.CheckTrigger},
		{"a source digest altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"source_digest": "sha256:00"})
			return l
		}, true, byModel, audit.CheckSources},
		{"a cost altered", func(l []broker.Stored) []broker.Stored {
			l[paid].Data = set(t, l[paid].Data, map[string]any{"cost.amount_microusd": 1})
			return l
		}, false, paid, audit.CheckChain},
		{"a cost altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[paid].Data = set(t, l[paid].Data, map[string]any{"cost.amount_microusd": 1})
			return l
		}, true, paid, audit.CheckCost},
		{"a summary's cost altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"cost.amount_microusd": 1})
			return l
		}, true, byModel, audit.CheckCost},
		{"a usage altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[paid].Data = set(t, l[paid].Data, map[string]any{"usage.input_tokens": 1})
			return l
		}, true, paid, audit.CheckCost},
		{"a call forged for a summary that nobody started", func(l []broker.Stored) []broker.Stored {
			return append(l, forged(t, l[late], "sum_forged", 1))
		}, true, -1, audit.CheckJob},
		{"a call forged in the middle for a summary that nobody started", func(l []broker.Stored) []broker.Stored {
			return slices.Insert(l, paid, forged(t, l[paid], "sum_forged", 1))
		}, true, -1, audit.CheckJob},
		{"a call forged for a summary that is there", func(l []broker.Stored) []broker.Stored {
			return append(l, forged(t, l[late], summaryIn(l, paid), 2))
		}, true, paid, audit.CheckJob},
		{"a call's number altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[paid] = forged(t, l[paid], summaryIn(l, paid), 2)
			return l
		}, true, paid, audit.CheckJob},
		{"a model altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"model": "gpt-4.1"})
			return l
		}, true, byModel, audit.CheckJob},
		{"the tokens of a model's text altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"token_count_after": 1})
			return l
		}, true, byModel, audit.CheckJob},
		{"the characters of a model's text altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"chars_after": 1})
			return l
		}, true, byModel, audit.CheckJob},
		{"a tokenizer altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"tokenizer": "o200k_base"})
			return l
		}, true, byModel, audit.CheckJob},
		{"a level altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"level": 1})
			return l
		}, true, byModel, audit.CheckJob},
		{"a provider altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"provider": "main"})
			return l
		}, true, byModel, audit.CheckJob},
		{"a prompt's version altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"prompt_version": "mine"})
			return l
		}, true, byModel, audit.CheckJob},
		{"a model's text said to be the rules', the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"method": "rules"})
			return l
		}, true, byModel, audit.CheckJob},
		{"a model's text said to be the rules' throughout, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"method": "rules", "provider": nil, "model": nil, "prompt_version": nil, "rules_version": "rules-1"})
			return l
		}, true, byModel, audit.CheckJob},
		{"a summary taken out of prompts, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[byModel].Data = set(t, l[byModel].Data, map[string]any{"current": false})
			return l
		}, true, byModel, audit.CheckTrigger},
		{"a call's outcome altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[paid].Data = set(t, l[paid].Data, map[string]any{"outcome": "refused"})
			return l
		}, true, byModel, audit.CheckJob},
		{"a call's provider altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[paid].Data = set(t, l[paid].Data, map[string]any{"provider": "main"})
			return l
		}, true, byModel, audit.CheckJob},
		{"an invalidation's cause altered, the chain made anew", func(l []broker.Stored) []broker.Stored {
			l[stale].Data = set(t, l[stale].Data, map[string]any{"cause.message_id": "u1"})
			return l
		}, true, stale, audit.CheckCause},
		{"a summary removed", func(l []broker.Stored) []broker.Stored {
			return slices.Delete(l, tool, tool+1)
		}, false, tool, audit.CheckMissed},
		{"a summary removed, the chain made anew", func(l []broker.Stored) []broker.Stored {
			return slices.Delete(l, tool, tool+1)
		}, true, tool, audit.CheckMissed},
		{"an invalidation removed, the chain made anew", func(l []broker.Stored) []broker.Stored {
			return slices.Delete(l, stale, stale+1)
		}, true, stale, audit.CheckInvalidations},
		{"a start removed, the chain made anew", func(l []broker.Stored) []broker.Stored {
			return slices.Delete(l, began, began+1)
		}, true, began, audit.CheckJob},
		{"an end removed, the chain made anew", func(l []broker.Stored) []broker.Stored {
			return slices.Delete(l, byModel, byModel+1)
		}, true, byModel, audit.CheckEnded},
		{"the last record removed", func(l []broker.Stored) []broker.Stored {
			return slices.Delete(l, last, last+1)
		}, false, last, audit.CheckMissed},
		{"a record inserted", func(l []broker.Stored) []broker.Stored {
			extra := l[tool]
			extra.Data = set(t, extra.Data, map[string]any{"id": "sum_forged", "slot": "tool:u1"})
			extra.Header = clone(extra.Header, "summary.created/sum_forged")
			return slices.Insert(l, tool+1, extra)
		}, false, -1, audit.CheckOrder},
		{"a record inserted, the chain made anew", func(l []broker.Stored) []broker.Stored {
			extra := l[tool]
			extra.Data = set(t, extra.Data, map[string]any{"id": "sum_forged", "slot": "tool:u1"})
			extra.Header = clone(extra.Header, "summary.created/sum_forged")
			return slices.Insert(l, tool+1, extra)
		}, true, -1, audit.CheckTrigger},
		{"two records exchanged", func(l []broker.Stored) []broker.Stored {
			l[tool], l[stale] = l[stale], l[tool]
			return l
		}, false, tool, audit.CheckOrder},
		{"not a record", func(l []broker.Stored) []broker.Stored {
			l[tool].Data = []byte(`{"id":`)
			return l
		}, false, -1, audit.CheckReadable},
		{"a record of other types", func(l []broker.Stored) []broker.Stored {
			l[tool].Data = set(t, l[tool].Data, map[string]any{"version": "one"})
			return l
		}, false, -1, audit.CheckReadable},
		{"another thread's record", func(l []broker.Stored) []broker.Stored {
			l[tool].Subject = "summary.created.long"
			return l
		}, false, tool, audit.CheckReadable},
		{"under another id", func(l []broker.Stored) []broker.Stored {
			l[tool].Header = clone(l[tool].Header, "summary.created/sum_other")
			return l
		}, false, tool, audit.CheckReadable},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := c.tamper(slices.Clone(original))
			if c.reseal {
				reseal(t, list)
			}
			w.rewrite(broker.StreamSummaries, list)
			rep := w.replay()
			named(t, rep, c.check, summaryIn(original, c.at))
		})
	}
	w.rewrite(broker.StreamSummaries, original)
	clean(t, w.replay())
}

// The level of what a model made from summaries is above theirs.
func TestTamperedLevels(t *testing.T) {
	w := newWorld(t)
	policy := &w.config.Policies[0]
	policy.Mode, policy.Compaction.Trigger, policy.Compaction.Keep = summarize.ModeLLM, summarize.Condition{Messages: 15}, summarize.Keep{Messages: 5}
	w.run(func(p *processor.Processor) {
		for i := range 24 {
			w.put(line(i, []string{"user", "assistant"}[i%2]))
		}
		w.ask(p, events.KindCompaction)
		w.ask(p, events.KindHistory)
	})
	clean(t, w.replay())
	original, altered := w.messages(broker.StreamSummaries), map[string]bool{}
	for i, m := range original {
		var rec events.Summary
		if !strings.HasPrefix(m.Subject, string(events.SummaryCreated)+".") {
			continue
		}
		if err := json.Unmarshal(m.Data, &rec); err != nil {
			t.Fatal(err)
		}
		if rec.Method != events.MethodLLM || altered[rec.Slot] {
			continue
		}
		altered[rec.Slot] = true
		list := slices.Clone(original)
		list[i].Data = set(t, m.Data, map[string]any{"level": rec.Level + 1})
		reseal(t, list)
		w.rewrite(broker.StreamSummaries, list)
		named(t, w.replay(), audit.CheckJob, rec.ID)
	}
	if !altered[events.SlotCurrent] || !altered[events.SlotHistory] {
		t.Errorf("a model made only %v", altered)
	}
}

// forged is a call's record as one of another call.
func forged(t testing.TB, m broker.Stored, summary string, attempt int) broker.Stored {
	m.Data = set(t, m.Data, map[string]any{"summary_id": summary, "attempt": attempt})
	m.Header = clone(m.Header, events.UsageEventID(summary, attempt))
	return m
}

func clone(h map[string][]string, id string) map[string][]string {
	out := map[string][]string{}
	for name, values := range h {
		out[name] = values
	}
	out["ce-id"], out["Nats-Msg-Id"] = []string{id}, []string{id}
	return out
}

func summaryIn(list []broker.Stored, at int) string {
	if at < 0 {
		return ""
	}
	var rec struct {
		ID        string `json:"id"`
		SummaryID string `json:"summary_id"`
	}
	if err := json.Unmarshal(list[at].Data, &rec); err != nil {
		return ""
	}
	return rec.ID + rec.SummaryID
}

// named wants a finding of a check about a summary (or any, where it is empty).
func named(t testing.TB, rep *audit.Report, check, summary string) {
	t.Helper()
	var seen []string
	for _, f := range rep.Findings {
		if f.Check == check && (summary == "" || string(f.Summary) == summary) {
			return
		}
		seen = append(seen, fmt.Sprintf("%+v", f))
	}
	t.Errorf("no finding %s about %q in:\n%s", check, summary, strings.Join(seen, "\n"))
}

func TestDeletedRecord(t *testing.T) {
	w := newWorld(t)
	w.story()
	list := w.messages(broker.StreamSummaries)
	at := list[nth(t, list, events.SummaryCreated, "rules", 0)]
	if err := w.stream(broker.StreamSummaries).DeleteMsg(within(t), at.Seq); err != nil {
		t.Fatal(err)
	}
	rep := w.replay()
	named(t, rep, audit.CheckSummaries, "")
	named(t, rep, audit.CheckChain, "")
}

// A message that was removed, or altered (the server has no other way than to remove it and publish
// another one), shows in the log, and in what was made from it.
func TestTamperedEvents(t *testing.T) {
	for name, altered := range map[string]string{"removed": "", "altered": output("r4", 61, "")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.story()
			list := w.messages(broker.StreamEvents)
			at := slices.IndexFunc(list, func(m broker.Stored) bool {
				return strings.HasSuffix(m.Subject, "tool.result.rules") && strings.Contains(string(m.Data), `"message_id":"r4"`)
			})
			if err := w.stream(broker.StreamEvents).SecureDeleteMsg(within(t), list[at].Seq); err != nil {
				t.Fatal(err)
			}
			if altered != "" {
				w.put([2]string{"tool.result.rules", altered})
			}
			summaries := w.messages(broker.StreamSummaries)
			made := summaryIn(summaries, nth(t, summaries, events.SummaryCreated, "rules", 3))
			rep := w.replay()
			named(t, rep, audit.CheckEvents, "")
			named(t, rep, audit.CheckSources, made)
		})
	}
}

// Whoever makes the whole stream anew leaves no gap; what was made from the altered message shows it.
func TestRewrittenEvents(t *testing.T) {
	w := newWorld(t)
	w.story()
	list := w.messages(broker.StreamEvents)
	for i, m := range list {
		_, list[i].Subject, _ = strings.Cut(m.Subject, ".")
		if strings.Contains(string(m.Data), `"message_id":"r4"`) {
			list[i].Data = []byte(output("r4", 61, ""))
		}
		if strings.HasPrefix(m.Subject, "tool.result") {
			list[i].Subject = m.Subject // a stray, stored as it was published
		}
	}
	w.rewrite(broker.StreamEvents, list)
	summaries := w.messages(broker.StreamSummaries)
	made := summaryIn(summaries, nth(t, summaries, events.SummaryCreated, "rules", 3))
	rep := w.replay()
	named(t, rep, audit.CheckSources, made)
	for _, f := range rep.Findings {
		if f.Check == audit.CheckSources && string(f.Summary) != made {
			t.Errorf("a source that nobody altered: %+v", f)
		}
	}
}

func TestTamperedRejections(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.story()
	original := w.messages(broker.StreamRejected)
	if len(original) < 2 {
		t.Fatalf("%d rejections", len(original))
	}
	w.rewrite(broker.StreamRejected, original[1:])
	named(t, w.replay(), audit.CheckRejection, "")
	for i := range original {
		for member, value := range map[string]any{
			"code": "too_large", "message": "no", "field": "no", "subject": "tool.result.other",
			"headers": map[string]any{"A": []string{"b"}}, "body_base64": "e30=", "invented": true,
		} {
			altered := slices.Clone(original)
			altered[i].Data = set(t, altered[i].Data, map[string]any{member: value})
			w.rewrite(broker.StreamRejected, altered)
			rep := w.replay(func(o *audit.Options) { o.Rules = false })
			named(t, rep, audit.CheckRejection, "")
			if len(rep.Findings) != 1 {
				t.Errorf("%s of rejection %d: %+v", member, i, rep.Findings)
			}
		}
	}
}

func TestTamperedStore(t *testing.T) {
	w := newWorld(t)
	w.story()
	store := w.store()
	with := func(o *audit.Options) { o.Store = store }
	clean(t, w.replay(with))
	n, err := store.Partitions()
	if err != nil {
		t.Fatal(err)
	}
	for id := range n {
		part, err := store.Partition(id)
		if err != nil {
			t.Fatal(err)
		}
		st, err := part.LoadThread("rules")
		if err == nil && st.Header.Events > 0 {
			st.Header.ToolResults++
			st.Header.CostMicroUSD = 7
			part.Save(st)
			_, err = part.Commit(state.Sync)
		}
		if err := errors.Join(err, part.Close()); err != nil {
			t.Fatal(err)
		}
	}
	rep := w.replay(with)
	if len(rep.Findings) != 2 {
		t.Errorf("%d findings: %+v", len(rep.Findings), rep.Findings)
	}
	for _, f := range rep.Findings {
		if f.Check != audit.CheckCounter || f.Thread != "rules" || !strings.Contains(f.Want, "tool_results") && !strings.Contains(f.Want, "cost") {
			t.Errorf("%+v", f)
		}
	}
}
