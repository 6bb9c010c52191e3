package fold

import (
	"context"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/ledger"
)

// historyMessages bounds the messages that a history is made from besides the thread's compactions: if a policy never compacts,
// the newest count.
const historyMessages = 1000

func tellsHistory(p *summarize.Policy) bool {
	return p.Enabled && p.History.Enabled && p.History.EveryMessages > 0
}

// histories returns how many histories are due by a thread's messages, and how many messages have come since the last one was.
func histories(p *summarize.Policy, messages uint64) (due, since uint64) {
	every := uint64(p.History.EveryMessages)
	return messages / every, messages % every
}

// historyDue reports whether the event added a message at which a history is due.
func (s *Step) historyDue() bool { return s.st.Changes.MessageNew && s.atHistory() }

// atHistory reports whether a history is due at the thread's last message.
func (s *Step) atHistory() bool {
	if !tellsHistory(s.p) {
		return false
	}
	_, since := histories(s.p, s.st.Header.Ordinals)
	return since == 0
}

// TellHistory makes the thread's history if it is due, or recomputes it if the event made it stale.
func (s *Step) TellHistory(ctx context.Context) {
	switch {
	case !s.decides || !tellsHistory(s.p):
	case s.historyDue():
		s.history(ctx, s.historyTrigger())
	case slices.ContainsFunc(s.decided, func(rec events.Record) bool {
		inv, ok := rec.(*events.Invalidated)
		return ok && inv.Kind == events.KindHistory && inv.Action == events.ActionRegenerate
	}):
		s.history(ctx, events.Trigger{Reason: events.TriggerRegenerated})
	}
}

// historyTrigger gives the number of messages between histories as threshold and the number that have come as value, which is
// larger if a model was still writing the last one.
func (s *Step) historyTrigger() events.Trigger {
	every := s.p.History.EveryMessages
	_, since := histories(s.p, s.st.Header.Ordinals)
	threshold, value := float64(every), float64(uint64(every)+since)
	return events.Trigger{Reason: events.TriggerThreadMessages, Threshold: &threshold, Value: &value}
}

// history makes the history of a thread: by rules at once, or as the start of a job. If one is under way, historyBehind makes what
// falls due meanwhile.
func (s *Step) history(ctx context.Context, trigger events.Trigger) {
	s.slot(events.SlotHistory)
	s.loadJobs()
	src, ok := s.historySources()
	switch {
	case !ok:
	case s.p.Mode == summarize.ModeLLM:
		s.startHistory(src, trigger)
	default:
		rec := s.historyRecord(src, trigger)
		leaves, _, _ := s.parts(ctx, rec.SourceSummaryIDs)
		l := ledger.Join(append(leaves, ledger.Collect(s.spoken(ctx, src.rows))))
		s.write(rec, HistoryBudget(s.p, rec.TokenCountBefore).Fit(l.Text, counterOf(s.p.Tokenizer).Count))
		s.emit(rec)
	}
}

// startHistory starts a history's job, unless one is under way. Jobs must be loaded.
func (s *Step) startHistory(src historySource, trigger events.Trigger) {
	if !s.underWay(events.SlotHistory) {
		s.emit(s.historyStarted(src, trigger))
	}
}

// historySource is what a history is made from: the thread's top compactions, for what they stand for, and the messages after
// them. So its sources stay few, and whatever makes one of them stale makes the history stale too.
type historySource struct {
	tops []*thread.Summary
	rows []*thread.Message
}

func (src historySource) summaries() []string {
	return namesOf(src.tops, func(sum *thread.Summary) string { return sum.ID })
}

func (src historySource) messages() []string {
	return namesOf(src.rows, func(m *thread.Message) string { return m.ID })
}

func (src historySource) digest() string {
	return summarize.SourceDigest(append(messageSources(src.rows), summarySources(src.summaries())...))
}

// historySources returns false if there is nothing to summarize, or if a compaction is stale and has no replacement yet.
func (s *Step) historySources() (src historySource, ok bool) {
	c := s.loadCompaction()
	for _, id := range ids(c.Tops) {
		sum := s.summary(id)
		if sum.Status != thread.Active {
			return src, false
		}
		src.tops = append(src.tops, sum)
	}
	rows := append(s.rowsAt(c.Held), s.newestBehind(c.To(), historyMessages)...)
	if m := s.st.Message; m != nil && s.st.Changes.MessageNew {
		rows = append(rows, m) // not in the store yet
	}
	src.rows = newest(s.live(rows))
	return src, len(src.rows)+len(src.tops) > 0
}

// newestBehind returns the thread's newest messages behind an ordinal, at most so many, without those that a rewind has removed.
func (s *Step) newestBehind(ordinal uint64, most int) (rows []*thread.Message) {
	s.backwards(s.st.Header.Ordinals+1, func(m *thread.Message) bool {
		if m.Ordinal <= ordinal || len(rows) == most {
			return false
		}
		if !m.Rewound {
			rows = append(rows, m)
		}
		return true
	})
	slices.Reverse(rows)
	return rows
}

// historyRecord returns the record of a history by rules, without its text.
func (s *Step) historyRecord(src historySource, trigger events.Trigger) *events.Summary {
	rec := s.byRules(events.KindHistory, events.SlotHistory, trigger)
	rec.SourceMessageIDs, rec.SourceSummaryIDs, rec.SourceDigest = src.messages(), src.summaries(), src.digest()
	for _, m := range src.rows {
		size := m.Size()
		rec.TokenCountBefore, rec.CharsBefore = rec.TokenCountBefore+size.Tokens, rec.CharsBefore+size.Chars
	}
	for _, sum := range src.tops {
		rec.TokenCountBefore, rec.CharsBefore = rec.TokenCountBefore+sum.TokensBefore, rec.CharsBefore+sum.CharsBefore
		rec.Level = max(rec.Level, sum.Level+1)
	}
	s.identify(rec)
	return rec
}

// historyStarted returns the start of a history by a model.
func (s *Step) historyStarted(src historySource, trigger events.Trigger) *events.Started {
	return s.started(events.KindHistory, events.SlotHistory, "", trigger, src.messages(), src.summaries(), src.digest())
}

// HistoryBudget returns the limits of a history. No prompt includes it, so the context window does not matter.
func HistoryBudget(p *summarize.Policy, before int64) Budget {
	n := int(min(int64(p.History.MaxSummaryTokens), max(before/2, 1)))
	return Budget{Tokens: n, Chars: min(n*charsPerToken, textChars)}
}

// historyBehind continues after a history's job has ended: it starts again a superseded one that is still wanted, and one that
// fell due meanwhile.
func (s *Step) historyBehind(job *thread.Job, superseded bool) {
	if s.p.Mode != summarize.ModeLLM {
		return
	}
	var trigger events.Trigger
	switch owed := s.historyOwed(job); {
	case superseded && s.p.Enabled && job.Started.Trigger.Reason == events.TriggerRequested:
		trigger = job.Started.Trigger // the requester is waiting
	case superseded && tellsHistory(s.p):
		trigger = events.Trigger{Reason: events.TriggerRegenerated}
	case owed:
		trigger = s.historyTrigger()
	default:
		return
	}
	if src, ok := s.historySources(); ok {
		s.startHistory(src, trigger)
	}
}

// HistoryOwed reports whether a message at which a history is due has come since a history's job was decided.
func (f *Fold) HistoryOwed(st *thread.State, job *thread.Job) (owed bool, err error) {
	err = attempt(func() { owed = f.step(st, Delivery{}).historyOwed(job) })
	return owed, err
}

func (s *Step) historyOwed(job *thread.Job) bool {
	if job.Started.Slot != events.SlotHistory || !tellsHistory(s.p) {
		return false
	}
	now, _ := histories(s.p, s.st.Header.Ordinals)
	before, _ := histories(s.p, job.Ordinals)
	return now > before
}

// DueHistory returns the history that is due at a message, without its text: a record or the start of a job. It is nil if none
// is due.
func (f *Fold) DueHistory(st *thread.State, at Delivery, trigger events.Trigger) (rec events.Record, err error) {
	err = attempt(func() { rec = f.step(st, at).dueHistory(trigger) })
	return rec, err
}

func (s *Step) dueHistory(trigger events.Trigger) events.Record {
	switch {
	case !s.p.Enabled:
		return nil
	case trigger.Reason == events.TriggerRequested: // it needs no threshold
	case !tellsHistory(s.p):
		return nil
	case trigger.Reason != events.TriggerRegenerated && !s.atHistory():
		return nil
	}
	src, ok := s.historySources()
	switch {
	case !ok:
		return nil
	case s.p.Mode == summarize.ModeLLM:
		return s.historyStarted(src, trigger)
	}
	return s.historyRecord(src, trigger)
}
