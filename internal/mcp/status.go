package mcp

import (
	"context"
	"fmt"
	"strings"

	"precis/api"
)

type threadInput struct {
	Thread string `json:"thread,omitempty" jsonschema:"The thread's id. Leave it out where the server is for one thread."`
}

type promptInput struct {
	Thread    string `json:"thread,omitempty" jsonschema:"The thread's id. Leave it out where the server is for one thread."`
	MaxTokens int    `json:"max_tokens,omitempty" jsonschema:"The limit that the prompt is made for; absent: none."`
}

func (s *server) threadStatus(ctx context.Context, in threadInput) (string, error) {
	thread, err := s.threadOf(in.Thread)
	if err != nil {
		return "", err
	}
	t, err := s.Asker.Thread(ctx, thread, api.ThreadRequest{})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Thread %s\n%d messages, %d tool results, %d edits; %d duplicates and %d rejected are not counted\n", t.ThreadID, t.Messages, t.ToolResults, t.Edits, t.Duplicates, t.Rejected)
	fmt.Fprintf(&b, "%d tokens in all, %d in a prompt\n", t.TokensTotal, t.TokensLive)
	fmt.Fprintf(&b, "%d summaries active, %d stale, %d in the making\n", t.SummariesActive, t.SummariesStale, t.SummariesStarted)
	if t.LLMInput+t.LLMOutput > 0 || t.CostUnknown > 0 {
		fmt.Fprintf(&b, "models used for summaries: %d tokens in, %d out, $%.6f and %d calls of unknown cost\n", t.LLMInput, t.LLMOutput, float64(t.CostMicroUSD)/1e6, t.CostUnknown)
	}
	if t.Fork != nil {
		fmt.Fprintf(&b, "forked from %s\n", t.Fork.ParentThreadID)
	}
	for _, c := range t.Children {
		if strings.HasPrefix(c.ThreadID, s.Prefix) && (s.Thread == "" || c.ThreadID == s.Thread) {
			fmt.Fprintf(&b, "child %s, running: %t\n", c.ThreadID, c.Running)
		}
	}
	fmt.Fprintf(&b, "up to event %d\n", t.EventSeq)
	return within(b.String()), nil
}

func (s *server) explainPrompt(ctx context.Context, in promptInput) (string, error) {
	thread, err := s.threadOf(in.Thread)
	if err != nil {
		return "", err
	}
	limit := in.MaxTokens
	p, err := s.Asker.Context(ctx, thread, api.ContextRequest{MaxTokens: limit, Format: api.FormatMessages, Explain: true})
	if err != nil {
		return "", err
	}
	e := p.Explain
	var b strings.Builder
	fmt.Fprintf(&b, "Prompt of %s up to event %d: %d tokens in %d messages, within its limit: %t\n", thread, p.EventSeq, p.TokenCount, len(p.Sources), p.WithinBudget)
	t := e.Tokens
	fmt.Fprintf(&b, "tokens: system %d, compaction %d, messages %d, tool outputs %d, their summaries %d, frame %d\n", t.System, t.Compaction, t.Messages, t.Outputs, t.Summaries, t.Frame)
	for _, sum := range e.Summaries {
		fmt.Fprintf(&b, "summary %s (%s) stands for %d messages, %d tokens instead of %d\n", sum.ID, sum.Slot, sum.MessageCount, sum.TokensAfter, sum.TokensBefore)
	}
	if p.DroppedCount > 0 {
		fmt.Fprintf(&b, "%d messages have no room: read_original and search_thread find them\n", p.DroppedCount)
	}
	for i, l := range e.LeftOut {
		if b.Len() > maxText {
			fmt.Fprintf(&b, "and %d more left out\n", len(e.LeftOut)-i)
			break
		}
		fmt.Fprintf(&b, "left out: %s, %s\n", l.ID, l.Reason)
	}
	fmt.Fprintf(&b, "the next compaction could replace %d messages with %d tokens\n", e.Compaction.RemovableMessages, e.Compaction.RemovableTokens)
	for _, j := range e.Compaction.Jobs {
		fmt.Fprintf(&b, "in the making: %s %s, %d calls so far\n", j.Kind, j.Slot, j.Attempts)
	}
	return within(b.String()), nil
}
