package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/cut"
)

// Errors of requests.
var (
	// ErrNoThread: the thread has no accepted message.
	ErrNoThread = errors.New("no such thread")
	// ErrNotReady: the fold is still adopting records.
	ErrNotReady = errors.New("not caught up with the log")
	// ErrKind: no summary of that kind is made on request.
	ErrKind = errors.New("no summary of that kind is made on request")
)

// Summarize makes a thread's summary of a kind now, whatever its triggers say: it recomputes what is stale and, if worthwhile,
// summarizes what a cut could remove. It returns the id of the summary that then stands for the thread, or of the one being
// made; empty if there is nothing to summarize. more reports that one step did not do everything: call it again. If it fails,
// nothing is changed.
func (f *Fold) Summarize(ctx context.Context, name, kind string, now time.Time) (id string, more bool, err error) {
	if kind != events.KindCompaction && kind != events.KindHistory {
		return "", false, fmt.Errorf("%w: %q", ErrKind, kind)
	}
	w, err := f.ask(events.ByRequest, name, now)
	if err != nil {
		return "", false, err
	}
	w.patient = true
	before := w.st.Header.RenewCompactions
	waiting, err := w.waits()
	if err != nil {
		return "", false, err
	}
	if err := w.renew(ctx, waiting); err != nil {
		return "", false, err
	}
	if left := w.st.Header.RenewCompactions; left > 0 && left < before {
		f.done(w)
		return "", true, nil
	}
	if err := w.stand(ctx, events.Trigger{Reason: events.TriggerRequested}); err != nil {
		return "", false, err
	}
	switch {
	case w.unfinished:
	case kind == events.KindHistory:
		id, err = w.tell(ctx)
	default:
		if err = w.compact(ctx); err == nil {
			id, err = w.standing(events.SlotCurrent)
		}
	}
	if err == nil {
		f.done(w)
	}
	return id, w.short || w.unfinished, err
}

// compact cuts the thread if that is worthwhile. It then recomputes a current summary that is still stale, since what the policy
// trims or fails is not recomputed by itself.
func (w *compaction) compact(ctx context.Context) error {
	if !w.p.Enabled {
		return nil
	}
	trigger := events.Trigger{Reason: events.TriggerRequested}
	if w.st.Compaction.Cut.Facts(w.p.Compaction).Worthwhile() {
		if err := w.run(ctx, always(trigger)); err != nil {
			return err
		}
	}
	if err := w.f.part.LoadSlot(w.st, events.SlotCurrent); err != nil {
		return err
	}
	if sum := w.st.Summary(w.st.Slot(events.SlotCurrent).Holder); sum == nil || sum.Status != thread.Stale {
		return nil
	}
	return w.current(ctx, trigger)
}

// tell makes the thread's history, unless the present one has the same sources. It first recomputes stale sources.
func (w *compaction) tell(ctx context.Context) (string, error) {
	if !w.p.Enabled {
		return w.standing(events.SlotHistory)
	}
	if done, err := w.fresh(ctx, always(events.Trigger{Reason: events.TriggerRequested})); err != nil || !done {
		return "", err
	}
	src, ok, err := w.f.historySources(w.st, w.p)
	if err != nil {
		return "", err
	}
	id, err := w.standing(events.SlotHistory)
	if err != nil || !ok {
		return id, err
	}
	if sum := w.st.Summary(id); sum != nil && slices.Equal(sum.Sources, src.messages()) && slices.Equal(sum.SourceSums, src.summaries()) {
		return id, nil
	}
	if err := w.f.history(ctx, w.st, w.d, w.p, events.Trigger{Reason: events.TriggerRequested}); err != nil {
		return "", err
	}
	return w.standing(events.SlotHistory)
}

// Renew recomputes what waits in a thread because a request uses the thread, up to the limit of an event; it first makes the
// summaries in expired stale. more reports that some are left.
func (f *Fold) Renew(ctx context.Context, name string, expired []string, now time.Time) (more bool, err error) {
	if f.recovering() {
		return false, ErrNotReady
	}
	for _, id := range expired {
		if _, err := f.Expire(state.Ref{Thread: name, Summary: id}, now); err != nil {
			return false, err
		}
	}
	w, err := f.ask(events.ByRequest, name, now)
	if err != nil {
		return false, err
	}
	before := w.st.Header.Renewals
	waiting, err := f.part.Renewals(name, renewAtOnce)
	if err != nil {
		return false, err
	}
	if err := w.renew(ctx, waiting); err != nil {
		return false, err
	}
	if err := w.stand(ctx, events.Trigger{Reason: events.TriggerRequested}); err != nil {
		return false, err
	}
	f.done(w)
	left := w.st.Header.Renewals
	return left > 0 && left < before || w.unfinished, nil
}

// Freshen recomputes the stale sources of a summary that is requested, up to the limit of an event. more reports that some are
// left. If it fails, nothing is changed.
func (f *Fold) Freshen(ctx context.Context, name string, now time.Time) (more bool, err error) {
	w, err := f.ask(events.ByRequest, name, now)
	if err != nil || !w.p.Enabled {
		return false, err
	}
	if _, err := w.fresh(ctx, always(events.Trigger{Reason: events.TriggerRequested})); err != nil {
		return false, err
	}
	f.done(w)
	return w.unfinished, nil
}

// Settle folds in a job's result, as Finish does. If the configuration has changed since the job began, so that its answer is
// not used, Settle decides the work again. It reads the log for that first: if that fails, nothing is changed, and the caller
// retries.
func (f *Fold) Settle(ctx context.Context, name, id string, r Result, now time.Time) error {
	st, job, err := f.loadJob(name, id)
	if err != nil || job == nil {
		return err
	}
	if job.Superseded || f.JobPolicy(st, job) != nil || job.Started.Kind != events.KindToolResult {
		return halfDone(f.Finish(name, id, r, now))
	}
	m, err := f.part.Message(name, job.Started.SourceMessageIDs[0])
	if err != nil {
		return err
	}
	p, _ := f.policy(st, nil)
	src, err := f.readTool(ctx, st, m, p)
	if err != nil {
		return fmt.Errorf("decide again what %s was to do: %w", id, err)
	}
	f.begin(events.ByResult)
	if err := f.finishJob(name, id, r, now); err != nil {
		return halfDone(err)
	}
	w, err := f.compactionOf(name, now)
	if err == nil {
		err = f.toolFrom(w.st, m, src, w.d, w.p, job.Started.Trigger)
	}
	if err != nil {
		return halfDone(err)
	}
	f.done(w)
	return nil
}

// halfDone marks an error after which part of a step may be in the open batch.
func halfDone(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrHalfDone, err)
}

// idleAgain is the delay before a thread that could not be compacted is retried: other idle threads come first.
const idleAgain = time.Second

// LookIdleDue checks one thread whose idle check is due; found is false if there is none.
func (f *Fold) LookIdleDue(ctx context.Context, now time.Time) (found, fired bool, err error) {
	names, err := f.part.Idle(now, 1)
	if err != nil || len(names) == 0 {
		return false, false, err
	}
	fired, err = f.LookIdle(ctx, names[0], now)
	if err != nil && !errors.Is(err, ErrNotReady) {
		was, _, lerr := f.part.IdleAt(names[0])
		if lerr != nil {
			return true, fired, errors.Join(err, lerr)
		}
		f.part.LookAt(names[0], was, now.Add(idleAgain))
	}
	return true, fired, err
}

// LookIdle compacts a thread that has been idle for as long as its policy says, and notes when to check it again. If it fails,
// nothing is changed.
func (f *Fold) LookIdle(ctx context.Context, name string, now time.Time) (fired bool, err error) {
	was, _, err := f.part.IdleAt(name)
	if err != nil {
		return false, err
	}
	w, err := f.ask(events.ByIdle, name, now)
	if errors.Is(err, ErrNoThread) {
		f.part.LookAt(name, was, time.Time{}) // no check until it has an accepted message
		return false, nil
	}
	if err != nil {
		return false, err
	}
	idle := now.Sub(time.Unix(0, w.st.Header.LastAt))
	if w.p.Enabled && w.st.Header.LastAt > 0 {
		facts := w.st.Compaction.Cut.Facts(w.p.Compaction)
		_, anyway := cut.Fires(w.p.Compaction.Trigger, facts) // the next event cuts it anyway
		if trigger, ok := idleTrigger(w.p, facts, idle); ok && !anyway {
			if err := w.run(ctx, always(trigger)); err != nil {
				return false, err
			}
		}
	}
	fired = len(f.out) > 0
	f.done(w)
	next := nextLook(w.p, w.st.Header.LastAt, idle)
	if w.unfinished || w.short {
		next = now // stale sources are left, or more messages than one leaf takes
	}
	f.part.LookAt(name, was, next)
	return fired, nil
}

// idleTrigger reports whether a thread that has been idle for some time is due, and returns the trigger.
func idleTrigger(p *summarize.Policy, facts cut.Facts, idle time.Duration) (events.Trigger, bool) {
	facts.Idle = idle
	if _, ok := cut.Fires(p.Compaction.Trigger, facts); !ok {
		return events.Trigger{}, false
	}
	threshold, value := 0.0, idle.Seconds()
	for _, d := range idleTimes(p.Compaction.Trigger) {
		if d < idle {
			threshold = max(threshold, d.Seconds())
		}
	}
	return events.Trigger{Reason: events.TriggerIdle, Threshold: &threshold, Value: &value}, threshold > 0
}

// idleTimes returns the idle thresholds of a condition.
func idleTimes(c summarize.Condition) []time.Duration {
	var list []time.Duration
	for _, branch := range [][]summarize.Condition{c.Any, c.All} {
		for _, below := range branch {
			list = append(list, idleTimes(below)...)
		}
	}
	if c.Idle > 0 {
		list = append(list, c.Idle)
	}
	return list
}

// nextLook returns when an idle thread may pass the next of its policy's thresholds; zero if there is none.
func nextLook(p *summarize.Policy, lastAt int64, idle time.Duration) time.Time {
	var next time.Duration
	if p.Enabled && lastAt > 0 {
		for _, d := range idleTimes(p.Compaction.Trigger) {
			if d >= idle && (next == 0 || d < next) {
				next = d
			}
		}
	}
	if next == 0 {
		return time.Time{}
	}
	return time.Unix(0, lastAt).Add(next + 1) // a value must exceed its threshold
}

// lookLater schedules a check for when the thread has been idle for as long as its policy says, unless an earlier one is
// scheduled: a check that comes too early schedules the next.
func (f *Fold) lookLater(st *thread.State) {
	p, _ := f.policy(st, nil)
	if st.Header.Thread == "" || st.Header.Ordinals == 0 || len(idleTimes(p.Compaction.Trigger)) == 0 {
		return
	}
	at := nextLook(p, st.Header.LastAt, 0)
	was, found, err := f.part.IdleAt(st.Header.Thread)
	if at.IsZero() || err == nil && found && !was.After(at) {
		return
	}
	f.part.LookAt(st.Header.Thread, was, at)
}

// ask begins a step on a thread that no event called for. Its decisions take effect after the partition's last event.
func (f *Fold) ask(cause events.StepCause, name string, now time.Time) (*compaction, error) {
	if f.recovering() {
		return nil, ErrNotReady
	}
	f.begin(cause)
	return f.compactionOf(name, now)
}

// compactionOf loads a thread for work that no event called for.
func (f *Fold) compactionOf(name string, now time.Time) (*compaction, error) {
	st, err := f.part.LoadThread(name)
	if err != nil {
		return nil, err
	}
	if st.Header.Ordinals == 0 {
		return nil, ErrNoThread
	}
	if err := f.part.LoadCompaction(st); err != nil {
		return nil, err
	}
	if err := f.part.LoadJobs(st); err != nil {
		return nil, err
	}
	p, _ := f.policy(st, nil)
	return &compaction{f: f, st: st, d: Delivery{Seq: f.applied, Time: now.UTC()}, p: p}, nil
}

// done saves the work that ask began.
func (f *Fold) done(w *compaction) {
	if len(f.out) == 0 && len(w.st.Changes.SummaryPuts) == 0 {
		return
	}
	f.part.Save(w.st)
	f.flush()
}

// standing returns the active summary that holds a slot, or the one being made for it; empty if there is neither.
func (w *compaction) standing(slot string) (string, error) {
	for _, job := range w.st.Jobs {
		if job.Started.Slot == slot && !job.Superseded {
			return job.ID(), nil
		}
	}
	if err := w.f.part.LoadSlot(w.st, slot); err != nil {
		return "", err
	}
	if sum := w.st.Summary(w.st.Slot(slot).Holder); sum != nil && sum.Status == thread.Active {
		return sum.ID, nil
	}
	return "", nil
}
