package state

import (
	"fmt"
	"slices"

	"precis/events"
	"precis/internal/thread"
)

// LoadEvent loads what an event of the thread can touch. ev is nil for an event that is rejected by
// what stands in itself.
func (p *Partition) LoadEvent(name string, ev *events.Event) (*thread.State, error) {
	st, err := p.LoadThread(name)
	if err != nil {
		return nil, err
	}
	if err := p.loadDue(st); err != nil {
		return nil, err
	}
	switch {
	case ev == nil:
		return st, nil
	case ev.Fork != nil:
		return st, nil
	case ev.Edit != nil:
		return st, p.loadEdit(st, ev)
	default:
		return st, p.loadMessage(st, ev.Message.MessageID)
	}
}

// LoadThread loads a thread's header alone; a new one where the thread is not known.
func (p *Partition) LoadThread(name string) (*thread.State, error) {
	h, err := p.Header(name)
	if err != nil {
		return nil, err
	}
	st := p.idle
	if p.idle = nil; st == nil {
		st = &thread.State{}
	}
	if h == nil {
		*st = thread.State{Header: thread.Header{Thread: name}}
		return st, nil
	}
	*st = thread.State{Header: *h}
	if parked, err := p.parkedOf(name); parked != nil || err != nil {
		st.Parked = parked
		return st, err
	}
	return st, nil
}

// Done gives a state back that is no longer used: the next one is loaded into it.
func (p *Partition) Done(st *thread.State) { p.idle = st }

func (p *Partition) loadMessage(st *thread.State, id string) (err error) {
	if st.Parked != nil {
		st.Message, err = p.Message(st.Header.Thread, id)
	} else {
		st.Message, err = p.message(st.Header.Thread, id, st.Header.Ordinals)
	}
	if err != nil || st.Message != nil || st.Header.Waiting == 0 {
		return err
	}
	prefix := p.key(kindWaiting).part(st.Header.Thread).part(id)
	return p.scan(prefix, prefix, func(_, b []byte) (bool, error) {
		w, err := decodeWaiting(st.Header.Thread, b)
		st.Held = append(st.Held, w)
		return true, err
	})
}

func (p *Partition) loadEdit(st *thread.State, ev *events.Event) (err error) {
	name, id := st.Header.Thread, ev.Edit.MessageID
	if st.Message, err = p.Message(name, id); err != nil {
		return err
	}
	k := p.key(kindEdit).part(name).part(id).editKey(ev.Edit.Key(ev.CloudEventID))
	if st.EditSeen, err = p.get(k, noValue); err != nil {
		return err
	}
	if st.Message == nil || st.EditSeen {
		return nil
	}
	if err := p.LoadJobs(st); err != nil {
		return err
	}
	if ev.Edit.Rewind {
		return p.LoadAfter(st)
	}
	return p.loadMadeFrom(st, messageSource(id))
}

// message is the row of a message that is probably new; nil where there is none. The open batch is read only if it has
// the row, or one whose key has the same hash: that would build its index.
func (p *Partition) message(name, id string, messages uint64) (*thread.Message, error) {
	k := p.key(kindMessage).part(name).rest(id)
	if p.puts.has(p.ids.key(k)) {
		return p.Message(name, id)
	}
	if p.unseen != nil {
		if p.unseen.rulesOut(k) {
			return nil, nil
		}
		return p.committed().Message(name, id)
	}
	isNew, err := p.newID(name, id, messages)
	if err != nil || isNew {
		return nil, err
	}
	return p.committed().Message(name, id)
}

// LoadAfter loads the messages after the state's message, which a rewind to it removes, and what was made from them.
func (p *Partition) LoadAfter(st *thread.State) error {
	rows, err := p.Messages(st.Header.Thread, st.Message.Ordinal+1, st.Header.Ordinals+1)
	if err != nil {
		return err
	}
	for _, m := range rows {
		if m.Rewound {
			continue
		}
		st.After = append(st.After, m)
		if m.Tool {
			if err := p.LoadSlot(st, events.ToolSlot(m.ID)); err != nil {
				return err
			}
		}
		if err := p.loadMadeFrom(st, messageSource(m.ID)); err != nil {
			return err
		}
	}
	return nil
}

// loadMadeFrom loads the active summaries made from a source, those made from them, and so on, each
// before what was made from it.
func (p *Partition) loadMadeFrom(st *thread.State, source string) error {
	name := st.Header.Thread
	ids, err := p.madeFrom(name, source)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if st.Summary(id) != nil {
			continue
		}
		if err := p.loadSummary(st, id); err != nil {
			return err
		}
		if err := p.loadMadeFrom(st, summarySource(id)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Partition) loadSummary(st *thread.State, id string) error {
	sum, err := p.Summary(st.Header.Thread, id)
	if err != nil {
		return err
	}
	if sum == nil {
		return fmt.Errorf("%w: summary %q of thread %q: %w", ErrDamaged, id, st.Header.Thread, ErrNoRow)
	}
	st.Summaries = append(st.Summaries, sum)
	return p.LoadSlot(st, sum.Slot)
}

// LoadSlot loads a slot, the summary that holds it, and one that serves beside it.
func (p *Partition) LoadSlot(st *thread.State, name string) error {
	if st.Loaded(name) != nil {
		return nil
	}
	slot, err := p.Slot(st.Header.Thread, name)
	if err != nil {
		return err
	}
	st.Slots = append(st.Slots, slot)
	for _, id := range []string{slot.Holder, slot.Serving} {
		if id == "" || st.Summary(id) != nil {
			continue
		}
		if err := p.loadSummary(st, id); err != nil {
			return err
		}
	}
	return nil
}

// Holder is the summary that holds a slot, as the step has it, without loading either.
func (p *Partition) Holder(st *thread.State, slot string) (string, error) {
	if have := st.Loaded(slot); have != nil {
		return have.Holder, nil
	}
	s, err := p.Slot(st.Header.Thread, slot)
	if err != nil {
		return "", err
	}
	return s.Holder, nil
}

// LoadSummary loads a summary of the thread and its slot.
func (p *Partition) LoadSummary(st *thread.State, id string) error {
	if st.Summary(id) != nil {
		return nil
	}
	return p.loadSummary(st, id)
}

// LoadCompaction loads how far the thread is compacted.
func (p *Partition) LoadCompaction(st *thread.State) error {
	if st.Compaction != nil {
		return nil
	}
	w := p.written(st.Header.Thread)
	if w != nil && w.compaction != nil {
		st.Compaction = p.copied(w.compaction)
		return nil
	}
	t := p.hot.get(st.Header.Thread)
	if w != nil {
		t = w.before
	}
	if t.header != nil {
		st.Compaction = &thread.Compaction{}
		if t.compaction != nil {
			st.Compaction = p.copied(t.compaction)
		}
		return nil
	}
	if st.Header == (thread.Header{Thread: st.Header.Thread}) { // and where there is no header there is nothing else
		st.Compaction = &thread.Compaction{}
		return nil
	}
	var err error
	st.Compaction, err = p.committed().Compaction(st.Header.Thread)
	return err
}

// copied is a copy that a step may change. A thread's events come one after the other, and each leaves the
// copy of the one before it behind, as a batch does with what the one before it wrote.
func (p *Partition) copied(c *thread.Compaction) *thread.Compaction {
	var to *thread.Compaction
	if n := len(p.spares); n > 0 {
		to, p.spares = p.spares[n-1], p.spares[:n-1]
	} else {
		to = &thread.Compaction{}
	}
	c.CopyTo(to)
	return to
}

// LoadJobs loads the thread's jobs that are under way; those that are loaded stay as the step has them.
func (p *Partition) LoadJobs(st *thread.State) error {
	if uint64(len(st.Jobs)) == st.Header.Jobs {
		return nil
	}
	jobs, err := p.jobsUnder(p.key(kindJob).part(st.Header.Thread))
	for _, job := range jobs {
		if st.Job(job.ID()) == nil && !slices.Contains(st.Changes.JobEnds, job.ID()) {
			st.Jobs = append(st.Jobs, job)
		}
	}
	return err
}

// loadDue loads the waiting edits that the thread's next event is the last one for.
func (p *Partition) loadDue(st *thread.State) error {
	now := st.Header.Events + 1
	if st.Header.NextDeadline == 0 || now < st.Header.NextDeadline {
		return nil
	}
	name := st.Header.Thread
	prefix := p.key(kindDeadline).part(name)
	return p.scan(prefix, prefix, func(k, id []byte) (bool, error) {
		deadline, seq := lastNumber(k[:len(k)-8]), lastNumber(k)
		if deadline > now {
			st.NextDeadline = deadline
			return false, nil
		}
		w, err := p.waiting(name, string(id), seq)
		st.Due = append(st.Due, w)
		return true, err
	})
}

// Waits reports whether the event at a sequence is an edit that waits for its message.
func (p *Partition) Waits(name string, seq uint64) (found bool, err error) {
	h, err := p.Header(name)
	if err != nil || h == nil || h.Waiting == 0 {
		return false, err
	}
	prefix := p.key(kindDeadline).part(name)
	err = p.scan(prefix, prefix, func(k, _ []byte) (bool, error) {
		found = lastNumber(k) == seq
		return !found, nil
	})
	return found, err
}

func (p *Partition) waiting(name, id string, seq uint64) (*thread.Waiting, error) {
	w, err := rowAt(p.View, p.key(kindWaiting).part(name).part(id).number(seq), func(b []byte) (*thread.Waiting, error) { return decodeWaiting(name, b) })
	if err == nil && w == nil {
		err = fmt.Errorf("%w: waiting edit %d of thread %q has no row", ErrDamaged, seq, name)
	}
	return w, err
}

func decodeWaiting(name string, b []byte) (*thread.Waiting, error) {
	w := &thread.Waiting{}
	if err := decodeJSON(w, "waiting edit of thread", name)(b); err != nil {
		return nil, err
	}
	// It was accepted under the limits of its time, which are not checked again.
	ev, reject := events.Decode(events.Raw{Subject: w.Subject, Header: w.Header, Body: w.Body}, events.Limits{EventBytes: len(w.Body)})
	if reject != nil || ev.Edit == nil {
		return nil, fmt.Errorf("%w: waiting edit %d does not decode", ErrDamaged, w.Seq)
	}
	w.Edit = ev.Edit
	return w, nil
}
