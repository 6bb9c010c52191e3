package history

import (
	"bufio"
	"context"
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
	"github.com/nats-io/nats.go/jetstream"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/sessions"
)

// Export writes a thread's events as an event file.
type Export struct {
	remote.Flags
	Thread string `arg:"" optional:"" help:"The thread's id."`
	Format string `enum:"events,openai,anthropic,responses,claude-code" default:"events" placeholder:"F" help:"Form of the thread: ${enum} (${default})."`
	exportRecords
}

// Help shows the command used.
func (Export) Help() string {
	return `Writes every readable event of the thread in log order, duplicates and conflicts included: publishing the file into an empty server gives the same thread. Unreadable events were rejected when they came and were never part of the thread.

With --format it writes the thread as it stands now, in the form of a provider or an agent: current revisions, whole, without summaries. openai, anthropic and responses are the members of a request that hold the conversation; claude-code is a session that "claude --resume" goes on with. What the form has no place for is listed. "publish --format" reads each of them again.

With --records it writes what precis recorded instead: summaries, invalidations or usage of one thread or of all, with agent and policy, as JSON lines or CSV. The log is replayed for that; the exit status is 1 if the replay contradicts the records. In CSV, a cell that a spreadsheet would take for a formula begins with '.

Examples:

    processor export demo-1 > demo-1.jsonl
    processor export demo-1 --format openai > request.json
    processor export --records summaries --csv > summaries.csv
    processor export --records usage --by day,agent,model --from 2026-11-01 --csv > november.csv`
}

// Run writes the file to standard output; an event file is JSON anyway.
func (c *Export) Run(ctx context.Context, a *console.App) error {
	if c.Records != "" {
		if c.Format != sessions.FormatEvents {
			return console.Usage("give --format or --records, not both")
		}
		return c.records(ctx, a)
	}
	if c.given() {
		return console.Usage("--csv, --by, --from, --to, --agent, --model and --policy-name go with --records")
	}
	if c.Thread == "" {
		return console.Usage("export: give a thread, or --records")
	}
	token, err := events.Token(c.Thread)
	if err != nil {
		return console.Usage("thread: %w", err)
	}
	if c.Format != sessions.FormatEvents {
		return c.form(ctx, a)
	}
	return c.With(ctx, a, func(ctx context.Context, s *remote.Server) error {
		log, err := s.Read(ctx, broker.StreamEvents, []string{remote.ThreadFilter(token)}, jetstream.DeliverAllPolicy)
		if err != nil {
			return err
		}
		defer log.Close()
		return c.export(ctx, a, log)
	})
}

func (c *Export) export(ctx context.Context, a *console.App, log *remote.Source) error {
	buffer := bufio.NewWriterSize(a.Stdout, 1<<16)
	file := events.NewFileWriter(buffer)
	written, unreadable := 0, 0
	err := log.Rest(ctx, func(e remote.Entry) error {
		data, err := remote.Exported(e)
		if err != nil {
			unreadable++
			a.Note("processor: EVENTS %d left out: %v", e.Seq, err)
			return nil
		}
		written++
		return file.Write(e.Typ, e.Thread, data)
	})
	if err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	if written+unreadable == 0 {
		return console.Wrong("no thread %q", console.Printable(c.Thread))
	}
	a.Note("%s events, %s left out", console.Grouped(written), console.Grouped(unreadable))
	return nil
}

// exportRecords are the flags of an export for auditors.
type exportRecords struct {
	Records string `enum:",summaries,invalidations,usage" default:"" placeholder:"WHAT" help:"Write summaries, invalidations or usage instead of events."`
	CSV     bool   `name:"csv" help:"With --records: CSV instead of JSON lines."`
	By      string `placeholder:"KEYS" help:"With --records usage: group by day or hour, agent, model, provider, policy, thread, outcome."`
	From    string `placeholder:"TIME" help:"With --records: from this time."`
	To      string `placeholder:"TIME" help:"With --records: up to this time."`
	Agent   string `placeholder:"ID" help:"With --records: threads that this agent started."`
	Model   string `placeholder:"NAME" help:"With --records: made by this model."`
	Only    string `name:"policy-name" placeholder:"NAME" help:"With --records: decided under this policy."`
}

func (f exportRecords) given() bool {
	return f.CSV || f.By != "" || f.From != "" || f.To != "" || f.Agent != "" || f.Model != "" || f.Only != ""
}

// exportTypes are the records of each export.
var exportTypes = map[string]events.Type{
	"summaries": events.SummaryCreated, "invalidations": events.SummaryInvalidated, "usage": events.UsageRecorded,
}

// records replays the log and writes the records that the flags take.
func (c *Export) records(ctx context.Context, a *console.App) error {
	filter := audit.Filter{Thread: c.Thread, Agent: c.Agent, Policy: c.Only}
	var err error
	if filter.From, filter.To, err = spanFlags(c.From, c.To); err != nil {
		return err
	}
	if c.CSV && c.JSON {
		return console.Usage("give --csv or --json, not both")
	}
	if c.Model != "" && c.Records == "invalidations" {
		return console.Usage("--model goes with summaries and usage: an invalidation names no model")
	}
	out := bufio.NewWriterSize(a.Stdout, 1<<16)
	rows, err := c.writer(out)
	if err != nil {
		return err
	}
	return logFlags{Flags: c.Flags}.withLog(ctx, a, "", func(ctx context.Context, l *logAtHand) error {
		rep, err := c.pass(ctx, a, l, filter, rows)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			return err
		}
		switch {
		case !rep.Clean():
			return console.Wrong("%s: the log contradicts the records; see processor replay", console.Counted(len(rep.Findings), "discrepancy"))
		case filter.Named() && !rep.Known:
			return console.Wrong("the log has no %s", asked(filter))
		}
		return nil
	})
}

// pass goes through the records once.
func (c *Export) pass(ctx context.Context, a *console.App, l *logAtHand, filter audit.Filter, rows rowWriter) (*audit.Report, error) {
	bar := console.NewLogProgress(a, "folding the log")
	defer bar.Done()
	o := l.options(bar)
	o.Filter = filter
	count := 0
	rep, err := audit.Export(ctx, o, []events.Type{exportTypes[c.Records]}, func(r audit.Row) error {
		if c.Model != "" && c.Model != modelOf(r.Record) {
			return nil
		}
		count++
		return rows.row(r)
	})
	bar.Clear()
	if err == nil {
		err = rows.end()
	}
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	a.Note("%s", console.Counted(count, oneOf[c.Records]))
	return rep, nil
}

// modelOf is the model that a record is about; empty where none is.
func modelOf(rec events.Record) string {
	switch rec := rec.(type) {
	case *events.Summary:
		if rec.Model != nil {
			return *rec.Model
		}
	case *events.UsageRecord:
		return rec.Model
	}
	return ""
}

// oneOf is what a single record of a kind is called.
var oneOf = map[string]string{"summaries": "summary", "invalidations": "invalidation", "usage": "usage record"}

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
	columns []string
}

// columns of each export, behind those that all have: a member of the record, or a name for one. A dot leads to a member
// of a member, and # counts a list.
var columns = map[string][]string{
	"summaries": strings.Fields(`summary_id=id kind slot level version replaces method fallback_reason provider model prompt_version rules_version
		trigger=trigger.reason trigger_value=trigger.value trigger_threshold=trigger.threshold
		source_messages=#source_message_ids source_summaries=#source_summary_ids source_digest
		tokens_before=token_count_before tokens_after=token_count_after tokenizer chars_before chars_after
		llm_input_tokens=usage.input_tokens llm_output_tokens=usage.output_tokens
		cost_microusd=cost.amount_microusd price_table=cost.price_table created_at expires_at`),
	"invalidations": strings.Fields(`summary_id kind reason cause_message=cause.message_id cause_summary=cause.summary_id
		cause_setting=cause.setting cause_old=cause.old cause_new=cause.new action meanwhile invalidated_at`),
	"usage": strings.Fields(`summary_id provider model attempt outcome input_tokens=usage.input_tokens output_tokens=usage.output_tokens
		cached_input_tokens=usage.cached_input_tokens cache_creation_input_tokens=usage.cache_creation_input_tokens
		latency_ms=usage.latency_ms usage_source=usage.source cost_microusd=cost.amount_microusd price_table=cost.price_table`),
}

func (w *csvRows) head() error {
	names := []string{"time", "event_seq", "thread_id", "agent_id", "policy"}
	for _, column := range w.columns {
		name, _, _ := strings.Cut(column, "=")
		names = append(names, name)
	}
	return w.to.Write(names)
}

func (w *csvRows) row(r audit.Row) error {
	cells := []string{
		r.Time.UTC().Format(time.RFC3339Nano), fmt.Sprint(r.Record.Common().EventSeq), csvCell(r.Thread), csvCell(r.Agent), csvCell(r.Policy),
	}
	for _, column := range w.columns {
		_, member, named := strings.Cut(column, "=")
		if !named {
			member = column
		}
		text, err := cellText(r.Data, member)
		if err != nil {
			return fmt.Errorf("read %s of a record: %w", member, err)
		}
		cells = append(cells, csvCell(text))
	}
	return w.to.Write(cells)
}

// cellText is a member of a record; what does not apply is empty.
func cellText(record jsontext.Value, member string) (text string, err error) {
	member, counts := strings.CutPrefix(member, "#")
	for name := range strings.SplitSeq(member, ".") {
		var members map[string]jsontext.Value
		if err := json.Unmarshal(record, &members); err != nil {
			return "", err
		}
		record = members[name]
	}
	switch {
	case len(record) == 0 || record.Kind() == 'n' && !counts:
		return "", nil
	case counts:
		var list []jsontext.Value
		err = json.Unmarshal(record, &list)
		return strconv.Itoa(len(list)), err
	case record.Kind() == '"':
		err = json.Unmarshal(record, &text)
		return text, err
	}
	return string(record), nil
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
		return nil, console.Usage("--by goes with --records usage")
	}
	w := &sumRows{out: out, csv: f.CSV, by: strings.Split(f.By, ","), sums: map[string]*usageSum{}}
	for _, key := range w.by {
		if sumKeys[key] == nil {
			return nil, console.Usage("--by: %q is not known; allowed: %s", key, strings.Join(slices.Sorted(maps.Keys(sumKeys)), ", "))
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
