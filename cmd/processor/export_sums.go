package main

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/audit"
)

// sumKeys are what usage can be added up by.
var sumKeys = map[string]func(audit.Row, *events.UsageRecord) string{
	"day":      func(r audit.Row, _ *events.UsageRecord) string { return r.Time.UTC().Format("2006-01-02") },
	"hour":     func(r audit.Row, _ *events.UsageRecord) string { return r.Time.UTC().Format("2006-01-02T15:00Z") },
	"agent":    func(r audit.Row, _ *events.UsageRecord) string { return r.Agent },
	"thread":   func(r audit.Row, _ *events.UsageRecord) string { return r.Thread },
	"policy":   func(r audit.Row, _ *events.UsageRecord) string { return r.Policy },
	"provider": func(_ audit.Row, u *events.UsageRecord) string { return u.Provider },
	"model":    func(_ audit.Row, u *events.UsageRecord) string { return u.Model },
	"outcome":  func(_ audit.Row, u *events.UsageRecord) string { return u.Outcome },
}

// sumRows adds usage up.
type sumRows struct {
	out  io.Writer
	csv  bool
	by   []string
	sums map[string]*usageSum
}

// usageSum is what calls of one group came to.
type usageSum struct {
	keys                        []string
	calls, input, output, cache int64
	cost, unknown               int64
}

func (f exportRecords) sums(out io.Writer) (rowWriter, error) {
	if f.Records != "usage" {
		return nil, usage("--by goes with --records usage")
	}
	w := &sumRows{out: out, csv: f.CSV, by: strings.Split(f.By, ","), sums: map[string]*usageSum{}}
	for _, key := range w.by {
		if sumKeys[key] == nil {
			return nil, usage("--by: %q is not known; allowed: %s", key, strings.Join(slices.Sorted(maps.Keys(sumKeys)), ", "))
		}
	}
	return w, nil
}

func (w *sumRows) row(r audit.Row) error {
	u, ok := r.Record.(*events.UsageRecord)
	if !ok {
		return nil
	}
	var keys []string
	for _, key := range w.by {
		keys = append(keys, sumKeys[key](r, u))
	}
	group := strings.Join(keys, "\x00")
	sum := w.sums[group]
	if sum == nil {
		sum = &usageSum{keys: keys}
		w.sums[group] = sum
	}
	sum.calls++
	sum.input += u.Usage.InputTokens
	sum.output += u.Usage.OutputTokens
	sum.cache += u.Usage.CachedInputTokens
	if u.Cost.AmountMicroUSD == nil {
		sum.unknown++
		return nil
	}
	sum.cost += *u.Cost.AmountMicroUSD
	return nil
}

// sumNames are the columns behind the keys.
var sumNames = []string{"calls", "input_tokens", "output_tokens", "cached_input_tokens", "cost_microusd", "calls_of_unknown_cost"}

func (s *usageSum) values() []int64 {
	return []int64{s.calls, s.input, s.output, s.cache, s.cost, s.unknown}
}

func (w *sumRows) end() error {
	to := csv.NewWriter(w.out)
	if w.csv {
		if err := to.Write(append(slices.Clone(w.by), sumNames...)); err != nil {
			return err
		}
	}
	for _, group := range slices.Sorted(maps.Keys(w.sums)) {
		write := w.jsonLine
		if w.csv {
			write = func(s *usageSum) error { return to.Write(s.cells()) }
		}
		if err := write(w.sums[group]); err != nil {
			return err
		}
	}
	to.Flush()
	return to.Error()
}

func (s *usageSum) cells() []string {
	var cells []string
	for _, key := range s.keys {
		cells = append(cells, csvCell(key))
	}
	for _, v := range s.values() {
		cells = append(cells, strconv.FormatInt(v, 10))
	}
	return cells
}

func (w *sumRows) jsonLine(s *usageSum) error {
	line := map[string]any{}
	for i, key := range w.by {
		line[key] = s.keys[i]
	}
	for i, v := range s.values() {
		line[sumNames[i]] = v
	}
	b, err := json.Marshal(line, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = w.out.Write(append(b, '\n'))
	return err
}
