package fold

import (
	"slices"
	"strconv"
	"strings"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// A fork begins with another thread's rows, which only the partition of that thread has as they stand at the fork's place in the log. So
// a thread.forked is a step of two partitions. The parent's hands over what of the thread a rewind to the message would leave, and the
// place is one behind which its later decisions take effect, as behind an event of its own. The fork's partition copies that; who
// calls its Step waits until it is committed. Neither decides anything: the fork has no record before its next event.

// away returns the partition whose event this is and the thread that it forks, if it is a fork in another partition.
func (f *Fold) away(raw events.Raw) (to int, parent string, away bool) {
	if parent = events.ForkParent(raw); parent == "" {
		return 0, "", false
	}
	head, _, _ := strings.Cut(raw.Subject, ".")
	to, err := strconv.Atoi(head)
	return to, parent, err == nil && to != f.part.ID()
}

// handOver is the step of the parent's partition.
func (f *Fold) handOver(d Delivery, to int, parent string) Outcome {
	ev, rej := events.Decode(d.Raw, events.Limits{})
	if rej != nil {
		check(rej)
	}
	handed := state.Handed{Seq: d.Seq, To: to}
	switch h := got(f.part.Elsewhere(to, ev.Thread)); {
	case h != nil && h.Fork.Seq == d.Seq:
		// The fork has had it, and this partition is made again. Should the fork's be made again as well, behind this one, it finds nothing handed over, and has this one be
		// made once more, which then finds the fork in front of the event. Whatever were handed over now would be taken for the parent as it was.
	case h != nil && (h.Ordinals > 0 || h.Forked()): // it comes too late, whatever it would begin with
		f.part.HandOver(handed, &thread.Branch{Reason: events.ForkUnknownParent})
	default:
		f.part.HandOver(handed, f.branch(parent, ev.Fork.AtMessageID))
	}
	f.applied = d.Seq
	saving(func() { f.adoptUpTo(d.Seq, noEvent) })
	return Outcome{Outcome: thread.HandedOver}
}

// inherit gives the step's thread, which has just been forked, what it begins with.
func (s *Step) inherit() {
	f, fork := s.f, s.in.Event.Fork
	home := f.part.ID()
	if f.Home != nil {
		home = f.Home(fork.ParentThreadID)
	}
	if home == f.part.ID() {
		s.st.Inherit(f.branch(fork.ParentThreadID, fork.AtMessageID))
		return
	}
	s.st.Inherit(got(f.part.Handed(home, s.at.Seq)))
}

// branch returns what a fork of a thread at a message begins with; an empty message is the thread's end.
func (f *Fold) branch(parent, at string) *thread.Branch {
	s := f.on(parent, Delivery{})
	b := &thread.Branch{ParentSeq: s.st.Header.EventSeq}
	if s.st.Header.Ordinals == 0 {
		b.Reason = events.ForkUnknownParent
		return b
	}
	s.loadCompaction()
	if s.st.Message = s.forkedAt(at); s.st.Message == nil {
		b.Reason = events.ForkUnknownMessage
		return b
	}
	s.endAtMessage()
	s.fillBranch(b)
	return b
}

// forkedAt returns a message of the thread, or its newest one; nil if there is no such message.
func (s *Step) forkedAt(id string) *thread.Message {
	if id != "" {
		return got(s.f.part.Message(s.st.Header.Thread, id))
	}
	return s.rowsAt([]uint64{s.st.Header.Ordinals})[0]
}

// endAtMessage ends a thread at the step's message, as a rewind to it does, in a state that is not saved.
func (s *Step) endAtMessage() {
	check(s.f.part.LoadAfter(s.st))
	if len(s.st.After) == 0 {
		return
	}
	s.res.Rewound = true
	before := s.afterItems()
	s.st.EndAtMessage()
	if s.st.Message.Rewound { // by an earlier rewind: the thread ends where that one went
		s.backwards(s.st.Message.Ordinal, func(m *thread.Message) bool {
			s.st.Header.LastMessageID = m.ID
			return m.Rewound
		})
	}
	s.rewind(before)
	for _, sum := range s.outlived() {
		s.st.Lapse(sum)
	}
	if sum := s.holder(events.SlotCurrent); len(s.dropped) > 0 && len(s.st.Compaction.Tops) > 0 && sum != nil {
		s.st.Renew(sum) // over what is left: the fork's next event makes it
	}
}

// fillBranch collects the thread's rows up to the step's message.
func (s *Step) fillBranch(b *thread.Branch) {
	part, name, last := s.f.part, s.st.Header.Thread, s.st.Message.Ordinal
	b.Messages = got(part.Messages(name, 1, last+1))
	in := make(map[string]bool, len(b.Messages))
	for _, m := range b.Messages {
		in[m.ID] = true
	}
	check(part.Revisions(name, func(r thread.MessageRevision) (bool, error) {
		if in[r.MessageID] {
			b.Revisions = append(b.Revisions, r)
		}
		return true, nil
	}))
	kept := s.branchSummaries(b, in)
	slots := map[string]bool{events.SlotCurrent: true, events.SlotHistory: true}
	for _, sum := range b.Summaries {
		slots[sum.Slot] = true
	}
	check(part.Slots(name, func(slot *thread.Slot) (bool, error) {
		if own := s.st.Loaded(slot.Name); own != nil {
			slot = own
		}
		if slots[slot.Name] || in[strings.TrimPrefix(slot.Name, events.ToolSlot(""))] {
			b.Slots = append(b.Slots, heldBy(slot, kept))
		}
		return true, nil
	}))
	upTo, seen, err := part.Seen(name)
	check(err)
	if upTo <= last {
		b.Seen, b.SeenTo = seen, upTo
	}
	b.Header, b.Compaction = s.st.Header, s.st.Compaction
	b.Header.Ordinals = last
	forkReported(&b.Compaction.Reported, last)
}

// heldBy returns a slot without summaries that are not kept; its versions go on.
func heldBy(slot *thread.Slot, kept map[string]bool) *thread.Slot {
	held := *slot
	if !kept[held.Holder] {
		held.Holder = ""
	}
	if !kept[held.Serving] {
		held.Serving = ""
	}
	return &held
}

// forkReported keeps what a provider said of the branch's last prompt. The calls were the parent's.
func forkReported(r *thread.Reported, last uint64) {
	if r.At > last {
		*r = thread.Reported{}
		return
	}
	r.Calls, r.Total = 0, events.TokenUsage{}
}

// branchSummaries collects the summaries that stand for nothing but the branch's messages, with their ledgers, and takes the others out of
// the state's counters.
func (s *Step) branchSummaries(b *thread.Branch, in map[string]bool) (kept map[string]bool) {
	part, name := s.f.part, s.st.Header.Thread
	kept = map[string]bool{}
	check(part.Summaries(name, func(sum *thread.Summary) (bool, error) {
		if own := s.st.Summary(sum.ID); own != nil {
			sum = own
		}
		slot := s.st.Loaded(sum.Slot)
		if slot == nil {
			slot = got(part.Slot(name, sum.Slot))
		}
		holds := slot.Holder == sum.ID
		if !s.inBranch(sum, in) {
			if holds {
				s.st.Forget(sum)
			}
			return true, nil
		}
		if !holds && slot.Serving != sum.ID {
			return true, nil // replaced
		}
		if s.takenApart(sum, in) {
			s.st.TakeApart(sum)
		}
		kept[sum.ID] = true
		b.Summaries = append(b.Summaries, sum)
		return true, nil
	}))
	b.Summaries = append(b.Summaries, s.below(b.Summaries, in)...)
	b.Ledgers = map[string][]byte{}
	for _, sum := range b.Summaries {
		if sum.Status == thread.Replaced {
			continue // it has none, or lacks what it is made from
		}
		if data := got(part.Ledger(name, sum.ID)); data != nil {
			b.Ledgers[sum.ID] = data
		}
	}
	return kept
}

// takenApart reports whether a summary is a node that an earlier rewind took apart, and the branch lacks some of what it was made from.
func (s *Step) takenApart(sum *thread.Summary, in map[string]bool) bool {
	node := sum.Kind == events.KindCompaction && sum.Level > 0 && sum.Slot != events.SlotCurrent
	return node && sum.Status == thread.Stale && s.reachesBehind(sum, in) && !s.underTops(sum.Slot)
}

// underTops reports whether a slot is that of a top, or of what one is made from now.
func (s *Step) underTops(slot string) bool {
	seen := map[string]bool{}
	for queue := ids(s.st.Compaction.Tops); len(queue) > 0; queue = queue[1:] {
		sum := s.rowOf(queue[0])
		if sum == nil || seen[sum.Slot] {
			continue
		}
		if sum.Slot == slot {
			return true
		}
		seen[sum.Slot] = true
		if holder := s.holder(sum.Slot); holder != nil {
			queue = append(queue, holder.SourceSums...)
		}
	}
	return false
}

// reachesBehind reports whether a summary was made, directly or not, from a message of the thread that is behind the branch. One that has no
// row is not: retention has removed it, as it has for what else the branch begins with.
func (s *Step) reachesBehind(sum *thread.Summary, in map[string]bool) bool {
	for _, id := range sum.Sources {
		if !in[id] && got(s.f.part.Message(s.st.Header.Thread, id)) != nil {
			return true
		}
	}
	return slices.ContainsFunc(sum.SourceSums, func(id string) bool {
		from := s.rowOf(id)
		return from != nil && s.reachesBehind(from, in)
	})
}

// rowOf returns a summary of the thread as far as the step has changed it; nil if there is none.
func (s *Step) rowOf(id string) *thread.Summary {
	if own := s.st.Summary(id); own != nil {
		return own
	}
	return got(s.f.part.Summary(s.st.Header.Thread, id))
}

// below returns the replaced summaries that those of the branch were made from: their ledgers are made from these again.
func (s *Step) below(kept []*thread.Summary, in map[string]bool) (replaced []*thread.Summary) {
	has := make(map[string]bool, len(kept))
	for _, sum := range kept {
		has[sum.ID] = true
	}
	for next := kept; len(next) > 0; {
		var made []*thread.Summary
		for _, sum := range next {
			for _, id := range sum.SourceSums {
				if has[id] {
					continue
				}
				has[id] = true
				if source := s.rowOf(id); source != nil && source.Status == thread.Replaced && s.inBranch(source, in) {
					made = append(made, source)
				}
			}
		}
		replaced, next = append(replaced, made...), made
	}
	return replaced
}

// inBranch reports whether a summary stands for the branch's messages alone.
func (s *Step) inBranch(sum *thread.Summary, in map[string]bool) bool {
	tops := s.st.Compaction.Tops
	switch {
	case sum.Slot == events.SlotCurrent:
		return len(tops) > 0
	case slices.Contains(s.dropped, sum):
		return false
	case sum.Kind == events.KindHistory && slices.ContainsFunc(sum.SourceSums, func(id string) bool { return s.isDropped(id) }):
		return false
	}
	return !slices.ContainsFunc(sum.Sources, func(id string) bool { return !in[id] })
}

func (s *Step) isDropped(id string) bool {
	return slices.ContainsFunc(s.dropped, func(sum *thread.Summary) bool { return sum.ID == id })
}
