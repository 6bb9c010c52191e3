package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/ledger"
	"precis/summarize/llm"
	"precis/summarize/tokens"
)

// callFor returns the settings common to the calls of every job under a policy.
func callFor(p *summarize.Policy, kind string) (llm.Job, error) {
	counter, err := tokens.For(p.Tokenizer)
	if err != nil {
		return llm.Job{}, err
	}
	prompts, err := llm.NewPrompts(p.Prompts)
	if err != nil {
		return llm.Job{}, err
	}
	return llm.Job{
		Kind: kind, MaxInputChars: p.ToolOutput.MaxInputChars, Prompts: prompts, Tokens: counter.Count,
		Providers: []string{p.Provider, summarize.ProviderMain}, FailWithoutModel: p.OnFailure == summarize.OnFailureFail,
	}, nil
}

// sources collects the text behind a job's summaries and messages for a model to read.
type sources struct {
	view      state.View
	log       content.Log
	summaries *broker.LogReader
	thread    string
	call      llm.Job
	text      strings.Builder
}

func (r *Runner) sources(view state.View, p *summarize.Policy, job *thread.Job) (*sources, error) {
	call, err := callFor(p, job.Started.Kind)
	if err != nil {
		return nil, err
	}
	return &sources{view: view, summaries: r.Summaries, log: content.Masked(content.Uncached{Log: r.Log}, r.Ladder.Mask), thread: *job.Started.ThreadID, call: call}, nil
}

// job returns the call for the collected sources.
func (s *sources) job(maxTokens int) llm.Job {
	call := s.call
	call.Content, call.MaxTokens = s.text.String(), maxTokens
	return call
}

func (s *sources) summary(id string) (*thread.Summary, error) {
	sum, err := s.view.Summary(s.thread, id)
	if err == nil && sum == nil {
		err = fmt.Errorf("%w: summary %q of thread %q has no row", state.ErrDamaged, id, s.thread)
	}
	return sum, err
}

// record returns the record of a summary. One that was replaced since the job began is in the log.
func (s *sources) record(ctx context.Context, sum *thread.Summary) (*events.Summary, error) {
	data, err := content.RecordOf(ctx, s.view, s.summaries, s.thread, sum)
	if err != nil {
		return nil, err
	}
	rec := &events.Summary{}
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, fmt.Errorf("%w: record of %s: %w", state.ErrDamaged, sum.ID, err)
	}
	return rec, nil
}

// read writes the text behind the summaries, oldest first, and merges their ledgers.
func (s *sources) read(ctx context.Context, ids []string) (merged ledger.Ledger, err error) {
	var leaves []ledger.Ledger
	for _, id := range ids {
		sum, err := s.summary(id)
		if err != nil {
			return merged, err
		}
		if sum.Level > 0 {
			rec, err := s.record(ctx, sum)
			if err != nil {
				return merged, err
			}
			s.further(rec.Content)
		} else if err := s.messages(ctx, sum.Sources); err != nil {
			return merged, err
		}
		l, err := content.LedgerOf(ctx, s.view, s.log, s.thread, id)
		if err != nil {
			return merged, err
		}
		leaves = append(leaves, l)
	}
	return ledger.Join(leaves), nil
}

// Limits and marks of a summary further back: it gets a tenth of the input, or nothing if that is too little to be
// useful (seed 2).
const (
	furtherShare = 10
	leastChars   = 200
	markCut      = "\n[Summary truncated]"
	markOmitted  = "[Summary omitted: insufficient budget]"
)

// further writes what the rules say about messages further back.
func (s *sources) further(text string) {
	if room := s.call.MaxInputChars / furtherShare; s.call.MaxInputChars > 0 && len([]rune(text)) > room {
		if room < leastChars {
			text = markOmitted
		} else {
			text = string([]rune(text)[:room-len(markCut)]) + markCut
		}
	}
	s.text.WriteString("[summary of earlier messages]\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
}

// messages writes messages, with the summary in place of a large tool output.
func (s *sources) messages(ctx context.Context, ids []string) error {
	list, err := content.MessagesOf(ctx, s.view, s.log, s.thread, ids)
	if err != nil {
		return err
	}
	var turns []llm.Turn
	for _, m := range list {
		turn := llm.Turn{MessageID: m.MessageID, Role: m.Role, Text: m.Content.Text(), Tool: m.ToolName}
		if m.Role == events.RoleTool {
			if turn.Text, err = s.output(ctx, m.MessageID, turn.Text); err != nil {
				return err
			}
		}
		for _, call := range m.ToolCalls {
			turn.Calls = append(turn.Calls, call.Name+" "+call.ArgumentsText())
		}
		turns = append(turns, turn)
	}
	s.text.WriteString(llm.Transcript(turns) + "\n")
	return nil
}

// output returns a tool output as it stands in prompts.
func (s *sources) output(ctx context.Context, message, text string) (string, error) {
	slot, err := s.view.Slot(s.thread, events.ToolSlot(message))
	if err != nil || slot.Holder == "" {
		return text, err
	}
	sum, err := s.summary(slot.Holder)
	if err != nil || !sum.Stands() {
		return text, err
	}
	rec, err := s.record(ctx, sum)
	if err != nil {
		return "", err
	}
	return rec.Content, nil
}
