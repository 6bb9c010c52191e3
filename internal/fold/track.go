package fold

import (
	"errors"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/cut"
)

// weighed returns the event's message as cuts see it before the event; nil if there is none yet.
func weighed(st *thread.State) *cut.Item {
	if st.Message == nil || st.Compaction == nil {
		return nil
	}
	it := st.Message.Item(weight(st))
	return &it
}

// weight returns the tokens of the event's message in a prompt without compaction.
func weight(st *thread.State) int64 { return weightOf(st, st.Message) }

// weightOf returns the tokens of a message there: its own, or its summary's. Its slot must be loaded.
func weightOf(st *thread.State, m *thread.Message) int64 {
	if !m.Tool || m.Pinned {
		return m.Tokens()
	}
	if sum := st.Summary(st.Slot(toolSlot(m.ID)).Holder); sum != nil && sum.Stands() {
		return m.Tokens() - sum.Saved()
	}
	return m.Tokens()
}

// track updates, after an event, the counters that decide on the next cut.
func track(st *thread.State, res thread.Result, before *cut.Item, p *summarize.Policy) {
	c := st.Compaction
	if c == nil || !res.Revised && !res.Pinned {
		return
	}
	st.Changes.Compacted = true
	it := st.Message.Item(weight(st))
	if st.Changes.MessageNew {
		c.Cut.Apply(it, p.Compaction)
		return
	}
	restored := before.Deleted && !it.Deleted && c.Replaced(it.Ordinal) && leafOf(st, it.MessageID) == nil
	unpinned := before.Fixed(p.Compaction) && !it.Fixed(p.Compaction) && slices.Contains(c.Fixed, it.Ordinal)
	if restored || unpinned {
		c.Hold(it.Ordinal)
	}
	adjust(st, *before, it, p.Compaction)
}

// adjust applies a message's changed weight. If a compaction stands for the message, the compaction stands for more or less, and
// the prompt does not change.
func adjust(st *thread.State, before, after cut.Item, p summarize.Compaction) {
	c := st.Compaction
	c.Cut.Adjust(before, after, p)
	if c.Replaced(before.Ordinal) {
		was := c.Cut.Gone.Tokens
		c.Cut.Gone = c.Cut.Gone.Changed(before, after)
		st.Under(c.Cut.Gone.Tokens - was)
	}
	st.Changes.Compacted = true
}

// created folds in a summary.created and its effect on the next cut. letGo are the messages that a leaf no longer stands for.
func (f *Fold) created(st *thread.State, rec *events.Summary, data []byte, letGo []cut.Item) {
	f.reweigh(st, rec.Kind, func() { st.Created(rec, data, standsFor(st, rec)) })
	if len(letGo) > 0 { // they are verbatim now and must not also stand in an older text
		st.Retire(events.SlotCurrent)
	}
	if rec.Replaces != nil {
		outdate(st, func(j *thread.Job) bool { return slices.Contains(j.Started.SourceSummaryIDs, *rec.Replaces) })
	}
	if rec.Slot == events.SlotCurrent {
		outdate(st, func(j *thread.Job) bool { return j.Started.Slot == events.SlotCurrent })
	}
	if st.Compaction != nil && rec.Kind == events.KindCompaction {
		f.placed(st, rec, letGo)
	}
}

// standsFor returns how many of the thread's tokens a summary stands for: usually what the record says. Sources that retention
// has removed are in no counter, so a summary of them saves nothing.
func standsFor(st *thread.State, rec *events.Summary) int64 {
	switch {
	case rec.Kind == events.KindToolResult && st.Message == nil:
		return rec.TokenCountAfter
	case rec.Slot == events.SlotCurrent && st.Compaction != nil:
		return st.Compaction.Cut.Gone.Tokens
	}
	return rec.TokenCountBefore
}

// invalidated folds in a summary.invalidated and its effect on the next cut, and supersedes the jobs that use the summary.
func (f *Fold) invalidated(st *thread.State, rec *events.Invalidated, data []byte) {
	f.reweigh(st, rec.Kind, func() { st.Invalidated(rec, data) })
	outdate(st, func(j *thread.Job) bool { return slices.Contains(j.Started.SourceSummaryIDs, rec.SummaryID) })
}

// failed folds in a summary.failed: what served until the job was done may no longer serve.
func (f *Fold) failed(st *thread.State, rec *events.Failed) {
	f.reweigh(st, rec.Kind, func() { st.Failed(rec) })
}

// retire stops what a change of the event's message makes untrue from serving: the message's own summary, and the compaction
// that stands for it. Both slots must be loaded.
func (f *Fold) retire(st *thread.State) {
	if st.Message.Tool {
		f.reweigh(st, events.KindToolResult, func() { st.Retire(toolSlot(st.Message.ID)) })
	}
	if st.Compaction == nil || st.Compaction.Replaced(st.Message.Ordinal) {
		st.Retire(events.SlotCurrent)
	}
}

// waiveOne gives up recomputing a summary; m is the message of a tool output's summary, else nil.
func (f *Fold) waiveOne(st *thread.State, sum *thread.Summary, m *thread.Message) error {
	own := st.Message
	if m != nil {
		st.Message = m
	}
	err := f.loadOver(st, m)
	if err == nil {
		f.reweigh(st, sum.Kind, func() { st.Waive(sum) })
	}
	st.Message = own
	return err
}

// reweigh folds in a record that can change its message's weight in a prompt. For a tool output the message must be loaded.
func (f *Fold) reweigh(st *thread.State, kind string, fold func()) {
	if kind != events.KindToolResult || st.Compaction == nil || st.Message == nil {
		fold()
		return
	}
	before := st.Message.Item(weight(st))
	fold()
	p, _ := f.policy(st, nil)
	adjust(st, before, st.Message.Item(weight(st)), p.Compaction)
}

// loadSlot loads what the creation of a summary changes.
func (f *Fold) loadSlot(st *thread.State, kind, slot string, sources []string) (err error) {
	if err = f.part.LoadSlot(st, slot); err != nil {
		return err
	}
	if err = f.part.LoadCompaction(st); err != nil {
		return err
	}
	if kind == events.KindToolResult && len(sources) > 0 && (st.Message == nil || st.Message.ID != sources[0]) {
		st.Message, err = f.part.Message(st.Header.Thread, sources[0])
	}
	if err != nil {
		return err
	}
	return f.loadOver(st, st.Message)
}

// loadOver loads the current compaction if it stands for the message.
func (f *Fold) loadOver(st *thread.State, m *thread.Message) error {
	if m == nil || st.Compaction == nil || !st.Compaction.Replaced(m.Ordinal) {
		return nil
	}
	return f.part.LoadSlot(st, events.SlotCurrent)
}

// loadStale loads what the invalidation of a summary changes.
func (f *Fold) loadStale(st *thread.State, id string) error {
	if err := errors.Join(f.part.LoadSummary(st, id), f.part.LoadJobs(st)); err != nil {
		return err
	}
	sum := st.Summary(id)
	return f.loadSlot(st, sum.Kind, sum.Slot, sum.Sources)
}
