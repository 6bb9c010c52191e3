package fold

import (
	"context"
	"slices"

	"precis/events"
	"precis/internal/content"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/cut"
	"precis/summarize/ledger"
)

// fanIn is how many leaves, or nodes of one level, are condensed into a node of the next level, so that the sources of a
// thread's current summary grow with the logarithm of the thread's length.
const fanIn = 4

// Compact makes the summaries that are due, in this order: what the event made stale; what waits to be recomputed, of any kind; what
// stands for messages that must stand verbatim; then, if nothing waits any more and the policy's condition holds, a leaf of the
// messages that the policy lets go, and the current summary over all leaves.
func (s *Step) Compact(ctx context.Context) {
	if !s.decides || s.st.Compaction == nil {
		return
	}
	s.remakeInvalidated(ctx)
	s.renew(ctx, s.waiting)
	s.standVerbatim(ctx, events.Trigger{Reason: events.TriggerRegenerated})
	if s.st.Header.RenewCompactions > 0 || !s.p.Enabled {
		return // its sources would be stale
	}
	if _, ok := s.cutDue(); ok {
		s.compact(ctx, s.cutDue)
	}
}

// cutDue reports whether the policy's condition for a cut holds.
func (s *Step) cutDue() (events.Trigger, bool) {
	return cut.Fires(s.p.Compaction.Trigger, s.cutFacts())
}

func (s *Step) cutFacts() cut.Facts {
	facts := s.st.Compaction.Cut.Facts(s.p.Compaction)
	if s.p.Compaction.Window == summarize.WindowProvider {
		facts.PromptTokens = s.st.Compaction.Reported.PromptTokens(s.st.Header.TokensLive)
	}
	return facts
}

// reason returns why the thread is cut in its present state; false if it should no longer be cut. It is evaluated for each
// record: a stale leaf that is recomputed before the cut may give messages back, which the cut then counts and takes.
type reason func() (events.Trigger, bool)

// always returns a reason that does not depend on the state.
func always(trigger events.Trigger) reason {
	return func() (events.Trigger, bool) { return trigger, true }
}

// compact recomputes what is stale, then makes a leaf, the nodes that it completes, and the current summary.
func (s *Step) compact(ctx context.Context, why reason) {
	if !s.fresh(ctx, why) {
		return
	}
	trigger, ok := why()
	if !ok {
		return
	}
	rec, due := s.dueLeaf(trigger)
	if rec == nil {
		return
	}
	s.fillLeaf(ctx, rec, due.rows)
	s.short = due.short
	s.condense(ctx, trigger)
	s.current(ctx, trigger)
}

// dueLeaf returns the leaf that a cut makes now, without its text, and what it replaces; nil if there is no place to cut.
func (s *Step) dueLeaf(trigger events.Trigger) (*events.Summary, span) {
	due, ok := s.span()
	if !ok {
		return nil, due
	}
	slot := s.newLeafSlot(due.rows)
	if slot == "" {
		return nil, due
	}
	return s.leafRecord(slot, due.rows, due.removed, trigger), due
}

// newLeafSlot returns the slot of a new leaf, named after the first of its messages that has not named a leaf before: a compaction
// may have given some back. It is empty if there is none.
func (s *Step) newLeafSlot(rows []*thread.Message) string {
	for _, m := range rows {
		if slot := events.LeafSlot(m.ID); s.slot(slot).Version == 0 {
			return slot
		}
	}
	return ""
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
func (s *Step) span() (due span, ok bool) {
	c := s.st.Compaction
	pos, ok := c.Cut.Choose(s.p.Compaction.Keep)
	if !ok {
		return due, false
	}
	all := s.stretch(pos.At)
	if all.limit > 0 {
		return s.shortSpan(all), true
	}
	due.cut = c.Cut.Split(pos, all.items, s.p.Compaction)
	due.removed = s.cutFacts().RemovableTokens
	due.replaced(all)
	return due, len(due.rows) > 0
}

// stretch reads the messages that a cut at a position can replace.
func (s *Step) stretch(at uint64) *stretch {
	all := &stretch{rows: map[uint64]*thread.Message{}, room: newRoom()}
	more := s.add(all, s.rowsAt(s.st.Compaction.Held))
	for from := s.st.Compaction.To() + 1; more && from < at; from += readAtOnce {
		more = s.add(all, s.rows(from, min(from+readAtOnce, at)))
	}
	return all
}

// add adds the next messages to a stretch and reports whether more are needed.
func (s *Step) add(all *stretch, rows []*thread.Message) bool {
	for _, m := range rows {
		m = s.messageNow(m)
		it := m.Item(m.Tokens())
		all.items, all.rows[m.Ordinal] = append(all.items, it), m
		switch {
		case all.limit > 0:
			all.behind++
		case s.st.Compaction.Cut.Replaces(it, s.p.Compaction) && !all.room.take(m):
			all.limit = m.Ordinal
		}
	}
	return all.behind < cut.Lookahead
}

// shortSpan is a cut that replaces no more than one leaf takes. If the messages held by earlier cuts already exceed that, the
// cut stays where it is and the rest stays held.
func (s *Step) shortSpan(all *stretch) (due span) {
	c := s.st.Compaction
	at := c.To() + 1
	if all.limit > at {
		at = c.Cut.Short(all.items, c.To(), all.limit, s.p.Compaction)
	}
	due.short = true
	due.cut = c.Cut.Split(cut.Position{At: at}, all.items, s.p.Compaction).Hold(all.limit)
	due.replaced(all)
	due.removed = s.weigh(due.rows)
	replaced := s.items(due.rows)
	passed := s.rows(c.Cut.Edge.At+1, at) // the edge of the compactions moves past these
	for i, m := range passed {
		passed[i] = s.messageNow(m)
	}
	due.cut.Position = c.Cut.Before(at, replaced, s.items(passed))
	return due
}

// replaced records the rows that the cut replaces.
func (due *span) replaced(all *stretch) {
	due.cut.Replaced = slices.DeleteFunc(due.cut.Replaced, func(it cut.Item) bool { return it.Deleted })
	for _, it := range due.cut.Replaced {
		due.rows = append(due.rows, all.rows[it.Ordinal])
	}
}

// leaf makes the summary of a span of messages in a slot. It stands for before tokens of the prompt.
func (s *Step) leaf(ctx context.Context, slot string, rows []*thread.Message, before int64, trigger events.Trigger) {
	s.fillLeaf(ctx, s.leafRecord(slot, rows, before, trigger), rows)
}

// leafRecord returns a leaf's record without its text.
func (s *Step) leafRecord(slot string, rows []*thread.Message, before int64, trigger events.Trigger) *events.Summary {
	rec := s.compaction(slot, 0, trigger, before)
	for _, m := range rows {
		rec.SourceMessageIDs = append(rec.SourceMessageIDs, m.ID)
		rec.CharsBefore += m.Size().Chars
	}
	rec.SourceDigest = messagesDigest(rows...)
	return rec
}

func (s *Step) fillLeaf(ctx context.Context, rec *events.Summary, rows []*thread.Message) {
	s.fill(rec, ledger.Collect(s.spoken(ctx, rows)).Trim())
}

// spoken reads messages at their current revisions.
func (s *Step) spoken(ctx context.Context, rows []*thread.Message) []ledger.Message {
	return got(content.Spoken(ctx, s.f.masked, s.live(rows)))
}

// condense makes a node of the last fanIn tops for as long as they have the same level.
func (s *Step) condense(ctx context.Context, trigger events.Trigger) {
	for {
		tops := s.st.Compaction.Tops
		n := len(tops)
		if n < fanIn || tops[n-fanIn].Level != tops[n-1].Level {
			return
		}
		level := tops[n-1].Level + 1
		first := s.rowsAt([]uint64{tops[n-fanIn].From})
		s.node(ctx, events.NodeSlot(level, first[0].ID), level, ids(tops[n-fanIn:]), trigger)
	}
}

// node makes a summary of summaries.
func (s *Step) node(ctx context.Context, slot string, level int, children []string, trigger events.Trigger) {
	ledgers, before, chars := s.parts(ctx, children)
	rec := s.compaction(slot, level, trigger, before)
	rec.SourceSummaryIDs, rec.SourceDigest, rec.CharsBefore = children, summariesDigest(children), chars
	s.fill(rec, ledger.Join(ledgers))
}

// current makes the thread's current summary from its tops.
func (s *Step) current(ctx context.Context, trigger events.Trigger) {
	c := s.st.Compaction
	if !s.fresh(ctx, always(trigger)) {
		return
	}
	tops, level := ids(c.Tops), 1
	ledgers, _, chars := s.parts(ctx, tops)
	for _, top := range c.Tops {
		level = max(level, top.Level+1)
	}
	rec := s.compaction(events.SlotCurrent, level, trigger, c.Cut.Gone.Tokens)
	rec.Current = true
	if s.p.Mode == summarize.ModeLLM {
		// If only the model's text may serve, this summary only reserves the slot: prompts use the raw messages.
		rec.FallbackReason, rec.Current = orNull(reasonPending), s.p.OnFailure != summarize.OnFailureFail
	}
	rec.SourceSummaryIDs, rec.SourceDigest, rec.CharsBefore = tops, summariesDigest(tops), chars
	s.loadJobs()
	s.fill(rec, ledger.Join(ledgers))
	s.askModel(trigger)
}

// compaction begins the record of a leaf, a node or the current summary. before is what it stands for, in tokens of the prompt.
func (s *Step) compaction(slot string, level int, trigger events.Trigger, before int64) *events.Summary {
	rec := s.byRules(events.KindCompaction, slot, trigger)
	rec.Level, rec.TokenCountBefore = level, before
	if s.p.Mode == summarize.ModeLLM {
		rec.FallbackReason = orNull(reasonLedger)
	}
	return rec
}

// fill completes a compaction's record with the text of a ledger that fits its budget, and records it with the ledger.
func (s *Step) fill(rec *events.Summary, l ledger.Ledger) {
	s.write(rec, NewBudget(s.p.Compaction, rec.TokenCountBefore).Fit(l.Text, counterOf(s.p.Tokenizer).Count))
	s.identify(rec)
	if rec.Slot != events.SlotCurrent {
		if s.st.Changes.Ledgers == nil {
			s.st.Changes.Ledgers = map[string][]byte{}
		}
		s.st.Changes.Ledgers[rec.ID] = got(l.MarshalBinary())
	}
	s.emit(rec)
}

// parts reads what summaries contribute to another one, and adds up what they stand for.
func (s *Step) parts(ctx context.Context, children []string) (ledgers []ledger.Ledger, tokens, chars int64) {
	for _, id := range children {
		p := s.part(ctx, id)
		ledgers, tokens, chars = append(ledgers, p.ledger), tokens+p.tokens, chars+p.chars
	}
	return ledgers, tokens, chars
}

// place puts a new leaf or node in its place among the tops. A new leaf moves the cut.
func (s *Step) place(rec *events.Summary, letGo []cut.Item) {
	c := s.st.Compaction
	s.st.Changes.Compacted = true
	c.Cut.Return(letGo)
	s.keep(letGo)
	switch {
	case rec.Slot == events.SlotCurrent:
	case slices.ContainsFunc(c.Tops, func(t thread.Top) bool { return t.Slot == rec.Slot }):
		c.Put(rec.Slot, rec.ID)
	case len(rec.SourceSummaryIDs) > 0:
		placeNode(c, rec)
	case rec.Version == 1:
		s.placeLeaf(rec)
	}
}

// keep keeps messages before the last cut verbatim, fixed ones for good.
func (s *Step) keep(items []cut.Item) {
	for _, it := range items {
		if it.Fixed(s.p.Compaction) {
			s.st.Compaction.Fix(it.Ordinal)
		} else {
			s.st.Compaction.Hold(it.Ordinal)
		}
	}
}

// placeNode puts a node in the place of its sources. A node that is recomputed below another node has no place of its own.
func placeNode(c *thread.Compaction, rec *events.Summary) {
	at := slices.IndexFunc(c.Tops, func(t thread.Top) bool { return t.Summary == rec.SourceSummaryIDs[0] })
	if at < 0 || at+len(rec.SourceSummaryIDs) > len(c.Tops) {
		return
	}
	end := at + len(rec.SourceSummaryIDs)
	c.Tops = slices.Replace(c.Tops, at, end, thread.Top{
		Summary: rec.ID, Slot: rec.Slot, Level: rec.Level, From: c.Tops[at].From, To: c.Tops[end-1].To,
	})
}

// placeLeaf cuts the thread where its counters say, which is where it was cut when the leaf was made.
func (s *Step) placeLeaf(rec *events.Summary) {
	var due span
	var ok bool
	err := attempt(func() { due, ok = s.span() })
	first := slices.IndexFunc(due.cut.Replaced, func(it cut.Item) bool { return events.LeafSlot(it.MessageID) == rec.Slot })
	if err != nil || !ok || first < 0 {
		s.noSpan(rec, err)
		return
	}
	c := s.st.Compaction
	c.Held, c.Fixed = nil, append([]uint64(nil), c.Fixed...)
	s.keep(due.cut.Held)
	c.Tops = append(c.Tops, thread.Top{
		Summary: rec.ID, Slot: rec.Slot, From: due.cut.Replaced[first].Ordinal, To: due.cut.At - 1,
	})
	c.Cut.Replace(due.cut.Position)
}

// noSpan says that a leaf on record stands for no messages. Where the log has lost the beginning of the thread, or of one that it was forked from, that is as it must be: the
// thread was cut by counters that nothing counts again.
func (s *Step) noSpan(rec *events.Summary, why error) {
	h := &s.st.Header
	log := s.f.Logger.With().Str("thread_id", h.Thread).Str("summary_id", rec.ID).Logger()
	if why == nil && (h.FirstSeq < s.f.First || h.Fork.Seq > 0 && s.f.First > 1) {
		log.Debug().Uint64("first_event_seq", h.FirstSeq).Uint64("events_from", s.f.First).Msg("a leaf on record stands for messages that the log no longer has")
		return
	}
	log.Warn().Err(why).Msg("a leaf on record has no span: run processor replay to see what it affects")
}

func ids(tops []thread.Top) []string {
	return namesOf(tops, func(top thread.Top) string { return top.Summary })
}

// namesOf returns the names of a list's members; never nil.
func namesOf[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = name(v)
	}
	return names
}
