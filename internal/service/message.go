package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"precis/events"
	"precis/internal/content"
	"precis/internal/thread"
	"precis/state"
)

// MessageRequest is the body of precis.message.get.
type MessageRequest struct {
	MessageID string  `json:"message_id"`
	Revision  *uint64 `json:"revision,omitzero"` // null: the current one; 0: as first published
	Lines     []int   `json:"lines,omitempty"`   // [from, to], 1-based, both included
	// MinEventSeq is a publish ack's sequence: the answer waits until that event is in it.
	MinEventSeq uint64 `json:"min_event_seq,omitzero"`
}

// MessageReply is the answer of precis.message.get: the original text, which every omission mark
// points to.
type MessageReply struct {
	ThreadID   string            `json:"thread_id"`
	MessageID  string            `json:"message_id"`
	Role       string            `json:"role"`
	ToolName   *string           `json:"tool_name"` // as the message says it, or its call
	Revision   uint64            `json:"revision"`
	Revisions  uint64            `json:"revisions"` // edits so far
	Deleted    bool              `json:"deleted"`   // this revision is a deletion; its content is null
	Content    *string           `json:"content"`
	ToolCalls  []events.ToolCall `json:"tool_calls"`
	OtherParts map[string]int    `json:"other_parts"` // content parts that are no text, by type
	Lines      []int             `json:"lines"`       // what of the text this is; empty: no line of it
	LinesTotal int               `json:"lines_total"`
	EventSeq   uint64            `json:"event_seq"` // of the revision
}

func (s *Service) message(ctx context.Context, r *request) (any, error) {
	var req MessageRequest
	if err := decode(r.body, &req); err != nil {
		return nil, err
	}
	if req.MessageID == "" {
		return nil, fault(codeBadRequest, "message_id is missing")
	}
	if len(req.Lines) != 0 && (len(req.Lines) != 2 || req.Lines[0] < 1 || req.Lines[1] < req.Lines[0]) {
		return nil, fault(codeBadRequest, "lines must be [from, to], counted from 1, with from <= to")
	}
	name, partition, err := s.open(ctx, r, req.MinEventSeq)
	if err != nil {
		return nil, err
	}
	view := s.backend.View(partition)
	m, err := view.Message(name, req.MessageID)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fault(codeNotFound, "thread %q has no message %q", name, req.MessageID)
	}
	reply, err := s.revision(ctx, view, name, m, req)
	return s.told(ctx, partition, reply, err)
}

func (s *Service) revision(ctx context.Context, view state.View, name string, m *thread.Message, req MessageRequest) (any, error) {
	revision := m.Revision
	if req.Revision != nil {
		revision = *req.Revision
	}
	seq, err := view.RevisionSeq(name, m, revision)
	if err != nil {
		return nil, err
	}
	if seq == 0 {
		return nil, fault(codeNotFound, "message %q has no revision %d; the current one is %d", m.ID, revision, m.Revision)
	}
	ev, err := content.Read(ctx, s.backend.Log(), seq)
	if err != nil {
		return nil, err
	}
	r := MessageReply{
		ThreadID: name, MessageID: m.ID, Role: m.Role, Revision: revision, Revisions: m.Revision,
		OtherParts: map[string]int{}, EventSeq: seq,
	}
	current := r.take(ev)
	origin := ev.Message
	if ev.Edit != nil {
		if origin, err = s.first(ctx, &r, m); err != nil {
			return nil, err
		}
	}
	if origin != nil {
		log := content.Uncached{Log: s.backend.Log()}
		if origin, err = content.Called(ctx, view, log, name, m.Ordinal, content.Now, origin); err != nil {
			return nil, err
		}
		if origin.ToolName != "" {
			r.ToolName = &origin.ToolName
		}
	}
	if !r.Deleted {
		r.cut(current.Text(), req.Lines)
	}
	for _, part := range current.OtherParts() {
		r.OtherParts[part.Type]++
	}
	return r, nil
}

// first adds the fields that an edit neither states nor changes; a deletion removes the calls as well. They stay
// unknown if retention has removed the message as it was published.
func (s *Service) first(ctx context.Context, r *MessageReply, m *thread.Message) (*events.Message, error) {
	ev, err := content.Read(ctx, s.backend.Log(), m.FirstSeq)
	if errors.Is(err, content.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.take(ev)
	if r.Deleted {
		r.ToolCalls = nil
	}
	return ev.Message, nil
}

// take fills in what the event of the revision says, and returns its content.
func (r *MessageReply) take(ev *events.Event) events.Content {
	if ev.Edit != nil {
		r.Deleted = ev.Edit.Deleted || ev.Edit.Rewind
		return ev.Edit.Content
	}
	r.ToolCalls = slices.Clone(ev.Message.Calls()) // which may be those of an event that others read
	for i := range r.ToolCalls {
		r.ToolCalls[i].Raw = nil
	}
	return ev.Message.Content
}

// cut keeps the lines that were asked for, as many of them as there are.
func (r *MessageReply) cut(text string, lines []int) {
	all := strings.SplitAfter(text, "\n")
	if n := len(all); all[n-1] == "" && n > 1 {
		all = all[:n-1] // a newline at the end begins no line
	}
	r.LinesTotal = len(all)
	r.Lines = []int{1, len(all)}
	if len(lines) == 2 {
		r.Lines = []int{lines[0], min(lines[1], len(all))}
	}
	part := ""
	if from, to := r.Lines[0], r.Lines[1]; from <= to {
		part = strings.Join(all[from-1:to], "")
	} else {
		r.Lines = nil // all of them are behind its end
	}
	r.Content = &part
}
