package export

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/sessions"
	"precis/summarize/prompt"
)

// FormatClaudeCode is a session file of Claude Code. The others are formats of summarize/prompt.
const FormatClaudeCode = "claude-code"

// Thread is what is written.
type Thread struct {
	ID       string
	Messages []prompt.Message // the live ones, whole, in order
	CWD      string           // directory of a session whose messages name none
}

// Report says what was written, and what was not.
type Report struct {
	Messages int
	Session  string // id of an agent's session; empty for a provider's format
	CWD      string // the session's directory
	Left     []Left
}

// Left is something that the form has no place for.
type Left struct {
	What  string
	Count int
	First string // the first message that has it
}

func (r *Report) left(what string, ids ...string) {
	for _, id := range ids {
		i := slices.IndexFunc(r.Left, func(l Left) bool { return l.What == what })
		if i < 0 {
			r.Left, i = append(r.Left, Left{What: what, First: id}), len(r.Left)
		}
		r.Left[i].Count++
	}
}

// Write writes the thread.
func Write(out io.Writer, format string, t Thread) (Report, error) {
	provider := format
	if format == FormatClaudeCode {
		provider = prompt.FormatAnthropic
	}
	built, err := prompt.Build(prompt.Request{
		Messages: t.Messages, Format: provider, Apart: format == FormatClaudeCode,
		Count: func(string) int { return 0 }, // there is no limit
	})
	if err != nil {
		return Report{}, err
	}
	r := Report{Messages: len(t.Messages)}
	r.left("message that is gone from the log", built.DroppedMessageIDs...)
	for _, p := range built.OmittedParts {
		r.left(fmt.Sprintf("part %q (%s)", p.Type, p.Reason), p.MessageID)
	}
	if format == FormatClaudeCode {
		return r, r.session(out, t, built)
	}
	r.left("call that waits for its result", built.WaitingMessageIDs...)
	return r, document(out, format, built)
}

// document writes the members of a request that hold the conversation, so that one can be made of it by naming a model.
func document(out io.Writer, format string, p prompt.Prompt) error {
	var request any
	switch format {
	case prompt.FormatAnthropic:
		request = struct {
			System   jsontext.Value `json:"system"`
			Messages jsontext.Value `json:"messages"`
		}{p.System, p.Messages}
	case prompt.FormatResponses:
		request = struct {
			Input jsontext.Value `json:"input"`
		}{p.Messages}
	default:
		request = struct {
			Messages jsontext.Value `json:"messages"`
		}{p.Messages}
	}
	text, err := json.Marshal(request, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

// session writes a session of Claude Code. It has no system messages: the agent sends its own.
func (r *Report) session(out io.Writer, t Thread, p prompt.Prompt) error {
	r.left("system message, which Claude Code sends by itself", p.SystemSource.MessageIDs...)
	var messages []struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.Unmarshal(p.Messages, &messages); err != nil {
		return err
	}
	known := map[string]*prompt.Message{}
	for i := range t.Messages {
		known[t.Messages[i].MessageID] = &t.Messages[i]
	}
	var turns []placed
	for i, m := range messages {
		turn := placed{turn: sessions.Turn{Role: m.Role, Content: m.Content}}
		if ids := p.Sources[i].MessageIDs; len(ids) > 0 && !known[ids[0]].Deleted {
			turn.turn.Message, turn.at = known[ids[0]].Message, known[ids[0]].Ordinal
		}
		turns = append(turns, turn)
	}
	s := sessions.Transcript{Thread: t.ID, CWD: t.CWD, Turns: arranged(turns)}
	var err error
	r.Session, r.CWD, err = sessions.WriteClaudeCode(out, s)
	return err
}

// placed is a turn at its message's place in the thread; 0: it goes with the next.
type placed struct {
	turn sessions.Turn
	at   uint64
}

// arranged are the turns in the order of the thread: a prompt has results right behind their calls.
func arranged(list []placed) (turns []sessions.Turn) {
	for i := range list {
		if next := i + 1; list[i].at == 0 && list[i].turn.Role == events.RoleAssistant && next < len(list) { // a call made for the result behind it
			list[i].at, list[next].turn.Lone = list[next].at, true
		}
		if i > 0 && list[i].at == 0 {
			list[i].at = list[i-1].at
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	for _, p := range list {
		turns = append(turns, p.turn)
	}
	return turns
}
