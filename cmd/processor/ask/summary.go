package ask

import (
	"context"
	"fmt"
	"strings"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
)

// Summary shows a summary record.
type Summary struct {
	remote.Flags
	Summary string `arg:"" help:"The summary's id (sum_…)."`
}

// Help shows the command used.
func (Summary) Help() string {
	return `Prints the text, its sources, how it was made, what it saved, and whether it is active.

Example:

    processor summary sum_3f2a…`
}

// summaryReply is what precis.summary.get answers.
type summaryReply struct {
	events.Summary
	Status      string              `json:"status"` // active, stale or replaced
	ReplacedBy  *string             `json:"replaced_by"`
	Invalidated *events.Invalidated `json:"invalidated"`
}

// Run asks the processor.
func (c *Summary) Run(ctx context.Context, a *console.App) error {
	if c.Summary == "" {
		return console.Usage("the summary's id is empty; \"processor summarize T\" prints one once thread T has something to summarize")
	}
	return c.With(ctx, a, func(ctx context.Context, s *remote.Server) error {
		r, raw, err := remote.Reply[summaryReply](ctx, s, api.SummaryGet, c.Summary, struct{}{})
		switch {
		case err != nil:
			return err
		case c.JSON:
			a.Printf("%s\n", raw)
		default:
			a.Printf("%s\n%s\n", r.table(), strings.TrimRight(console.PrintableLines(r.Content), "\n"))
		}
		return nil
	})
}

func (r summaryReply) table() *console.Table {
	t := &console.Table{}
	t.Add("Summary", console.Printable(r.ID))
	t.Add("Status", console.Printable(r.standing()))
	t.AddIf("Thread", r.ThreadID)
	t.Add("Kind", console.Printable(remote.Joined([]string{r.Kind, r.Slot, fmt.Sprintf("version %d", r.Version)})))
	t.AddIf("Replaces", r.Replaces)
	t.Add("Made from", r.sources())
	t.Add("Method", console.Printable(r.made()))
	t.Add("Policy", console.Printable(r.policy()))
	t.Add("Trigger", console.Printable(remote.TriggerGist(r.Kind, r.Trigger)))
	t.Add("Tokens", console.Change(r.TokenCountBefore, r.TokenCountAfter, "tokens")+", "+console.Printable(r.Tokenizer))
	t.Add("Size", console.Change(r.CharsBefore, r.CharsAfter, "characters"))
	t.Add("Cost", console.Dollars(r.Cost.AmountMicroUSD))
	t.Add("Made at", console.Time(r.CreatedAt))
	if r.ExpiresAt != nil {
		t.Add("Expires at", console.Time(*r.ExpiresAt))
	}
	t.Add("Log", fmt.Sprintf("decided at event %d, record %d of the thread", r.EventSeq, r.ChainSeq))
	return t
}

// standing says whether it holds, what stands in its place and what made it stale.
func (r summaryReply) standing() string {
	text := r.Status
	if r.ReplacedBy != nil {
		text += " by " + *r.ReplacedBy
	}
	if r.Invalidated != nil {
		text += ": " + r.Invalidated.Reason + remote.CauseGist(r.Invalidated.Cause)
	}
	return text
}

// sourcesShown is how many source ids are named before the rest is counted.
const sourcesShown = 8

func (r summaryReply) sources() string {
	ids := append(append([]string{}, r.SourceMessageIDs...), r.SourceSummaryIDs...)
	more := ""
	if len(ids) > sourcesShown {
		more = " and " + console.Grouped(len(ids)-sourcesShown) + " more"
		ids = ids[:sourcesShown]
	}
	return console.Printable(strings.Join(ids, ", ")) + more
}

func (r summaryReply) made() string {
	parts := []string{remote.Method(r.Method, r.FallbackReason)}
	for _, part := range []*string{r.RulesVersion, r.Provider, r.Model, r.PromptVersion} {
		if part != nil {
			parts = append(parts, *part)
		}
	}
	return remote.Joined(parts)
}

func (r summaryReply) policy() string {
	if r.PolicyUnresolved == nil {
		return r.Policy
	}
	return fmt.Sprintf("%s (the event asked for %q, which is not configured)", r.Policy, *r.PolicyUnresolved)
}

// Summarize summarizes a thread now.
type Summarize struct {
	remote.Flags
	Thread      string `arg:"" help:"The thread's id."`
	Kind        string `enum:"compaction,history" default:"compaction" help:"What to make: compaction (for prompts) or history (for people to read) (${default})."`
	MinEventSeq uint64 `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is counted."`
}

// Help shows the command used.
func (Summarize) Help() string {
	return `Does not wait for a trigger. Prints the id of the summary that is in force then: a new one, or the last one if there is nothing more to summarize. Where there is none and too little to make one, it says so on standard error and prints no id. A model may still be at work on it; "processor tail --type summary.created,summary.failed" shows the end.

Example:

    processor summarize demo-1
    id=$(processor summarize demo-1) && [ -n "$id" ] && processor summary "$id"
    processor summarize demo-1 --kind history --json`
}

// Run asks the processor.
func (c *Summarize) Run(ctx context.Context, a *console.App) error {
	return c.With(ctx, a, func(ctx context.Context, s *remote.Server) error {
		made, raw, err := remote.Reply[api.SummarizeReply](ctx, s, api.ThreadSummarize, c.Thread, api.SummarizeRequest{Kind: c.Kind, MinEventSeq: c.MinEventSeq})
		switch {
		case err != nil:
			return err
		case c.JSON:
			a.Printf("%s\n", raw)
		case made.SummaryID != "":
			a.Printf("%s\n", made.SummaryID)
		case made.Reason == api.ReasonDisabled:
			a.Note("No %s: the thread's policy is disabled.", c.Kind)
		default:
			a.Note("No %s: there is too little to summarize.", c.Kind)
		}
		return nil
	})
}
