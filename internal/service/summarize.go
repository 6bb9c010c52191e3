package service

import (
	"cmp"
	"context"
	"errors"

	"precis/api"
	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/summarize"
)

func (s *Service) summarize(ctx context.Context, r *request) (any, error) {
	var req api.SummarizeRequest
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
	if errors.Is(err, fold.ErrNoThread) {
		return nil, fault(codeNotFound, "no thread %q", name)
	}
	if err != nil {
		return nil, err
	}
	reply := api.SummarizeReply{ThreadID: name, Kind: req.Kind, SummaryID: events.OrNull(id), ID: events.OrNull(id)}
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
		return api.ReasonDisabled
	}
	return api.ReasonTooLittle
}
