package fold

import (
	"context"
	"slices"

	"precis/events"
	"precis/internal/thread"
)

// What follows from staleness. What an edit made stale is recomputed by the same event (remakeInvalidated), and a stale source before
// what is made from it (fresh). A summary that became stale by its policy, prompt, model or age waits until its thread is used: the
// thread's next event or a request recomputes it (renew). Unused threads cost nothing.

// waive gives up waiting summaries that no longer have a reason to be recomputed. It depends only on the thread's rows and so
// needs no record: a recovery does the same at the same event. It returns what the event recomputes.
func (s *Step) waive() (waiting []string) {
	if s.st.Header.Renewals == 0 || s.st.Compaction == nil || !s.p.Enabled {
		return nil
	}
	waiting = got(s.f.part.Renewals(s.st.Header.Thread, renewAtOnce))
	for _, id := range waiting {
		sum := s.summary(id)
		switch {
		case !sum.Renew:
		case sum.Kind == events.KindHistory && !tellsHistory(s.p):
			s.waiveOne(sum, nil)
		case sum.Kind == events.KindToolResult:
			if m := s.sourceOf(sum); !asked(s.p, m) {
				s.waiveOne(sum, m)
			}
		}
	}
	return waiting
}

// waiveOne gives up recomputing a summary; m is the message of a tool output's summary, else nil.
func (s *Step) waiveOne(sum *thread.Summary, m *thread.Message) {
	if m == nil {
		m = s.st.Message
	} else {
		s.loadOver(m)
	}
	s.about(m, func() { s.reweigh(sum.Kind, func() { s.st.Waive(sum) }) })
}

// giveUp stops waiting for the summary of a tool output that retention has removed: otherwise it would delay what can be
// recomputed. It makes no record, since none could be proved: the source is not in the log.
func (s *Step) giveUp(m *thread.Message) {
	sum := s.holder(events.ToolSlot(m.ID))
	if sum == nil || !sum.Renew {
		return
	}
	s.waiveOne(sum, m)
	s.f.GivenUp()
	s.f.Logger.Info().Str("thread_id", s.st.Header.Thread).Str("summary_id", sum.ID).
		Msg("a stale summary is not recomputed: the log no longer holds its source")
}

// renew recomputes those of the given summaries that still wait; the event may have recomputed or given up some.
func (s *Step) renew(ctx context.Context, waiting []string) {
	if !s.p.Enabled {
		return
	}
	trigger := events.Trigger{Reason: events.TriggerRegenerated}
	for _, id := range waiting {
		sum := s.summary(id)
		switch {
		case !sum.Renew:
		case sum.Kind == events.KindCompaction:
			s.remake(ctx, sum, trigger, false)
		case sum.Kind == events.KindHistory:
			if tellsHistory(s.p) && !s.historyDue() { // else it is not wanted, or the event makes the next one
				s.history(ctx, trigger)
			}
		case sum.Kind == events.KindToolResult:
			m := s.sourceOf(sum)
			s.summarizeEarlier(m, s.readOutput(ctx, m), trigger)
		}
	}
}

// waits returns the compactions of the thread that wait to be recomputed, as many as a step of a request takes.
func (s *Step) waits() []string {
	if s.st.Header.RenewCompactions == 0 {
		return nil
	}
	return got(s.f.part.Renewals(s.st.Header.Thread, int(min(s.st.Header.RenewCompactions, renewAsked)))) // compactions rank first
}

// remakeInvalidated recomputes what an edit made stale, if the policy says so: the leaf that contains the message, the nodes above it
// and the current summary, sources before what is made from them. Other leaves stay the same, byte for byte.
func (s *Step) remakeInvalidated(ctx context.Context) {
	var stale []*thread.Summary
	for _, rec := range s.decided {
		inv, ok := rec.(*events.Invalidated)
		if !ok || inv.Kind != events.KindCompaction || inv.Action != events.ActionRegenerate {
			continue
		}
		if sum := s.st.Summary(inv.SummaryID); sum != nil && sum.Status == thread.Stale {
			stale = append(stale, sum)
		}
	}
	if !s.p.Enabled {
		return
	}
	slices.SortStableFunc(stale, func(a, b *thread.Summary) int { return int(a.RenewalRank()) - int(b.RenewalRank()) })
	for _, sum := range stale {
		s.remake(ctx, sum, events.Trigger{Reason: events.TriggerRegenerated}, true)
	}
}

// fresh recomputes the stale sources of the next compaction: what a policy trims stays stale, and a new summary must not be made
// from it. The thread's header counts its stale summaries: if all of them are loaded, tops that are not loaded need no check.
// done is false if the event has reached its limit: the next event continues, and nothing is made from the stale ones before.
func (s *Step) fresh(ctx context.Context, why reason) (done bool) {
	for _, top := range slices.Clone(s.st.Compaction.Tops) {
		if s.st.Summary(top.Summary) == nil && s.st.StaleLoaded() {
			continue
		}
		if !s.freshen(ctx, top.Summary, why) {
			s.unfinished = true
			return false
		}
	}
	return true
}

// freshen recomputes a stale leaf or node, after its sources.
func (s *Step) freshen(ctx context.Context, id string, why reason) (done bool) {
	sum := s.summary(id)
	if holder := s.st.Slot(sum.Slot).Holder; holder != id {
		sum = s.summary(holder)
	}
	if sum.Status == thread.Active {
		return true
	}
	for _, child := range sum.SourceSums {
		if !s.freshen(ctx, child, why) {
			return false
		}
	}
	if s.freshened >= renewAtOnce && !s.patient || s.freshened >= renewAsked {
		return false
	}
	trigger, ok := why()
	if !ok {
		return false
	}
	s.freshened++
	s.remake(ctx, sum, trigger, false)
	return true
}

// remake recomputes a stale summary; sources must be recomputed before what was made from them. own: the event itself made it
// stale.
func (s *Step) remake(ctx context.Context, sum *thread.Summary, trigger events.Trigger, own bool) {
	switch {
	case sum.Slot == events.SlotCurrent:
		s.current(ctx, trigger)
	case len(sum.SourceSums) > 0:
		s.node(ctx, sum.Slot, sum.Level, s.replacedBy(sum.SourceSums, own), trigger)
	default:
		rows := s.inside(s.rowsOf(sum.Sources))
		s.leaf(ctx, sum.Slot, rows, max(s.weigh(rows), 1), trigger)
	}
}

// replacedBy returns the summaries that now hold the slots of a node's sources. own: until the event made the node stale all of
// them held their slots, and those that no longer do are loaded.
func (s *Step) replacedBy(ids []string, own bool) []string {
	ids = slices.Clone(ids)
	for i, id := range ids {
		if !own || s.st.Summary(id) != nil {
			ids[i] = got(s.f.part.Holder(s.st, s.slotOf(id)))
		}
	}
	return ids
}

func (s *Step) slotOf(id string) string {
	if p, ok := s.f.ledgers.Peek(id); ok {
		return p.slot
	}
	return s.summary(id).Slot
}
