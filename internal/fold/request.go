package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"precis/events"
	"precis/state"
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

func requested() events.Trigger { return events.Trigger{Reason: events.TriggerRequested} }

// ask begins a step on a thread that no event called for. Its decisions take effect after the partition's last event.
func (f *Fold) ask(cause events.StepCause, name string, now time.Time) *Step {
	if f.recovering() {
		check(ErrNotReady)
	}
	f.begin(cause)
	return f.onThread(name, now)
}

// onThread loads a thread for work that no event called for.
func (f *Fold) onThread(name string, now time.Time) *Step {
	s := f.on(name, Delivery{Seq: f.applied, Time: now.UTC()})
	if s.st.Header.Ordinals == 0 {
		check(ErrNoThread)
	}
	s.loadCompaction()
	s.loadJobs()
	return s
}

// end saves the work that onThread began.
func (s *Step) end() {
	if len(s.f.out) > 0 || len(s.st.Changes.SummaryPuts) > 0 {
		s.save()
	}
}

// Summarize makes a thread's summary of a kind now, whatever its triggers say: it recomputes what is stale and, if worthwhile,
// summarizes what a cut could remove. It returns the id of the summary that then stands for the thread, or of the one being
// made; empty if there is nothing to summarize. more reports that one step did not do everything: call it again. If it fails,
// nothing is changed.
func (f *Fold) Summarize(ctx context.Context, name, kind string, now time.Time) (id string, more bool, err error) {
	if kind != events.KindCompaction && kind != events.KindHistory {
		return "", false, fmt.Errorf("%w: %q", ErrKind, kind)
	}
	err = attempt(func() {
		s := f.ask(events.ByRequest, name, now)
		id, more = s.summarize(ctx, kind)
		s.end()
	})
	return id, more, err
}

func (s *Step) summarize(ctx context.Context, kind string) (id string, more bool) {
	s.patient = true
	before := s.st.Header.RenewCompactions
	s.renew(ctx, s.waits())
	if left := s.st.Header.RenewCompactions; left > 0 && left < before {
		return "", true
	}
	s.standVerbatim(ctx, requested())
	switch {
	case s.unfinished:
	case kind == events.KindHistory:
		id = s.tellRequested(ctx)
	default:
		s.compactRequested(ctx)
		id = s.standing(events.SlotCurrent)
	}
	return id, s.short || s.unfinished
}

// compactRequested cuts the thread if that is worthwhile. It then recomputes a current summary that is still stale, since what the
// policy trims or fails is not recomputed by itself. After a rewind to before the first leaf there is nothing left to make one from.
func (s *Step) compactRequested(ctx context.Context) {
	if !s.p.Enabled {
		return
	}
	if s.cutFacts().Worthwhile() {
		s.compact(ctx, always(requested()))
	}
	if len(s.st.Compaction.Tops) > 0 && s.holder(events.SlotCurrent) != nil && s.activeHolder(events.SlotCurrent) == nil {
		s.current(ctx, requested())
	}
}

// tellRequested makes the thread's history, unless the present one has the same sources. It first recomputes stale sources.
func (s *Step) tellRequested(ctx context.Context) string {
	if !s.p.Enabled {
		return s.standing(events.SlotHistory)
	}
	if !s.fresh(ctx, always(requested())) {
		return ""
	}
	src, ok := s.historySources()
	id := s.standing(events.SlotHistory)
	if !ok {
		return id
	}
	if sum := s.st.Summary(id); sum != nil && slices.Equal(sum.Sources, src.messages()) && slices.Equal(sum.SourceSums, src.summaries()) {
		return id
	}
	s.history(ctx, requested())
	return s.standing(events.SlotHistory)
}

// standing returns the active summary that holds a slot, or the one being made for it; empty if there is neither.
func (s *Step) standing(slot string) string {
	for _, job := range s.st.Jobs {
		if job.Started.Slot == slot && !job.Superseded {
			return job.ID()
		}
	}
	if sum := s.activeHolder(slot); sum != nil {
		return sum.ID
	}
	return ""
}

// Renew recomputes what waits in a thread because a request uses the thread, up to the limit of an event; it first makes the
// summaries in expired stale. more reports that some are left.
func (f *Fold) Renew(ctx context.Context, name string, expired []string, now time.Time) (more bool, err error) {
	if f.recovering() {
		return false, ErrNotReady
	}
	err = attempt(func() {
		for _, id := range expired {
			f.expire(state.Ref{Thread: name, Summary: id}, now)
		}
		s := f.ask(events.ByRequest, name, now)
		before := s.st.Header.Renewals
		s.renew(ctx, got(f.part.Renewals(name, renewAtOnce)))
		s.standVerbatim(ctx, requested())
		s.end()
		left := s.st.Header.Renewals
		more = left > 0 && left < before || s.unfinished
	})
	return more, err
}

// Freshen recomputes the stale sources of a summary that is requested, up to the limit of an event. more reports that some are
// left. If it fails, nothing is changed.
func (f *Fold) Freshen(ctx context.Context, name string, now time.Time) (more bool, err error) {
	err = attempt(func() {
		s := f.ask(events.ByRequest, name, now)
		if s.p.Enabled {
			s.fresh(ctx, always(requested()))
			s.end()
			more = s.unfinished
		}
	})
	return more, err
}
