package thread

import "precis/events"

// A rewind deletes everything after its message, as one event. In contrast to a deletion it leaves no trace in prompts: the result of
// a call may come again. It removes what stands when it is applied; a rewind that was waiting for its message finds nothing after it.

// rewind applies a rewind to the event's message. One to a message that an earlier rewind has removed changes nothing: what stood
// after it is gone, and what has come since belongs to another course of the thread.
func (s *State) rewind(in Input) Result {
	if s.Message.Rewound || len(s.After) == 0 {
		s.Header.Ignored++
		return Result{Outcome: Ignored}
	}
	s.removeAfter(in.Seq)
	s.Header.Edits++
	return Result{Outcome: Accepted, Rewound: true}
}

// removeAfter removes the messages after Message.
func (s *State) removeAfter(seq uint64) {
	for _, m := range s.After {
		s.remove(m, seq)
	}
	s.Changes.Rewound = s.After
	s.Header.LastMessageID = s.Message.ID
}

// remove takes a message out of the thread.
func (s *State) remove(m *Message, seq uint64) {
	m.Rewound = true
	if m.Deleted {
		return
	}
	s.grow(-1, m.Text)
	s.grow(-1, m.Args)
	m.Text, m.Digest, m.Deleted = Size{}, deletedDigest, true
	m.Revision++
	m.Seq = seq
	if m.Tool {
		if sum := s.Summary(s.Slot(events.ToolSlot(m.ID)).Holder); sum != nil {
			s.follow(sum, sum.TokensAfter-sum.TokensBefore)
		}
	}
	s.supersede(m.ID)
}

// Lapse makes an active summary stale with the event alone, without a record: a rewind that makes more of them stale than a step can
// record.
func (s *State) Lapse(sum *Summary) {
	sum.Status = Stale
	s.Header.SummariesActive--
	s.Header.SummariesStale++
	s.Header.TokensLive += sum.Saved()
	s.putSummary(sum)
}

// Overtake marks jobs whose answer will not be used.
func (s *State) Overtake(old func(*Job) bool) {
	for _, j := range s.Jobs {
		if !j.Superseded && old(j) {
			j.Superseded = true
			s.PutJob(j)
		}
	}
}
