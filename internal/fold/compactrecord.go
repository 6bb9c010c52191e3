package fold

import (
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/cut"
	"precis/summarize/ledger"
	"precis/summarize/rules"
	"precis/summarize/tokens"
)

// record begins the record of a leaf, a node or the current summary. before is what it stands for, in tokens of the prompt.
func (w *compaction) record(slot string, level int, trigger events.Trigger, before int64) (*events.Summary, error) {
	if err := w.f.part.LoadSlot(w.st, slot); err != nil {
		return nil, err
	}
	version := rules.Version
	s := w.st.Slot(slot)
	rec := &events.Summary{
		AsOfMessageID: &w.st.Header.LastMessageID, Kind: events.KindCompaction, Slot: slot, Level: level,
		Version: s.Version + 1, Replaces: holderOf(s),
		SourceMessageIDs: []string{}, SourceSummaryIDs: []string{},
		TokenCountBefore: before, Tokenizer: w.p.Tokenizer,
		Method: events.MethodRules, RulesVersion: &version,
		Policy: w.p.Name, PolicyFingerprint: summarize.KindFingerprint(*w.p, events.KindCompaction),
		Trigger: trigger, Cost: events.Cost{AmountMicroUSD: new(int64), Currency: "USD"},
		CreatedAt: w.d.Time,
	}
	if w.p.Mode == summarize.ModeLLM {
		reason := reasonLedger
		rec.FallbackReason = &reason
	}
	if _, unresolved := w.f.policy(w.st, nil); unresolved != "" {
		rec.PolicyUnresolved = &unresolved
	}
	if w.p.Staleness.TTL > 0 && w.p.Stale("ttl") {
		rec.ExpiresAt = expiry(w.d.Time, w.p.Staleness.TTL)
	}
	return rec, nil
}

// emit completes a record with the text of a ledger that fits its budget, and folds it in with the ledger.
func (w *compaction) emit(rec *events.Summary, l ledger.Ledger) error {
	counter, err := tokens.For(w.p.Tokenizer)
	if err != nil {
		return err
	}
	rec.Content = w.f.secrets(NewBudget(w.p.Compaction, rec.TokenCountBefore).Fit(l.Text, counter.Count))
	rec.TokenCountAfter, rec.CharsAfter = int64(counter.Count(rec.Content)), runes(rec.Content)
	rec.ID = summarize.Identity{
		Thread: w.st.Header.Thread, Kind: rec.Kind, Slot: rec.Slot, Version: rec.Version,
		SourceDigest: rec.SourceDigest, PolicyFingerprint: rec.PolicyFingerprint, Method: rules.Version,
	}.ID()
	if rec.Slot != events.SlotCurrent {
		data, err := l.MarshalBinary()
		if err != nil {
			return err
		}
		if w.st.Changes.Ledgers == nil {
			w.st.Changes.Ledgers = map[string][]byte{}
		}
		w.st.Changes.Ledgers[rec.ID] = data
	}
	letGo, err := w.f.letGo(w.st, rec)
	if err == nil {
		w.f.emit(w.st, draft{created: rec, letGo: letGo}, w.d)
	}
	return err
}

// placed puts a new leaf or node in its place among the tops. A new leaf moves the cut.
func (f *Fold) placed(st *thread.State, rec *events.Summary, letGo []cut.Item) {
	c := st.Compaction
	st.Changes.Compacted = true
	p, _ := f.policy(st, nil)
	giveBack(c, letGo, p.Compaction)
	switch {
	case rec.Slot == events.SlotCurrent:
	case slices.ContainsFunc(c.Tops, func(t thread.Top) bool { return t.Slot == rec.Slot }):
		c.Put(rec.Slot, rec.ID)
	case len(rec.SourceSummaryIDs) > 0:
		f.placeNode(c, rec)
	case rec.Version == 1:
		f.placeLeaf(st, rec)
	}
}

// placeNode puts a node in the place of its sources. A node that is recomputed below another node has no place of its own.
func (f *Fold) placeNode(c *thread.Compaction, rec *events.Summary) {
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
func (f *Fold) placeLeaf(st *thread.State, rec *events.Summary) {
	p, _ := f.policy(st, nil)
	s, ok, err := f.span(st, p)
	first := slices.IndexFunc(s.cut.Replaced, func(it cut.Item) bool { return leafSlot(it.MessageID) == rec.Slot })
	if err != nil || !ok || first < 0 {
		f.logger.Warn().Err(err).Str("thread_id", st.Header.Thread).Str("summary_id", rec.ID).
			Msg("a leaf on record has no span; run processor check")
		return
	}
	c := st.Compaction
	c.Held, c.Fixed = nil, append([]uint64(nil), c.Fixed...)
	for _, it := range s.cut.Held {
		if it.Fixed(p.Compaction) {
			c.Fix(it.Ordinal)
		} else {
			c.Hold(it.Ordinal)
		}
	}
	c.Tops = append(c.Tops, thread.Top{
		Summary: rec.ID, Slot: rec.Slot, From: s.cut.Replaced[first].Ordinal, To: s.cut.At - 1,
	})
	c.Cut.Replace(s.cut.Position)
}
