package fold

import (
	"cmp"
	"fmt"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// Step is one step of the fold on one thread: an event, a request, the end of a job, or what a recovery adds. It reads rows and texts
// as it goes, decides, and chains its records; its end saves all of it.
//
// Neither records nor the thread's rows are in the open batch before a step's end, so one that can't read what it needs is abandoned as
// a whole (check), and the functions in between have no error to pass on. attempt is where an abandoned step ends.
type Step struct {
	f  *Fold
	st *thread.State
	at Delivery // the event, or the place in the log and the time of a step without one
	p  *summarize.Policy

	event // what only the step of an event has

	freshened  int  // stale summaries recomputed as sources of a new one
	unfinished bool // stale summaries, or leaves that must give messages back, are left
	patient    bool // a request waits for all of them: more of them in a step
	short      bool // the new leaf did not take everything that a cut could remove
}

// abandoned is what ends a step.
type abandoned struct{ err error }

// check abandons the step if it can't read something.
func check(err error) {
	if err != nil {
		panic(abandoned{err})
	}
}

// got is check for what returns a value.
func got[T any](v T, err error) T {
	check(err)
	return v
}

// attempt returns why a step was abandoned; nil if it was not.
func attempt(work func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case abandoned:
			err = r.err
		default:
			panic(r)
		}
	}()
	work()
	return nil
}

// saving is for what follows after a step began to save: if it is abandoned there, part of it may be in the open batch.
func saving(work func()) {
	check(halfDone(attempt(work)))
}

// halfDone marks an error after which part of a step may be in the open batch.
func halfDone(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrHalfDone, err)
}

// step begins to work on a thread at a place in the log; its policy is the one that serves the thread now.
func (f *Fold) step(st *thread.State, at Delivery) *Step {
	p, _ := f.policy(st, nil)
	return &Step{f: f, st: st, at: at, p: p}
}

// on begins to work on a thread of which only the header is loaded.
func (f *Fold) on(name string, at Delivery) *Step {
	return f.step(got(f.part.LoadThread(name)), at)
}

// save saves a step without an event.
func (s *Step) save() {
	s.put()
	s.f.flush()
}

// slot returns a slot, loaded with the summary that holds it.
func (s *Step) slot(name string) *thread.Slot {
	check(s.f.part.LoadSlot(s.st, name))
	return s.st.Slot(name)
}

// holder returns the summary that holds a slot; nil if there is none.
func (s *Step) holder(slot string) *thread.Summary { return s.st.Summary(s.slot(slot).Holder) }

// activeHolder is holder, if it is not stale.
func (s *Step) activeHolder(slot string) *thread.Summary {
	if sum := s.holder(slot); sum != nil && sum.Status == thread.Active {
		return sum
	}
	return nil
}

// summary returns a summary of the thread.
func (s *Step) summary(id string) *thread.Summary {
	check(s.f.part.LoadSummary(s.st, id))
	return s.st.Summary(id)
}

// loadJobs loads the thread's jobs that are under way.
func (s *Step) loadJobs() { check(s.f.part.LoadJobs(s.st)) }

// loadCompaction loads how far the thread is compacted.
func (s *Step) loadCompaction() *thread.Compaction {
	check(s.f.part.LoadCompaction(s.st))
	return s.st.Compaction
}

// loadOver loads the current compaction if it stands for the message.
func (s *Step) loadOver(m *thread.Message) {
	if m != nil && s.st.Compaction != nil && s.st.Compaction.Replaced(m.Ordinal) {
		s.slot(events.SlotCurrent)
	}
}

// loadSlot loads what the creation of a summary changes.
func (s *Step) loadSlot(kind, slot string, sources []string) {
	s.slot(slot)
	s.loadCompaction()
	if kind == events.KindToolResult && len(sources) > 0 && (s.st.Message == nil || s.st.Message.ID != sources[0]) {
		s.st.Message = got(s.f.part.Message(s.st.Header.Thread, sources[0]))
	}
	s.loadOver(s.st.Message)
}

// loadStale loads what the invalidation of a summary changes.
func (s *Step) loadStale(id string) *thread.Summary {
	sum := s.summary(id)
	s.loadJobs()
	s.loadSlot(sum.Kind, sum.Slot, sum.Sources)
	return sum
}

// messageNow returns the row of a message, with the revision that the event made, which is not in the store yet.
func (s *Step) messageNow(m *thread.Message) *thread.Message {
	if own := s.st.Message; own != nil && m != nil && own.ID == m.ID {
		return own
	}
	return s.rewound(m)
}

// rewound returns the row of a message as the event's rewind, if it is one, leaves it.
func (s *Step) rewound(m *thread.Message) *thread.Message {
	gone := s.st.Changes.Rewound
	if len(gone) == 0 || m == nil || m.Ordinal < gone[0].Ordinal {
		return m
	}
	i, found := slices.BinarySearchFunc(gone, m.Ordinal, func(row *thread.Message, at uint64) int { return cmp.Compare(row.Ordinal, at) })
	if found {
		return gone[i]
	}
	return m
}

func (s *Step) allRewound(rows []*thread.Message) []*thread.Message {
	for i, m := range rows {
		rows[i] = s.rewound(m)
	}
	return rows
}

// sourceOf returns the message of a tool output's summary as it is now; nil if it has no row.
func (s *Step) sourceOf(sum *thread.Summary) *thread.Message {
	return s.messageNow(got(s.f.part.Message(s.st.Header.Thread, sum.Sources[0])))
}

// live returns the rows as the event leaves them, without deleted messages.
func (s *Step) live(rows []*thread.Message) []*thread.Message {
	var list []*thread.Message
	for _, m := range rows {
		if m = s.messageNow(m); !m.Deleted {
			list = append(list, m)
		}
	}
	return list
}

// rowsOf returns the rows of messages, in the order of their ids.
func (s *Step) rowsOf(ids []string) []*thread.Message {
	return s.allRewound(got(s.f.part.MessagesOf(s.st.Header.Thread, ids)))
}

// rowsAt returns the rows at ordinals, rows those from one ordinal (inclusive) to another (exclusive).
func (s *Step) rowsAt(ordinals []uint64) []*thread.Message {
	return s.allRewound(got(s.f.part.MessagesAt(s.st.Header.Thread, ordinals)))
}

func (s *Step) rows(from, to uint64) []*thread.Message {
	return s.allRewound(got(s.f.part.Messages(s.st.Header.Thread, from, to)))
}
