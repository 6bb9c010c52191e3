package fold

import (
	"fmt"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
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
		s.release(c.Turn(c.Cut.EarlyResults(m.CallIDs), keep))
	}
}

// release lets the summaries of outputs stand in for them.
func (s *Step) release(ordinals []uint64) {
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
		s.st.Release(sum)
		if !own { // track counts what changes in the event's message
			s.adjust(before, s.item(m))
		}
	}
}
