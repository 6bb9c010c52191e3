package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
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

// A job's event may be old when a processor comes to it, and the record of a call that was cut short is written at the next start: the
// price is that of a day in between.
func TestCostOfADayBetween(t *testing.T) {
	w := newWorld(t)
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	w.config.Pricing.File = filepath.Join(t.TempDir(), "prices.yaml")
	prices := fmt.Sprintf("prices:\n  - {model: claude-haiku-4-5-20251001, input: 3, output: 7}\n"+
		"  - {model: claude-haiku-4-5-20251001, from: %s, input: 30, output: 70}\n  - {model: claude-haiku-4-5-20251001, from: %s, input: 5, output: 5}\n", day(5), day(12))
	if err := os.WriteFile(w.config.Pricing.File, []byte(prices), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run(func(*processor.Processor) { w.put([2]string{"tool.result.model", output("m1", 80, byModel)}) })
	list := w.messages(broker.StreamSummaries)
	at := nth(t, list, events.UsageRecorded, "model", 0)
	for cost, ok := range map[int64]bool{1200*3 + 40*7: true, 1200*30 + 40*70: true, 1240 * 5: true, 1240 * 6: false} {
		altered := slices.Clone(list)
		for _, i := range []int{at, nth(t, list, events.SummaryCreated, "model", 0)} {
			change := map[string]any{"cost.amount_microusd": cost}
			late := time.Now().UTC().AddDate(0, 0, 14).Format(time.RFC3339Nano)
			if i != at {
				change["created_at"] = late
			}
			altered[i].Data = set(t, list[i].Data, change)
			altered[i].Header = clone(list[i].Header, list[i].Header.Get("ce-id"))
			altered[i].Header["ce-time"] = []string{late}
		}
		reseal(t, altered)
		w.rewrite(broker.StreamSummaries, altered)
		if rep := w.replay(); ok {
			clean(t, rep)
		} else {
			named(t, rep, audit.CheckCost, summaryIn(altered, at))
		}
	}
}
