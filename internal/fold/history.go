package fold

import (
	"context"
	"errors"
	"slices"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/ledger"
	"precis/summarize/rules"
	"precis/summarize/tokens"
)

// historyMessages bounds the messages that a history is made from besides the thread's compactions: if a policy never compacts,
// the newest count.
const historyMessages = 1000

func tellsHistory(p *summarize.Policy) bool {
	return p.Enabled && p.History.Enabled && p.History.EveryMessages > 0
}

// historyDue reports whether the event added a message at which a history is due.
func historyDue(st *thread.State, p *summarize.Policy) bool {
	return tellsHistory(p) && st.Changes.MessageNew && st.Header.Ordinals%uint64(p.History.EveryMessages) == 0
}

// histories makes the thread's history if it is due, or recomputes it if the event made it stale. It reads the log and may fail;
// nothing is saved then.
func (f *Fold) histories(ctx context.Context, st *thread.State, d Delivery, drafts []draft, due bool, p *summarize.Policy) error {
	if !tellsHistory(p) {
		return nil
	}
	trigger := events.Trigger{Reason: events.TriggerRegenerated}
	if due {
		trigger = historyTrigger(st, p)
	} else if !slices.ContainsFunc(drafts, func(dr draft) bool {
		return dr.invalidated != nil && dr.invalidated.Kind == events.KindHistory && dr.invalidated.Action == events.ActionRegenerate
	}) {
		return nil
	}
	return f.history(ctx, st, d, p, trigger)
}

// historyTrigger gives the number of messages between histories as threshold and the number that have come as value, which is
// larger if a model was still writing the last one.
func historyTrigger(st *thread.State, p *summarize.Policy) events.Trigger {
	every := uint64(p.History.EveryMessages)
	threshold, value := float64(every), float64(every+st.Header.Ordinals%every)
	return events.Trigger{Reason: events.TriggerThreadMessages, Threshold: &threshold, Value: &value}
}

// history makes the history of a thread: by rules at once, or as the start of a job.
func (f *Fold) history(ctx context.Context, st *thread.State, d Delivery, p *summarize.Policy, trigger events.Trigger) error {
	if err := errors.Join(f.part.LoadSlot(st, events.SlotHistory), f.part.LoadJobs(st)); err != nil {
		return err
	}
	src, ok, err := f.historySources(st, p)
	if err != nil || !ok {
		return err
	}
	if p.Mode == summarize.ModeLLM {
		f.tellByModel(st, p, src, trigger, d)
		return nil
	}
	rec, err := f.historyRecord(st, d, p, src, trigger)
	if err != nil {
		return err
	}
	w := &compaction{f: f, st: st, d: d, p: p}
	text, err := w.historyText(ctx, src, rec.TokenCountBefore)
	if err != nil {
		return err
	}
	counter, err := tokens.For(p.Tokenizer)
	if err != nil {
		return err
	}
	rec.Content = f.secrets(text)
	rec.TokenCountAfter, rec.CharsAfter = int64(counter.Count(rec.Content)), runes(rec.Content)
	f.emit(st, draft{created: rec}, d)
	return nil
}

// tellByModel starts a history's job. If one is under way, historyBehind makes what falls due meanwhile.
func (f *Fold) tellByModel(st *thread.State, p *summarize.Policy, src historySource, trigger events.Trigger, d Delivery) {
	if !slices.ContainsFunc(st.Jobs, func(j *thread.Job) bool { return j.Started.Slot == events.SlotHistory }) {
		f.emit(st, draft{started: f.historyJob(st, p, src, trigger)}, d)
	}
}

// historySource is what a history is made from: the thread's top compactions, for what they stand for, and the messages after
// them. So its sources stay few, and whatever makes one of them stale makes the history stale too.
type historySource struct {
	tops []*thread.Summary
	rows []*thread.Message
}

func (s historySource) summaries() []string {
	list := make([]string, 0, len(s.tops))
	for _, sum := range s.tops {
		list = append(list, sum.ID)
	}
	return list
}

func (s historySource) messages() []string {
	list := make([]string, 0, len(s.rows))
	for _, m := range s.rows {
		list = append(list, m.ID)
	}
	return list
}

func (s historySource) digest() string {
	list := make([]summarize.Source, 0, len(s.rows)+len(s.tops))
	for _, m := range s.rows {
		list = append(list, summarize.Source{ID: m.ID, Revision: m.Revision, Digest: m.Digest})
	}
	return summarize.SourceDigest(append(list, summarySources(s.summaries())...))
}

// weight returns what the sources stand for in tokens and code points, and the level above theirs.
func (s historySource) weight() (before, chars int64, level int) {
	for _, m := range s.rows {
		size := m.Size()
		before, chars = before+size.Tokens, chars+size.Chars
	}
	for _, sum := range s.tops {
		before, chars, level = before+sum.TokensBefore, chars+sum.CharsBefore, max(level, sum.Level+1)
	}
	return before, chars, level
}

// historySources returns false if there is nothing to summarize, or if a compaction is stale and has no replacement yet.
func (f *Fold) historySources(st *thread.State, p *summarize.Policy) (src historySource, ok bool, err error) {
	if err := f.part.LoadCompaction(st); err != nil {
		return src, false, err
	}
	c := st.Compaction
	w := &compaction{f: f, st: st, p: p}
	for _, id := range ids(c.Tops) {
		sum, err := w.summary(id)
		if err != nil || sum.Status != thread.Active {
			return src, false, err
		}
		src.tops = append(src.tops, sum)
	}
	name, from := st.Header.Thread, c.To()+1
	if st.Header.Ordinals > historyMessages {
		from = max(from, st.Header.Ordinals-historyMessages+1)
	}
	held, err := f.part.MessagesAt(name, c.Held)
	if err != nil {
		return src, false, err
	}
	rows, err := f.part.Messages(name, from, st.Header.Ordinals+1)
	if err != nil {
		return src, false, err
	}
	rows = append(held, rows...)
	if m := st.Message; m != nil && st.Changes.MessageNew {
		rows = append(rows, m) // not in the store yet
	}
	src.rows = newest(w.live(rows))
	return src, len(src.rows)+len(src.tops) > 0, nil
}

// historyRecord returns the record of a history by rules, without its text.
func (f *Fold) historyRecord(st *thread.State, d Delivery, p *summarize.Policy, src historySource, trigger events.Trigger) (*events.Summary, error) {
	version := rules.Version
	slot := st.Slot(events.SlotHistory)
	rec := &events.Summary{
		AsOfMessageID: orNull(st.Header.LastMessageID), Kind: events.KindHistory, Slot: events.SlotHistory,
		Version: slot.Version + 1, Replaces: holderOf(slot),
		SourceMessageIDs: src.messages(), SourceSummaryIDs: src.summaries(), SourceDigest: src.digest(),
		Tokenizer: p.Tokenizer, Method: events.MethodRules, RulesVersion: &version,
		Policy: p.Name, PolicyFingerprint: summarize.KindFingerprint(*p, events.KindHistory),
		PolicyUnresolved: orNull(f.unresolved(st)), Trigger: trigger, Cost: free(), CreatedAt: d.Time,
	}
	rec.TokenCountBefore, rec.CharsBefore, rec.Level = src.weight()
	if p.Staleness.TTL > 0 && p.Stale("ttl") {
		rec.ExpiresAt = expiry(d.Time, p.Staleness.TTL)
	}
	rec.ID = summarize.Identity{
		Thread: st.Header.Thread, Kind: rec.Kind, Slot: rec.Slot, Version: rec.Version,
		SourceDigest: rec.SourceDigest, PolicyFingerprint: rec.PolicyFingerprint, Method: rules.Version,
	}.ID()
	return rec, nil
}

// historyText returns the text that the rules make.
func (w *compaction) historyText(ctx context.Context, src historySource, before int64) (string, error) {
	counter, err := tokens.For(w.p.Tokenizer)
	if err != nil {
		return "", err
	}
	leaves, _, _, err := w.parts(ctx, src.summaries())
	if err != nil {
		return "", err
	}
	messages, err := w.messages(ctx, src.rows)
	if err != nil {
		return "", err
	}
	l := ledger.Join(append(leaves, ledger.Collect(messages)))
	return HistoryBudget(w.p, before).Fit(l.Text, counter.Count), nil
}

// HistoryBudget returns the limits of a history. No prompt includes it, so the context window does not matter.
func HistoryBudget(p *summarize.Policy, before int64) Budget {
	n := int(min(int64(p.History.MaxSummaryTokens), max(before/2, 1)))
	return Budget{Tokens: n, Chars: min(n*charsPerToken, textChars)}
}

// historyJob returns the job of a history by a model.
func (f *Fold) historyJob(st *thread.State, p *summarize.Policy, src historySource, trigger events.Trigger) *thread.Job {
	model, prompt := f.config.model(p), promptVersion(p, events.KindHistory, "")
	job := &thread.Job{AsOf: st.Header.LastMessageID, Unresolved: f.unresolved(st), Started: events.Started{
		Kind: events.KindHistory, Slot: events.SlotHistory, Version: st.Slot(events.SlotHistory).Version + 1,
		Trigger: trigger, SourceMessageIDs: src.messages(), SourceSummaryIDs: src.summaries(), SourceDigest: src.digest(),
		Policy: p.Name, PolicyFingerprint: summarize.KindFingerprint(*p, events.KindHistory),
		Model: &model, PromptVersion: &prompt,
	}}
	job.Started.SummaryID = jobID(st, job, prompt, model)
	return job
}

// historyBehind continues after a history's job has ended: it starts again a superseded one that is still wanted, and one that
// fell due meanwhile.
func (f *Fold) historyBehind(st *thread.State, job *thread.Job, superseded bool, now time.Time) error {
	p, _ := f.policy(st, nil)
	if p.Mode != summarize.ModeLLM {
		return nil
	}
	var trigger events.Trigger
	switch owed, err := f.HistoryOwed(st, job); {
	case err != nil:
		return err
	case superseded && p.Enabled && job.Started.Trigger.Reason == events.TriggerRequested:
		trigger = job.Started.Trigger // the requester is waiting
	case superseded && tellsHistory(p):
		trigger = events.Trigger{Reason: events.TriggerRegenerated}
	case owed:
		trigger = historyTrigger(st, p)
	default:
		return nil
	}
	src, ok, err := f.historySources(st, p)
	if err == nil && ok {
		f.tellByModel(st, p, src, trigger, Delivery{Seq: st.Header.EventSeq, Time: now})
	}
	return err
}

// HistoryOwed reports whether a message at which a history is due has come since a history's job was decided.
func (f *Fold) HistoryOwed(st *thread.State, job *thread.Job) (bool, error) {
	p, _ := f.policy(st, nil)
	if job.Started.Slot != events.SlotHistory || !tellsHistory(p) {
		return false, nil
	}
	asOf, err := f.part.Message(st.Header.Thread, job.AsOf)
	if err != nil || asOf == nil {
		return false, err
	}
	every := uint64(p.History.EveryMessages)
	return st.Header.Ordinals/every > asOf.Ordinal/every, nil
}

// DueHistory returns the history that is due at a message, without its text: a record or the start of a job. It is nil if none
// is due.
func (f *Fold) DueHistory(st *thread.State, at Delivery, trigger events.Trigger) (events.Record, error) {
	p, _ := f.policy(st, nil)
	regenerated := trigger.Reason == events.TriggerRegenerated
	if trigger.Reason == events.TriggerRequested {
		regenerated = true // a request needs no threshold
	} else if !tellsHistory(p) {
		return nil, nil
	}
	if !p.Enabled || !regenerated && st.Header.Ordinals%uint64(p.History.EveryMessages) != 0 {
		return nil, nil
	}
	src, ok, err := f.historySources(st, p)
	if err != nil || !ok {
		return nil, err
	}
	if p.Mode == summarize.ModeLLM {
		return &f.historyJob(st, p, src, trigger).Started, nil
	}
	return f.historyRecord(st, at, p, src, trigger)
}
