package thread

import (
	"slices"

	"precis/events"
)

// Created folds a summary.created into the state: the summary takes its slot and replaces the previous holder. Its slot, that
// slot's holder, the job that made it and, for a tool output's summary, the message must be loaded. before is how many tokens of
// the thread it stands for, as far as the state has them.
func (s *State) Created(rec *events.Summary, data []byte, before int64) {
	s.link(rec.Head)
	slot := s.Slot(rec.Slot)
	s.succeed(slot, rec)
	if old := s.Summary(slot.Holder); old != nil {
		s.replace(old, rec.ID)
	}
	sum := &Summary{
		ID: rec.ID, Kind: rec.Kind, Slot: rec.Slot, Level: rec.Level, Current: rec.Current, Version: rec.Version,
		Sources: rec.SourceMessageIDs, SourceSums: rec.SourceSummaryIDs,
		TokensBefore: before, TokensAfter: rec.TokenCountAfter, CharsBefore: rec.CharsBefore,
		Status: Active, Record: data,
		Policy: rec.Policy, EventSeq: rec.EventSeq, EffectiveSeq: rec.EffectiveSeq, ChainSeq: rec.ChainSeq,
	}
	if rec.ExpiresAt != nil {
		sum.ExpiresAt = *rec.ExpiresAt
	}
	if m := s.Message; m != nil && rec.Slot == events.ToolSlot(m.ID) {
		sum.Aside = m.Pinned
		sum.Withheld = s.Compaction != nil && s.Compaction.KeepsWhole(m.Ordinal)
	}
	slot.Holder, slot.Version = rec.ID, max(slot.Version, rec.Version)
	s.endJob(rec.ID)
	s.Header.SummariesActive++
	s.Header.TokensLive -= sum.Saved()
	s.Changes.SummariesMade++
	s.Summaries = append(s.Summaries, sum)
	s.putSummary(sum)
	s.putSlot(slot)
}

func (s *State) replace(old *Summary, by string) {
	switch old.Status {
	case Active:
		s.Header.SummariesActive--
		s.Header.TokensLive += old.Saved()
	case Stale:
		s.Header.SummariesStale--
	}
	s.waits(old, false)
	old.Status, old.ReplacedBy = Replaced, by
	old.shed()
	s.putSummary(old)
}

// shed drops the record of a summary that is replaced and serves no more. It never stands again: what takes its slot back is a new version.
func (sum *Summary) shed() {
	if sum.Status == Replaced && !sum.Serves {
		sum.Record = nil
	}
}

// Invalidated folds a summary.invalidated into the state. The summary must be loaded.
func (s *State) Invalidated(rec *events.Invalidated, data []byte) {
	s.link(rec.Head)
	sum := s.Summary(rec.SummaryID)
	if sum == nil || sum.Status != Active {
		return
	}
	sum.Status, sum.Invalidated = Stale, data
	s.waits(sum, rec.Action == events.ActionRegenerate)
	s.Header.SummariesActive--
	s.Header.SummariesStale++
	if sum.Serves = rec.Meanwhile == events.MeanwhileServe && !sum.placeholder(); !sum.Serves {
		s.Header.TokensLive += sum.Saved()
	}
	s.putSummary(sum)
}

// Usage folds a usage.recorded into the state. The job must be loaded unless it has ended.
func (s *State) Usage(rec *events.UsageRecord) {
	s.link(rec.Head)
	if j := s.Job(rec.SummaryID); j != nil {
		j.Attempts, j.Calls = max(j.Attempts, rec.Attempt), nil
		s.PutJob(j)
	}
	s.Header.LLMInput += rec.Usage.InputTokens
	s.Header.LLMOutput += rec.Usage.OutputTokens
	if rec.Cost.AmountMicroUSD == nil {
		s.Header.CostUnknown++
		return
	}
	s.Header.CostMicroUSD += *rec.Cost.AmountMicroUSD
}

// Noted folds in a record that changes only the chain.
func (s *State) Noted(head events.Head) { s.link(head) }

// Voided notes the place in the chain of a record that rests on events whose loss was accepted. It adopts nothing else, not even
// the thread's first sequence.
func (s *State) Voided(head events.Head) {
	s.Header.ChainSeq, s.Header.Chain = head.ChainSeq, head.Chain
}

// link notes a record's place in the chain and the thread's first sequence, which a log that has lost its beginning no longer
// holds.
func (s *State) link(head events.Head) {
	h := &s.Header
	h.ChainSeq, h.Chain = head.ChainSeq, head.Chain
	if first := head.FirstEventSeq; first > 0 && (h.FirstSeq == 0 || first < h.FirstSeq) {
		h.FirstSeq = first
	}
}

// standFor makes the standing summary of a tool output track the output's size: it stands for the output until it is
// invalidated, which a policy may omit. Nothing stands in a prompt for a deleted output.
func (s *State) standFor(m *Message) {
	for _, sum := range s.Summaries {
		if sum.Kind != events.KindToolResult || !slices.Contains(sum.Sources, m.ID) {
			continue
		}
		before := m.Text.Tokens
		if m.Deleted {
			before = sum.TokensAfter
		}
		s.follow(sum, before-sum.TokensBefore)
	}
}

// Under makes the current compaction track what it stands for when a message under it gains or loses weight: the prompt does not
// change then. The slot of the current summary must be loaded.
func (s *State) Under(grown int64) {
	slot := s.Slot(events.SlotCurrent)
	for _, id := range []string{slot.Holder, slot.Serving} {
		if sum := s.Summary(id); sum != nil {
			s.follow(sum, grown)
		}
	}
}

// follow changes what a summary stands for, by grown tokens, if prompts may use it.
func (s *State) follow(sum *Summary, grown int64) {
	if !sum.Stands() || grown == 0 {
		return
	}
	saved := sum.Saved()
	sum.TokensBefore += grown
	s.Header.TokensLive -= sum.Saved() - saved
	s.putSummary(sum)
}

// Withhold has a tool output stand whole again, and keeps its summary from standing in for it.
func (s *State) Withhold(sum *Summary) { s.withhold(sum, true) }

// Release lets the summary of a tool output stand in for it from now on.
func (s *State) Release(sum *Summary) { s.withhold(sum, false) }

func (s *State) withhold(sum *Summary, withheld bool) {
	if sum.Withheld == withheld {
		return
	}
	saved := sum.Saved()
	sum.Withheld = withheld
	if sum.Stands() {
		s.Header.TokensLive -= sum.Saved() - saved
	}
	s.putSummary(sum)
}

// setAside excludes a summary from prompts, or includes it again.
func (s *State) setAside(sum *Summary, aside bool) {
	saved := sum.Saved()
	sum.Aside = aside
	if sum.Stands() {
		s.Header.TokensLive -= sum.Saved() - saved
	}
	s.putSummary(sum)
}

// Saved returns by how many tokens a standing summary shrinks its context: the prompt or, for a tool output that a compaction
// has replaced, what the compaction stands for. Histories never stand in a prompt, and neither does a compaction that stands for
// nothing (Compaction.Empty): it does not weigh what its text does.
func (sum *Summary) Saved() int64 {
	if sum.Aside || sum.Withheld || sum.Kind == events.KindHistory || sum.Kind == events.KindCompaction && (!sum.Current || sum.TokensBefore <= 0) {
		return 0
	}
	return sum.TokensBefore - sum.TokensAfter
}

func (s *State) putSummary(sum *Summary) {
	c := &s.Changes
	if c.summaries.find(c.SummaryPuts, sum.ID, func(sum *Summary) string { return sum.ID }) != nil {
		return
	}
	s.Changes.SummaryPuts = append(s.Changes.SummaryPuts, sum)
}

func (s *State) putSlot(slot *Slot) {
	c := &s.Changes
	if c.slots.find(c.SlotPuts, slot.Name, func(slot *Slot) string { return slot.Name }) != nil {
		return
	}
	s.Changes.SlotPuts = append(s.Changes.SlotPuts, slot)
}
