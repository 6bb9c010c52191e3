package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
)

// threadCmd shows a thread's counters.
type threadCmd struct {
	serverFlags
	Thread      string `arg:"" help:"The thread's id."`
	MinEventSeq uint64 `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is counted."`
}

// Help shows the command used.
func (threadCmd) Help() string {
	return `Example:

    processor thread demo-1
    processor thread demo-1 --min-event-seq 42   # after a publish: wait until that event is counted`
}

// Run asks the processor.
func (c *threadCmd) Run(ctx context.Context, a *app) error {
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		t, raw, err := replyTo[api.ThreadReply](ctx, s, api.ThreadGet, c.Thread, api.ThreadRequest{MinEventSeq: c.MinEventSeq})
		switch {
		case err != nil:
			return err
		case c.JSON:
			a.printf("%s\n", raw)
		default:
			a.printf("%s", countersTable(c.Thread, t))
		}
		return nil
	})
}

func countersTable(thread string, t api.ThreadReply) *table {
	out := &table{}
	out.add("Thread", printable(thread))
	out.add("Events", list(counted(t.Messages, "message"), counted(t.ToolResults, "tool result"), counted(t.Edits, "edit")))
	out.add("Not counted", list(counted(t.Duplicates, "duplicate"), grouped(t.Rejected)+" rejected", counted(t.WaitingEdits, "pending edit")))
	out.add("Size", counted(t.Bytes, "byte")+", "+counted(t.TokensTotal, "token"))
	out.add("In a prompt", change(t.TokensTotal, t.TokensLive, "tokens"))
	if t.PromptTokens != nil && t.Reported != nil {
		out.add("At the provider", counted(*t.PromptTokens, "token")+" in a prompt; "+reportedCalls(t.Reported))
	}
	out.add("Summaries", list(grouped(t.SummariesActive)+" active", grouped(t.SummariesStale)+" stale", grouped(t.SummariesStarted)+" in progress"))
	if t.LLMInput+t.LLMOutput > 0 || t.CostUnknown > 0 {
		out.add("Model calls", fmt.Sprintf("%s tokens in, %s out, %s", grouped(t.LLMInput), grouped(t.LLMOutput), callsCost(t)))
	}
	if t.Fork != nil {
		out.add("Forked", lineage(t.Fork))
	}
	if t.ParentThreadID != nil {
		out.add("Parent", printable(*t.ParentThreadID))
	}
	if d := t.Descendants; d.Threads > 0 {
		out.add("Children", fmt.Sprintf("%s, with theirs %s, model calls %s", grouped(t.ChildrenCount), counted(d.Threads, "thread"), costOf(d.CostMicroUSD, d.CostUnknown)))
		for _, c := range t.Children {
			out.add("", printable(c.ThreadID)+map[bool]string{true: " (running)"}[c.Running])
		}
	}
	out.add("Log", fmt.Sprintf("up to event %d", t.EventSeq))
	out.addIf("Chain", t.ChainHead)
	return out
}

// lineage says where a fork comes from.
func lineage(f *api.Lineage) string {
	text := "from " + printable(f.ParentThreadID)
	if f.AtMessageID != nil {
		text += " at " + printable(*f.AtMessageID)
	}
	text += fmt.Sprintf(", event %d, ", f.EventSeq)
	if f.Reason != nil {
		return text + "with nothing: " + *f.Reason
	}
	return text + "with " + counted(f.InheritedMessages, "message")
}

// reportedCalls says what the agent's own calls used.
func reportedCalls(r *api.Reported) string {
	text := list(counted(r.Calls, "call"), grouped(r.Total.InputTokens)+" tokens in",
		grouped(r.Total.CachedInputTokens)+" of them cached", grouped(r.Total.OutputTokens)+" out")
	if r.Model != nil {
		text += ", " + printable(*r.Model)
	}
	return text
}

func callsCost(t api.ThreadReply) string { return costOf(t.CostMicroUSD, t.CostUnknown) }

// costOf names what is not in the sum: unknown is not free.
func costOf(microUSD int64, unknown uint64) string {
	if unknown == 0 {
		return dollars(&microUSD)
	}
	return fmt.Sprintf("%s and %s of unknown cost", dollars(&microUSD), counted(unknown, "call"))
}

// contextCmd shows the prompt that an agent would be given.
type contextCmd struct {
	serverFlags
	Thread      string `arg:"" help:"The thread's id."`
	MaxTokens   int    `name:"max-tokens" placeholder:"N" help:"Limit in tokens; 0: no limit (0)."`
	MinEventSeq uint64 `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is applied."`
	Format      string `enum:"openai,responses,anthropic,gemini,messages" default:"messages" help:"Format: openai, responses, anthropic, gemini or messages (${default})."`
	Children    bool   `help:"Name the threads that the thread's agent started and that still run, behind the summary."`
	Explain     bool   `help:"With --json: also what each summary stands for, tokens by part, and what was left out and why."`
}

// Help shows the command used.
func (contextCmd) Help() string {
	return `Prints the compacted prompt of a thread as JSON in a provider's format: system messages, the current summary, the messages that stay verbatim, tool outputs that the model has read as their summaries. For anthropic it is an object, since system stands beside the messages. What had to be left out is reported on standard error.

Example:

    processor context demo-1 --max-tokens 8000 --format anthropic`
}

// Run asks the processor.
func (c *contextCmd) Run(ctx context.Context, a *app) error {
	if c.MaxTokens < 0 {
		return usage("--max-tokens %d: give a number of tokens, or 0 for no limit", c.MaxTokens)
	}
	if c.Explain && !c.JSON {
		return usage("--explain goes with --json")
	}
	request := api.ContextRequest{MaxTokens: c.MaxTokens, Format: c.Format, MinEventSeq: c.MinEventSeq, Explain: c.Explain, Children: c.Children}
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		reply, raw, err := replyTo[api.ContextReply](ctx, s, api.ThreadContext, c.Thread, request)
		if err != nil {
			return err
		}
		return c.show(a, &reply, raw)
	})
}

// promptBody is what goes into a provider's request: the messages, or an object where system stands beside them.
func promptBody(r *api.ContextReply) (jsontext.Value, error) {
	body := r.Messages
	if len(r.System) > 0 && r.System.Kind() != 'n' {
		var err error
		if body, err = json.Marshal(struct {
			System   jsontext.Value `json:"system"`
			Messages jsontext.Value `json:"messages"`
		}{r.System, r.Messages}); err != nil {
			return nil, err
		}
	}
	return body, body.Indent()
}

// printPrompt shows the prompt to people: what a provider would be sent, indented.
func printPrompt(a *app, r *api.ContextReply) error {
	body, err := promptBody(r)
	if err != nil {
		return err
	}
	a.printf("%s\n", body)
	a.note("%s", list(counted(r.TokenCount, "token"), counted(len(r.SummaryIDs), "summary"), counted(r.DroppedCount, "message")+" dropped",
		counted(len(r.ShortenedMessageIDs), "new output")+" shortened"))
	return nil
}

// show prints the answer; what can't be fitted into the budget is something wrong, in either form.
func (c *contextCmd) show(a *app, r *api.ContextReply, raw []byte) error {
	if c.JSON {
		a.printf("%s\n", raw)
	} else if err := printPrompt(a, r); err != nil {
		return unreachable("read the answer: %w", err)
	}
	if !r.WithinBudget {
		return wrong("the messages that must stay do not fit into %d tokens", c.MaxTokens)
	}
	return nil
}

// messageCmd shows what a message said before anybody summarized it.
type messageCmd struct {
	serverFlags
	Thread      string  `arg:"" help:"The thread's id."`
	Message     string  `arg:"" help:"The message's id."`
	Revision    *uint64 `placeholder:"N" help:"Text after N edits; 0 is the original. Default: the current one."`
	Lines       string  `placeholder:"A-B" help:"Only lines A to B, counted from 1."`
	MinEventSeq uint64  `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is applied."`
}

// Help shows the command used.
func (messageCmd) Help() string {
	return `Prints the original text. Omission marks in summaries name the message to ask for.

Example:

    processor message demo-1 m17 --lines 40-80`
}

// Run prints the text alone, so that it can be piped on.
func (c *messageCmd) Run(ctx context.Context, a *app) error {
	request := api.MessageRequest{MessageID: c.Message, Revision: c.Revision, MinEventSeq: c.MinEventSeq}
	if c.Lines != "" {
		var err error
		if request.Lines, err = lineRange(c.Lines); err != nil {
			return err
		}
	}
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		m, raw, err := replyTo[api.MessageReply](ctx, s, api.MessageGet, c.Thread, request)
		if err != nil {
			return err
		}
		return c.print(a, m, raw, request.Lines)
	})
}

// print shows the text, or the answer; what is not there is something wrong, in either form.
func (c *messageCmd) print(a *app, m api.MessageReply, raw []byte, lines []int) error {
	if c.JSON {
		a.printf("%s\n", raw)
	}
	if m.Deleted {
		return wrong("the message %q is deleted; --revision N shows what it said", printable(c.Message))
	}
	if len(lines) > 0 && m.LinesTotal > 0 && lines[0] > m.LinesTotal {
		return wrong("the message %q ends with line %d", printable(c.Message), m.LinesTotal)
	}
	if !c.JSON && m.Content != nil {
		printText(a, *m.Content)
	}
	return nil
}

func printText(a *app, text string) {
	if isTerminal(a.stdout.Writer) {
		text = printableLines(text)
	} else {
		a.stdout.raw = true // a file gets what the agent published, byte for byte
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	a.printf("%s", text)
}

// lineRange reads "A-B", or "A" for one line.
func lineRange(text string) ([]int, error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	from, err := strconv.Atoi(first)
	if err != nil || from < 1 {
		return nil, usage("--lines %q: want A-B, counted from 1, such as 40-80", text)
	}
	to, err := strconv.Atoi(last)
	if err != nil || to < from {
		return nil, usage("--lines %q: want A-B, counted from 1, such as 40-80", text)
	}
	return []int{from, to}, nil
}
