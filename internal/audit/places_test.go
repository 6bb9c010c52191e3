package audit_test

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/state"
	"precis/summarize"
)

// A message that no leaf has taken and that is not verbatim has vanished: a replay names it, whatever else is made to
// fit around it.
func TestVanishedMessages(t *testing.T) {
	w := newWorld(t)
	w.run(func(*processor.Processor) {
		for i := range 40 {
			w.put(line(i, []string{events.RoleUser, events.RoleAssistant}[i%2]))
		}
	})
	rep := w.replay(func(o *audit.Options) { o.Rules = false })
	clean(t, rep)
	if rep.Proved[audit.CheckPlaces] < 5 {
		t.Fatalf("%d records and threads are proved", rep.Proved[audit.CheckPlaces])
	}
	original := w.messages(broker.StreamSummaries)
	leaf := nth(t, original, events.SummaryCreated, "long", 0)
	current := lastOf(original, "long")
	for _, c := range []struct {
		name   string
		at     int
		change func(t *testing.T, rec *events.Summary) map[string]any
	}{
		{"a leaf leaves one out", leaf, func(t *testing.T, rec *events.Summary) map[string]any {
			ids := slices.Delete(slices.Clone(rec.SourceMessageIDs), 1, 2)
			return map[string]any{"source_message_ids": ids, "source_digest": w.digest(t, "long", ids)}
		}},
		{"a leaf has one twice", leaf, func(t *testing.T, rec *events.Summary) map[string]any {
			ids := append(slices.Clone(rec.SourceMessageIDs), rec.SourceMessageIDs[0])
			return map[string]any{"source_message_ids": ids, "source_digest": w.digest(t, "long", ids)}
		}},
		{"the current summary leaves a leaf out", current, func(_ *testing.T, rec *events.Summary) map[string]any {
			ids := rec.SourceSummaryIDs[1:]
			var sources []summarize.Source
			for _, id := range ids {
				sources = append(sources, summarize.Source{ID: id})
			}
			return map[string]any{"source_summary_ids": ids, "source_digest": summarize.SourceDigest(sources)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := slices.Clone(original)
			list[c.at].Data = set(t, list[c.at].Data, c.change(t, recordIn(t, list[c.at].Data)))
			reseal(t, list)
			w.rewrite(broker.StreamSummaries, list)
			named(t, w.replay(func(o *audit.Options) { o.Rules = false }), audit.CheckPlaces, summaryIn(original, c.at))
		})
	}
}

// recordIn reads a summary's record.
func recordIn(t *testing.T, data []byte) *events.Summary {
	t.Helper()
	rec := new(events.Summary)
	if err := json.Unmarshal(data, rec); err != nil {
		t.Fatal(err)
	}
	return rec
}

// digest is the source digest of messages as the store has them.
func (w *world) digest(t *testing.T, thread string, ids []string) string {
	t.Helper()
	store, err := state.Open(processor.StoreDir(w.config.DataDir), state.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	var sources []summarize.Source
	for id := range w.config.Partitions {
		for _, message := range ids {
			m, err := store.View(id).Message(thread, message)
			if err != nil {
				t.Fatal(err)
			}
			if m != nil {
				sources = append(sources, summarize.Source{ID: m.ID, Revision: m.Revision, Digest: m.Digest})
			}
		}
	}
	return summarize.SourceDigest(sources)
}

// A fold that loses or doubles a message between two records decides nothing about it, so that every record is as it
// would decide it again: only the state at the end shows it.
func TestMessagesAstrayBetweenRecords(t *testing.T) {
	w := newWorld(t)
	w.run(func(*processor.Processor) {
		for i := range 40 {
			w.put(line(i, []string{events.RoleUser, events.RoleAssistant}[i%2]))
		}
		w.put([2]string{"message.edited.long", `{"message_id":"l3","pinned":true}`})
	})
	store, err := state.Open(processor.StoreDir(w.config.DataDir), state.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	part, err := store.Partition(broker.PartitionOf("long", w.config.Partitions))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := part.Close(); err != nil {
			t.Error(err)
		}
	}()
	c, err := part.Compaction("long")
	if err != nil || len(c.Fixed) != 1 {
		t.Fatalf("the pinned message is not kept: %+v, %v", c, err)
	}
	for _, step := range []struct {
		name, got string
		held      []uint64
		fixed     []uint64
	}{
		{"as it is", "", c.Held, c.Fixed},
		{"one lost", `message "l3" stands in 0 places: []`, c.Held, nil},
		{"one doubled", `message "l0" stands in 2 places: ["inside" "verbatim"]`, append([]uint64{1}, c.Held...), c.Fixed},
	} {
		st, err := part.LoadThread("long")
		if err == nil {
			err = part.LoadCompaction(st)
		}
		if err != nil {
			t.Fatal(err)
		}
		st.Compaction.Held, st.Compaction.Fixed = step.held, step.fixed
		st.Changes.Compacted = true
		part.Save(st)
		if _, err := part.Commit(state.NoSync); err != nil {
			t.Fatal(err)
		}
		found, err := audit.Places(part)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range found {
			got += f.Got
		}
		if got != step.got {
			t.Errorf("%s: %q, want %q", step.name, got, step.got)
		}
	}
}
