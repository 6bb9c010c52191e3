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
	// ErrNoThread: nothing was ever accepted of that thread.
	ErrNoThread = errors.New("no such thread")
	// ErrNotReady: the fold is still adopting what is on record.
	ErrNotReady = errors.New("not caught up with the log")
	// ErrKind: no summary of that kind is made on request.
	ErrKind = errors.New("no summary of that kind is made on request")
)

// Summarize makes a thread's summary of a kind now, whatever its triggers say: what is stale is made again,
// and what a cut could remove is summarized, where that is worth it. It returns the id of the summary that
// stands for the thread then, or of the one that is being made; empty where there is nothing to summarize. more says that
// one leaf did not take all of that: it is to be asked again. Where it fails nothing is changed.
func (f *Fold) Summarize(ctx context.Context, name, kind string, now time.Time) (id string, more bool, err error) {
	if kind != events.KindCompaction && kind != events.KindHistory {
		return "", false, fmt.Errorf("%w: %q", ErrKind, kind)
	}
	w, err := f.ask(name, now)
	if err != nil {
		return "", false, err
	}
	w.patient = true
	waiting, err := w.waits()
	if err != nil {
		return "", false, err
	}
	if err := w.renew(ctx, waiting); err != nil {
		return "", false, err
	}
	if err := w.stand(ctx, events.Trigger{Reason: events.TriggerRequested}); err != nil {
		return "", false, err
	}
	if kind == events.KindHistory {
		if id, err = w.tell(ctx); err == nil {
			f.done(w)
		}
		return id, false, err
	}
	if err := w.compact(ctx); err != nil {
		return "", false, err
	}
	id, err = w.standing(events.SlotCurrent)
	f.done(w)
	return id, w.short, err
}

// compact cuts the thread where that is worth it. Where it is not, and what was made before is stale for good, since the
// policy trims or fails, that is made again.
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

// tell makes the thread's history, unless the one that stands is of the same sources. What it would stand on and is
// stale is made again before.
func (w *compaction) tell(ctx context.Context) (string, error) {
	if !w.p.Enabled {
		return w.standing(events.SlotHistory)
	}
	if _, err := w.fresh(ctx, always(events.Trigger{Reason: events.TriggerRequested})); err != nil {
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

// Renew makes again what of a thread waits for that, since somebody asks for the thread; limited, as an event
// does; the summaries named as expired are made stale before. more says that some are left.
func (f *Fold) Renew(ctx context.Context, name string, expired []string, now time.Time) (more bool, err error) {
	if f.recovering() {
		return false, ErrNotReady
	}
	for _, id := range expired {
		if _, err := f.Expire(state.Ref{Thread: name, Summary: id}, now); err != nil {
			return false, err
		}
	}
	w, err := f.ask(name, now)
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
	return left > 0 && left < before, nil
}

// Freshen makes again what a summary that somebody asks for would stand on and is stale for good; limited, as an
// event does. more says that some are left. Where it fails nothing is changed.
func (f *Fold) Freshen(ctx context.Context, name string, now time.Time) (more bool, err error) {
	w, err := f.ask(name, now)
	if err != nil || !w.p.Enabled {
		return false, err
	}
	if _, err := w.fresh(ctx, always(events.Trigger{Reason: events.TriggerRequested})); err != nil {
		return false, err
	}
	f.done(w)
	return w.unfinished, nil
}

// Settle folds a job's result in, as Finish does. Where the configuration has changed since the job began,
// and its answer is not used, what it was to do is decided again. That reads the log first: where it fails for
// a while nothing is changed, and the caller tries again.
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
	f.more = true
	err = f.Finish(name, id, r, now)
	f.more = false
	if err != nil {
		return halfDone(err)
	}
	w, err := f.ask(name, now)
	if err == nil {
		err = f.toolFrom(w.st, m, src, w.d, w.p, job.Started.Trigger)
	}
	if err != nil {
		return halfDone(err)
	}
	f.done(w)
	return nil
}

// halfDone marks an error behind which some of a step may be in the open batch.
func halfDone(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrHalfDone, err)
}

// idleAgain is when a thread is looked at again that could not be compacted: others that are idle come first.
const idleAgain = time.Second

// LookIdleDue looks at one of the threads that are due for having been idle; found is false where there is none.
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

// LookIdle compacts a thread that has been idle for as long as its policy says, and notes when it is to be looked at
// again. Where it fails nothing is changed.
func (f *Fold) LookIdle(ctx context.Context, name string, now time.Time) (fired bool, err error) {
	was, _, err := f.part.IdleAt(name)
	if err != nil {
		return false, err
	}
	w, err := f.ask(name, now)
	if errors.Is(err, ErrNoThread) {
		f.part.LookAt(name, was, time.Time{}) // nobody looks again before something is accepted of it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	idle := now.Sub(time.Unix(0, w.st.Header.LastAt))
	if w.p.Enabled && w.st.Header.LastAt > 0 {
		facts := w.st.Compaction.Cut.Facts(w.p.Compaction)
		_, anyway := cut.Fires(w.p.Compaction.Trigger, facts) // the next event cuts it
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
		next = now // what it would stand on is stale, and was made again in part; or more is left than one leaf takes
	}
	f.part.LookAt(name, was, next)
	return fired, nil
}

// idleTrigger says whether a thread that has been idle for some time is due.
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

// idleTimes are the times in a condition that a thread may be idle for.
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

// nextLook is when a thread that has been idle for some time may pass the next of its policy's times; zero
// where there is none.
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
	return time.Unix(0, lastAt).Add(next + 1) // a threshold is passed by more than its value
}

// lookLater has somebody look at the thread when it has been idle for as long as its policy says, unless
// somebody will anyway: who looks too early looks again.
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

// ask begins work on a thread that no event called for. It is decided behind the partition's last event.
func (f *Fold) ask(name string, now time.Time) (*compaction, error) {
	if f.recovering() {
		return nil, ErrNotReady
	}
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
	f.out = f.out[:0]
	p, _ := f.policy(st, nil)
	return &compaction{f: f, st: st, d: Delivery{Seq: f.applied, Time: now.UTC()}, p: p}, nil
}

// done saves such work.
func (f *Fold) done(w *compaction) {
	if len(f.out) == 0 && len(w.st.Changes.SummaryPuts) == 0 {
		return
	}
	f.part.Save(w.st)
	f.flush()
}

// standing is the summary that holds a slot and is active, or the one that is being made for it; empty where
// there is neither.
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
