package service

import (
	"cmp"
	"context"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// SummarizeRequest is the body of precis.thread.summarize.
type SummarizeRequest struct {
	Kind string `json:"kind"` // compaction (the default) or history
	// MinEventSeq is a publish ack's sequence: the summary is made behind that event.
	MinEventSeq uint64 `json:"min_event_seq,omitzero"`
}

// SummarizeReply is the answer of precis.thread.summarize.
type SummarizeReply struct {
	ThreadID string `json:"thread_id"`
	Kind     string `json:"kind"`
	// SummaryID is the summary that stands for the thread now: made on this request, or before it where there
	// was nothing more to summarize; null where there is nothing at all. A model may still be at work on it:
	// summary.created or summary.failed with that id follows. ID is the same.
	SummaryID events.OrNull `json:"summary_id"`
	ID        events.OrNull `json:"id"`
	// Reason says why there is none: ReasonDisabled or ReasonTooLittle; null where there is one.
	Reason events.OrNull `json:"reason"`
}

// Reasons why there is no summary.
const (
	ReasonDisabled  = "disabled"   // the thread's policy makes none
	ReasonTooLittle = "too_little" // what a summary could stand for is not worth one
)

func (s *Service) summarize(ctx context.Context, r *request) (any, error) {
	var req SummarizeRequest
	if err := decode(r.body, &req); err != nil {
		return nil, err
	}
	req.Kind = cmp.Or(req.Kind, events.KindCompaction)
	if req.Kind != events.KindCompaction && req.Kind != events.KindHistory {
		return nil, fault(codeBadRequest, "kind must be compaction or history, not %q", req.Kind)
	}
	name, partition, err := s.open(ctx, r, req.MinEventSeq)
	if err != nil {
		return nil, err
	}
	id, err := s.backend.Summarize(ctx, partition, name, req.Kind)
	if err != nil {
		return nil, err
	}
	reply := SummarizeReply{ThreadID: name, Kind: req.Kind, SummaryID: events.OrNull(id), ID: events.OrNull(id)}
	if id == "" {
		h, err := s.backend.View(partition).Header(name)
		if err != nil {
			return nil, err
		}
		reply.Reason = s.whyNone(h)
	}
	return s.told(ctx, partition, reply, nil)
}

// whyNone says why a thread has nothing to show for a request.
func (s *Service) whyNone(h *thread.Header) events.OrNull {
	p, _ := summarize.Resolve(s.backend.Policies(), h.Policy, h.FirstAgentID, h.Thread)
	if !p.Enabled {
		return ReasonDisabled
	}
	return ReasonTooLittle
}
