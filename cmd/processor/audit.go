package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nkeys"

	"precis/api"
	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/service"
	"precis/internal/thread"
)

// auditCmd tells a thread's story, or reads or verifies the chain head of all threads.
type auditCmd struct {
	serverFlags
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
func (auditCmd) Help() string {
	return `Folds the thread's log again with every check of replay and lists what happened in order: messages, tool outputs, summaries and what they replaced, invalidations and their causes, usage and cost. With --at it stops at that moment and shows exactly the context of that moment; a model's text is taken from the record.

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
func (c *auditCmd) Run(ctx context.Context, a *app) error {
	if c.ofHead() {
		return c.runHead(ctx, a)
	}
	if c.Thread == "" {
		return usage("missing argument: <thread>, --head or --verify-head")
	}
	if _, err := events.Token(c.Thread); err != nil {
		return usage("thread: %w", err)
	}
	at, err := momentFlag(c.At)
	if err != nil {
		return err
	}
	prompt, err := c.prompt()
	if err != nil {
		return err
	}
	return logFlags{serverFlags: c.serverFlags}.withLog(ctx, a, func(ctx context.Context, l *logAtHand) error {
		bar := newLogProgress(a, "folding the log")
		defer bar.done()
		story, err := c.tell(ctx, l, at, prompt, bar)
		bar.clear()
		if err != nil {
			return err
		}
		return c.show(a, story)
	})
}

func (c *auditCmd) tell(ctx context.Context, l *logAtHand, at audit.Moment, prompt api.ContextRequest, bar *progress) (*audit.Story, error) {
	o := l.options(bar)
	o.Rules = true
	story, err := audit.Tell(ctx, o, c.Thread, at)
	if errors.Is(err, audit.ErrNoThread) || errors.Is(err, audit.ErrNotYet) {
		return nil, wrong("%w", err)
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
		return nil, wrong("make the context: %w", err)
	}
	story.Context = reply
	return story, nil
}

// prompt is what the flags ask of the prompt that --at shows.
func (c *auditCmd) prompt() (api.ContextRequest, error) {
	r := api.ContextRequest{Format: "messages"}
	if c.At == "" && (c.MaxTokens != nil || c.Format != nil) {
		return r, usage("--max-tokens and --format go with --at: without it, no prompt is shown")
	}
	if c.Format != nil {
		r.Format = *c.Format
	}
	if c.MaxTokens != nil {
		r.MaxTokens = *c.MaxTokens
	}
	if r.MaxTokens < 0 {
		return r, usage("--max-tokens %d: give a number of tokens, or 0 for no limit", r.MaxTokens)
	}
	return r, nil
}

// momentFlag reads a sequence of EVENTS, or a time.
func momentFlag(text string) (audit.Moment, error) {
	if seq, err := strconv.ParseUint(text, 10, 64); err == nil {
		if seq == 0 {
			return audit.Moment{}, usage("--at 0: events count from 1")
		}
		return audit.Moment{Seq: seq}, nil
	}
	t, err := timeFlag("--at", text)
	return audit.Moment{Time: t}, err
}

func (c *auditCmd) show(a *app, s *audit.Story) (err error) {
	if c.HTML != "" {
		if err := writePage(c.HTML, s); err != nil {
			return err
		}
		a.note("wrote %s; open it in a browser", c.HTML)
	}
	if c.JSON {
		a.json(s)
	} else if c.HTML == "" {
		printStory(a, s)
	}
	if len(s.Findings) > 0 {
		return wrong("%s: the log contradicts the records", counted(len(s.Findings), "discrepancy"))
	}
	return nil
}

func writePage(name string, s *audit.Story) error {
	f, err := os.Create(name)
	if err != nil {
		return usage("--html: %w", err)
	}
	// A page is read in editors and terminals too.
	if err := errors.Join(audit.WritePage(&results{Writer: f}, s), f.Close()); err != nil {
		return unreachable("write %s: %w", name, err)
	}
	return nil
}

// printStory tells a thread's story in lines.
func printStory(a *app, s *audit.Story) {
	printHead(a, s)
	if !s.Log.Whole {
		a.printf("\nThe log begins at event %s. Earlier events are gone, so the history may be incomplete.\n", grouped(s.Log.FirstSeq))
	}
	a.printf("\nWHAT HAPPENED\n")
	for _, e := range s.Entries {
		a.printf("%s\n", storyLine(e))
	}
	if len(s.Summaries) > 0 {
		a.printf("\nSUMMARIES\n")
		for _, sum := range s.Summaries {
			a.printf("%s\n", standingLine(sum))
		}
	}
	if reply, ok := s.Context.(api.ContextReply); ok {
		printMoment(a, s, reply)
	}
	a.printf("\n")
	if len(s.Findings) > 0 {
		printFindings(a, &audit.Report{Findings: s.Findings})
		return
	}
	a.printf("Every step was checked against the log. No discrepancies.\n")
	for _, u := range s.Unproved {
		a.printf("Not provable: %s × %s\n", grouped(u.Count), u.Reason)
	}
}

func printHead(a *app, s *audit.Story) {
	c := s.Counters
	var t table
	t.add("thread", printable(s.Thread))
	t.add("agent", orDash(s.Agent))
	if s.Parent != "" {
		t.add("parent", printable(s.Parent))
	}
	if s.Fork != nil {
		t.add("forked", lineage((*api.Lineage)(s.Fork)))
	}
	t.add("policy", orDash(s.Policy))
	t.add("up to", fmt.Sprintf("event %d", s.EventSeq))
	t.add("events", list(counted(c.Messages, "message"), counted(c.ToolResults, "tool result"), counted(c.Edits, "edit"),
		counted(c.Duplicates, "duplicate"), grouped(c.Rejected)+" rejected"))
	t.add("tokens", strings.Replace(change(c.TokensTotal, c.TokensLive, "in its prompt"), "  ", " ", 1))
	t.add("summaries", list(grouped(c.SummariesActive)+" active", grouped(c.SummariesStale)+" stale"))
	if s.Totals.ModelCalls == 0 {
		a.printf("%s", &t)
		return
	}
	cost := dollars(&c.CostMicroUSD)
	if c.CostUnknown > 0 {
		cost += fmt.Sprintf(", and %s of unknown price", counted(c.CostUnknown, "call"))
	}
	t.add("models", fmt.Sprintf("%s, %s tokens in, %s out, %s", counted(s.Totals.ModelCalls, "call"), grouped(c.LLMInput), grouped(c.LLMOutput), cost))
	a.printf("%s", &t)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return printable(text)
}

// storyLine is one event, or behind it and further in, one record.
func storyLine(e *audit.Entry) string {
	when := e.Time.UTC().Format("2006-01-02 15:04:05.000")
	as := entry{typ: e.Type, raw: e.Raw}
	if e.Record != nil {
		as.raw = events.Raw{Body: e.Record}
		if e.Outcome != "" {
			return fmt.Sprintf("%8s  %s    └ %s (%s)  %s", "", when, e.Type, e.Outcome, as.gist())
		}
		return fmt.Sprintf("%8s  %s    └ %s  %s", "", when, e.Type, as.gist())
	}
	outcome := ""
	if e.Outcome != thread.Accepted.String() {
		outcome = " (" + strings.Join(strings.Fields(e.Outcome+" "+e.Code), ", ") + ")"
	}
	return fmt.Sprintf("%8d  %s  %s%s  %s", e.EventSeq, when, e.Type, outcome, as.gist())
}

func standingLine(s *audit.Standing) string {
	as := entry{typ: events.SummaryCreated, raw: events.Raw{Body: s.Record}}
	line := fmt.Sprintf("%-8s  %s", s.Status, as.gist())
	if s.Invalidated != nil {
		as = entry{typ: events.SummaryInvalidated, raw: events.Raw{Body: s.Invalidated}}
		line += "\n          ✗ " + as.gist()
	}
	if s.ReplacedBy != "" {
		line += "\n          → replaced by " + s.ReplacedBy
	}
	return line
}

// printMoment shows the prompt of the moment.
func printMoment(a *app, s *audit.Story, r api.ContextReply) {
	a.printf("\nTHE CONTEXT AT EVENT %d: %s tokens, %d summaries\n", s.EventSeq, grouped(r.TokenCount), len(r.SummaryIDs))
	for _, part := range []jsontext.Value{r.System, r.Messages} {
		if len(part) == 0 || part.Kind() == 'n' {
			continue
		}
		if err := part.Indent(); err == nil {
			a.printf("%s\n", part)
		}
	}
}

// ofHead says whether any flag is given that only a head has.
func (c *auditCmd) ofHead() bool {
	return c.Head || c.VerifyHead != "" || c.Sign != "" || c.Signer != ""
}

// headUsage checks which flags of a head are given together.
func (c *auditCmd) headUsage() error {
	switch {
	case c.Sign != "" && !c.Head:
		return usage("--sign goes with --head")
	case c.Signer != "" && c.VerifyHead == "":
		return usage("--signer goes with --verify-head")
	case c.Head && c.VerifyHead != "":
		return usage("give --head or --verify-head, not both")
	case c.Thread != "":
		return usage("--head and --verify-head cover all threads: omit <thread>")
	case c.At != "" || c.HTML != "" || c.MaxTokens != nil || c.Format != nil:
		return usage("--at, --html, --max-tokens and --format go with <thread>")
	case c.Signer != "" && !nkeys.IsValidPublicKey(c.Signer):
		return usage("--signer: %q is not a public nkey", c.Signer)
	}
	return nil
}

// runHead prints the head of the log, or verifies one.
func (c *auditCmd) runHead(ctx context.Context, a *app) error {
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
			return usage("--sign: %w", err)
		}
		if err := new(audit.Head).Sign(seed); err != nil { // before the log is read
			return usage("--sign: %w", err)
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
	a.json(head)
	return nil
}

// headCheck is the result of verifying a head.
type headCheck struct {
	Holds       bool                   `json:"holds"`
	Signer      string                 `json:"signer"` // empty: the head is not signed
	Differences []audit.HeadDifference `json:"differences"`
}

// verifyHead ends with status 1 if the log does not hold the head.
func (c *auditCmd) verifyHead(ctx context.Context, a *app) error {
	data, err := os.ReadFile(c.VerifyHead)
	if err != nil {
		return usage("--verify-head: %w", err)
	}
	head, err := audit.ParseHead(data)
	if err != nil {
		return usage("--verify-head: %s: %w", c.VerifyHead, err)
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
		a.json(res)
	} else {
		res.print(a, head)
	}
	if !res.Holds {
		return wrong("the head does not hold: %s", counted(len(res.Differences), "difference"))
	}
	return nil
}

func (r headCheck) print(a *app, h *audit.Head) {
	if r.Holds {
		by := "not signed"
		if r.Signer != "" {
			by = "signed by " + r.Signer
		}
		a.printf("head holds: %s of %s up to %s %d, %s\n", counted(h.Records, "record"), counted(h.Chains, "chain"), h.Stream, h.LastSeq, by)
		return
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MEMBER\tHEAD\tLOG")
	for _, d := range r.Differences {
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.What, d.Want, d.Got)
	}
	_ = w.Flush()
}

// withChains opens the log for the work of a head.
func (c *auditCmd) withChains(ctx context.Context, a *app, work func(context.Context, audit.Options) error) error {
	return logFlags{serverFlags: c.serverFlags}.withLog(ctx, a, func(ctx context.Context, l *logAtHand) error {
		bar := newLogProgress(a, "reading SUMMARIES")
		defer bar.done()
		err := work(ctx, l.options(bar))
		bar.clear()
		return err
	})
}
