package operate

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
)

// Demo runs a processor on sample sessions and shows what happens.
type Demo struct {
	Keep string `placeholder:"DIR" help:"Keep the data in this directory for the other commands."`
	JSON bool   `name:"json" help:"Print one JSON object per line."`
}

// Help returns the long help text.
func (Demo) Help() string {
	return `Starts a processor with an embedded NATS server on a free port. Three agents publish a session each. Summaries of their large tool outputs come back, an edit and a deletion invalidate two of them, and invalid events are rejected. Takes a second or two, needs nothing else, and leaves nothing behind without --keep.

Examples:

    processor demo
    processor demo --json
    processor demo --keep ./data`
}

// demoTimeout bounds the whole demo, which takes a second or two.
const demoTimeout = time.Minute

// Run starts a processor and publishes the sessions.
func (c *Demo) Run(ctx context.Context, a *console.App) (err error) {
	dir, release, err := c.dir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, demoTimeout, fmt.Errorf("no progress within %s", demoTimeout))
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	opened := make(chan string, 1)
	group.Go(func() error {
		cfg := config.Default() // whatever the environment says
		cfg.DataDir, cfg.NATS.Listen, cfg.HTTP.Listen, cfg.API.Listen = dir, "127.0.0.1:0", "", ""
		opts := processor.Options{Config: cfg, Version: console.Version(), Logger: zerolog.New(a.Stderr).Level(zerolog.ErrorLevel)}
		return processor.Serve(running, opts, func(p *processor.Processor) { opened <- p.Broker().URL() })
	})
	group.Go(func() error {
		defer stop()
		select {
		case url := <-opened:
			return c.play(ctx, a, url)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

// dir returns the data directory, and what to call when the demo is over.
func (c *Demo) dir() (string, func() error, error) {
	if c.Keep == "" {
		dir, err := os.MkdirTemp("", "precis-demo-")
		if err != nil {
			return "", nil, fmt.Errorf("make a directory for the data: %w", err)
		}
		return dir, func() error { return os.RemoveAll(dir) }, nil
	}
	// In a directory that holds a log everything would be a duplicate.
	if entries, err := os.ReadDir(c.Keep); err == nil && len(entries) > 0 {
		return "", nil, console.Usage("--keep %s: the directory is not empty; name a new one", c.Keep)
	}
	if err := os.MkdirAll(c.Keep, 0o700); err != nil {
		return "", nil, console.Usage("--keep: %w", err)
	}
	return c.Keep, func() error { return nil }, nil
}

// demo is the agents' side of the processor, and the output.
type demo struct {
	*remote.Server
	app     *console.App
	asJSON  bool
	agents  *events.Publisher
	records *remote.Source // SUMMARIES
	actors  []actor
	made    map[[2]string]*events.Summary // by thread and message
	seqs    map[string]uint64             // last event of each thread
}

// play runs the scenes in order. Each is printed when it is over, so that the output is the same every time but for the
// port and the time, in whatever order the agents' events were stored.
func (c *Demo) play(ctx context.Context, a *console.App, url string) (err error) {
	d := &demo{app: a, asJSON: c.JSON, actors: cast(), made: map[[2]string]*events.Summary{}, seqs: map[string]uint64{}}
	if d.Server, err = (remote.Flags{NATS: url}).Connect(a); err != nil {
		return err
	}
	defer d.Close()
	if d.agents, err = events.NewPublisher(d.Conn, events.PublisherOptions{Unchecked: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.agents.Close(ctx)) }()
	created, invalidated := string(events.SummaryCreated)+".>", string(events.SummaryInvalidated)+".>"
	if d.records, err = d.Read(ctx, broker.StreamSummaries, []string{created, invalidated}, jetstream.DeliverAllPolicy); err != nil {
		return err
	}
	defer d.records.Close()
	d.fact("began", actor{}, map[string]any{"nats": d.URL, "keep": c.Keep})
	d.heading("precis: summaries of what agents read, made beside the agents")
	d.text("Three agents publish their sessions to a NATS server inside this process, at\n"+
		"%s. precis sends back summaries of what is too large for a prompt,\n"+
		"by rules: no model is called, and nothing leaves this machine.", d.URL)
	for _, scene := range []func(context.Context) error{d.work, d.edit, d.deletion, d.faults, d.counters} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	c.tryNext(d)
	return nil
}

// work publishes all sessions at once and waits for the summaries.
func (d *demo) work(ctx context.Context) error {
	group, each := errgroup.WithContext(ctx)
	last := make([]uint64, len(d.actors))
	for i, act := range d.actors {
		group.Go(func() (err error) {
			for _, m := range act.script {
				if last[i], err = d.publish(each, act, m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	stored := time.Now()
	var rows []string
	large := 0
	for i, act := range d.actors {
		d.seqs[act.thread] = last[i]
		for _, m := range act.script {
			d.fact("published", act, map[string]any{"type": typeOf(m), "message": m})
			rows = append(rows, strings.Join([]string{act.name, m.MessageID, speaker(m), saying(m)}, "\t"))
			if isLarge(m) {
				large++
			}
		}
	}
	d.heading("1. Three agents publish at the same time")
	d.table(rows)
	for range large {
		s, err := d.summary(ctx)
		if err != nil {
			return err
		}
		d.made[[2]string{*s.ThreadID, s.SourceMessageIDs[0]}] = s
	}
	d.created(time.Since(stored))
	return nil
}

// created prints the summaries of the agents' tool outputs, the first one whole.
func (d *demo) created(took time.Duration) {
	var rows []string
	var before, after int64
	var first *events.Summary
	for _, act := range d.actors {
		for _, m := range act.script {
			s := d.made[[2]string{act.thread, m.MessageID}]
			if s == nil {
				continue
			}
			d.fact("summary.created", act, s)
			rows = append(rows, strings.Join([]string{act.name, m.MessageID, m.ToolName, strings.ReplaceAll(s.ToolSummary.Category, "_", " "),
				console.Change(s.TokenCountBefore, s.TokenCountAfter, "tokens")}, "\t"))
			before, after = before+s.TokenCountBefore, after+s.TokenCountAfter
			if first == nil {
				first = s
			}
		}
	}
	d.heading("2. Outputs of more than 1,500 characters come back as summaries (summary.created)")
	d.table(append(rows, "total\t\t\t\t"+console.Change(before, after, "tokens")))
	d.text("\nThe last one arrived %d ms after the last event was stored. Each record says what it\n"+
		"was made from, how, and at what cost; the agent puts the text where the output stood.\nThe first one:\n", took.Milliseconds())
	d.text("%s", "│ "+strings.ReplaceAll(console.PrintableLines(strings.TrimSpace(first.Content)), "\n", "\n│ "))
}

// edit changes the file that the fixer had read: its summary is stale, and is recomputed.
func (d *demo) edit(ctx context.Context) error {
	fixer := d.actors[0]
	read, fixed := fixer.script[4], demoFile("invoice.fixed.go.txt")
	e := &events.Edit{MessageID: read.MessageID, EditID: "fixed", AgentID: fixer.name, Content: events.TextContent(fixed)}
	stale, err := d.edited(ctx, fixer, e)
	if err != nil {
		return err
	}
	again, err := d.summary(ctx)
	if err != nil {
		return err
	}
	d.fact("summary.created", fixer, again)
	before := d.made[[2]string{fixer.thread, read.MessageID}]
	d.heading("3. The fixer changes the file, and edits what it had read of it")
	d.table([]string{
		fmt.Sprintf("message.edited\t%s of %s now has %s characters", e.MessageID, fixer.name, console.Grouped(chars(e.Content))),
		"summary.invalidated\t" + staleness(stale),
		fmt.Sprintf("summary.created\t%s replaces it as version %d", shortID(again.ID), again.Version),
	})
	d.text("\nSome lines of the two summaries:\n")
	d.text("- %s", strings.Join(quotedOnlyFrom(read.Content.Text(), fixed, before.Content), "\n- "))
	d.text("+ %s", strings.Join(quotedOnlyFrom(fixed, read.Content.Text(), again.Content), "\n+ "))
	return nil
}

// lineNumber is what a summary writes in front of a line that it quotes.
var lineNumber = regexp.MustCompile(`^\d+\S\s*`)

// quotedOnlyFrom returns up to three lines that a summary quotes from its source and that another text does not have.
func quotedOnlyFrom(source, other, summary string) (lines []string) {
	for line := range strings.Lines(summary) {
		line = lineNumber.ReplaceAllString(strings.TrimSpace(line), "")
		if line != "" && strings.Contains(source, line) && !strings.Contains(other, line) && len(lines) < 3 {
			lines = append(lines, line)
		}
	}
	return lines
}

// deletion removes an output that must not have been read: its summary goes too.
func (d *demo) deletion(ctx context.Context) error {
	analyst := d.actors[1]
	e := &events.Edit{MessageID: analyst.script[3].MessageID, EditID: "erased", AgentID: analyst.name, Deleted: true}
	stale, err := d.edited(ctx, analyst, e)
	if err != nil {
		return err
	}
	d.heading("4. An answer contained customers' addresses: the analyst deletes it")
	d.table([]string{
		fmt.Sprintf("message.edited\t%s of %s is deleted", e.MessageID, analyst.name),
		"summary.invalidated\t" + staleness(stale),
	})
	return nil
}

// faults publishes a message twice, and then events that are rejected.
func (d *demo) faults(ctx context.Context) error {
	scout := d.actors[2]
	again := scout.script[2]
	if _, err := d.publish(ctx, scout, again); err != nil {
		return err
	}
	d.fact("published", scout, map[string]any{"type": typeOf(again), "message": again})
	rows := []string{again.MessageID + " again\tduplicate\tcounted once, summarized once"}
	rejected, err := d.Read(ctx, broker.StreamRejected, nil, jetstream.DeliverAllPolicy)
	if err != nil {
		return err
	}
	defer rejected.Close()
	for _, f := range [][2]string{
		{"invalid JSON", `{"message_id":"m5","role":"assistant","content":"Done`},
		{"an unknown role", `{"message_id":"m5","role":"robot","content":"Done."}`},
		{"other content for m1", `{"message_id":"m1","role":"user","content":"Delete the repository."}`},
	} {
		receipt, err := d.agents.Publish(ctx, events.ThreadMessage, scout.thread, []byte(f[1]))
		if err != nil {
			return err
		}
		if d.seqs[scout.thread], err = receipt.Wait(ctx); err != nil {
			return err
		}
		entry, err := rejected.Next(ctx)
		if err != nil {
			return fmt.Errorf("wait for a rejection: %w", err)
		}
		var r events.Rejected
		if err := json.Unmarshal(entry.Raw.Body, &r); err != nil {
			return fmt.Errorf("read rejection: %w", err)
		}
		d.fact("published", scout, map[string]any{"type": events.ThreadMessage, "raw": f[1]})
		d.fact("event.rejected", scout, r)
		rows = append(rows, fmt.Sprintf("%s\tevent.rejected\t%s: %s", f[0], r.Code, r.Message))
	}
	d.heading("5. The scout sends an output twice, and then invalid events")
	d.table(rows)
	d.text("\nRejected events are kept byte for byte, with the reason.")
	return nil
}

// counters asks for every thread's counters.
func (d *demo) counters(ctx context.Context) error {
	rows := []string{"thread\tmessages\ttool outputs\tedits\tduplicates\trejected\tsummaries\tstale\ttokens\tin a prompt"}
	for _, act := range d.actors {
		t, _, err := remote.Reply[api.ThreadReply](ctx, d.Server, api.ThreadGet, act.thread, api.ThreadRequest{MinEventSeq: d.seqs[act.thread]})
		if err != nil {
			return fmt.Errorf("counters of %s: %w", act.thread, err)
		}
		d.fact("counters", act, t)
		rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s", act.thread, t.Messages, t.ToolResults, t.Edits, t.Duplicates,
			t.Rejected, t.SummariesActive, t.SummariesStale, console.Grouped(t.TokensTotal), console.Grouped(t.TokensLive)))
	}
	d.heading("6. The counters")
	d.table(rows)
	return nil
}

// tryNext prints commands to try when the demo is over.
func (c *Demo) tryNext(d *demo) {
	commands := [][2]string{
		{"demo --keep ./data", "the same, and keeps the data for the commands below"},
		{"run", "start a processor on ./data"},
		{"publish FILE", "in another terminal: publish event files, or - for what agents print"},
		{"tail --from start", "print events and records"},
		{"--help", "list the other commands"},
	}
	if c.Keep != "" {
		commands = [][2]string{
			{"run --data " + c.Keep, "start a processor on this data; then, in another terminal:"},
			{"tail --from start", "print events and records"},
			{"thread " + fixerThread, "print a thread's counters"},
			{"message " + fixerThread + " m5 --revision 0", "print the file as it was before the edit"},
			{"context " + fixerThread, "print the prompt that the fixer would get now"},
			{"rejected", "list what was rejected, and why"},
			{"replay", "fold the log again and check every decision"},
		}
	}
	var rows, lines []string
	for _, command := range commands {
		lines = append(lines, programName()+" "+command[0])
		rows = append(rows, lines[len(lines)-1]+"\t"+command[1])
	}
	d.fact("next", actor{}, lines)
	d.heading("Try next")
	d.table(rows)
}

// programName is how this program was started, for commands to try next.
func programName() string {
	exe, err := os.Executable()
	if err != nil || strings.Contains(exe, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/processor"
	}
	return os.Args[0]
}

// publish publishes a message and returns its sequence in the log.
func (d *demo) publish(ctx context.Context, act actor, m *events.Message) (uint64, error) {
	send := d.agents.Message
	if m.Role == events.RoleTool {
		send = d.agents.ToolResult
	}
	receipt, err := send(ctx, act.thread, m)
	if err != nil {
		return 0, err
	}
	return receipt.Wait(ctx)
}

// edited publishes an edit and waits for the invalidation that follows.
func (d *demo) edited(ctx context.Context, act actor, e *events.Edit) (*events.Invalidated, error) {
	receipt, err := d.agents.Edit(ctx, act.thread, e)
	if err != nil {
		return nil, err
	}
	if d.seqs[act.thread], err = receipt.Wait(ctx); err != nil {
		return nil, err
	}
	d.fact("published", act, map[string]any{"type": events.MessageEdited, "edit": e})
	stale, err := nextRecord[events.Invalidated](ctx, d, events.SummaryInvalidated)
	if err == nil {
		d.fact("summary.invalidated", act, stale)
	}
	return stale, err
}

// summary waits for the next record, which must be the summary of a tool output.
func (d *demo) summary(ctx context.Context) (*events.Summary, error) {
	s, err := nextRecord[events.Summary](ctx, d, events.SummaryCreated)
	if err == nil && (s.ThreadID == nil || len(s.SourceMessageIDs) != 1 || s.ToolSummary == nil) {
		err = fmt.Errorf("%s is not the summary of a tool output", s.ID)
	}
	return s, err
}

// nextRecord waits for the next record, which must be of type t.
func nextRecord[T any](ctx context.Context, d *demo, t events.Type) (*T, error) {
	e, err := d.records.Next(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait for %s: %w", t, err)
	}
	if e.Typ != t {
		return nil, fmt.Errorf("want %s, got %s", t, e.Typ)
	}
	record := new(T)
	if err := json.Unmarshal(e.Raw.Body, record); err != nil {
		return nil, fmt.Errorf("read %s: %w", t, err)
	}
	return record, nil
}

// fact is a line of --json.
type fact struct {
	Step   string `json:"step"`
	Agent  string `json:"agent,omitzero"`
	Thread string `json:"thread_id,omitzero"`
	Data   any    `json:"data"`
}

func (d *demo) fact(step string, of actor, data any) {
	if d.asJSON {
		d.app.JSON(fact{Step: step, Agent: of.name, Thread: of.thread, Data: data})
	}
}

func (d *demo) heading(text string) { d.print("\n" + text + "\n\n") }

func (d *demo) text(format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		d.print(strings.TrimRight("  "+line, " ") + "\n")
	}
}

// table prints rows of cells that are separated by tabs.
func (d *demo) table(rows []string) {
	var out strings.Builder
	w := console.NewColumns(&out)
	_, _ = io.WriteString(w, "  "+strings.Join(rows, "\n  ")+"\n") // a Builder does not fail
	_ = w.Flush()
	d.print(out.String())
}

func (d *demo) print(text string) {
	if !d.asJSON {
		d.app.Printf("%s", text)
	}
}

func typeOf(m *events.Message) events.Type {
	if m.Role == events.RoleTool {
		return events.ToolResult
	}
	return events.ThreadMessage
}

func speaker(m *events.Message) string {
	if m.Role == events.RoleTool {
		return m.ToolName
	}
	return m.Role
}

func saying(m *events.Message) string {
	if m.Role == events.RoleTool {
		return "printed " + console.Grouped(chars(m.Content)) + " characters"
	}
	parts := []string{m.Content.Text()}
	for _, c := range m.ToolCalls {
		parts = append(parts, "→ "+c.Name)
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// isLarge reports whether the default policy summarizes a message.
func isLarge(m *events.Message) bool { return m.Role == events.RoleTool && chars(m.Content) > 1500 }

func chars(c events.Content) int64 { return int64(utf8.RuneCountInString(c.Text())) }

func staleness(i *events.Invalidated) string {
	return fmt.Sprintf("%s: %s%s, then %s", shortID(i.SummaryID), i.Reason, remote.CauseGist(i.Cause), i.Action)
}

// shortID is the beginning of a summary's id.
func shortID(id string) string { return console.Clip(id, len("sum_")+9) }

// demoFiles are what the tools of the demo printed. The service that they speak of does not exist.
//
//go:embed demo
var demoFiles embed.FS

// demoFile is one tool's output.
func demoFile(name string) string {
	text, err := demoFiles.ReadFile("demo/" + name)
	if err != nil {
		panic(fmt.Sprintf("the samples are broken: %v", err))
	}
	return string(text)
}

// actor is an agent, and what it publishes of its session.
type actor struct {
	name, thread string
	script       []*events.Message
}

// The cast's threads.
const (
	fixerThread   = "fix-rounding"
	analystThread = "vat-rules"
	scoutThread   = "repo-tour"
)

// cast is three agents at work on one fault: each reads what is too large for its prompt.
func cast() []actor {
	return []actor{
		{name: "fixer", thread: fixerThread, script: numbered("fixer", fixer())},
		{name: "analyst", thread: analystThread, script: numbered("analyst", analyst())},
		{name: "scout", thread: scoutThread, script: numbered("scout", scout())},
	}
}

func fixer() []*events.Message {
	grep := call("c1", "grep", `{"pattern":"Total\\(","path":"."}`)
	read := call("c2", "read_file", `{"path":"internal/billing/invoice.go"}`)
	test := call("c3", "bash", `{"command":"go test -v ./internal/..."}`)
	failed := answer(test, demoFile("gotest.txt"))
	failed.ExitCode = new(1)
	return []*events.Message{
		says(events.RoleUser, "Invoice 2031-0457 is a cent too low. Find out why, and fix it."),
		says(events.RoleAssistant, "Where are totals made?", grep), answer(grep, demoFile("grep.txt")),
		says(events.RoleAssistant, "Then how Total rounds.", read), answer(read, demoFile("invoice.go.txt")),
		says(events.RoleAssistant, "Does a test show it?", test), failed,
	}
}

func analyst() []*events.Message {
	page := call("c1", "web_fetch", `{"url":"https://handbook.example.com/invoices/rounding"}`)
	payments := call("c2", "http_get", `{"url":"https://api.example.com/v2/reconciliation"}`)
	return []*events.Message{
		says(events.RoleUser, "Which way is VAT to be rounded, and which payments are off?"),
		says(events.RoleAssistant, "", page, payments),
		answer(page, demoFile("page.txt")), answer(payments, demoFile("payments.json")),
	}
}

func scout() []*events.Message {
	find := call("c1", "find", `{"path":"."}`)
	return []*events.Message{
		says(events.RoleUser, "Get to know the repository."),
		says(events.RoleAssistant, "", find), answer(find, demoFile("listing.txt")),
		says(events.RoleAssistant, "A billing service in Go with a web front; rounding is written up in docs/rounding.md."),
	}
}

func says(role, text string, calls ...events.ToolCall) *events.Message {
	m := &events.Message{Role: role, ToolCalls: calls}
	if text != "" {
		m.Content = events.TextContent(text)
	}
	return m
}

func call(id, tool, arguments string) events.ToolCall {
	return events.ToolCall{ID: id, Name: tool, Arguments: jsontext.Value(arguments)}
}

func answer(c events.ToolCall, output string) *events.Message {
	return &events.Message{
		Role: events.RoleTool, ToolCallID: c.ID, ToolName: c.Name, Arguments: c.Arguments,
		Content: events.TextContent(output),
	}
}

// numbered gives a session's messages their ids. Of a real agent they would be random.
func numbered(agent string, script []*events.Message) []*events.Message {
	for i, m := range script {
		m.MessageID, m.AgentID = fmt.Sprintf("m%d", i+1), agent
	}
	return script
}
