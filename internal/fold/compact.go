package fold

import (
	"context"
	"fmt"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/cut"
	"precis/summarize/ledger"
)

// fanIn is how many leaves, or nodes of one level, are condensed into a node of the next level, so that the sources of a
// thread's current summary grow with the logarithm of the thread's length.
const fanIn = 4

// compactions makes the compactions that are due, in this order: what an edit made stale; what waits to be recomputed; what
// stands for messages that must stand verbatim; then, if nothing waits any more and the policy's condition holds, a leaf of the
// messages that the policy lets go, and the current summary over all leaves. It reads the log and may fail; nothing is saved
// then.
func (f *Fold) compactions(ctx context.Context, st *thread.State, d Delivery, dec decided, p *summarize.Policy) error {
	if st.Compaction == nil {
		return nil
	}
	w := &compaction{f: f, st: st, d: d, p: p, pinned: dec.pinned}
	if err := w.again(ctx, dec.drafts); err != nil {
		return err
	}
	if err := w.renew(ctx, dec.waiting); err != nil {
		return err
	}
	if err := w.stand(ctx, events.Trigger{Reason: events.TriggerRegenerated}); err != nil {
		return err
	}
	return w.cut(ctx)
}

// cut makes the leaf that the policy's condition calls for, and what follows from it.
func (w *compaction) cut(ctx context.Context) error {
	if w.st.Header.RenewCompactions > 0 || !w.p.Enabled {
		return nil // its sources would be stale
	}
	due := func() (events.Trigger, bool) {
		return cut.Fires(w.p.Compaction.Trigger, w.st.Compaction.Cut.Facts(w.p.Compaction))
	}
	if _, ok := due(); !ok {
		return nil
	}
	return w.run(ctx, due)
}

// reason returns why the thread is cut in its present state; false if it should no longer be cut. It is evaluated for each
// record: a stale leaf that is recomputed before the cut may give messages back, which the cut then counts and takes.
type reason func() (events.Trigger, bool)

// always returns a reason that does not depend on the state.
func always(trigger events.Trigger) reason {
	return func() (events.Trigger, bool) { return trigger, true }
}

// compaction is one unit of work on a thread's compaction.
type compaction struct {
	f  *Fold
	st *thread.State
	d  Delivery
	p  *summarize.Policy

	freshened  int  // stale summaries recomputed as sources of a new one
	unfinished bool // stale summaries, or leaves that must give messages back, are left
	patient    bool // a request waits for all of them: more of them in a step
	short      bool // the new leaf did not take everything that a cut could remove

	pinned *thread.Message // by the event; nil if it pins none
}

// span is what a cut would replace now.
type span struct {
	cut   cut.Cut
	rows  []*thread.Message // what is replaced
	short bool              // one leaf does not take everything that could be removed
	// removed is what the rows weigh in the prompt, in tokens.
	removed int64
}

// readAtOnce is how many messages of a thread are read at a time until a leaf is full.
const readAtOnce = 512

// span chooses the cut. It depends only on the thread's counters and rows, so that a recovery that adopts the leaf cuts at the
// same place. ok is false if there is no place to cut.
func (f *Fold) span(st *thread.State, p *summarize.Policy) (s span, ok bool, err error) {
	c := st.Compaction
	pos, ok := c.Cut.Choose(p.Compaction.Keep)
	if !ok {
		return span{}, false, nil
	}
	all, err := f.stretch(st, p, pos.At)
	if err != nil {
		return span{}, false, err
	}
	if all.limit > 0 {
		return f.shortSpan(st, p, all)
	}
	s.cut = c.Cut.Split(pos, all.items, p.Compaction)
	s.removed = c.Cut.Facts(p.Compaction).RemovableTokens
	s.replaced(all)
	return s, len(s.rows) > 0, nil
}

// stretch reads the messages that a cut at a position can replace.
func (f *Fold) stretch(st *thread.State, p *summarize.Policy, at uint64) (*stretch, error) {
	s := &stretch{rows: map[uint64]*thread.Message{}, room: newRoom()}
	name := st.Header.Thread
	held, err := f.part.MessagesAt(name, st.Compaction.Held)
	if err != nil {
		return nil, err
	}
	more := s.add(st, held, p)
	for from := st.Compaction.To() + 1; more && from < at; from += readAtOnce {
		rows, err := f.part.Messages(name, from, min(from+readAtOnce, at))
		if err != nil {
			return nil, err
		}
		more = s.add(st, rows, p)
	}
	return s, nil
}

// shortSpan is a cut that replaces no more than one leaf takes. If the messages held by earlier cuts already exceed that, the
// cut stays where it is and the rest stays held.
func (f *Fold) shortSpan(st *thread.State, p *summarize.Policy, all *stretch) (s span, ok bool, err error) {
	c := st.Compaction
	at := c.To() + 1
	if all.limit > at {
		at = c.Cut.Short(all.items, c.To(), all.limit, p.Compaction)
	}
	s.short = true
	s.cut = c.Cut.Split(cut.Position{At: at}, all.items, p.Compaction).Hold(all.limit)
	s.replaced(all)
	w := &compaction{f: f, st: st, p: p}
	if s.removed, err = w.weigh(s.rows); err != nil {
		return s, false, err
	}
	replaced, err := f.items(st, s.rows)
	if err != nil {
		return s, false, err
	}
	passed, err := f.passed(st, at)
	if err != nil {
		return s, false, err
	}
	s.cut.Position = c.Cut.Before(at, replaced, passed)
	return s, true, nil
}

// passed returns the messages that a cut at an ordinal moves the edge of the compactions past.
func (f *Fold) passed(st *thread.State, at uint64) ([]cut.Item, error) {
	rows, err := f.part.Messages(st.Header.Thread, st.Compaction.Cut.Edge.At+1, at)
	if err != nil {
		return nil, err
	}
	for i, m := range rows {
		rows[i] = asItIs(st, m)
	}
	return f.items(st, rows)
}

// replaced records the rows that the cut replaces.
func (s *span) replaced(all *stretch) {
	s.cut.Replaced = slices.DeleteFunc(s.cut.Replaced, func(it cut.Item) bool { return it.Deleted })
	for _, it := range s.cut.Replaced {
		s.rows = append(s.rows, all.rows[it.Ordinal])
	}
}

// run recomputes what is stale, then makes a leaf, the nodes that it completes, and the current summary.
func (w *compaction) run(ctx context.Context, why reason) error {
	if done, err := w.fresh(ctx, why); err != nil || !done {
		return err
	}
	trigger, ok := why()
	if !ok {
		return nil
	}
	s, ok, err := w.f.span(w.st, w.p)
	if err != nil || !ok {
		return err
	}
	slot, err := w.leafSlot(s.rows)
	if err != nil || slot == "" {
		return err
	}
	if err := w.leaf(ctx, slot, s.rows, s.removed, trigger); err != nil {
		return err
	}
	w.short = s.short
	if err := w.condense(ctx, trigger); err != nil {
		return err
	}
	return w.current(ctx, trigger)
}

// leafSlot returns the slot of a new leaf, named after the first of its messages that has not named a leaf before: a compaction
// may have given some back. It is empty if there is none.
func (w *compaction) leafSlot(rows []*thread.Message) (string, error) {
	for _, m := range rows {
		slot := leafSlot(m.ID)
		if err := w.f.part.LoadSlot(w.st, slot); err != nil {
			return "", err
		}
		if w.st.Slot(slot).Version == 0 {
			return slot, nil
		}
	}
	return "", nil
}

func leafSlot(message string) string { return "leaf:" + message }

// leaf makes the summary of a span of messages.
func (w *compaction) leaf(ctx context.Context, slot string, rows []*thread.Message, before int64, trigger events.Trigger) error {
	messages, err := w.messages(ctx, rows)
	if err != nil {
		return err
	}
	rec, err := w.leafRecord(slot, rows, before, trigger)
	if err != nil {
		return err
	}
	return w.emit(rec, ledger.Collect(messages).Trim())
}

// leafRecord returns a leaf's record without its text.
func (w *compaction) leafRecord(slot string, rows []*thread.Message, before int64, trigger events.Trigger) (*events.Summary, error) {
	rec, err := w.record(slot, 0, trigger, before)
	if err != nil {
		return nil, err
	}
	var sources []summarize.Source
	for _, m := range rows {
		rec.SourceMessageIDs = append(rec.SourceMessageIDs, m.ID)
		sources = append(sources, summarize.Source{ID: m.ID, Revision: m.Revision, Digest: m.Digest})
	}
	rec.SourceDigest = summarize.SourceDigest(sources)
	for _, m := range rows {
		rec.CharsBefore += m.Size().Chars
	}
	return rec, nil
}

// condense makes a node of the last fanIn tops for as long as they have the same level.
func (w *compaction) condense(ctx context.Context, trigger events.Trigger) error {
	for {
		tops := w.st.Compaction.Tops
		n := len(tops)
		if n < fanIn || tops[n-fanIn].Level != tops[n-1].Level {
			return nil
		}
		level := tops[n-1].Level + 1
		first, err := w.f.part.MessagesAt(w.st.Header.Thread, []uint64{tops[n-fanIn].From})
		if err != nil {
			return err
		}
		slot := fmt.Sprintf("node:%d:%s", level, first[0].ID)
		if err := w.node(ctx, slot, level, ids(tops[n-fanIn:]), trigger); err != nil {
			return err
		}
	}
}

// node makes a summary of summaries.
func (w *compaction) node(ctx context.Context, slot string, level int, children []string, trigger events.Trigger) error {
	ledgers, before, chars, err := w.parts(ctx, children)
	if err != nil {
		return err
	}
	rec, err := w.record(slot, level, trigger, before)
	if err != nil {
		return err
	}
	rec.SourceSummaryIDs = children
	rec.SourceDigest = summarize.SourceDigest(summarySources(children))
	rec.CharsBefore = chars
	return w.emit(rec, ledger.Join(ledgers))
}

// current makes the thread's current summary from its tops.
func (w *compaction) current(ctx context.Context, trigger events.Trigger) error {
	c := w.st.Compaction
	if done, err := w.fresh(ctx, always(trigger)); err != nil || !done {
		return err
	}
	ledgers, _, chars, err := w.parts(ctx, ids(c.Tops))
	if err != nil {
		return err
	}
	level := 1
	for _, top := range c.Tops {
		level = max(level, top.Level+1)
	}
	rec, err := w.record(events.SlotCurrent, level, trigger, c.Cut.Gone.Tokens)
	if err != nil {
		return err
	}
	rec.Current = true
	if w.p.Mode == summarize.ModeLLM {
		reason := reasonPending
		// If only the model's text may serve, this summary only reserves the slot: prompts use the raw messages.
		rec.FallbackReason, rec.Current = &reason, w.p.OnFailure != "fail"
	}
	rec.SourceSummaryIDs = ids(c.Tops)
	rec.SourceDigest = summarize.SourceDigest(summarySources(rec.SourceSummaryIDs))
	rec.CharsBefore = chars
	if err := w.f.part.LoadJobs(w.st); err != nil {
		return err
	}
	err = w.emit(rec, ledger.Join(ledgers))
	if err == nil {
		w.f.askModel(w.st, w.p, trigger, w.d)
	}
	return err
}

// messages reads messages at their current revisions.
func (w *compaction) messages(ctx context.Context, rows []*thread.Message) ([]ledger.Message, error) {
	var list []ledger.Message
	err := eachRead(ctx, w.f.masked, rows, func(m *thread.Message) error {
		if m = asItIs(w.st, m); m.Deleted {
			return nil
		}
		msg, err := CurrentMessage(ctx, w.f.masked, m)
		if err == nil {
			list = append(list, ledger.Message{Ordinal: m.Ordinal, Message: spoken(msg)})
		}
		return err
	})
	return list, err
}

// spoken reduces a message to its text: non-text parts may be as large as the event.
func spoken(m *events.Message) *events.Message {
	only := *m
	only.Content, only.Metadata = events.TextContent(m.Content.Text()), nil
	return &only
}

// parts reads what summaries contribute to another one, and adds up what they stand for.
func (w *compaction) parts(ctx context.Context, children []string) (ledgers []ledger.Ledger, tokens, chars int64, err error) {
	for _, id := range children {
		p, err := w.part(ctx, id)
		if err != nil {
			return nil, 0, 0, err
		}
		ledgers, tokens, chars = append(ledgers, p.ledger), tokens+p.tokens, chars+p.chars
	}
	return ledgers, tokens, chars, nil
}

func (w *compaction) summary(id string) (*thread.Summary, error) {
	if sum := w.st.Summary(id); sum != nil {
		return sum, nil
	}
	if err := w.f.part.LoadSummary(w.st, id); err != nil {
		return nil, err
	}
	return w.st.Summary(id), nil
}

// asItIs returns the row of a message, with the revision that the event made, which is not in the store yet.
func asItIs(st *thread.State, m *thread.Message) *thread.Message {
	if own := st.Message; own != nil && m != nil && own.ID == m.ID {
		return own
	}
	return m
}

func ids(tops []thread.Top) []string {
	list := make([]string, len(tops))
	for i, top := range tops {
		list[i] = top.Summary
	}
	return list
}

// summarySources returns summaries as sources of a digest: an id identifies the content, and there are no revisions.
func summarySources(ids []string) []summarize.Source {
	list := make([]summarize.Source, len(ids))
	for i, id := range ids {
		list[i] = summarize.Source{ID: id}
	}
	return list
}
