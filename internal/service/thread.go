package service

import (
	"context"

	"precis/internal/thread"
)

// ThreadRequest is the body of precis.thread.get; it may be empty.
type ThreadRequest struct {
	// MinEventSeq is a publish ack's sequence: the answer waits until that event is in it.
	MinEventSeq uint64 `json:"min_event_seq"`
}

// ThreadReply is the answer of precis.thread.get.
type ThreadReply struct {
	ThreadID        string `json:"thread_id"`
	Partition       int    `json:"partition"`
	Messages        uint64 `json:"messages"`
	ToolResults     uint64 `json:"tool_results"`
	Edits           uint64 `json:"edits"`
	Duplicates      uint64 `json:"duplicates"`
	Rejected        uint64 `json:"rejected"`
	WaitingEdits    uint64 `json:"waiting_edits"`
	TokensTotal     int64  `json:"tokens_total"`
	Bytes           int64  `json:"bytes"`
	TokensLive      int64  `json:"tokens_live"`
	SummariesActive uint64 `json:"summaries_active"`
	SummariesStale  uint64 `json:"summaries_stale"`
	// SummariesStarted counts those that are being made: summary.started without its end.
	SummariesStarted uint64  `json:"summaries_started"`
	LLMInput         int64   `json:"llm_input_tokens"`
	LLMOutput        int64   `json:"llm_output_tokens"`
	CostMicroUSD     int64   `json:"cost_microusd"`
	CostUnknown      uint64  `json:"calls_of_unknown_cost"`
	EventSeq         uint64  `json:"event_seq"`
	ChainSeq         uint64  `json:"chain_seq"`
	ChainHead        *string `json:"chain_head"`
}

func (s *Service) thread(ctx context.Context, r *request) (any, error) {
	var req ThreadRequest
	if err := decode(r.body, &req); err != nil {
		return nil, err
	}
	name, partition, err := s.open(ctx, r, req.MinEventSeq)
	if err != nil {
		return nil, err
	}
	h, err := s.backend.View(partition).Header(name)
	if err != nil {
		return nil, err
	}
	if h == nil { // one whose events were all rejected stands: its counters say so
		return nil, fault(codeNotFound, "no thread %q", name)
	}
	return s.told(ctx, partition, replyOf(h, partition), nil)
}

func replyOf(h *thread.Header, partition int) ThreadReply {
	r := ThreadReply{
		ThreadID: h.Thread, Partition: partition,
		Messages: h.Messages, ToolResults: h.ToolResults, Edits: h.Edits,
		Duplicates: h.Duplicates + h.Ignored, Rejected: h.Rejected, WaitingEdits: h.Waiting,
		TokensTotal: h.Tokens, Bytes: h.Bytes, TokensLive: h.TokensLive,
		SummariesActive: h.SummariesActive, SummariesStale: h.SummariesStale, SummariesStarted: h.Jobs,
		LLMInput: h.LLMInput, LLMOutput: h.LLMOutput, CostMicroUSD: h.CostMicroUSD, CostUnknown: h.CostUnknown,
		EventSeq: h.EventSeq, ChainSeq: h.ChainSeq,
	}
	if h.ChainSeq > 0 {
		r.ChainHead = &h.Chain
	}
	return r
}
