package audit

import (
	"context"
	"unicode/utf8"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// teller records what a lane's watch sees of one thread.
type teller struct {
	watch
	name    string
	policy  string
	entries []*Entry
	event   *Entry // being folded; nil if it is another thread's
}

func (t *teller) begin(m broker.Stored) {
	t.watch.begin(m)
	t.event = nil
	typ, token, ok := events.ParseSubject(m.Subject)
	if name, err := events.ThreadOf(token); !ok || err != nil || name != t.name {
		return
	}
	t.event = &Entry{
		EventSeq: m.Seq, Time: m.Time, Type: typ,
		Raw: events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data},
	}
	t.event.read()
	t.entries = append(t.entries, t.event)
}

// read fills in what an event says, as far as it can be decoded.
func (e *Entry) read() {
	ev, why := events.Decode(e.Raw, events.Limits{EventBytes: len(e.Raw.Body)})
	switch {
	case why != nil:
		e.Text = string(e.Raw.Body)
	case ev.Edit != nil:
		e.MessageID, e.Agent, e.Deleted = ev.Edit.MessageID, ev.Edit.AgentID, ev.Edit.Deleted
		e.Text = ev.Edit.Content.Text()
	default:
		m := ev.Message
		if m.ToolName == "" && m.ToolCallID != "" {
			e.unnamed = m
		}
		e.MessageID, e.Role, e.Tool, e.Agent, e.Text = m.MessageID, m.Role, m.ToolName, m.AgentID, m.Content.Text()
		e.IsError = m.IsError != nil && *m.IsError || m.ExitCode != nil && *m.ExitCode != 0
		for _, call := range m.ToolCalls {
			e.Calls = append(e.Calls, Call{ID: call.ID, Name: call.Name, Arguments: call.ArgumentsText()})
		}
	}
	if !utf8.ValidString(e.Text) {
		e.Text = "(not valid UTF-8)"
	}
	e.Chars = int64(utf8.RuneCountInString(e.Text))
}

// Stepped implements fold.Watch.
func (t *teller) Stepped(ctx context.Context, s fold.Stepped) error {
	if t.event != nil {
		t.policy = s.Policy
		t.event.Outcome = s.Result.Outcome.String()
		for _, r := range s.Result.Rejections {
			if r.Seq == t.event.EventSeq {
				t.event.Code = r.Reason.Code
			}
		}
		if m := s.State.Message; m != nil && s.Result.Revised {
			t.event.Tokens = m.Tokens()
		}
	}
	return t.watch.Stepped(ctx, s)
}

// Adopting implements fold.Watch.
func (t *teller) Adopting(st *thread.State, s *state.Staged, rec events.Record) {
	if s.Thread == t.name {
		t.entries = append(t.entries, &Entry{
			EventSeq: s.EffectiveSeq, Time: s.Time, Type: s.Type, Summary: string(summaryOf(rec)), Record: s.Data,
		})
	}
	t.watch.Adopting(st, s, rec)
}

// Refused implements fold.Watch.
func (t *teller) Refused(s *state.Staged, why error) error {
	if s.Thread == t.name {
		t.entries = append(t.entries, &Entry{
			EventSeq: s.EffectiveSeq, Time: s.Time, Type: s.Type, Summary: idOf(s.Data), Record: s.Data, Outcome: "refused",
		})
	}
	return t.watch.Refused(s, why)
}

// Voided implements fold.Watch.
func (t *teller) Voided(s *state.Staged) error {
	if s.Thread == t.name {
		t.entries = append(t.entries, &Entry{
			EventSeq: s.EffectiveSeq, Time: s.Time, Type: s.Type, Summary: idOf(s.Data), Record: s.Data, Outcome: "void",
		})
	}
	return t.watch.Voided(s)
}

// policies are the policies in force at the end.
func (t *teller) policies() []summarize.Policy {
	if a, ok := t.watch.(*auditor); ok {
		return a.lane.fold.Config().Policies
	}
	return nil
}
