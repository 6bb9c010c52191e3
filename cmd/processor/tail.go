package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
)

// tailCmd follows the three streams as one.
type tailCmd struct {
	serverFlags
	Thread        *string  `placeholder:"T" help:"Only this thread."`
	Type          []string `placeholder:"T" help:"Only these types, such as summary.created, separated by commas."`
	From          string   `enum:"start,now" default:"now" help:"Start of the output: start (of the log) or now (${default})."`
	UntilCaughtUp bool     `name:"until-caught-up" help:"With --from start: stop at the current end of the log."`
}

// Help shows the command used.
func (tailCmd) Help() string {
	return `Prints one line per event: time, type, thread and a short description. With --json it writes an event file. Streams that the user may not read are named and left out; the streams of a --type must be readable.

Examples:

    processor tail --from start --thread demo-1
    processor tail --type summary.created --from start --until-caught-up --json > summaries.jsonl`
}

// Run prints until it is stopped, which is not an error.
func (c *tailCmd) Run(ctx context.Context, a *app) error {
	if c.UntilCaughtUp && c.From != "start" {
		return usage("--until-caught-up needs --from start")
	}
	plan, err := c.plan()
	if err != nil {
		return err
	}
	err = c.withServer(ctx, a, func(ctx context.Context, s *server) error { return c.tail(ctx, a, s, plan) })
	return unlessStopped(ctx, err)
}

// unlessStopped drops the error that being told to stop looks like.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// reading is a stream and what of it is wanted.
type reading struct {
	stream  string
	filters []string
}

// plan decides which streams to read, in the order in which things happen.
func (c *tailCmd) plan() ([]reading, error) {
	token := "*"
	if c.Thread != nil {
		var err error
		if token, err = events.Token(*c.Thread); err != nil {
			return nil, usage("--thread: %w", err)
		}
	}
	if len(c.Type) == 0 {
		return allTypes(token), nil
	}
	filters := map[string][]string{}
	for _, name := range c.Type {
		t := events.Type(name)
		if !t.Known() {
			return nil, usage("--type: %q is not known; allowed: %s", name, strings.Join(typeNames(), ", "))
		}
		filters[t.Stream()] = append(filters[t.Stream()], filter(t, token))
	}
	var plan []reading
	for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		if len(filters[stream]) > 0 {
			plan = append(plan, reading{stream: stream, filters: slices.Compact(slices.Sorted(slices.Values(filters[stream])))})
		}
	}
	return plan, nil
}

// allTypes reads everything of a thread; of all threads without filters, so that what was published past the
// streams' forms is seen too.
func allTypes(token string) []reading {
	plan := []reading{{stream: broker.StreamEvents}, {stream: broker.StreamSummaries}, {stream: broker.StreamRejected}}
	if token == "*" {
		return plan
	}
	plan[0].filters = []string{threadFilter(token)}
	plan[1].filters = []string{"*.*." + token}
	plan[2].filters = []string{"*.*." + token}
	return plan
}

// filter is where a type's events of a thread (or, with *, of all) are stored.
func filter(t events.Type, token string) string {
	if t.Incoming() {
		return "*." + string(t) + "." + token
	}
	return string(t) + "." + token
}

// threadFilter is where EVENTS keeps a thread: <partition>.<type>.<thread>, a type being two tokens.
func threadFilter(token string) string { return "*.*.*." + token }

func typeNames() (names []string) {
	for _, t := range events.Types() {
		names = append(names, string(t))
	}
	return names
}

func (c *tailCmd) tail(ctx context.Context, a *app, s *server, plan []reading) error {
	from := jetstream.DeliverNewPolicy
	if c.From == "start" {
		from = jetstream.DeliverAllPolicy
	}
	var sources []*source
	var refused error // of the last stream that this user may not read, if no stream was named
	for _, r := range plan {
		opened, err := s.read(ctx, r.stream, r.filters, from)
		if len(c.Type) == 0 && errors.Is(err, nats.ErrPermissionViolation) {
			a.note("processor: this user may not read %s: skipped", r.stream)
			refused = err
			continue
		}
		if err != nil {
			return err
		}
		defer opened.close()
		sources = append(sources, opened)
	}
	if len(sources) == 0 {
		return refused
	}
	out := newTailWriter(a, c.JSON)
	if err := errors.Join(mergeRest(ctx, sources, out.write), out.flush()); err != nil {
		return err
	}
	var gaps []error
	for _, s := range sources {
		gaps = append(gaps, s.gaps())
	}
	if err := errors.Join(gaps...); err != nil || c.UntilCaughtUp {
		return err
	}
	return follow(ctx, sources, out.writeNow)
}

// tailWriter prints entries; history is buffered, what happens now is not.
type tailWriter struct {
	app    *app
	buffer *bufio.Writer
	file   *events.FileWriter // nil for people
}

func newTailWriter(a *app, asJSON bool) *tailWriter {
	w := &tailWriter{app: a, buffer: bufio.NewWriterSize(a.stdout, 1<<16)}
	if asJSON {
		w.file = events.NewFileWriter(w.buffer)
	}
	return w
}

func (w *tailWriter) flush() error { return w.buffer.Flush() }

func (w *tailWriter) writeNow(e entry) error {
	if err := w.write(e); err != nil {
		return err
	}
	return w.flush()
}

func (w *tailWriter) write(e entry) error {
	if w.file == nil {
		_, err := w.buffer.WriteString(e.line() + "\n")
		return err
	}
	if e.typ != "" {
		data, err := exported(e)
		if err != nil { // a record of precis's own, or an event that was rejected
			data = e.data()
		}
		if err := w.file.Write(e.typ, e.thread, data); err == nil {
			return nil
		}
	}
	// Not silently: its rejection stands in REJECTED, byte for byte.
	w.app.note("processor: EVENTS %d on %s is not a JSON object, skipped", e.seq, printable(e.raw.Subject))
	return nil
}

// line is an entry for people: when, what, which thread, and what matters of it.
func (e entry) line() string {
	thread := e.thread
	if thread == "" {
		thread = "-"
	}
	return fmt.Sprintf("%s  %-19s %s  %s", e.time.Local().Format("2006-01-02 15:04:05.000"), e.typ, printable(thread), e.gist())
}

// gistOf returns a function that reads a record of one type and describes it in a line.
func gistOf[T any](say func(T) string) func(data []byte) string {
	return func(data []byte) string {
		var record T
		if err := json.Unmarshal(data, &record); err != nil {
			return "(not readable: " + printable(err.Error()) + ")"
		}
		return printable(say(record))
	}
}

func (e entry) gist() string {
	if gist, is := gists[e.typ]; is {
		return gist(e.raw.Body)
	}
	return e.eventGist()
}

var gists = map[events.Type]func(body []byte) string{
	events.SummaryStarted:     gistOf(startedGist),
	events.SummaryCreated:     gistOf(createdGist),
	events.SummaryInvalidated: gistOf(invalidatedGist),
	events.SummaryFailed:      gistOf(failedGist),
	events.UsageRecorded:      gistOf(usageGist),
	events.ConfigApplied:      gistOf(configGist),
	events.PartitionClaimed:   gistOf(claimGist),
	events.EventRejected:      gistOf(rejectedGist),
}

// eventGist lays out what agents publish.
func (e entry) eventGist() string {
	event, rejection := events.Decode(e.raw, events.Limits{})
	switch {
	case rejection != nil:
		return printable("not acceptable: " + rejection.Error())
	case event.Edit != nil:
		return printable(editGist(event.Edit))
	case event.Fork != nil:
		return printable(forkGist(event.Fork))
	default:
		return printable(messageGist(event.Type, event.Message))
	}
}

// gistChars is how much of a text a line shows.
const gistChars = 60

func forkGist(f *events.Fork) string {
	if f.AtMessageID == "" {
		return "from " + f.ParentThreadID
	}
	return "from " + f.ParentThreadID + " at " + f.AtMessageID
}

func messageGist(t events.Type, m *events.Message) string {
	text := m.Content.Text()
	parts := []string{m.MessageID}
	if t == events.ToolResult {
		parts = append(parts, m.ToolName, grouped(utf8.RuneCountInString(text))+" chars")
		if m.IsError != nil && *m.IsError || m.ExitCode != nil && *m.ExitCode != 0 {
			parts = append(parts, "error")
		}
	} else {
		parts = append(parts, m.Role)
	}
	for _, call := range m.Calls() {
		parts = append(parts, "calls "+call.Name)
	}
	if text != "" {
		parts = append(parts, fmt.Sprintf("%q", clip(text, gistChars)))
	}
	return joined(parts)
}

func editGist(e *events.Edit) string {
	if e.Deleted {
		return e.MessageID + " · deleted"
	}
	if e.Rewind {
		return e.MessageID + " · rewound to here"
	}
	if e.Pinned != nil {
		return e.MessageID + map[bool]string{true: " · pinned", false: " · unpinned"}[*e.Pinned]
	}
	text := e.Content.Text()
	return fmt.Sprintf("%s · %s chars · %q", e.MessageID, grouped(utf8.RuneCountInString(text)), clip(text, gistChars))
}

func createdGist(s events.Summary) string {
	parts := []string{s.Kind, s.Slot}
	if s.ToolSummary != nil {
		parts = append(parts, s.ToolSummary.ToolName)
	}
	parts = append(parts, change(s.TokenCountBefore, s.TokenCountAfter, "tokens"), method(s.Method, s.FallbackReason), triggerGist(s.Kind, s.Trigger))
	if s.Cost.AmountMicroUSD == nil || *s.Cost.AmountMicroUSD > 0 {
		parts = append(parts, dollars(s.Cost.AmountMicroUSD))
	}
	return joined(append(parts, s.ID))
}

func method(name string, fallback *string) string {
	if fallback == nil {
		return name
	}
	return name + " (" + *fallback + ")"
}

// triggerGist says what made a summary due: a threshold that was passed, or, for a history, another so many messages.
func triggerGist(kind string, t events.Trigger) string {
	if t.Threshold == nil || t.Value == nil {
		return t.Reason
	}
	if kind == events.KindHistory {
		return fmt.Sprintf("%s %s, every %s", t.Reason, measured(*t.Value), measured(*t.Threshold))
	}
	return fmt.Sprintf("%s %s > %s", t.Reason, measured(*t.Value), measured(*t.Threshold))
}

func startedGist(s events.Started) string {
	return joined([]string{s.Kind, s.Slot, triggerGist(s.Kind, s.Trigger), s.SummaryID})
}

func invalidatedGist(i events.Invalidated) string {
	return joined([]string{i.Kind, i.Reason + causeGist(i.Cause), "then " + i.Action, i.SummaryID})
}

func causeGist(c events.Cause) string {
	for _, id := range []*string{c.MessageID, c.SummaryID} {
		if id != nil {
			return " by " + *id
		}
	}
	if c.Setting != nil && c.Old != nil && c.New != nil {
		return fmt.Sprintf(" %s: %s → %s", *c.Setting, *c.Old, *c.New)
	}
	return ""
}

func failedGist(f events.Failed) string {
	return joined([]string{f.Kind, f.Code, f.Message, "then " + f.Action, f.SummaryID})
}

func usageGist(u events.UsageRecord) string {
	tokens := fmt.Sprintf("%s in, %s out", grouped(u.Usage.InputTokens), grouped(u.Usage.OutputTokens))
	return joined([]string{u.Provider + " " + u.Model, u.Outcome, tokens, dollars(u.Cost.AmountMicroUSD), u.SummaryID})
}

func configGist(c events.Config) string {
	return joined([]string{fmt.Sprintf("partition %d", c.Partition), "program " + c.ProgramVersion, "rules " + c.RulesVersion, c.Fingerprint})
}

func claimGist(c events.Claimed) string {
	return joined([]string{
		fmt.Sprintf("partition %d", c.Partition), fmt.Sprintf("epoch %d", c.Epoch), "by " + c.Owner,
		"program " + c.ProgramVersion, "rules " + c.RulesVersion, c.Fingerprint,
	})
}

func rejectedGist(r events.Rejected) string {
	field := ""
	if r.Field != nil {
		field = *r.Field
	}
	return joined([]string{r.Code, field, r.Message, r.Subject, fmt.Sprintf("EVENTS %d", r.StreamSeq)})
}

// joined puts what there is beside each other.
func joined(parts []string) string {
	var given []string
	for _, part := range parts {
		if part != "" {
			given = append(given, part)
		}
	}
	return strings.Join(given, " · ")
}
