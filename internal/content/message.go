package content

import (
	"context"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/ledger"
)

// Current returns a message as published, with the content of its current revision. If retention has removed the event,
// only its id and role are left.
func Current(ctx context.Context, log Log, m *thread.Message) (*events.Message, error) {
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
	if len(msg.Answers()) == 0 {
		msg.ToolCallID = m.CallID // which the parts said before the edit
	}
	return &msg, err
}

// Origin returns a message as it was first published; only its id is left if retention has removed the event.
func Origin(ctx context.Context, log Log, m *thread.Message) (*events.Message, error) {
	ev, err := eventOf(ctx, log, m.FirstSeq)
	if err != nil || ev == nil || ev.Message == nil {
		return &events.Message{MessageID: m.ID}, err
	}
	return ev.Message, nil
}

// Spoken returns the messages of the rows that are not deleted, as their texts (events.Message.Spoken): a row with the results of
// several calls gives several.
func Spoken(ctx context.Context, log Log, rows []*thread.Message) (list []ledger.Message, err error) {
	err = Each(ctx, log, rows, func(m *thread.Message) error {
		if m.Deleted {
			return nil
		}
		msg, err := Current(ctx, log, m)
		if err != nil {
			return err
		}
		for _, said := range msg.Spoken() {
			list = append(list, ledger.Message{Ordinal: m.Ordinal, Message: said})
		}
		return nil
	})
	return list, err
}

// EarlierAlone is how many messages before a tool output the rules read if they do not know the identifiers of all earlier ones: for
// an edited output, and for a model's job. docs/rules.md has the measurement.
const EarlierAlone = 200

// Earlier reads the messages before an ordinal: what the thread has already seen when a tool output arrives. It reads only the
// newest ones.
func Earlier(ctx context.Context, view state.View, log Log, name string, ordinal, newest uint64) ([]string, error) {
	return Between(ctx, view, log, name, max(ordinal, newest+1)-newest, ordinal)
}

// Between reads the texts of the messages with ordinals from (inclusive) to to (exclusive), with the arguments of their calls, as they
// were first published: a job reads them later, and an edit made meanwhile must not change its text. A message that is gone has none.
func Between(ctx context.Context, view state.View, log Log, name string, from, to uint64) (texts []string, err error) {
	rows, err := view.Messages(name, from, to)
	if err != nil {
		return nil, err
	}
	first := make([]*thread.Message, len(rows))
	for i, m := range rows {
		row := *m
		row.Seq, row.Deleted, first[i] = m.FirstSeq, false, &row
	}
	err = Each(ctx, log, first, func(m *thread.Message) error {
		ev, err := eventOf(ctx, log, m.FirstSeq)
		text := ""
		switch {
		case ev == nil:
		case ev.Edit != nil: // only on a log that was rolled back and has grown again, which the reader is about to notice
			text = ev.Edit.Content.Text()
		default:
			text = ev.Message.Content.Text()
			for _, call := range ev.Message.Calls() {
				text += "\n" + call.ArgumentsValues()
			}
		}
		texts = append(texts, text)
		return err
	})
	return texts, err
}
