package service

import (
	"context"
	"fmt"

	"precis/api"
	"precis/internal/thread"
	"precis/state"
)

func (s *Service) thread(ctx context.Context, r *request) (any, error) {
	var req api.ThreadRequest
	if err := decode(r.body, &req); err != nil {
		return nil, err
	}
	name, partition, err := s.open(ctx, r, req.MinEventSeq)
	if err != nil {
		return nil, err
	}
	// One state of the store: counters and what the provider reported are of the same event.
	snapshot := s.backend.Snapshot(partition)
	defer snapshot.Close()
	h, err := snapshot.Header(name)
	if err != nil {
		return nil, err
	}
	if h == nil { // one whose events were all rejected stands: its counters say so
		return nil, fault(codeNotFound, "no thread %q", name)
	}
	reply, family := replyOf(h, partition), s.kin()
	if err = report(&reply, snapshot.View, h); err == nil {
		err = family.lineage(ctx, h, &reply)
	}
	if err == nil {
		err = family.durable(ctx, s)
	}
	return s.told(ctx, partition, reply, err)
}

// report adds what the provider said of the thread's calls.
func report(r *api.ThreadReply, view state.View, h *thread.Header) error {
	c, err := view.Compaction(h.Thread)
	if err != nil || c.Reported.At == 0 {
		return err
	}
	said := c.Reported
	rows, err := view.MessagesAt(h.Thread, []uint64{said.At})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("%w: no row at ordinal %d of thread %q", state.ErrDamaged, said.At, h.Thread)
	}
	weight := said.PromptTokens(h.TokensLive)
	r.PromptTokens = &weight
	r.Reported = &api.Reported{MessageID: rows[0].ID, Usage: api.ProviderUsage(said.Last), Calls: said.Calls, Total: api.ProviderUsage(said.Total)}
	if said.Model != "" {
		r.Reported.Model = &said.Model
	}
	return nil
}

func replyOf(h *thread.Header, partition int) api.ThreadReply {
	r := api.ThreadReply{
		ThreadID: h.Thread, Partition: partition,
		Messages: h.Messages, ToolResults: h.ToolResults, Edits: h.Edits,
		Duplicates: h.Duplicates + h.Ignored, Rejected: h.Rejected, WaitingEdits: h.Waiting,
		TokensTotal: h.Tokens, Bytes: h.Bytes, TokensLive: h.TokensLive,
		SummariesActive: h.SummariesActive, SummariesStale: h.SummariesStale, SummariesStarted: h.Jobs,
		LLMInput: h.LLMInput, LLMOutput: h.LLMOutput, CostMicroUSD: h.CostMicroUSD, CostUnknown: h.CostUnknown,
		EventSeq: h.EventSeq, ChainSeq: h.ChainSeq, Fork: (*api.Lineage)(h.Lineage()),
	}
	if h.ChainSeq > 0 {
		r.ChainHead = &h.Chain
	}
	return r
}
