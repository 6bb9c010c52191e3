package fold

import (
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize/cut"
)

// weight returns the tokens of a message in a prompt without compaction: its own, or its summary's. Its slot must be loaded.
func (s *Step) weight(m *thread.Message) int64 {
	if !m.Tool || m.Pinned {
		return m.Tokens()
	}
	if sum := s.st.Summary(s.st.Slot(events.ToolSlot(m.ID)).Holder); sum != nil && sum.Stands() {
		return m.Tokens() - sum.Saved()
	}
	return m.Tokens()
}

// item returns a message as cuts see it. Its slot must be loaded.
func (s *Step) item(m *thread.Message) cut.Item { return m.Item(s.weight(m)) }

// items returns messages as cuts see them.
func (s *Step) items(rows []*thread.Message) []cut.Item {
	items := make([]cut.Item, len(rows))
	for i, m := range rows {
		if m.Tool {
			s.slot(events.ToolSlot(m.ID))
		}
		items[i] = s.item(m)
	}
	return items
}

// weigh returns the tokens that messages take now in a prompt without compaction.
func (s *Step) weigh(rows []*thread.Message) (tokens int64) {
	for _, it := range s.items(rows) {
		tokens += it.Tokens
	}
	return tokens
}

// track updates, after an event, the counters that decide on the next cut.
func (s *Step) track() {
	c := s.st.Compaction
	if c == nil || !s.res.Revised && !s.res.Pinned {
		return
	}
	s.st.Changes.Compacted = true
	s.report()
	s.keepOutputs()
	it := s.item(s.st.Message)
	if s.st.Changes.MessageNew {
		c.Cut.Apply(it, s.p.Compaction)
		return
	}
	restored := s.before.Deleted && !it.Deleted && c.Replaced(it.Ordinal) && s.leafOf(it.MessageID) == nil
	unpinned := s.before.Fixed(s.p.Compaction) && !it.Fixed(s.p.Compaction) && slices.Contains(c.Fixed, it.Ordinal)
	if restored || unpinned {
		c.Hold(it.Ordinal)
	}
	if it.Ordinal > c.Cut.LastAt && !it.Deleted { // restored behind the end of a rewind
		s.st.Header.LastMessageID = it.MessageID
	}
	s.adjust(*s.before, it)
	// What a rewind left took other calls and results together, and so did what stood before an edit of calls.
	if s.st.Changes.Restored && len(it.Calls)+len(it.Results) > 0 || !slices.Equal(s.before.Calls, it.Calls) || !slices.Equal(s.before.Results, it.Results) {
		s.recount(c.To(), s.st.Header.Ordinals)
	}
}

// adjust applies a message's changed weight. If a compaction stands for the message, the compaction stands for more or less, and
// the prompt does not change.
func (s *Step) adjust(before, after cut.Item) {
	c := s.st.Compaction
	c.Cut.Adjust(before, after, s.p.Compaction)
	if c.Replaced(before.Ordinal) {
		was := c.Cut.Gone.Tokens
		c.Cut.Gone = c.Cut.Gone.Changed(before, after)
		s.st.Under(c.Cut.Gone.Tokens - was)
	}
	s.st.Changes.Compacted = true
}

// reweigh makes a change that can change its message's weight in a prompt. For a tool output the message must be loaded.
func (s *Step) reweigh(kind string, change func()) {
	if kind != events.KindToolResult || s.st.Compaction == nil || s.st.Message == nil {
		change()
		return
	}
	before := s.item(s.st.Message)
	change()
	s.adjust(before, s.item(s.st.Message))
}

// correctCut corrects, after an event that removed or restored something, what a cut must not pass: the latest turns and the edge of
// the compactions. Live and recovery get the same result.
func (s *Step) correctCut() {
	c := s.st.Compaction
	if c == nil {
		return
	}
	if s.res.Revised && !s.st.Changes.MessageNew && s.before.Deleted != s.st.Message.Deleted {
		s.retake()
	}
	if c.Cut.Lacks(s.p.Compaction.Keep) {
		s.st.Changes.Compacted = true
		s.lower(&c.Cut)
	}
	// A stale leaf lets go of messages that must stand verbatim when it is recomputed. Until then the old text must not serve.
	if s.st.Header.RenewCompactions > 0 && s.mustStand() {
		s.slot(events.SlotCurrent)
		s.st.Retire(events.SlotCurrent)
	}
}

// retake makes the message before a deleted one the latest of its role, or a restored one again.
func (s *Step) retake() {
	m, c := s.st.Message, &s.st.Compaction.Cut
	at := c.User.At
	switch m.Role {
	case events.RoleUser:
	case events.RoleAssistant:
		at = c.Assistant.At
	default:
		return
	}
	if m.Deleted && m.Ordinal != at || !m.Deleted && m.Ordinal < at {
		return
	}
	latest := m
	if m.Deleted {
		latest = s.lastBefore(m.Role, m.Ordinal)
	}
	s.retakeAs(m.Role, latest)
}

// retakeAs makes a message the latest of a role; nil: there is none.
func (s *Step) retakeAs(role string, latest *thread.Message) {
	c := &s.st.Compaction.Cut
	if latest == nil {
		c.Retake(role, cut.Item{}, nil, s.p.Compaction)
		return
	}
	items := s.items(append([]*thread.Message{latest}, s.resultsOf(latest)...))
	c.Retake(role, items[0], items[1:], s.p.Compaction)
}

// lastBefore returns the newest message before an ordinal that has a role and is not deleted; nil if there is none.
func (s *Step) lastBefore(role string, ordinal uint64) (found *thread.Message) {
	s.backwards(ordinal, func(row *thread.Message) bool {
		if row.Role == role && !row.Deleted {
			found = row
		}
		return found == nil
	})
	return found
}

// backwards passes the messages before an ordinal, the newest first, until more returns false. It reads more of them at a time the
// further back it gets.
func (s *Step) backwards(to uint64, more func(*thread.Message) bool) {
	for n := uint64(8); to > 1; n = min(4*n, 512) {
		from := max(to, n+1) - n
		for _, m := range slices.Backward(s.rows(from, to)) {
			if !more(m) {
				return
			}
		}
		to = from
	}
}

// stillThere returns the messages from an ordinal on, at most so many, without those that a rewind has removed.
func (s *Step) stillThere(from uint64, most int) (rows []*thread.Message) {
	for n := uint64(most); len(rows) < most && from <= s.st.Header.Ordinals; n = min(4*n, 512) {
		rows = append(rows, slices.DeleteFunc(s.rows(from, from+n), func(m *thread.Message) bool { return m.Rewound })...)
		from += n
	}
	return rows[:min(most, len(rows))]
}

// resultsOf returns the results of a message's calls, within the range in which a cut waits for them.
func (s *Step) resultsOf(m *thread.Message) (results []*thread.Message) {
	open := map[string]int{} // a message may have thousands of calls
	for _, id := range m.Calls() {
		open[id]++
	}
	if len(open) == 0 {
		return nil
	}
	for _, row := range s.stillThere(m.Ordinal+1, cut.Patience) {
		for _, id := range row.Results() {
			if open[id] == 0 {
				continue
			}
			if open[id]--; len(results) == 0 || results[len(results)-1] != row {
				results = append(results, row)
			}
		}
	}
	return results
}

// report notes what the provider said about the prompt behind an assistant's message. It comes before anything that the message
// changes in prompts: the call's prompt still held the outputs that the message releases.
func (s *Step) report() {
	m := s.st.Message
	if !s.st.Changes.MessageNew || m.Role != events.RoleAssistant {
		return
	}
	in := s.in.Event.Message
	held := s.st.Header.TokensLive - m.Tokens()
	if s.f.HeldAt != nil {
		held = s.f.HeldAt(s.at.Seq, held)
	}
	s.st.Compaction.Report(m, in.Usage, in.Model, held)
}
