package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/rules"
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

// How many messages before a tool output the rules read; docs/rules.md has the measurement.
const (
	// earlierWithSeen is enough if the identifiers of all earlier messages are known.
	earlierWithSeen = 20
	// EarlierAlone applies if they are not: for an edited output, and for a model's job.
	EarlierAlone = 200
)

const (
	// seenEvery is how many messages a thread's stored identifiers may lag: the most that a restart reads again per thread, and
	// the interval between writes.
	seenEvery = 256
	// seenCached bounds the identifiers that all partitions together hold in memory: some 40 MB.
	seenCached = 800_000
)

// past is what precedes a tool output in its thread.
type past struct {
	texts []string
	seen  *rules.Seen
}

// past reads what precedes the message at an ordinal. For an edited message, which may be anywhere in its thread, it reads only
// the newest messages before it. Either way the result is a function of the log.
func (f *Fold) past(ctx context.Context, name string, ordinal uint64, edited bool) (past, error) {
	var p past
	var err error
	if edited {
		p.texts, err = Earlier(ctx, f.part.View, f.log, name, ordinal, EarlierAlone)
		return p, err
	}
	if p.seen, err = f.seenBefore(ctx, name, ordinal); err != nil {
		return p, err
	}
	p.texts, err = Earlier(ctx, f.part.View, f.log, name, ordinal, earlierWithSeen)
	return p, err
}

// seenThread holds the identifiers of a thread's messages up to an ordinal, as first published, so that it does not matter when
// they were read.
type seenThread struct {
	seen   *rules.Seen
	upTo   uint64
	stored uint64 // upTo at the last write
}

// seenCache holds the threads that had tool outputs most recently.
type seenCache struct {
	lru   *simplelru.LRU[string, *seenThread]
	marks int
	most  int
}

func newSeenCache(partitions int) (*seenCache, error) {
	c := &seenCache{most: seenCached / max(partitions, 16)}
	lru, err := simplelru.NewLRU(c.most, func(_ string, t *seenThread) { c.marks -= t.seen.Len() })
	c.lru = lru
	return c, err
}

func (c *seenCache) put(name string, t *seenThread) {
	c.lru.Remove(name)
	c.lru.Add(name, t)
	for c.marks += t.seen.Len(); c.marks > c.most && c.lru.Len() > 1; {
		c.lru.RemoveOldest()
	}
}

// seenBefore returns the identifiers of the messages before an ordinal; nil if those of later ones are already included, which
// does not happen for a new message.
func (f *Fold) seenBefore(ctx context.Context, name string, ordinal uint64) (*rules.Seen, error) {
	t, err := f.seenThread(name)
	if err != nil || t.upTo >= ordinal {
		return nil, err
	}
	texts, err := f.firstTexts(ctx, name, t.upTo+1, ordinal)
	if err != nil {
		return nil, err
	}
	f.seen.lru.Remove(name) // put counts it again
	for _, text := range texts {
		t.seen.Add(text)
	}
	t.upTo = ordinal - 1
	if t.upTo-t.stored >= seenEvery {
		if err := f.saveSeen(name, t); err != nil {
			return nil, err
		}
	}
	f.seen.put(name, t)
	return t.seen, nil
}

// saveSeen writes a thread's identifiers to the open batch. They don't depend on the step's outcome: they are a function of the
// log.
func (f *Fold) saveSeen(name string, t *seenThread) error {
	data, err := t.seen.MarshalBinary()
	if err != nil {
		return err
	}
	f.part.SaveSeen(name, t.upTo, data)
	t.stored = t.upTo
	return nil
}

func (f *Fold) seenThread(name string) (*seenThread, error) {
	if t, ok := f.seen.lru.Get(name); ok {
		return t, nil
	}
	upTo, data, err := f.part.Seen(name)
	t := &seenThread{seen: &rules.Seen{}, upTo: upTo, stored: upTo}
	if err != nil || data == nil {
		return t, err
	}
	if err := t.seen.UnmarshalBinary(data); err != nil {
		return nil, fmt.Errorf("%w: seen identifiers of thread %q: %w", state.ErrDamaged, name, err)
	}
	return t, nil
}

// firstTexts reads the messages with ordinals from (inclusive) to to (exclusive) as first published.
func (f *Fold) firstTexts(ctx context.Context, name string, from, to uint64) ([]string, error) {
	rows, err := f.part.Messages(name, from, to)
	if err != nil {
		return nil, err
	}
	var texts []string
	err = eachRead(ctx, f.log, rows, func(m *thread.Message) error {
		text, err := textOf(ctx, f.log, firstOf(m))
		texts = append(texts, text)
		return err
	})
	return texts, err
}

// remember keeps a thread's identifiers from lagging far behind, so that no tool output has to read a long thread at once.
func (f *Fold) remember(ctx context.Context, h thread.Header) error {
	if h.ToolResults == 0 || h.Ordinals%seenEvery != 0 {
		return nil
	}
	_, err := f.seenBefore(ctx, h.Thread, h.Ordinals)
	return err
}
