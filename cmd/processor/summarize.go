package main

import (
	"context"

	"github.com/go-json-experiment/json"
)

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
		reply, err := s.ask(ctx, summarizeEndpoint, c.Thread, struct {
			Kind        string `json:"kind"`
			MinEventSeq uint64 `json:"min_event_seq,omitzero"`
		}{c.Kind, c.MinEventSeq})
		if err != nil {
			return err
		}
		var made struct {
			SummaryID *string `json:"summary_id"`
			Reason    *string `json:"reason"`
		}
		if err := json.Unmarshal(reply, &made); err != nil {
			return unreachable("read the answer: %w", err)
		}
		switch {
		case c.JSON:
			a.printf("%s\n", reply)
		case made.SummaryID != nil:
			a.printf("%s\n", *made.SummaryID)
		case made.Reason != nil && *made.Reason == "disabled":
			a.note("No %s: the thread's policy is disabled.", c.Kind)
		default:
			a.note("No %s: there is too little to summarize.", c.Kind)
		}
		return nil
	})
}
