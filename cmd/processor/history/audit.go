package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nkeys"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/service"
	"precis/internal/thread"
	"precis/internal/timeline"
)

// Audit tells a thread's story, or reads or verifies the chain head of all threads.
type Audit struct {
	remote.Flags
	Thread    string  `arg:"" optional:"" help:"The thread's id; not with --head or --verify-head."`
	At        string  `placeholder:"TIME|SEQ" help:"Stop at a time or an event, and show the prompt that an agent would have got then."`
	HTML      string  `name:"html" type:"path" placeholder:"FILE" help:"Write the story as a self-contained HTML page."`
	MaxTokens *int    `name:"max-tokens" placeholder:"N" help:"With --at: the prompt's limit in tokens; 0: no limit (0)."`
	Format    *string `enum:"openai,responses,anthropic,gemini,messages" placeholder:"F" help:"With --at: format of the prompt: openai, responses, anthropic, gemini or messages (messages)."`

	Head       bool   `help:"Print the chain head of SUMMARIES as JSON: a digest over the chains of all threads, to keep outside the server."`
	Sign       string `type:"existingfile" placeholder:"FILE" help:"With --head: sign it with this nkey seed, as made by nk -gen user."`
	VerifyHead string `name:"verify-head" type:"existingfile" placeholder:"FILE" help:"Check that the log holds the head in this file."`
	Signer     string `placeholder:"KEY" help:"With --verify-head: require a signature by this public nkey."`
}

// Help shows the command used.
func (Audit) Help() string {
	return `Folds the thread's log again with every check of replay and lists what happened in order: messages, tool outputs, summaries and what they replaced, invalidations and their causes, usage and cost. Times are those at which events were stored, as for --at; an event that says another one, such as of an imported session, has it as "written". With --at it stops at that moment and shows exactly the context of that moment; a model's text is taken from the record.

--head prints a digest over the chains of all threads. Keep it where those who administer the server cannot change it: --verify-head then reports when SUMMARIES up to that head was rewritten, even with consistent chains. The exit status is 1 if the log does not hold the head.

Examples:

    processor audit demo-1
    processor audit demo-1 --html demo-1.html
    processor audit demo-1 --at 2026-11-17T09:30:00Z --format openai
    processor audit demo-1 --at 1234 --json
    processor audit --head --sign auditor.nk > head.json
    processor audit --verify-head head.json --signer UAH42UG6PV552P5SWLWTBP3H3S5BHAVCO2IEKEXUANJXR75J63RQ5WM6`
}

// Run tells the story, and ends with status 1 where the log does not bear it out.
func (c *Audit) Run(ctx context.Context, a *console.App) error {
	if c.ofHead() {
		return c.runHead(ctx, a)
	}
	if c.Thread == "" {
		return console.Usage("missing argument: <thread>, --head or --verify-head")
	}
	if _, err := events.Token(c.Thread); err != nil {
		return console.Usage("thread: %w", err)
	}
	at, err := momentFlag(c.At)
	if err != nil {
		return err
	}
	prompt, err := c.prompt()
	if err != nil {
		return err
	}
	return logFlags{Flags: c.Flags}.withLog(ctx, a, "", func(ctx context.Context, l *logAtHand) error {
		bar := console.NewLogProgress(a, "folding the log")
		defer bar.Done()
		story, err := c.tell(ctx, l, at, prompt, bar)
		bar.Clear()
		if err != nil {
			return err
		}
		return c.show(a, story)
	})
}

func (c *Audit) tell(ctx context.Context, l *logAtHand, at audit.Moment, prompt api.ContextRequest, bar *console.Progress) (*audit.Story, error) {
	o := l.options(bar)
	o.Rules = true
	story, err := audit.Tell(ctx, o, c.Thread, at)
	if errors.Is(err, audit.ErrNoThread) || errors.Is(err, audit.ErrNotYet) {
		return nil, console.Wrong("%w", err)
	}
	if err != nil || c.At == "" {
		return story, err
	}
	from := service.Reading{
		View: l.scratch.View(story.Partition), Policies: story.Policies, Now: story.Until,
		Log: content.Uncached{Log: broker.NewLogReader(l.js, broker.StreamEvents)},
	}
	reply, err := service.ReadContext(ctx, from, c.Thread, prompt)
	if err != nil {
		return nil, console.Wrong("make the context: %w", err)
	}
	story.Context = reply
	return story, nil
}

// prompt is what the flags ask of the prompt that --at shows.
func (c *Audit) prompt() (api.ContextRequest, error) {
	r := api.ContextRequest{Format: "messages"}
	if c.At == "" && (c.MaxTokens != nil || c.Format != nil) {
		return r, console.Usage("--max-tokens and --format go with --at: without it, no prompt is shown")
	}
	if c.Format != nil {
		r.Format = *c.Format
	}
	if c.MaxTokens != nil {
		r.MaxTokens = *c.MaxTokens
	}
	if r.MaxTokens < 0 {
		return r, console.Usage("--max-tokens %d: give a number of tokens, or 0 for no limit", r.MaxTokens)
	}
	return r, nil
}

// momentFlag reads a sequence of EVENTS, or a time.
func momentFlag(text string) (audit.Moment, error) {
	if seq, err := strconv.ParseUint(text, 10, 64); err == nil {
		if seq == 0 {
			return audit.Moment{}, console.Usage("--at 0: events count from 1")
		}
		return audit.Moment{Seq: seq}, nil
	}
	t, err := timeFlag("--at", text)
	return audit.Moment{Time: t}, err
}

func (c *Audit) show(a *console.App, s *audit.Story) (err error) {
	if c.HTML != "" {
		if err := writePage(c.HTML, s); err != nil {
			return err
		}
		a.Note("wrote %s; open it in a browser", c.HTML)
	}
	if c.JSON {
		a.JSON(s)
	} else if c.HTML == "" {
		printStory(a, s)
	}
	if len(s.Findings) > 0 {
		return console.Wrong("%s: the log contradicts the records", console.Counted(len(s.Findings), "discrepancy"))
	}
	return nil
}

func writePage(name string, s *audit.Story) error {
	f, err := os.Create(name)
	if err != nil {
		return console.Usage("--html: %w", err)
	}
	// A page is read in editors and terminals too.
	if err := errors.Join(timeline.WritePage(&console.Results{Writer: f}, s), f.Close()); err != nil {
		return console.Unreachable("write %s: %w", name, err)
	}
	return nil
}

// printStory tells a thread's story in lines.
func printStory(a *console.App, s *audit.Story) {
	printHead(a, s)
	if !s.Log.Whole {
		a.Printf("\nThe log begins at event %s. Earlier events are gone, so the history may be incomplete.\n", console.Grouped(s.Log.FirstSeq))
	}
	a.Printf("\nWHAT HAPPENED\n")
	for _, e := range s.Entries {
		a.Printf("%s\n", storyLine(e))
	}
	if len(s.Summaries) > 0 {
		a.Printf("\nSUMMARIES\n")
		for _, sum := range s.Summaries {
			a.Printf("%s\n", standingLine(sum))
		}
	}
	if reply, ok := s.Context.(api.ContextReply); ok {
		printMoment(a, s, reply)
	}
	a.Printf("\n")
	if len(s.Findings) > 0 {
		printFindings(a, &audit.Report{Findings: s.Findings})
		return
	}
	if s.Pending > 0 {
		a.Printf("No discrepancies, but %s of the last minute not on record yet: under way, or removed. A minute behind the last event, all of it is checked.\n",
			console.Counted(int64(s.Pending), "decision")+map[bool]string{true: " is", false: " are"}[s.Pending == 1])
	} else {
		a.Printf("Every step was checked against the log. No discrepancies.\n")
	}
	for _, u := range s.Unproved {
		a.Printf("Not provable: %s × %s\n", console.Grouped(u.Count), u.Reason)
	}
}

func printHead(a *console.App, s *audit.Story) {
	c := s.Counters
	var t console.Table
	t.Add("thread", console.Printable(s.Thread))
	t.Add("agent", orDash(s.Agent))
	if s.Parent != "" {
		t.Add("parent", console.Printable(s.Parent))
	}
	if s.Fork != nil {
		t.Add("forked", remote.Lineage((*api.Lineage)(s.Fork)))
	}
	t.Add("policy", orDash(s.Policy))
	t.Add("up to", fmt.Sprintf("event %d", s.EventSeq))
	t.Add("events", console.List(console.Counted(c.Messages, "message"), console.Counted(c.ToolResults, "tool result"), console.Counted(c.Edits, "edit"),
		console.Counted(c.Duplicates, "duplicate"), console.Grouped(c.Rejected)+" rejected"))
	t.Add("tokens", strings.Replace(console.Change(c.TokensTotal, c.TokensLive, "in its prompt"), "  ", " ", 1))
	t.Add("summaries", console.List(console.Grouped(c.SummariesActive)+" active", console.Grouped(c.SummariesStale)+" stale"))
	if s.Totals.ModelCalls == 0 {
		a.Printf("%s", &t)
		return
	}
	cost := console.Dollars(&c.CostMicroUSD)
	if c.CostUnknown > 0 {
		cost += fmt.Sprintf(", and %s of unknown price", console.Counted(c.CostUnknown, "call"))
	}
	t.Add("models", fmt.Sprintf("%s, %s tokens in, %s out, %s", console.Counted(s.Totals.ModelCalls, "call"), console.Grouped(c.LLMInput), console.Grouped(c.LLMOutput), cost))
	a.Printf("%s", &t)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return console.Printable(text)
}

// storyLine is one event, or behind it and further in, one record.
func storyLine(e *audit.Entry) string {
	when := console.Exact(e.Time)
	as := remote.Entry{Typ: e.Type, Raw: e.Raw}
	if e.Record != nil {
		as.Raw = events.Raw{Body: e.Record}
		if e.Outcome != "" {
			return fmt.Sprintf("%s  %s    └ %s (%s)  %s", console.Right("", 8), when, e.Type, e.Outcome, as.Gist())
		}
		return fmt.Sprintf("%s  %s    └ %s  %s", console.Right("", 8), when, e.Type, as.Gist())
	}
	outcome := ""
	if e.Outcome != thread.Accepted.String() {
		outcome = " (" + strings.Join(strings.Fields(e.Outcome+" "+e.Code), ", ") + ")"
	}
	if at := e.Written(); at != nil {
		outcome += ", written " + console.Time(*at)
	}
	return fmt.Sprintf("%s  %s  %s%s  %s", console.Right(fmt.Sprint(e.EventSeq), 8), when, e.Type, outcome, as.Gist())
}

func standingLine(s *audit.Standing) string {
	as := remote.Entry{Typ: events.SummaryCreated, Raw: events.Raw{Body: s.Record}}
	line := console.Left(string(s.Status), 8) + "  " + as.Gist()
	if s.Invalidated != nil {
		as = remote.Entry{Typ: events.SummaryInvalidated, Raw: events.Raw{Body: s.Invalidated}}
		line += "\n          ✗ " + as.Gist()
	}
	if s.ReplacedBy != "" {
		line += "\n          → replaced by " + s.ReplacedBy
	}
	return line
}

// printMoment shows the prompt of the moment.
func printMoment(a *console.App, s *audit.Story, r api.ContextReply) {
	a.Printf("\nTHE CONTEXT AT EVENT %d: %s tokens, %s\n", s.EventSeq, console.Grouped(r.TokenCount), console.Counted(len(r.SummaryIDs), "summary"))
	for _, part := range []jsontext.Value{r.System, r.Messages} {
		if len(part) == 0 || part.Kind() == 'n' {
			continue
		}
		if err := part.Indent(); err == nil {
			a.Printf("%s\n", part)
		}
	}
}

// ofHead says whether any flag is given that only a head has.
func (c *Audit) ofHead() bool {
	return c.Head || c.VerifyHead != "" || c.Sign != "" || c.Signer != ""
}

// headUsage checks which flags of a head are given together.
func (c *Audit) headUsage() error {
	switch {
	case c.Sign != "" && !c.Head:
		return console.Usage("--sign goes with --head")
	case c.Signer != "" && c.VerifyHead == "":
		return console.Usage("--signer goes with --verify-head")
	case c.Head && c.VerifyHead != "":
		return console.Usage("give --head or --verify-head, not both")
	case c.Thread != "":
		return console.Usage("--head and --verify-head cover all threads: omit <thread>")
	case c.At != "" || c.HTML != "" || c.MaxTokens != nil || c.Format != nil:
		return console.Usage("--at, --html, --max-tokens and --format go with <thread>")
	case c.Signer != "" && !nkeys.IsValidPublicKey(c.Signer):
		return console.Usage("--signer: %q is not a public nkey", c.Signer)
	}
	return nil
}

// runHead prints the head of the log, or verifies one.
func (c *Audit) runHead(ctx context.Context, a *console.App) error {
	if err := c.headUsage(); err != nil {
		return err
	}
	if c.VerifyHead != "" {
		return c.verifyHead(ctx, a)
	}
	var seed []byte
	if c.Sign != "" {
		var err error
		if seed, err = os.ReadFile(c.Sign); err != nil {
			return console.Usage("--sign: %w", err)
		}
		if err := new(audit.Head).Sign(seed); err != nil { // before the log is read
			return console.Usage("--sign: %w", err)
		}
	}
	var head *audit.Head
	err := c.withChains(ctx, a, func(ctx context.Context, o audit.Options) (err error) {
		head, err = audit.ReadHead(ctx, o)
		return err
	})
	if err == nil && seed != nil {
		err = head.Sign(seed)
	}
	if err != nil {
		return err
	}
	a.JSON(head)
	return nil
}

// headCheck is the result of verifying a head.
type headCheck struct {
	Holds       bool                   `json:"holds"`
	Signer      string                 `json:"signer"` // empty: the head is not signed
	Differences []audit.HeadDifference `json:"differences"`
}

// verifyHead ends with status 1 if the log does not hold the head.
func (c *Audit) verifyHead(ctx context.Context, a *console.App) error {
	data, err := os.ReadFile(c.VerifyHead)
	if err != nil {
		return console.Usage("--verify-head: %w", err)
	}
	head, err := audit.ParseHead(data)
	if err != nil {
		return console.Usage("--verify-head: %s: %w", c.VerifyHead, err)
	}
	res := headCheck{Signer: head.Signer, Differences: []audit.HeadDifference{}}
	res.Differences = append(res.Differences, head.CheckSignature(c.Signer)...)
	err = c.withChains(ctx, a, func(ctx context.Context, o audit.Options) error {
		differ, err := audit.VerifyHead(ctx, o, head)
		res.Differences = append(res.Differences, differ...)
		return err
	})
	if err != nil {
		return err
	}
	res.Holds = len(res.Differences) == 0
	if c.JSON {
		a.JSON(res)
	} else {
		res.print(a, head)
	}
	if !res.Holds {
		return console.Wrong("the head does not hold: %s", console.Counted(len(res.Differences), "difference"))
	}
	return nil
}

func (r headCheck) print(a *console.App, h *audit.Head) {
	if r.Holds {
		by := "not signed"
		if r.Signer != "" {
			by = "signed by " + r.Signer
		}
		a.Printf("head holds: %s of %s up to %s %d, %s\n", console.Counted(h.Records, "record"), console.Counted(h.Chains, "chain"), h.Stream, h.LastSeq, by)
		return
	}
	w := a.Columns()
	fmt.Fprintln(w, "MEMBER\tHEAD\tLOG")
	for _, d := range r.Differences {
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.What, d.Want, d.Got)
	}
	_ = w.Flush()
}

// withChains opens the log for the work of a head.
func (c *Audit) withChains(ctx context.Context, a *console.App, work func(context.Context, audit.Options) error) error {
	return logFlags{Flags: c.Flags}.withLog(ctx, a, "", func(ctx context.Context, l *logAtHand) error {
		bar := console.NewLogProgress(a, "reading SUMMARIES")
		defer bar.Done()
		err := work(ctx, l.options(bar))
		bar.Clear()
		return err
	})
}
