package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"precis/api"
	"precis/events"
	"precis/internal/content"
	"precis/internal/thread"
	"precis/state"
)

func (s *Service) message(ctx context.Context, r *request) (any, error) {
	var req api.MessageRequest
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
	m, err := messageOf(view, name, req.MessageID)
	if err != nil {
		return nil, err
	}
	reply, err := s.revision(ctx, view, name, m, req)
	return s.told(ctx, partition, reply, err)
}

// messageOf finds a message by its id, or by the end of it that omission marks have of long ones, with or without the mark of the cut.
func messageOf(view state.View, name, id string) (*thread.Message, error) {
	m, err := view.Message(name, id)
	if err != nil || m != nil {
		return m, err
	}
	h, err := view.Header(name)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fault(codeNotFound, "no thread %q", name)
	}
	end := strings.TrimLeft(id, "….")
	if utf8.RuneCountInString(end) < events.IDEnding {
		return nil, fault(codeNotFound, "thread %q has no message %q", name, id)
	}
	ids, err := view.MessagesEnding(name, end)
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0:
		return nil, fault(codeNotFound, "thread %q has no message %q", name, id)
	case len(ids) > 1:
		const most = 5
		return nil, fault(codeBadRequest, "%d messages of thread %q have ids that end with %q, such as %s: give one of them whole", len(ids), name, end, strings.Join(ids[:min(len(ids), most)], ", "))
	}
	return view.Message(name, ids[0])
}

func (s *Service) revision(ctx context.Context, view state.View, name string, m *thread.Message, req api.MessageRequest) (any, error) {
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
	r := api.MessageReply{
		ThreadID: name, MessageID: m.ID, Role: m.Role, Revision: revision, Revisions: m.Revision,
		OtherParts: map[string]int{}, EventSeq: seq,
	}
	current := take(&r, ev)
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
	if !r.Deleted && !current.IsNull() {
		cut(&r, current.Text(), req.Lines)
	}
	for _, part := range current.OtherParts() {
		r.OtherParts[part.Type]++
	}
	return r, nil
}

// first adds the fields that an edit neither states nor changes; a deletion removes the calls as well. They stay
// unknown if retention has removed the message as it was published.
func (s *Service) first(ctx context.Context, r *api.MessageReply, m *thread.Message) (*events.Message, error) {
	ev, err := content.Read(ctx, s.backend.Log(), m.FirstSeq)
	if errors.Is(err, content.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	take(r, ev)
	if r.Deleted {
		r.ToolCalls = nil
	}
	return ev.Message, nil
}

// take fills in what the event of the revision says, and returns its content.
func take(r *api.MessageReply, ev *events.Event) events.Content {
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
func cut(r *api.MessageReply, text string, lines []int) {
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
