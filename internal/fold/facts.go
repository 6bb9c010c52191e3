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

// facts is what deciding needs beside the state: loaded before anything changes, since it may fail.
type facts struct {
	// origin is the event that brought the message, and what its call tells of it: an edit has no tool name and no
	// arguments.
	origin *events.Message
	// past is what stands before it; not read where late is set.
	past past
	// late says that the rules are not run before somebody needs what they say.
	late bool
}

// facts loads what a summary of the event's message would need; nothing where none will be made. late: it is on record, and
// the rules run only where an audit wants to know what they say.
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

// toolContent is the content that the event leaves its tool result with; false where it brings none.
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

// mayPass is cheap and never says no to what a policy would summarize: a token is at least a byte.
func mayPass(p *summarize.Policy, c events.Content) bool {
	t, text := p.ToolOutput, c.Text()
	return t.OverChars > 0 && len(text) > t.OverChars && utf8.RuneCountInString(text) > t.OverChars ||
		t.OverTokens > 0 && len(text) > t.OverTokens
}

// Earlier reads the messages before an ordinal: what the thread has seen already when a tool output comes. It
// reads the newest of them alone, and as they were first published: a job asks when it comes to it, and what was
// edited meanwhile may not make another text of it.
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

// firstOf is a message as it was first published.
func firstOf(m *thread.Message) *thread.Message {
	first := *m
	first.Seq, first.Deleted = m.FirstSeq, false
	return &first
}

// CurrentMessage is a message as it stands now: as it was published, with the content of its current
// revision. Where retention has taken the event, only its id and role are left.
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

// textOf is what a message says now, its calls' arguments included; empty where it is deleted or gone.
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

// eventOf reads the log; nil where retention has taken the event.
func eventOf(ctx context.Context, log Log, seq uint64) (*events.Event, error) {
	ev, err := log.Event(ctx, seq)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	return ev, err
}
