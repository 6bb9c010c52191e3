package fold

import (
	"fmt"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/cut"
)

// A tool output stands whole in prompts until the model has read it (context.keep_outputs). The thread's state lists these
// outputs, and an assistant's message releases them: then the summary stands in, and counters and the next cut change with
// that event. The summary itself is made at once, and no record says when it stands in: events and policies do.

// keepOutputs updates, after an event, which outputs prompts hold whole. It comes before the event's message is counted.
func (s *Step) keepOutputs() {
	m, c, keep := s.st.Message, s.st.Compaction, s.p.Context.KeepOutputs
	switch {
	case !s.res.Revised || m.Deleted:
	case m.Tool:
		if s.p.Enabled && asked(s.p, m) && !c.Replaced(m.Ordinal) {
			s.release(c.KeepWhole(thread.Output{At: m.Ordinal, Tokens: m.Text.Tokens}, keep))
		}
	case m.Role == events.RoleAssistant && s.st.Changes.MessageNew && !c.Cut.Speaking():
		s.release(c.Turn(c.Cut.EarlyResults(m.Calls()), keep))
	}
}

// keepAgain updates, after a rewind, which outputs prompts hold whole: those that they would hold if the thread had ended
// there, by the policy of now. rows are the messages that are left, from the ordinal from on, items the same as cuts see
// them; outputs before them stay as they are. Compactions are up to date, and an output that one of them stands for and
// that has been released stays so.
func (s *Step) keepAgain(from uint64, rows []*thread.Message, items []cut.Item) {
	c, keep := s.st.Compaction, s.p.Context.KeepOutputs
	var again thread.Compaction
	revised := map[uint64]uint64{} // EVENTS sequences of contents, by ordinal
	for i, m := range rows {
		switch {
		case m.Tool:
			if s.p.Enabled && asked(s.p, m) && (!c.Replaced(m.Ordinal) || c.KeepsWhole(m.Ordinal)) {
				again.KeepWhole(thread.Output{At: m.Ordinal, Tokens: m.Text.Tokens}, keep)
				revised[m.Ordinal] = m.Seq
			}
		case m.Role == events.RoleAssistant && !again.Cut.Speaking():
			unread := again.Cut.EarlyResults(m.Calls())
			for _, o := range again.Outputs {
				if revised[o.At] > m.FirstSeq {
					unread = append(unread, o.At)
				}
			}
			again.Turn(unread, keep)
		}
		it := items[i]
		it.Deleted = false // it had its turn
		again.Cut.Apply(it, s.p.Compaction)
	}
	whole, released := c.Rewind(from, again.Outputs)
	s.swap(whole, s.st.Withhold)
	s.release(released)
}

// release lets the summaries of outputs stand in for them.
func (s *Step) release(ordinals []uint64) { s.swap(ordinals, s.st.Release) }

// swap has outputs stand whole, or lets their summaries stand in for them.
func (s *Step) swap(ordinals []uint64, change func(*thread.Summary)) {
	for _, at := range ordinals {
		m := s.st.Message
		own := m.Ordinal == at
		if !own {
			rows := s.rowsAt([]uint64{at})
			if len(rows) == 0 {
				check(fmt.Errorf("%w: no row at ordinal %d of thread %q", state.ErrDamaged, at, s.st.Header.Thread))
			}
			m = rows[0]
		}
		sum := s.holder(events.ToolSlot(m.ID))
		if sum == nil {
			continue
		}
		s.loadOver(m)
		before := s.item(m)
		change(sum)
		if !own || s.res.Rewound { // track counts what changes in the event's message
			s.adjust(before, s.item(m))
		}
	}
}
