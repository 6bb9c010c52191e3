package mcp

import (
	"context"
	"fmt"
	"strings"

	"precis/api"
	"precis/internal/figure"
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
	fmt.Fprintf(&b, "Thread %s\n%s, %s, %s; not counted: %s and %d rejected\n", t.ThreadID, counted(t.Messages, "message"), counted(t.ToolResults, "tool result"),
		counted(t.Edits, "edit"), counted(t.Duplicates, "duplicate"), t.Rejected)
	fmt.Fprintf(&b, "%s in all, %s in a prompt, texts and arguments only\n", counted(t.TokensTotal, "token"), figure.Grouped(t.TokensLive))
	fmt.Fprintf(&b, "%s active, %d stale, %d in the making\n", counted(t.SummariesActive, "summary"), t.SummariesStale, t.SummariesStarted)
	if t.LLMInput+t.LLMOutput > 0 || t.CostUnknown > 0 {
		fmt.Fprintf(&b, "models used for summaries: %s in, %s out, $%.6f and %s of unknown cost\n", counted(t.LLMInput, "token"), figure.Grouped(t.LLMOutput), float64(t.CostMicroUSD)/1e6, counted(t.CostUnknown, "call"))
	}
	if t.Fork != nil {
		parent := "another thread"
		if s.names(t.Fork.ParentThreadID) {
			parent = t.Fork.ParentThreadID
		}
		fmt.Fprintf(&b, "forked from %s\n", parent)
	}
	for _, c := range t.Children {
		if s.names(c.ThreadID) {
			fmt.Fprintf(&b, "child %s, running: %t\n", c.ThreadID, c.Running)
		}
	}
	fmt.Fprintf(&b, "up to event %d\n", t.EventSeq)
	return within(b.String()), nil
}

// names reports whether an answer may name a thread.
func (s *server) names(thread string) bool {
	return thread != "" && strings.HasPrefix(thread, s.Prefix) && (s.Thread == "" || thread == s.Thread)
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
	fmt.Fprintf(&b, "Prompt of %s up to event %d: %s in %s, including provider framing, %s\n", thread, p.EventSeq, counted(p.TokenCount, "token"), counted(len(p.Sources), "message"),
		limitOf(limit, p.WithinBudget))
	t := e.Tokens
	fmt.Fprintf(&b, "tokens: system %s, compaction %s, messages %s, tool outputs %s, their summaries %s, frame %s\n", figure.Grouped(t.System), figure.Grouped(t.Compaction),
		figure.Grouped(t.Messages), figure.Grouped(t.Outputs), figure.Grouped(t.Summaries), figure.Grouped(t.Frame))
	for _, sum := range e.Summaries {
		fmt.Fprintf(&b, "summary %s (%s) stands for %s, %s instead of %s\n", sum.ID, sum.Slot, counted(sum.MessageCount, "message"), counted(sum.TokensAfter, "token"), figure.Grouped(sum.TokensBefore))
	}
	if p.DroppedCount > 0 {
		fmt.Fprintf(&b, "no room for %s: read_original and search_thread still find what is left out\n", counted(p.DroppedCount, "message"))
	}
	for i, l := range e.LeftOut {
		if b.Len() > maxText {
			fmt.Fprintf(&b, "and %d more left out\n", len(e.LeftOut)-i)
			break
		}
		fmt.Fprintf(&b, "left out: %s, %s\n", l.ID, l.Reason)
	}
	if e.Compaction.RemovableMessages > 0 {
		fmt.Fprintf(&b, "the next compaction could replace %s of %s\n", counted(e.Compaction.RemovableMessages, "message"), counted(e.Compaction.RemovableTokens, "token"))
	} else {
		fmt.Fprintf(&b, "the next compaction could replace nothing yet\n")
	}
	for _, j := range e.Compaction.Jobs {
		fmt.Fprintf(&b, "in the making: %s %s, %s so far\n", j.Kind, j.Slot, counted(j.Attempts, "call"))
	}
	return within(b.String()), nil
}

// limitOf says whether the prompt holds the limit, where there is one.
func limitOf(limit int, within bool) string {
	switch {
	case limit == 0:
		return "no limit"
	case within:
		return "within the limit of " + figure.Grouped(limit)
	default:
		return "over the limit of " + figure.Grouped(limit)
	}
}
