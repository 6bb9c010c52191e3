package thread_test

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"precis/events"
	"precis/internal/thread"
)

// book keeps one thread's rows between steps, as a store does: what State says is loaded is loaded, and
// what Changes names is written. Anything else that Apply changes is lost here, and a test sees it.
type book struct {
	header    thread.Header
	messages  map[string]thread.Message
	order     map[uint64]string
	revisions map[string][]thread.Revision
	edits     map[string]bool // message and edit key
	waiting   []thread.Waiting
	summaries map[string]thread.Summary
	slots     map[string]thread.Slot
	jobs      map[string]thread.Job

	pending uint64
	seq     uint64
}

func newBook() *book {
	return &book{
		header:   thread.Header{Thread: "t"},
		messages: map[string]thread.Message{}, order: map[uint64]string{}, revisions: map[string][]thread.Revision{},
		edits: map[string]bool{}, summaries: map[string]thread.Summary{}, slots: map[string]thread.Slot{},
		jobs: map[string]thread.Job{}, pending: 1000,
	}
}

// publish folds the event of a body in.
func (b *book) publish(typ events.Type, body string) thread.Result {
	return b.publishAt(b.seq+1, typ, body)
}

func (b *book) publishAt(seq uint64, typ events.Type, body string) thread.Result {
	b.seq = seq
	raw := events.Raw{Subject: string(typ) + ".t", Body: []byte(body)}
	in := thread.Input{Seq: seq, Raw: raw, PendingEditEvents: b.pending, Measure: measure}
	ev, why := events.Decode(raw, events.Limits{})
	if why != nil {
		in.Reject = why
	} else {
		in.Event = &ev
	}
	st := b.load(in.Event)
	res := thread.Apply(st, in)
	b.save(st)
	return res
}

// measure counts words as tokens.
func measure(text string) thread.Size {
	return thread.Size{
		Chars: int64(utf8.RuneCountInString(text)), Bytes: int64(len(text)), Tokens: int64(len(strings.Fields(text))),
	}
}

func (b *book) load(ev *events.Event) *thread.State {
	st := &thread.State{Header: b.header}
	b.loadDue(st)
	if ev == nil {
		return st
	}
	id := messageOf(ev)
	if m, ok := b.messages[id]; ok {
		st.Message = &m
	}
	if ev.Edit != nil {
		st.EditSeen = b.edits[id+"\x00"+ev.Edit.Key(ev.CloudEventID)]
		b.loadJobs(st)
		for _, sum := range b.summaries {
			if sum.Status == thread.Active && slices.Contains(sum.Sources, id) {
				st.Summaries = append(st.Summaries, &sum)
			}
		}
		return st
	}
	for _, w := range b.waiting {
		if w.MessageID == id && st.Message == nil {
			st.Held = append(st.Held, &w)
		}
	}
	return st
}

func messageOf(ev *events.Event) string {
	if ev.Edit != nil {
		return ev.Edit.MessageID
	}
	return ev.Message.MessageID
}

func (b *book) loadDue(st *thread.State) {
	now := b.header.Events + 1
	if b.header.NextDeadline == 0 || now < b.header.NextDeadline {
		return
	}
	rows := slices.Clone(b.waiting)
	slices.SortFunc(rows, func(x, y thread.Waiting) int { return int(x.Deadline) - int(y.Deadline) })
	for _, w := range rows {
		if w.Deadline > now {
			st.NextDeadline = w.Deadline
			return
		}
		st.Due = append(st.Due, &w)
	}
}

func (b *book) loadJobs(st *thread.State) {
	for _, j := range b.jobs {
		st.Jobs = append(st.Jobs, &j)
	}
}

// loadRecord loads what a record about a summary in a slot can touch.
func (b *book) loadRecord(slot, summary string) *thread.State {
	st := &thread.State{Header: b.header}
	b.loadJobs(st)
	if s, ok := b.slots[slot]; ok {
		st.Slots = append(st.Slots, &s)
		if sum, ok := b.summaries[s.Holder]; ok {
			st.Summaries = append(st.Summaries, &sum)
		}
	}
	if sum, ok := b.summaries[summary]; ok && st.Summary(summary) == nil {
		st.Summaries = append(st.Summaries, &sum)
	}
	return st
}

func (b *book) save(st *thread.State) {
	b.header = st.Header
	c := &st.Changes
	if c.MessagePut {
		b.messages[st.Message.ID] = *st.Message
	}
	if c.MessageNew {
		b.order[st.Message.Ordinal] = st.Message.ID
	}
	if len(c.Revisions) > 0 {
		b.revisions[st.Message.ID] = append(b.revisions[st.Message.ID], c.Revisions...)
	}
	for _, key := range c.EditKeys {
		id := ""
		if c.Hold != nil {
			id = c.Hold.MessageID
		} else {
			id = st.Message.ID
		}
		b.edits[id+"\x00"+key] = true
	}
	b.saveWaiting(c)
	for _, sum := range c.SummaryPuts {
		b.summaries[sum.ID] = *sum
	}
	for _, slot := range c.SlotPuts {
		b.slots[slot.Name] = *slot
	}
	for _, j := range c.JobPuts {
		b.jobs[j.ID()] = *j
	}
	for _, id := range c.JobEnds {
		delete(b.jobs, id)
	}
}

func (b *book) saveWaiting(c *thread.Changes) {
	if c.Hold != nil {
		b.waiting = append(b.waiting, *c.Hold)
	}
	for _, w := range c.Release {
		b.waiting = slices.DeleteFunc(b.waiting, func(x thread.Waiting) bool { return x.Seq == w.Seq })
	}
	for _, w := range c.EditForget {
		delete(b.edits, w.MessageID+"\x00"+w.Key)
	}
}

// sums holds the header against the rows, as Check does with a store.
func (b *book) sums() error {
	h := b.header
	if n := h.Messages + h.ToolResults + h.Edits + h.Duplicates + h.Ignored + h.Rejected + h.Waiting; n != h.Events {
		return fmt.Errorf("%d events, %d accounted for", h.Events, n)
	}
	if n := uint64(len(b.messages)); n != h.Ordinals || n != h.Messages+h.ToolResults || n != uint64(len(b.order)) {
		return fmt.Errorf("%d message rows, header %+v, order %v", n, h, b.order)
	}
	var tokens, bytes, saved int64
	for _, m := range b.messages {
		tokens, bytes = tokens+m.Size().Tokens, bytes+m.Size().Bytes
	}
	active := uint64(0)
	for _, s := range b.summaries {
		if s.Status == thread.Active {
			saved += s.Saved()
			active++
		}
	}
	if tokens != h.Tokens || bytes != h.Bytes || tokens-saved != h.TokensLive || active != h.SummariesActive {
		return fmt.Errorf("rows have %d tokens, %d bytes, %d saved, %d active; header %+v", tokens, bytes, saved, active, h)
	}
	if uint64(len(b.waiting)) != h.Waiting || uint64(len(b.jobs)) != h.Jobs {
		return fmt.Errorf("%d waiting, %d jobs, header %+v", len(b.waiting), len(b.jobs), h)
	}
	return nil
}
