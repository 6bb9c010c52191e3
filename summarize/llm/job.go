package llm

import (
	"context"

	"precis/events"
)

// Job is one summary to be made. Its functions are called from the goroutine that runs it.
type Job struct {
	Kind     string // events.KindToolResult, KindCompaction or KindHistory
	Category string // of a tool output
	ToolName string
	Content  string            // the tool's output, or the messages as text
	Relevant *events.LineRange // of a file; nil: its middle third

	MaxChars      int // of the summary; 0: no such limit
	MaxTokens     int // of the summary; 0: no such limit
	MaxInputChars int // of the material of one call; beyond it, parts are summarized and merged; 0: no limit

	Prompts   Prompts
	Providers []string              // names, in order; one that is named twice or that the ladder does not have is left out
	Tokens    func(text string) int // counts for MaxTokens, and where a provider does not say

	// Facts gives what must not get lost, the most important first, out of the masked content. May be nil.
	Facts func(content string) []string
	// Rules and Truncate make the summary without a model, out of the masked content. A nil one, an empty
	// text and one that is over the budget are passed over.
	Rules    func(content string) string
	Truncate func(content string) string
	// Begin is called for each call when it has its place and its turn, just before the request leaves, with all calls of
	// the job as they are to be recorded if the process ends now: those before it with their usage, and the new one as
	// unknown, with an estimate of its input. An error keeps the call from being made and ends the job. May be nil.
	Begin func(ctx context.Context, calls []Call) error

	// FailWithoutModel: no rules, no truncation (the policy's on_failure: fail).
	FailWithoutModel bool
}

func (j Job) limits(content string) limits {
	l := limits{chars: j.MaxChars, tokens: j.MaxTokens, source: chars(content), count: j.Tokens}
	if l.count == nil {
		l.count = roughly
	}
	return l
}

// roughly counts tokens from bytes alone.
func roughly(text string) int { return (len(text) + charsPerToken - 1) / charsPerToken }
