package service

import (
	"context"

	"precis/events"
)

// summarizeRequest is the body of precis.thread.summarize.
type summarizeRequest struct {
	Kind string `json:"kind"` // compaction (the default) or history
	// MinEventSeq is a publish ack's sequence: the summary is made behind that event.
	MinEventSeq uint64 `json:"min_event_seq"`
}

// summarizeReply is the answer of precis.thread.summarize.
type summarizeReply struct {
	ThreadID string `json:"thread_id"`
	Kind     string `json:"kind"`
	// SummaryID is the summary that stands for the thread now: made on this request, or before it where there
	// was nothing more to summarize; null where there is nothing at all. A model may still be at work on it:
	// summary.created or summary.failed with that id follows. ID is the same.
	SummaryID events.OrNull `json:"summary_id"`
	ID        events.OrNull `json:"id"`
}

func (s *Service) summarize(ctx context.Context, token string, body []byte) (any, error) {
	req := summarizeRequest{Kind: events.KindCompaction}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	if req.Kind != events.KindCompaction && req.Kind != events.KindHistory {
		return nil, fault(codeBadRequest, "kind is compaction or history, not %q", req.Kind)
	}
	_, name, partition, err := s.view(token)
	if err != nil {
		return nil, err
	}
	if err := s.backend.Wait(ctx, partition, req.MinEventSeq); err != nil {
		return nil, err
	}
	id, err := s.backend.Summarize(ctx, partition, name, req.Kind)
	if err != nil {
		return nil, err
	}
	return s.told(ctx, partition, summarizeReply{
		ThreadID: name, Kind: req.Kind, SummaryID: events.OrNull(id), ID: events.OrNull(id),
	}, nil)
}
