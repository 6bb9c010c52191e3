package ask

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
)

// Thread shows a thread's counters.
type Thread struct {
	remote.Flags
	Thread      string `arg:"" help:"The thread's id."`
	MinEventSeq uint64 `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is counted."`
}

// Help shows the command used.
func (Thread) Help() string {
	return `What stands in a prompt is counted as texts and arguments here (tokens_live with --json). "processor context" also counts names and what a provider adds to each message and call (token_count), which is more for the same prompt. "At the provider" is what the prompt weighs by the agent's last usage, system prompt and tools included.

Example:

    processor thread demo-1
    processor thread demo-1 --min-event-seq 42   # after a publish: wait until that event is counted`
}

// Run asks the processor.
func (c *Thread) Run(ctx context.Context, a *console.App) error {
	return c.With(ctx, a, func(ctx context.Context, s *remote.Server) error {
		t, raw, err := remote.Reply[api.ThreadReply](ctx, s, api.ThreadGet, c.Thread, api.ThreadRequest{MinEventSeq: c.MinEventSeq})
		switch {
		case err != nil:
			return err
		case c.JSON:
			a.Printf("%s\n", raw)
		default:
			a.Printf("%s", countersTable(c.Thread, t))
		}
		return nil
	})
}

func countersTable(thread string, t api.ThreadReply) *console.Table {
	out := &console.Table{}
	out.Add("Thread", console.Printable(thread))
	out.Add("Events", console.List(console.Counted(t.Messages, "message"), console.Counted(t.ToolResults, "tool result"), console.Counted(t.Edits, "edit")))
	out.Add("Not counted", console.List(console.Counted(t.Duplicates, "duplicate"), console.Grouped(t.Rejected)+" rejected", console.Counted(t.WaitingEdits, "pending edit")))
	out.Add("Size", console.Counted(t.Bytes, "byte")+", "+console.Counted(t.TokensTotal, "token"))
	out.Add("In a prompt", console.Change(t.TokensTotal, t.TokensLive, "tokens of texts and arguments"))
	if t.PromptTokens != nil && t.Reported != nil {
		out.Add("At the provider", console.Counted(*t.PromptTokens, "token")+" in a prompt; "+reportedCalls(t.Reported))
	}
	out.Add("Summaries", console.List(console.Grouped(t.SummariesActive)+" active", console.Grouped(t.SummariesStale)+" stale", console.Grouped(t.SummariesStarted)+" in progress"))
	if t.LLMInput+t.LLMOutput > 0 || t.CostUnknown > 0 {
		out.Add("Model calls", fmt.Sprintf("%s tokens in, %s out, %s", console.Grouped(t.LLMInput), console.Grouped(t.LLMOutput), callsCost(t)))
	}
	if t.Fork != nil {
		out.Add("Forked", remote.Lineage(t.Fork))
	}
	if t.ParentThreadID != nil {
		out.Add("Parent", console.Printable(*t.ParentThreadID))
	}
	if d := t.Descendants; d.Threads > 0 {
		out.Add("Children", fmt.Sprintf("%s, with theirs %s, model calls %s", console.Grouped(t.ChildrenCount), console.Counted(d.Threads, "thread"), costOf(d.CostMicroUSD, d.CostUnknown)))
		for _, c := range t.Children {
			out.Add("", console.Printable(c.ThreadID)+map[bool]string{true: " (running)"}[c.Running])
		}
	}
	out.Add("Log", fmt.Sprintf("up to event %d", t.EventSeq))
	out.AddIf("Chain", t.ChainHead)
	return out
}

// reportedCalls says what the agent's own calls used.
func reportedCalls(r *api.Reported) string {
	text := console.List(console.Counted(r.Calls, "call"), console.Grouped(r.Total.InputTokens)+" tokens in",
		console.Grouped(r.Total.CachedInputTokens)+" of them cached", console.Grouped(r.Total.OutputTokens)+" out")
	if r.Model != nil {
		text += ", " + console.Printable(*r.Model)
	}
	return text
}

func callsCost(t api.ThreadReply) string { return costOf(t.CostMicroUSD, t.CostUnknown) }

// costOf names what is not in the sum: unknown is not free.
func costOf(microUSD int64, unknown uint64) string {
	if unknown == 0 {
		return console.Dollars(&microUSD)
	}
	return fmt.Sprintf("%s and %s of unknown cost", console.Dollars(&microUSD), console.Counted(unknown, "call"))
}

// Context shows the prompt that an agent would be given.
type Context struct {
	remote.Flags
	Thread      string `arg:"" help:"The thread's id."`
	MaxTokens   int    `name:"max-tokens" placeholder:"N" help:"Limit in tokens; 0: no limit (0)."`
	MinEventSeq uint64 `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is applied."`
	Format      string `enum:"openai,responses,anthropic,gemini,messages" default:"messages" help:"Format: openai, responses, anthropic, gemini or messages (${default})."`
	Children    bool   `help:"Name the threads that the thread's agent started and that still run, behind the summary."`
	Explain     bool   `help:"Instead of the prompt, print what it is made of: tokens by part, what stands for which messages, what was left out and why. With --json: beside the prompt."`
}

// Help shows the command used.
func (Context) Help() string {
	return `Prints the compacted prompt of a thread as JSON in a provider's format: system messages, the current summary, the messages that stay verbatim, tool outputs that the model has read as their summaries. For anthropic it is an object, since system stands beside the messages. What had to be left out is reported on standard error.

Examples:

    processor context demo-1 --max-tokens 8000 --format anthropic
    processor context demo-1 --max-tokens 8000 --explain   # why it is as it is`
}

// Run asks the processor.
func (c *Context) Run(ctx context.Context, a *console.App) error {
	if c.MaxTokens < 0 {
		return console.Usage("--max-tokens %d: give a number of tokens, or 0 for no limit", c.MaxTokens)
	}
	request := api.ContextRequest{
		MaxTokens: c.MaxTokens, Format: c.Format, MinEventSeq: c.MinEventSeq, Children: c.Children,
		Explain: c.Explain || !c.JSON, // people are told what to do about messages without room
	}
	return c.With(ctx, a, func(ctx context.Context, s *remote.Server) error {
		reply, raw, err := remote.Reply[api.ContextReply](ctx, s, api.ThreadContext, c.Thread, request)
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
func printPrompt(a *console.App, r *api.ContextReply) error {
	body, err := promptBody(r)
	if err != nil {
		return err
	}
	a.Printf("%s\n", body)
	a.Note("%s", console.List(console.Counted(r.TokenCount, "token"), console.Counted(len(r.SummaryIDs), "summary"), console.Counted(r.DroppedCount, "message")+" dropped",
		console.Counted(len(r.ShortenedMessageIDs), "new output")+" shortened"))
	return nil
}

// show prints the answer; what can't be fitted into the budget is something wrong, in either form.
func (c *Context) show(a *console.App, r *api.ContextReply, raw []byte) error {
	switch {
	case c.JSON:
		a.Printf("%s\n", raw)
	case c.Explain && r.Explain == nil:
		return console.Unreachable("read the answer: it has no explanation")
	case c.Explain:
		printExplanation(a, c.Thread, c.MaxTokens, r)
	default:
		if err := printPrompt(a, r); err != nil {
			return console.Unreachable("read the answer: %w", err)
		}
	}
	if !c.JSON {
		noteDropped(a, c.Thread, r)
	}
	if !r.WithinBudget {
		return console.Wrong("the messages that must stay do not fit into %s", console.Counted(c.MaxTokens, "token"))
	}
	return nil
}

// Message shows what a message said before anybody summarized it.
type Message struct {
	remote.Flags
	Thread      string  `arg:"" help:"The thread's id."`
	Message     string  `arg:"" help:"The message's id."`
	Revision    *uint64 `placeholder:"N" help:"Text after N edits; 0 is the original. Default: the current one."`
	Lines       string  `placeholder:"A-B" help:"Only lines A to B, counted from 1."`
	MinEventSeq uint64  `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is applied."`
}

// Help shows the command used.
func (Message) Help() string {
	return `Prints the original text. Omission marks in summaries name the message to ask for.

Example:

    processor message demo-1 m17 --lines 40-80`
}

// Run prints the text alone, so that it can be piped on.
func (c *Message) Run(ctx context.Context, a *console.App) error {
	request := api.MessageRequest{MessageID: c.Message, Revision: c.Revision, MinEventSeq: c.MinEventSeq}
	if c.Lines != "" {
		var err error
		if request.Lines, err = lineRange(c.Lines); err != nil {
			return err
		}
	}
	return c.With(ctx, a, func(ctx context.Context, s *remote.Server) error {
		m, raw, err := remote.Reply[api.MessageReply](ctx, s, api.MessageGet, c.Thread, request)
		if err != nil {
			return err
		}
		return c.print(a, m, raw, request.Lines)
	})
}

// print shows the text, or the answer; what is not there is something wrong, in either form.
func (c *Message) print(a *console.App, m api.MessageReply, raw []byte, lines []int) error {
	if c.JSON {
		a.Printf("%s\n", raw)
	}
	if m.Deleted {
		return console.Wrong("the message %q is deleted; --revision N shows what it said", console.Printable(c.Message))
	}
	if len(lines) > 0 && m.LinesTotal > 0 && lines[0] > m.LinesTotal {
		return console.Wrong("the message %q ends with line %d", console.Printable(c.Message), m.LinesTotal)
	}
	if !c.JSON && m.Content != nil {
		printText(a, *m.Content)
	}
	return nil
}

func printText(a *console.App, text string) {
	if console.IsTerminal(a.Stdout.Writer) {
		text = console.PrintableLines(text)
	} else {
		a.Stdout.Raw = true // a file gets what the agent published, byte for byte
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	a.Printf("%s", text)
}

// lineRange reads "A-B", or "A" for one line.
func lineRange(text string) ([]int, error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	from, err := strconv.Atoi(first)
	if err != nil || from < 1 {
		return nil, console.Usage("--lines %q: want A-B, counted from 1, such as 40-80", text)
	}
	to, err := strconv.Atoi(last)
	if err != nil || to < from {
		return nil, console.Usage("--lines %q: want A-B, counted from 1, such as 40-80", text)
	}
	return []int{from, to}, nil
}
