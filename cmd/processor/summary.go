package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"precis/api"
	"precis/events"
)

// summaryCmd shows a summary record.
type summaryCmd struct {
	serverFlags
	Summary string `arg:"" help:"The summary's id (sum_…)."`
}

// Help shows the command used.
func (summaryCmd) Help() string {
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
func (c *summaryCmd) Run(ctx context.Context, a *app) error {
	if c.Summary == "" {
		return usage("give a summary's id")
	}
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		r, raw, err := replyTo[summaryReply](ctx, s, api.SummaryGet, c.Summary, struct{}{})
		switch {
		case err != nil:
			return err
		case c.JSON:
			a.printf("%s\n", raw)
		default:
			a.printf("%s\n%s\n", r.table(), strings.TrimRight(printableLines(r.Content), "\n"))
		}
		return nil
	})
}

func (r summaryReply) table() *table {
	t := &table{}
	t.add("Summary", printable(r.ID))
	t.add("Status", printable(r.standing()))
	t.addIf("Thread", r.ThreadID)
	t.add("Kind", printable(joined([]string{r.Kind, r.Slot, fmt.Sprintf("version %d", r.Version)})))
	t.addIf("Replaces", r.Replaces)
	t.add("Made from", r.sources())
	t.add("Method", printable(r.made()))
	t.add("Policy", printable(r.policy()))
	t.add("Trigger", printable(triggerGist(r.Kind, r.Trigger)))
	t.add("Tokens", change(r.TokenCountBefore, r.TokenCountAfter, "tokens")+", "+printable(r.Tokenizer))
	t.add("Size", change(r.CharsBefore, r.CharsAfter, "characters"))
	t.add("Cost", dollars(r.Cost.AmountMicroUSD))
	t.add("Made at", r.CreatedAt.Format(time.RFC3339))
	if r.ExpiresAt != nil {
		t.add("Expires at", r.ExpiresAt.Format(time.RFC3339))
	}
	t.add("Log", fmt.Sprintf("decided at event %d, record %d of the thread", r.EventSeq, r.ChainSeq))
	return t
}

// standing says whether it holds, what stands in its place and what made it stale.
func (r summaryReply) standing() string {
	text := r.Status
	if r.ReplacedBy != nil {
		text += " by " + *r.ReplacedBy
	}
	if r.Invalidated != nil {
		text += ": " + r.Invalidated.Reason + causeGist(r.Invalidated.Cause)
	}
	return text
}

// sourcesShown is how many source ids are named before the rest is counted.
const sourcesShown = 8

func (r summaryReply) sources() string {
	ids := append(append([]string{}, r.SourceMessageIDs...), r.SourceSummaryIDs...)
	more := ""
	if len(ids) > sourcesShown {
		more = fmt.Sprintf(" and %d more", len(ids)-sourcesShown)
		ids = ids[:sourcesShown]
	}
	return printable(strings.Join(ids, ", ")) + more
}

func (r summaryReply) made() string {
	parts := []string{method(r.Method, r.FallbackReason)}
	for _, part := range []*string{r.RulesVersion, r.Provider, r.Model, r.PromptVersion} {
		if part != nil {
			parts = append(parts, *part)
		}
	}
	return joined(parts)
}

func (r summaryReply) policy() string {
	if r.PolicyUnresolved == nil {
		return r.Policy
	}
	return fmt.Sprintf("%s (the event asked for %q, which is not configured)", r.Policy, *r.PolicyUnresolved)
}

// summarizeCmd summarizes a thread now.
type summarizeCmd struct {
	serverFlags
	Thread      string `arg:"" help:"The thread's id."`
	Kind        string `enum:"compaction,history" default:"compaction" help:"What to make: compaction (for prompts) or history (for people to read) (${default})."`
	MinEventSeq uint64 `name:"min-event-seq" placeholder:"SEQ" help:"Wait until the event with this sequence (of a publish ack) is counted."`
}

// Help shows the command used.
func (summarizeCmd) Help() string {
	return `Does not wait for a trigger. Prints the id of the summary that is in force then: a new one, or the last one if there is nothing more to summarize. A model may still be at work on it; "processor tail --type summary.created,summary.failed" shows the end.

Example:

    processor summarize demo-1
    processor summary "$(processor summarize demo-1)"
    processor summarize demo-1 --kind history --json`
}

// Run asks the processor.
func (c *summarizeCmd) Run(ctx context.Context, a *app) error {
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		made, raw, err := replyTo[api.SummarizeReply](ctx, s, api.ThreadSummarize, c.Thread, api.SummarizeRequest{Kind: c.Kind, MinEventSeq: c.MinEventSeq})
		switch {
		case err != nil:
			return err
		case c.JSON:
			a.printf("%s\n", raw)
		case made.SummaryID != "":
			a.printf("%s\n", made.SummaryID)
		case made.Reason == api.ReasonDisabled:
			a.note("No %s: the thread's policy is disabled.", c.Kind)
		default:
			a.note("No %s: there is too little to summarize.", c.Kind)
		}
		return nil
	})
}
