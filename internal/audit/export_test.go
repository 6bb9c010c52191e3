package audit_test

import (
	"errors"
	"testing"

	"precis/events"
	"precis/internal/audit"
)

// rows exports records of the world's log.
func (w *world) rows(f audit.Filter, types ...events.Type) (list []audit.Row) {
	w.t.Helper()
	w.scratch(func(o audit.Options) error {
		o.Filter = f
		rep, err := audit.Export(within(w.t), o, types, func(r audit.Row) error {
			list = append(list, r)
			return nil
		})
		if err == nil {
			clean(w.t, rep)
		}
		return err
	})
	return list
}

func TestExport(t *testing.T) {
	w := newWorld(t)
	w.story()
	usage := w.rows(audit.Filter{}, events.UsageRecorded)
	if len(usage) != 2 {
		t.Fatalf("%d calls: %+v", len(usage), usage)
	}
	for _, r := range usage {
		rec, ok := r.Record.(*events.UsageRecord)
		if !ok || r.Agent != "modeller" || r.Policy != "by-model" || r.Thread != "model" || *rec.Cost.AmountMicroUSD != 1200+40*5 {
			t.Errorf("%+v", r)
		}
	}
	for _, r := range w.rows(audit.Filter{}, events.SummaryInvalidated) {
		if r.Policy != "default" {
			t.Errorf("an invalidation under policy %q", r.Policy)
		}
	}
	if got := w.rows(audit.Filter{Agent: "builder"}, events.SummaryCreated, events.UsageRecorded); len(got) != 4 {
		t.Errorf("%d records of builder's threads, want its 4 summaries", len(got))
	}
	if got := w.rows(audit.Filter{Policy: "by-model"}, events.SummaryCreated); len(got) != 2 {
		t.Errorf("%d summaries by the model's policy", len(got))
	}
	last := usage[0].Time
	if got := w.rows(audit.Filter{To: last}, events.UsageRecorded); len(got) == 0 || got[len(got)-1].Time.After(last) {
		t.Errorf("up to the first call: %+v", got)
	}
}

func TestExportEndsWithItsReader(t *testing.T) {
	w := newWorld(t)
	w.story()
	enough := errors.New("enough")
	w.scratch(func(o audit.Options) error {
		_, err := audit.Export(within(t), o, []events.Type{events.SummaryCreated}, func(audit.Row) error { return enough })
		if !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
		return nil
	})
}
