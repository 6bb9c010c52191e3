package fold

import (
	"context"
	"errors"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// A summary that became stale by its policy, its prompt, its model or its age waits until somebody needs its
// thread: the thread's next event makes it again, or a request. Threads that are dead cost nothing.

// renewAtOnce is how many summaries one event makes again: a leaf of 100,000 tokens takes some 50 ms, and
// the events behind it wait for that.
const renewAtOnce = 8

// waive gives up what waits and has no reason to be made again. It depends on the thread's rows alone, so
// that it needs no record: a recovery does the same at the same event. It returns what the event makes again.
func (f *Fold) waive(st *thread.State, p *summarize.Policy) (waiting []string, err error) {
	if st.Header.Renewals == 0 || st.Compaction == nil || !p.Enabled {
		return nil, nil
	}
	ids, err := f.part.Renewals(st.Header.Thread, renewAtOnce)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := f.part.LoadSummary(st, id); err != nil {
			return nil, err
		}
		sum := st.Summary(id)
		if sum.Renew && sum.Kind == events.KindHistory && !tellsHistory(p) {
			if err := f.waiveOne(st, sum, nil); err != nil {
				return nil, err
			}
		}
		if !sum.Renew || sum.Kind != events.KindToolResult {
			continue
		}
		m, err := f.part.Message(st.Header.Thread, sum.Sources[0])
		if err != nil {
			return nil, err
		}
		if m = asItIs(st, m); !asked(p, m) {
			if err := f.waiveOne(st, sum, m); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

// asked says whether a policy has a tool output summarized as it is now.
func asked(p *summarize.Policy, m *thread.Message) bool {
	if m == nil || m.Deleted {
		return false
	}
	_, ok := p.ToolTrigger(m.Text.Chars, m.Text.Tokens)
	return ok
}

// renew makes again what waits of some summaries. It reads the log and may fail; nothing is saved then.
func (w *compaction) renew(ctx context.Context, waiting []string) error {
	if !w.p.Enabled {
		return nil
	}
	for _, id := range waiting {
		sum, err := w.summary(id)
		if err != nil {
			return err
		}
		if !sum.Renew {
			continue // the event has made it again, or given it up
		}
		if err := w.renewOne(ctx, sum); err != nil {
			return err
		}
	}
	return nil
}

func (w *compaction) renewOne(ctx context.Context, sum *thread.Summary) error {
	trigger := events.Trigger{Reason: events.TriggerRegenerated}
	switch sum.Kind {
	case events.KindCompaction:
		return w.remake(ctx, sum, trigger, false)
	case events.KindHistory:
		if !tellsHistory(w.p) || historyDue(w.st, w.p) {
			return nil // nobody wants it, or the event makes the next one
		}
		return w.f.history(ctx, w.st, w.d, w.p, trigger)
	case events.KindToolResult:
		m, err := w.f.part.Message(w.st.Header.Thread, sum.Sources[0])
		if err != nil {
			return err
		}
		return w.f.toolAgain(ctx, w.st, asItIs(w.st, m), w.d, w.p, trigger)
	}
	return nil
}

// waits are the compactions of the thread that wait to be made again.
func (w *compaction) waits() ([]string, error) {
	if w.st.Header.RenewCompactions == 0 {
		return nil, nil
	}
	return w.f.part.Renewals(w.st.Header.Thread, int(w.st.Header.RenewCompactions)) // they come first
}

// replacedBy are the summaries that hold the places of those that a node was made from now. Where the event has made
// it stale, all held theirs until then, and those that no longer do are loaded.
func (w *compaction) replacedBy(ids []string, own bool) ([]string, error) {
	ids = slices.Clone(ids)
	for i, id := range ids {
		if own && w.st.Summary(id) == nil {
			continue
		}
		slot, err := w.slotOf(id)
		if err != nil {
			return nil, err
		}
		if ids[i], err = w.f.part.Holder(w.st, slot); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (w *compaction) slotOf(id string) (string, error) {
	if p, ok := w.f.ledgers.Peek(id); ok {
		return p.slot, nil
	}
	sum, err := w.summary(id)
	if err != nil {
		return "", err
	}
	return sum.Slot, nil
}

// fresh makes again what the next compaction would stand on and is stale: what a policy trims is stale for
// good, and a new summary may not be made of it. A thread says how much in it is stale: where all of that is
// loaded, tops that are not need not be looked at. done is false where an event has made as many as it may: the
// next one goes on, and nothing is made of them before.
func (w *compaction) fresh(ctx context.Context, why reason) (done bool, err error) {
	for _, top := range slices.Clone(w.st.Compaction.Tops) {
		if w.st.Summary(top.Summary) == nil && w.st.StaleLoaded() {
			continue
		}
		if done, err := w.freshen(ctx, top.Summary, why); err != nil || !done {
			w.unfinished = err == nil
			return false, err
		}
	}
	return true, nil
}

// freshen makes a stale leaf or node again, after what it is made from.
func (w *compaction) freshen(ctx context.Context, id string, why reason) (done bool, err error) {
	sum, err := w.summary(id)
	if err != nil {
		return false, err
	}
	if holder := w.st.Slot(sum.Slot).Holder; holder != id {
		if sum, err = w.summary(holder); err != nil {
			return false, err
		}
	}
	if sum.Status == thread.Active {
		return true, nil
	}
	for _, child := range sum.SourceSums {
		if done, err := w.freshen(ctx, child, why); err != nil || !done {
			return false, err
		}
	}
	if w.freshened >= renewAtOnce && !w.patient {
		return false, nil
	}
	trigger, ok := why()
	if !ok {
		return false, nil
	}
	w.freshened++
	return true, w.remake(ctx, sum, trigger, false)
}

// toolAgain makes the summary of a tool output that has come before. Where the log no longer holds it,
// nothing is made, and nothing waits for that any more.
func (f *Fold) toolAgain(ctx context.Context, st *thread.State, m *thread.Message, d Delivery, p *summarize.Policy, trigger events.Trigger) error {
	src, err := f.readTool(ctx, st, m, p)
	if err != nil {
		return err
	}
	return f.toolFrom(st, m, src, d, p, trigger)
}

// toolSource is what a tool output's summary is made from when it is made again; the zero value: none is asked for.
type toolSource struct {
	msg    *events.Message
	before past
}

// readTool reads the log, and changes nothing.
func (f *Fold) readTool(ctx context.Context, st *thread.State, m *thread.Message, p *summarize.Policy) (src toolSource, err error) {
	if !asked(p, m) {
		return src, nil
	}
	if src.msg, err = CurrentMessage(ctx, f.log, m); err != nil || src.msg.Content.Text() == "" {
		return src, err
	}
	if src.msg, err = Called(ctx, f.part.View, f.log, st.Header.Thread, m.Ordinal, Now, src.msg); err != nil {
		return src, err
	}
	src.before, err = f.past(ctx, st.Header.Thread, m.Ordinal, true)
	return src, err
}

// toolFrom makes the summary of what was read.
func (f *Fold) toolFrom(st *thread.State, m *thread.Message, src toolSource, d Delivery, p *summarize.Policy, trigger events.Trigger) error {
	if src.msg == nil {
		return nil
	}
	if src.msg.Content.Text() == "" {
		return f.giveUp(st, m)
	}
	if err := errors.Join(f.part.LoadSlot(st, toolSlot(m.ID)), f.loadOver(st, m)); err != nil {
		return err
	}
	in := thread.Input{Seq: d.Seq, Time: d.Time}
	var err error
	if in.Measure, err = f.measure(p.Tokenizer); err != nil {
		return err
	}
	own := st.Message
	st.Message = m
	dr := f.toolDecision(st, in, thread.Result{Content: src.msg.Content}, p, facts{origin: src.msg, past: src.before}, trigger)
	f.emit(st, dr, d)
	st.Message = own
	return nil
}

// giveUp waits no more for the summary of a tool output that retention has taken: it would keep what can be
// made again from its turn. No record says so, since none could be proved: its source is not in the log.
func (f *Fold) giveUp(st *thread.State, m *thread.Message) error {
	if err := f.part.LoadSlot(st, toolSlot(m.ID)); err != nil {
		return err
	}
	sum := st.Summary(st.Slot(toolSlot(m.ID)).Holder)
	if sum == nil || !sum.Renew {
		return nil
	}
	if err := f.waiveOne(st, sum, m); err != nil {
		return err
	}
	f.givenUp()
	f.logger.Info().Str("thread_id", st.Header.Thread).Str("summary_id", sum.ID).
		Msg("a stale summary is not made again: the log no longer holds its source")
	return nil
}

// toolDecision drafts a tool output's summary, by rules or as a job.
func (f *Fold) toolDecision(st *thread.State, in thread.Input, res thread.Result, p *summarize.Policy, fs facts, trigger events.Trigger) draft {
	_, unresolved := f.policy(st, nil)
	if p.Mode == summarize.ModeLLM {
		job := f.toolJob(st, res, p, fs)
		job.Started.Trigger, job.Unresolved = trigger, unresolved
		return draft{started: job}
	}
	dr := f.toolDraft(st, in, res, p, fs)
	dr.created.Trigger = trigger
	if unresolved != "" {
		dr.created.PolicyUnresolved = &unresolved
	}
	return dr
}
