package fold

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// facts are the inputs of a decision besides the state. They are loaded before anything changes, since loading may fail.
type facts struct {
	// origin is the message as published, completed from its call: an edit carries no tool name and no arguments.
	origin *events.Message
	// past is what precedes the message; not read if late is set.
	past past
	// late defers the rules until their output is needed.
	late bool
}

// facts loads what a summary of the event's message would need; nothing if none will be made. late: the summary is on record,
// and the rules run only if an audit needs their output.
func (f *Fold) facts(ctx context.Context, st *thread.State, ev *events.Event, p *summarize.Policy, late bool) (facts, error) {
	var fs facts
	content, ok := toolContent(st, ev)
	if !ok || !p.Enabled || !mayPass(p, content) {
		return fs, nil
	}
	ordinal := st.Header.Ordinals + 1
	if ev.Message != nil {
		fs.origin = ev.Message
	} else {
		ordinal = st.Message.Ordinal
		origin, err := eventOf(ctx, f.log, st.Message.FirstSeq)
		if err != nil {
			return fs, err
		}
		fs.origin = &events.Message{MessageID: st.Message.ID}
		if origin != nil && origin.Message != nil {
			fs.origin = origin.Message
		}
	}
	var err error
	fs.origin, err = Called(ctx, f.part.View, f.log, st.Header.Thread, ordinal, Now, fs.origin)
	if fs.late = late; err != nil || late {
		return fs, err
	}
	fs.past, err = f.past(ctx, st.Header.Thread, ordinal, ev.Edit != nil)
	return fs, err
}

// toolContent returns the content of the event's tool result after the event; false if the event does not set it.
func toolContent(st *thread.State, ev *events.Event) (events.Content, bool) {
	switch {
	case ev == nil:
	case ev.Message != nil && ev.Type == events.ToolResult && st.Message == nil:
		for _, held := range slices.Backward(st.Held) {
			if held.Edit.Pinned == nil {
				return held.Edit.Content, !held.Edit.Deleted
			}
		}
		return ev.Message.Content, true
	case ev.Edit != nil && ev.Edit.Pinned == nil && st.Message != nil && st.Message.Tool && !st.EditSeen:
		return ev.Edit.Content, !ev.Edit.Deleted
	}
	return events.Content{}, false
}

// mayPass is a cheap check without false negatives: a token is at least a byte.
func mayPass(p *summarize.Policy, c events.Content) bool {
	t, text := p.ToolOutput, c.Text()
	return t.OverChars > 0 && len(text) > t.OverChars && utf8.RuneCountInString(text) > t.OverChars ||
		t.OverTokens > 0 && len(text) > t.OverTokens
}

// Earlier reads the messages before an ordinal: what the thread has already seen when a tool output arrives. It reads only the
// newest ones, as they were first published: a job reads them later, and an edit made meanwhile must not change its text.
func Earlier(ctx context.Context, view state.View, log Log, name string, ordinal, newest uint64) ([]string, error) {
	from := uint64(1)
	if ordinal > newest {
		from = ordinal - newest
	}
	rows, err := view.Messages(name, from, ordinal)
	if err != nil {
		return nil, err
	}
	var texts []string
	err = eachRead(ctx, log, rows, func(m *thread.Message) error {
		text, err := textOf(ctx, log, firstOf(m))
		texts = append(texts, text)
		return err
	})
	return texts, err
}

// firstOf returns a message as it was first published.
func firstOf(m *thread.Message) *thread.Message {
	first := *m
	first.Seq, first.Deleted = m.FirstSeq, false
	return &first
}

// CurrentMessage returns a message as published, with the content of its current revision. If retention has removed the event,
// only its id and role are left.
func CurrentMessage(ctx context.Context, log Log, m *thread.Message) (*events.Message, error) {
	origin, err := eventOf(ctx, log, m.FirstSeq)
	if err != nil {
		return nil, err
	}
	msg := events.Message{MessageID: m.ID, Role: m.Role}
	if origin != nil && origin.Message != nil {
		msg = *origin.Message
	}
	if msg.Pinned = m.Pinned; m.Seq == m.FirstSeq {
		return &msg, nil
	}
	edit, err := eventOf(ctx, log, m.Seq)
	if err == nil && edit != nil && edit.Edit != nil {
		msg.Content = edit.Edit.Content
	}
	return &msg, err
}

// textOf returns the text of a message now, with the arguments of its calls; empty if it is deleted or gone.
func textOf(ctx context.Context, log Log, m *thread.Message) (string, error) {
	if m.Deleted {
		return "", nil
	}
	ev, err := eventOf(ctx, log, m.Seq)
	switch {
	case err != nil || ev == nil:
		return "", err
	case ev.Edit != nil:
		return ev.Edit.Content.Text(), nil
	}
	text := ev.Message.Content.Text()
	for _, call := range ev.Message.ToolCalls {
		text += "\n" + call.ArgumentsValues()
	}
	return text, nil
}

// eventOf reads an event from the log; nil if retention has removed it.
func eventOf(ctx context.Context, log Log, seq uint64) (*events.Event, error) {
	ev, err := log.Event(ctx, seq)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	return ev, err
}
