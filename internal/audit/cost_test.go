package audit_test

import (
	"os"
	"path/filepath"
	"testing"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/processor"
)

// What a call cost is held against the table that was in force, own prices included, also when the prices
// change on the way; a cost by prices that never were in force is named.
func TestCostByOwnPrices(t *testing.T) {
	w := newWorld(t)
	w.config.Pricing.File = filepath.Join(t.TempDir(), "prices.yaml")
	var tables []string
	for i, price := range []string{"input: 3, output: 7", "input: 30, output: 70", "input: 0, output: 0"} {
		text := "prices:\n  - {model: claude-haiku-4-5-20251001, " + price + "}\n"
		if err := os.WriteFile(w.config.Pricing.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.run(func(*processor.Processor) {
			w.put([2]string{"tool.result.model", output("m"+string(rune('1'+i)), 80, `,"policy":"by-model"`)})
		})
	}
	var costs []int64
	for _, r := range w.rows(audit.Filter{}, events.UsageRecorded) {
		cost := r.Record.(*events.UsageRecord).Cost
		costs, tables = append(costs, *cost.AmountMicroUSD), append(tables, string(cost.PriceTable))
	}
	if len(costs) != 3 || costs[0] != 1200*3+40*7 || costs[1] != 10*costs[0] || costs[2] != 0 || tables[0] == tables[1] {
		t.Fatalf("costs %d by tables %v", costs, tables)
	}
	rep := w.replay()
	clean(t, rep)
	if rep.Proved[audit.CheckCost] < 6 { // a call's and its summary's
		t.Errorf("%d costs proved; not provable: %+v", rep.Proved[audit.CheckCost], rep.Unproved)
	}

	list := w.messages("SUMMARIES")
	at := nth(t, list, events.UsageRecorded, "model", 0)
	list[at].Data = set(t, list[at].Data, map[string]any{"cost.price_table": "2020-01-01"})
	reseal(t, list)
	w.rewrite("SUMMARIES", list)
	named(t, w.replay(), audit.CheckCost, summaryIn(list, at))
}
