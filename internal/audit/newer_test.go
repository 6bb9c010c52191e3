package audit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/state"
)

// reconfigured changes every config.applied among the records of SUMMARIES, and makes the chains anew.
func reconfigured(t *testing.T, list []broker.Stored, change func(rec map[string]any)) []broker.Stored {
	t.Helper()
	list = slices.Clone(list)
	for i, m := range list {
		if strings.HasPrefix(m.Subject, string(events.ConfigApplied)) {
			list[i].Data = changed(t, m.Data, change)
		}
	}
	reseal(t, list)
	return list
}

func changed(t *testing.T, data []byte, change func(rec map[string]any)) []byte {
	t.Helper()
	rec := map[string]any{}
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	change(rec)
	data, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// policy is a member of the first policy on record.
func policy(rec map[string]any, name string) map[string]any {
	return rec["policies"].([]any)[0].(map[string]any)[name].(map[string]any)
}

// newer are configurations on record as a later program may write them. What this program can read of them is not
// what its records were decided by.
var newer = map[string]func(rec map[string]any){
	"a key that is not known": func(rec map[string]any) {
		policy(rec, "tool_output")["over_chars"] = 10
		policy(rec, "tool_output")["over_pages"] = 3
	},
	"a key of the record": func(rec map[string]any) {
		policy(rec, "tool_output")["over_chars"] = 10
		rec["exceptions"] = []any{"rules"}
	},
	"a version": func(rec map[string]any) {
		policy(rec, "tool_output")["over_chars"] = 10
		rec["config_version"] = events.ConfigVersion + 1
	},
	"another type of a key": func(rec map[string]any) {
		policy(rec, "compaction")["max_summary_tokens"] = "half"
		rec["config_version"] = events.ConfigVersion + 1
	},
	"another shape": func(rec map[string]any) {
		rec["prompts"], rec["retention"] = []any{}, "none"
		rec["config_version"] = events.ConfigVersion + 1
	},
}

// What rests on a configuration of a newer program is not provable, and no finding; chains and order are proved all the
// same. A processor that would have to decide under it, and a check, end with what to run.
func TestConfigurationOfANewerProgram(t *testing.T) {
	w := newWorld(t)
	w.story()
	w.proved()
	original := w.messages(broker.StreamSummaries)

	w.rewrite(broker.StreamSummaries, reconfigured(t, original, func(rec map[string]any) { policy(rec, "tool_output")["over_chars"] = 10 }))
	if rep := w.replay(); len(rep.Findings) == 0 {
		t.Fatal("a configuration that decides otherwise is no finding")
	}

	w.config.DataDir = t.TempDir()
	for name, change := range newer {
		t.Run(name, func(t *testing.T) {
			w.rewrite(broker.StreamSummaries, reconfigured(t, original, change))
			rep := w.replay()
			clean(t, rep)
			if rep.Proved[audit.CheckChain] == 0 || rep.Proved[audit.CheckTrigger] > 0 || rep.Proved[audit.CheckRemade] > 0 {
				t.Errorf("proved: %v", rep.Proved)
			}
			if n := doubts(rep, "configuration of a newer program"); n < 10 {
				t.Errorf("%d not provable for that: %+v", n, rep.Unproved)
			}
			for what, err := range map[string]error{"rebuild": rebuild(t, w), "check": check(t, w)} {
				if !errors.Is(err, events.ErrNewerConfig) || !strings.Contains(err.Error(), "run that program, or a newer one") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

func doubts(rep *audit.Report, reason string) (n uint64) {
	for _, u := range rep.Unproved {
		if strings.Contains(u.Reason, reason) {
			n += u.Count
		}
	}
	return n
}

// rebuild starts a processor without a store.
func rebuild(t *testing.T, w *world) error {
	t.Helper()
	c := *w.config
	c.DataDir = t.TempDir()
	p, err := processor.Open(t.Context(), processor.Options{Config: &c, Logger: logger(t), Broker: w.broker})
	if err != nil {
		return err
	}
	return errors.Join(p.Run(within(t)), p.Close(context.Background()))
}

// check holds an empty store against the log as if it had applied all of it.
func check(t *testing.T, w *world) error {
	t.Helper()
	s, err := state.Open("store", state.Options{FS: state.Memory()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	last := w.stream(broker.StreamEvents).CachedInfo().State.LastSeq
	for id := range w.config.Partitions + 1 {
		p, err := s.Partition(id)
		if err != nil {
			t.Fatal(err)
		}
		meta := p.Meta()
		meta.Position, meta.EventsCreated = last, w.stream(broker.StreamEvents).CachedInfo().Created
		p.SetMeta(meta)
		if _, err := p.Commit(state.Sync); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.compare(s, func(state.Problem) {})
	return err
}

// A processor goes on from a store that a newer program left: nothing is folded under that one's configuration any more,
// and its own is on record from there.
func TestDowngradeWithItsStore(t *testing.T) {
	w := newWorld(t)
	w.story()
	before := w.messages(broker.StreamSummaries)
	s, err := state.Open(processor.StoreDir(w.config.DataDir), state.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	for id := range w.config.Partitions + 1 {
		p, err := s.Partition(id)
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.Config()
		if err != nil {
			t.Fatal(err)
		}
		p.SaveConfig(changed(t, data, newer["a key that is not known"]))
		if _, err := p.Commit(state.Sync); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.put([2]string{"tool.result.rules", output("r9", 80, "")})
	w.run(func(*processor.Processor) {})
	said := map[string]int{}
	for _, m := range w.messages(broker.StreamSummaries)[len(before):] {
		said[strings.SplitN(m.Subject, ".=", 2)[0]]++
		if strings.HasPrefix(m.Subject, string(events.ConfigApplied)) && member(t, m.Data, "config_version") != float64(events.ConfigVersion) {
			t.Errorf("put on record: %s", m.Data)
		}
	}
	if said[string(events.ConfigApplied)] != w.config.Partitions+1 || said[string(events.SummaryCreated)+".rules"] != 1 {
		t.Errorf("put on record: %v", said)
	}
	w.proved()
}

// Records of older programs lack keys, and mean what those programs did.
func TestConfigurationOfAnOlderProgram(t *testing.T) {
	w := newWorld(t)
	w.config.Policies[0].Staleness.Meanwhile, w.config.Policies[1].Staleness.Meanwhile = "raw", "raw"
	w.story()
	list := reconfigured(t, w.messages(broker.StreamSummaries), func(rec map[string]any) {
		for _, name := range []string{"config_version", "retention", "applied_at", "accepted_loss"} {
			delete(rec, name)
		}
		for _, p := range rec["policies"].([]any) {
			delete(p.(map[string]any)["staleness"].(map[string]any), "meanwhile")
		}
	})
	for i, m := range list {
		if strings.HasPrefix(m.Subject, string(events.SummaryInvalidated)) {
			list[i].Data = changed(t, m.Data, func(rec map[string]any) { delete(rec, "meanwhile") })
		}
	}
	reseal(t, list)
	w.rewrite(broker.StreamSummaries, list)
	w.proved()
	w.config.DataDir = t.TempDir()
	w.run(func(*processor.Processor) {}) // rebuilt, and records its own configuration
	w.proved()
}
