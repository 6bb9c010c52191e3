package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/audit"
)

// rowWriter writes an export.
type rowWriter interface {
	row(r audit.Row) error
	end() error
}

// writer is the one that the flags ask for.
func (f exportRecords) writer(out io.Writer) (rowWriter, error) {
	if f.By != "" {
		return f.sums(out)
	}
	if !f.CSV {
		return jsonRows{out}, nil
	}
	w := &csvRows{to: csv.NewWriter(out), columns: columns[f.Records]}
	return w, w.head()
}

// jsonRows writes a record a line, whole, with what the log knows beside it.
type jsonRows struct{ out io.Writer }

func (w jsonRows) row(r audit.Row) error {
	line, err := json.Marshal(struct {
		Time   time.Time      `json:"time"`
		Type   events.Type    `json:"type"`
		Agent  events.OrNull  `json:"agent_id"`
		Policy events.OrNull  `json:"policy"`
		Record jsontext.Value `json:"record"`
	}{r.Time, r.Type, events.OrNull(r.Agent), events.OrNull(r.Policy), r.Data})
	if err != nil {
		return err
	}
	_, err = w.out.Write(append(line, '\n'))
	return err
}

func (jsonRows) end() error { return nil }

// csvRows writes a record a line, in columns.
type csvRows struct {
	to      *csv.Writer
	columns []column
}

// column is one column of a CSV file.
type column struct {
	name string
	of   func(r audit.Row) string
}

func (w *csvRows) head() error {
	var names []string
	for _, c := range w.columns {
		names = append(names, c.name)
	}
	return w.to.Write(names)
}

func (w *csvRows) row(r audit.Row) error {
	var cells []string
	for _, c := range w.columns {
		cells = append(cells, csvCell(c.of(r)))
	}
	return w.to.Write(cells)
}

func (w *csvRows) end() error {
	w.to.Flush()
	return w.to.Error()
}

// csvCell keeps a spreadsheet from taking a text for a formula. A number is none. Some programs skip what can't be seen
// before the sign, and some take its full-width form.
func csvCell(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	shown := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zs, r) })
	if first, _ := utf8.DecodeRuneInString(shown); shown != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}

// columns of each export.
var columns = map[string][]column{
	"summaries":     append(shared(), summaryColumns()...),
	"invalidations": append(shared(), invalidationColumns()...),
	"usage":         append(shared(), usageColumns()...),
}

func shared() []column {
	return []column{
		{"time", func(r audit.Row) string { return r.Time.UTC().Format(time.RFC3339Nano) }},
		{"event_seq", func(r audit.Row) string { return fmt.Sprint(r.Record.Common().EventSeq) }},
		{"thread_id", func(r audit.Row) string { return r.Thread }},
		{"agent_id", func(r audit.Row) string { return r.Agent }},
		{"policy", func(r audit.Row) string { return r.Policy }},
	}
}

// of makes a column of records of one type.
func of[T events.Record](name string, value func(T) any) column {
	return column{name, func(r audit.Row) string {
		rec, ok := r.Record.(T)
		if !ok {
			return ""
		}
		return cellText(value(rec))
	}}
}

// cellText writes a value; what does not apply is empty.
func cellText(v any) string {
	switch v := v.(type) {
	case *string:
		if v == nil {
			return ""
		}
		return *v
	case *int64:
		if v == nil {
			return ""
		}
		return strconv.FormatInt(*v, 10)
	case *float64:
		if v == nil {
			return ""
		}
		return number(*v)
	case *time.Time:
		if v == nil {
			return ""
		}
		return v.UTC().Format(time.RFC3339Nano)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}

func summaryColumns() []column {
	type s = *events.Summary
	return []column{
		of("summary_id", func(s s) any { return s.ID }), of("kind", func(s s) any { return s.Kind }),
		of("slot", func(s s) any { return s.Slot }), of("level", func(s s) any { return s.Level }),
		of("version", func(s s) any { return s.Version }), of("replaces", func(s s) any { return s.Replaces }),
		of("method", func(s s) any { return s.Method }), of("fallback_reason", func(s s) any { return s.FallbackReason }),
		of("provider", func(s s) any { return s.Provider }), of("model", func(s s) any { return s.Model }),
		of("prompt_version", func(s s) any { return s.PromptVersion }), of("rules_version", func(s s) any { return s.RulesVersion }),
		of("trigger", func(s s) any { return s.Trigger.Reason }), of("trigger_value", func(s s) any { return s.Trigger.Value }),
		of("trigger_threshold", func(s s) any { return s.Trigger.Threshold }),
		of("source_messages", func(s s) any { return len(s.SourceMessageIDs) }),
		of("source_summaries", func(s s) any { return len(s.SourceSummaryIDs) }), of("source_digest", func(s s) any { return s.SourceDigest }),
		of("tokens_before", func(s s) any { return s.TokenCountBefore }), of("tokens_after", func(s s) any { return s.TokenCountAfter }),
		of("tokenizer", func(s s) any { return s.Tokenizer }),
		of("chars_before", func(s s) any { return s.CharsBefore }), of("chars_after", func(s s) any { return s.CharsAfter }),
		of("llm_input_tokens", func(s s) any { return s.Usage.InputTokens }), of("llm_output_tokens", func(s s) any { return s.Usage.OutputTokens }),
		of("cost_microusd", func(s s) any { return s.Cost.AmountMicroUSD }), of("price_table", func(s s) any { return s.Cost.PriceTable }),
		of("created_at", func(s s) any { return s.CreatedAt }), of("expires_at", func(s s) any { return s.ExpiresAt }),
	}
}

func invalidationColumns() []column {
	type i = *events.Invalidated
	return []column{
		of("summary_id", func(i i) any { return i.SummaryID }), of("kind", func(i i) any { return i.Kind }),
		of("reason", func(i i) any { return i.Reason }),
		of("cause_message", func(i i) any { return i.Cause.MessageID }), of("cause_summary", func(i i) any { return i.Cause.SummaryID }),
		of("cause_setting", func(i i) any { return i.Cause.Setting }),
		of("cause_old", func(i i) any { return i.Cause.Old }), of("cause_new", func(i i) any { return i.Cause.New }),
		of("action", func(i i) any { return i.Action }), of("meanwhile", func(i i) any { return i.Meanwhile }),
		of("invalidated_at", func(i i) any { return i.InvalidatedAt }),
	}
}

func usageColumns() []column {
	type u = *events.UsageRecord
	return []column{
		of("summary_id", func(u u) any { return u.SummaryID }), of("provider", func(u u) any { return u.Provider }),
		of("model", func(u u) any { return u.Model }), of("attempt", func(u u) any { return u.Attempt }),
		of("outcome", func(u u) any { return u.Outcome }),
		of("input_tokens", func(u u) any { return u.Usage.InputTokens }), of("output_tokens", func(u u) any { return u.Usage.OutputTokens }),
		of("cached_input_tokens", func(u u) any { return u.Usage.CachedInputTokens }),
		of("cache_creation_input_tokens", func(u u) any { return u.Usage.CacheCreationInputTokens }),
		of("latency_ms", func(u u) any { return u.Usage.LatencyMS }), of("usage_source", func(u u) any { return u.Usage.Source }),
		of("cost_microusd", func(u u) any { return u.Cost.AmountMicroUSD }), of("price_table", func(u u) any { return u.Cost.PriceTable }),
	}
}

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
