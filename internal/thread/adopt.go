package thread

import (
	"slices"

	"precis/events"
)

// Created folds a summary.created into the state: the summary takes its slot, and what held the
// slot before is replaced. Its slot, that slot's holder and the job that made it must be loaded.
func (s *State) Created(rec *events.Summary, data []byte) {
	s.link(rec.Head)
	slot := s.Slot(rec.Slot)
	if old := s.Summary(slot.Holder); old != nil {
		s.replace(old, rec.ID)
	}
	sum := &Summary{
		ID: rec.ID, Kind: rec.Kind, Slot: rec.Slot, Level: rec.Level, Current: rec.Current, Version: rec.Version,
		Sources: rec.SourceMessageIDs, SourceSums: rec.SourceSummaryIDs,
		TokensBefore: rec.TokenCountBefore, TokensAfter: rec.TokenCountAfter, CharsBefore: rec.CharsBefore,
		Status: Active, Record: data,
	}
	if rec.ExpiresAt != nil {
		sum.ExpiresAt = *rec.ExpiresAt
	}
	slot.Holder, slot.Version = rec.ID, max(slot.Version, rec.Version)
	s.endJob(rec.ID)
	s.Header.SummariesActive++
	s.Header.TokensLive -= sum.Saved()
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
	s.putSummary(old)
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
	s.Header.TokensLive += sum.Saved()
	s.putSummary(sum)
}

// Usage folds a usage.recorded into the state. The job must be loaded, where it has not ended.
func (s *State) Usage(rec *events.UsageRecord) {
	s.link(rec.Head)
	if j := s.Job(rec.SummaryID); j != nil {
		j.Attempts, j.Begun = max(j.Attempts, rec.Attempt), false
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

// Noted folds a record that changes nothing but the chain.
func (s *State) Noted(head events.Head) { s.link(head) }

func (s *State) link(head events.Head) {
	s.Header.ChainSeq, s.Header.Chain = head.ChainSeq, head.Chain
}

// standFor has the active summaries of a message follow its size: they go on standing for it until they
// are invalidated, which a policy may leave out.
func (s *State) standFor(message string, grown int64) {
	for _, sum := range s.Summaries {
		if sum.Status != Active || !slices.Contains(sum.Sources, message) {
			continue
		}
		saved := sum.Saved()
		sum.TokensBefore += grown
		s.Header.TokensLive -= sum.Saved() - saved
		s.putSummary(sum)
	}
}

// Saved is by how many tokens an active summary makes a prompt smaller. Histories never stand in a
// prompt.
func (sum *Summary) Saved() int64 {
	if !sum.Current || sum.Kind == events.KindHistory {
		return 0
	}
	return sum.TokensBefore - sum.TokensAfter
}

func (s *State) putSummary(sum *Summary) {
	for _, p := range s.Changes.SummaryPuts {
		if p.ID == sum.ID {
			return
		}
	}
	s.Changes.SummaryPuts = append(s.Changes.SummaryPuts, sum)
}

func (s *State) putSlot(slot *Slot) {
	for _, p := range s.Changes.SlotPuts {
		if p.Name == slot.Name {
			return
		}
	}
	s.Changes.SlotPuts = append(s.Changes.SlotPuts, slot)
}
