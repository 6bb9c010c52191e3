package thread

import (
	"slices"

	"precis/events"
	"precis/summarize/tokens"
)

// Apply folds one event into the state of its thread. It can't fail: an invalid event is rejected, and the same event after the
// same events always has the same outcome.
func Apply(s *State, in Input) Result {
	if s.Header.Events++; s.Header.FirstSeq == 0 {
		s.Header.FirstSeq = in.Seq
	}
	s.Header.EventSeq = in.Seq
	s.Header.LastAt = in.Time.UnixNano()
	res := apply(s, in)
	if res.Outcome == Rejected {
		s.Header.Rejected++
	}
	s.giveUp(&res)
	return res
}

func apply(s *State, in Input) Result {
	switch {
	case in.Reject != nil:
		return rejected(in, in.Reject)
	case in.Event.Edit != nil:
		return s.edit(in)
	case in.Event.Fork != nil:
		return s.fork(in)
	default:
		return s.message(in)
	}
}

// message accepts a message or recognizes a duplicate. It compares with the first revision's content, so that a late duplicate
// of an edited message is still a duplicate.
func (s *State) message(in Input) Result {
	m := in.Event.Message
	shape := m.ShapeDigest(in.Event.Type)
	digest := events.RevisionDigest(shape, m.Content)
	if s.Message != nil {
		if s.Message.FirstDigest != digest {
			return rejected(in, conflict(m.MessageID))
		}
		s.Header.Duplicates++
		return Result{Outcome: Duplicate}
	}
	s.first(in.Event, m)
	s.Message = s.newMessage(in, m, shape, digest)
	s.Changes.MessagePut, s.Changes.MessageNew = true, true
	s.grow(1, s.Message.Text)
	s.grow(1, s.Message.Args)
	res := Result{Outcome: Accepted, Revised: true, Content: m.Content}
	s.release(in, &res)
	return res
}

func (s *State) newMessage(in Input, m *events.Message, shape, digest [32]byte) *Message {
	s.Header.Ordinals++
	s.Header.LastMessageID = m.MessageID
	tool := in.Event.Type == events.ToolResult
	if tool {
		s.Header.ToolResults++
	} else {
		s.Header.Messages++
	}
	row := &s.fresh
	*row = Message{
		ID: m.MessageID, Ordinal: s.Header.Ordinals, Tool: tool, Role: m.Role,
		Shape: shape, FirstDigest: digest, Digest: digest,
		FirstSeq: in.Seq, Seq: in.Seq, Pinned: m.Pinned,
		Text: in.size(m.Role, m.Content),
	}
	row.publish(m, in)
	return row
}

// first notes who sent the thread's first message and which thread started it, and which policy was named.
func (s *State) first(ev *events.Event, m *events.Message) {
	if s.Header.Ordinals == 0 {
		s.Header.FirstAgentID = s.Header.AgentWith(m)
		if m.ParentThreadID != "" && m.ParentThreadID != ev.Thread {
			s.Header.Parent, s.Changes.Child = m.ParentThreadID, true
		}
	}
	if m.Policy != "" {
		s.Header.Policy = m.Policy
	}
}

// release applies the edits that arrived before their message, in order of arrival.
func (s *State) release(in Input, res *Result) {
	for _, w := range s.Held {
		s.Changes.Release = append(s.Changes.Release, w)
		s.Header.Waiting--
		switch {
		case w.Edit.Pinned != nil && s.pin(*w.Edit.Pinned):
			s.Header.Edits++
		case w.Edit.Contents() && s.revise(w.Edit, w.Seq, in):
			res.Content = w.Edit.Content
			s.Header.Edits++
		default:
			s.Header.Ignored++
		}
	}
	s.Held = nil
}

func (s *State) edit(in Input) Result {
	e := in.Event.Edit
	key := e.Key(in.Event.CloudEventID)
	if s.EditSeen {
		s.Header.Duplicates++
		return Result{Outcome: Duplicate}
	}
	if s.Message == nil {
		return s.hold(in, key)
	}
	// Remember the edit even if it changes nothing: sent again after another edit it would undo that one.
	s.Changes.EditKeys = append(s.Changes.EditKeys, key)
	switch {
	case e.Pinned != nil:
		return s.pinned(*e.Pinned)
	case e.Rewind:
		return s.rewind(in)
	}
	if !s.revise(e, in.Seq, in) {
		s.Header.Ignored++
		return Result{Outcome: Ignored}
	}
	s.Header.Edits++
	s.supersede(s.Message.ID)
	return Result{Outcome: Accepted, Revised: true, Content: e.Content, Edited: true}
}

// pinned applies an edit that pins or unpins the message.
func (s *State) pinned(to bool) Result {
	if !s.pin(to) {
		s.Header.Ignored++
		return Result{Outcome: Ignored}
	}
	s.Header.Edits++
	return Result{Outcome: Accepted, Pinned: true}
}

// pin pins or unpins the message and reports whether that changes it. The content keeps its revision: what was made from it
// stays true. Prompts use the summary of a tool output only while the output is not pinned.
func (s *State) pin(to bool) bool {
	m := s.Message
	if m.Pinned == to {
		return false
	}
	m.Pinned = to
	s.Changes.MessagePut = true
	for _, sum := range s.Summaries {
		if sum.Kind == events.KindToolResult && slices.Contains(sum.Sources, m.ID) {
			s.setAside(sum, to)
		}
	}
	return true
}

// revise gives the message a new revision and reports whether the edit changes anything.
func (s *State) revise(e *events.Edit, seq uint64, in Input) bool {
	m := s.Message
	digest := deletedDigest
	var text Size
	if !e.Deleted {
		digest = events.RevisionDigest(m.Shape, e.Content)
		text = in.size(m.Role, e.Content)
	}
	if digest == m.Digest {
		return false
	}
	s.grow(-1, m.Size())
	m.Text, m.Digest, m.Deleted = text, digest, e.Deleted
	if !e.Deleted {
		m.refer(e.Content, in)
	}
	s.grow(1, m.Size())                              // deleting a message deletes its calls
	s.Changes.Restored, m.Rewound = m.Rewound, false // a restored one has its place again
	s.standFor(m)
	m.Revision++
	m.Seq = seq
	s.Changes.MessagePut = true
	s.Changes.Revisions = append(s.Changes.Revisions, Revision{Number: m.Revision, Seq: seq})
	return true
}

// hold keeps an edit until its message arrives.
func (s *State) hold(in Input, key string) Result {
	if in.PendingEditEvents == 0 {
		return rejected(in, unknown(in.Event.Edit.MessageID))
	}
	w := &Waiting{
		MessageID: in.Event.Edit.MessageID, Key: key, Seq: in.Seq,
		Deadline: s.Header.Events + in.PendingEditEvents,
		Subject:  in.Raw.Subject, Header: in.Raw.Header, Body: in.Raw.Body,
		Edit: in.Event.Edit,
	}
	s.Changes.Hold = w
	s.Changes.EditKeys = append(s.Changes.EditKeys, key)
	s.Header.Waiting++
	if s.Header.NextDeadline == 0 || w.Deadline < s.Header.NextDeadline {
		s.Header.NextDeadline = w.Deadline
	}
	return Result{Outcome: Held}
}

// giveUp rejects the edits whose message has not arrived in time.
func (s *State) giveUp(res *Result) {
	if s.Header.NextDeadline == 0 || s.Header.Events < s.Header.NextDeadline {
		return
	}
	for _, w := range s.Due {
		if s.released(w) {
			continue
		}
		res.Rejections = append(res.Rejections, Rejection{
			Seq: w.Seq, Reason: unknown(w.MessageID),
			Raw: events.Raw{Subject: w.Subject, Header: w.Header, Body: w.Body},
		})
		s.Changes.Release = append(s.Changes.Release, w)
		s.Changes.EditForget = append(s.Changes.EditForget, w)
		s.Header.Waiting--
		s.Header.Rejected++
	}
	s.Header.NextDeadline = s.NextDeadline
	if w := s.Changes.Hold; w != nil && (s.NextDeadline == 0 || w.Deadline < s.NextDeadline) {
		s.Header.NextDeadline = w.Deadline
	}
}

func (s *State) released(w *Waiting) bool {
	for _, r := range s.Changes.Release {
		if r.Seq == w.Seq {
			return true
		}
	}
	return false
}

// size is that of a content: of its text, and the tokens of what is not text.
func (in Input) size(role string, c events.Content) Size {
	size := in.Measure(c.Text())
	size.Tokens += int64(tokens.Unread(role, c))
	return size
}

func (s *State) grow(by int64, size Size) {
	s.Header.Tokens += by * size.Tokens
	s.Header.TokensLive += by * size.Tokens
	s.Header.Bytes += by * size.Bytes
}

func (a Size) plus(b Size, by int64) Size {
	return Size{Chars: a.Chars + by*b.Chars, Bytes: a.Bytes + by*b.Bytes, Tokens: a.Tokens + by*b.Tokens}
}
