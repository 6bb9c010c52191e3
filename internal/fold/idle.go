package fold

import (
	"context"
	"errors"
	"time"

	"precis/events"
	"precis/summarize"
	"precis/summarize/cut"
)

// idleAgain is the delay before a thread that could not be compacted is retried: other idle threads come first.
const idleAgain = time.Second

// LookIdleDue checks one thread whose idle check is due; found is false if there is none.
func (f *Fold) LookIdleDue(ctx context.Context, now time.Time) (found, fired bool, err error) {
	names, err := f.part.Idle(now, 1)
	if err != nil || len(names) == 0 {
		return false, false, err
	}
	err = attempt(func() { fired = f.lookIdle(ctx, names[0], now) })
	if err != nil && !errors.Is(err, ErrNotReady) {
		was, _, lerr := f.part.IdleAt(names[0])
		if lerr != nil {
			return true, fired, errors.Join(err, lerr)
		}
		f.part.LookAt(names[0], was, now.Add(idleAgain))
	}
	return true, fired, err
}

// lookIdle compacts a thread that has been idle for as long as its policy says, and notes when to check it again.
func (f *Fold) lookIdle(ctx context.Context, name string, now time.Time) (fired bool) {
	was, _, err := f.part.IdleAt(name)
	check(err)
	var s *Step
	err = attempt(func() { s = f.ask(events.ByIdle, name, now) })
	if errors.Is(err, ErrNoThread) {
		f.part.LookAt(name, was, time.Time{}) // no check until it has an accepted message
		return false
	}
	check(err)
	idle := now.Sub(time.Unix(0, s.st.Header.LastAt))
	if s.p.Enabled && s.st.Header.LastAt > 0 {
		_, anyway := s.cutDue() // the next event cuts it anyway
		if trigger, ok := idleTrigger(s.p, s.cutFacts(), idle); ok && !anyway {
			s.compact(ctx, always(trigger))
		}
	}
	fired = len(f.out) > 0
	s.end()
	next := nextLook(s.p, s.st.Header.LastAt, idle)
	if s.unfinished || s.short {
		next = now // stale sources are left, or more messages than one leaf takes
	}
	f.part.LookAt(name, was, next)
	return fired
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
func (s *Step) lookLater() {
	h := s.st.Header
	p, _ := s.f.policy(s.st, nil)
	if h.Thread == "" || h.Ordinals == 0 || len(idleTimes(p.Compaction.Trigger)) == 0 {
		return
	}
	at := nextLook(p, h.LastAt, 0)
	was, found, err := s.f.part.IdleAt(h.Thread)
	if at.IsZero() || err == nil && found && !was.After(at) {
		return
	}
	s.f.part.LookAt(h.Thread, was, at)
}
