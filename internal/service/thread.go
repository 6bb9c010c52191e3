package service

import (
	"context"
	"fmt"

	"precis/internal/thread"
	"precis/state"
)

// ThreadRequest is the body of precis.thread.get; it may be empty.
type ThreadRequest struct {
	// MinEventSeq is a publish ack's sequence: the answer waits until that event is in it.
	MinEventSeq uint64 `json:"min_event_seq"`
}

// ThreadReply is the answer of precis.thread.get.
type ThreadReply struct {
	ThreadID     string `json:"thread_id"`
	Partition    int    `json:"partition"`
	Messages     uint64 `json:"messages"`
	ToolResults  uint64 `json:"tool_results"`
	Edits        uint64 `json:"edits"`
	Duplicates   uint64 `json:"duplicates"`
	Rejected     uint64 `json:"rejected"`
	WaitingEdits uint64 `json:"waiting_edits"`
	TokensTotal  int64  `json:"tokens_total"`
	Bytes        int64  `json:"bytes"`
	TokensLive   int64  `json:"tokens_live"` // what a compacted prompt holds now, by the policy's tokenizer
	// PromptTokens is what that prompt weighs at its provider: what the provider reported last, corrected by what the thread has
	// gained and lost since. Null where no usage was reported.
	PromptTokens    *int64    `json:"prompt_tokens"`
	Reported        *Reported `json:"reported"` // null where no usage was reported
	SummariesActive uint64    `json:"summaries_active"`
	SummariesStale  uint64    `json:"summaries_stale"`
	// SummariesStarted counts those that are being made: summary.started without its end.
	SummariesStarted uint64  `json:"summaries_started"`
	LLMInput         int64   `json:"llm_input_tokens"`
	LLMOutput        int64   `json:"llm_output_tokens"`
	CostMicroUSD     int64   `json:"cost_microusd"`
	CostUnknown      uint64  `json:"calls_of_unknown_cost"`
	EventSeq         uint64  `json:"event_seq"`
	ChainSeq         uint64  `json:"chain_seq"`
	ChainHead        *string `json:"chain_head"`
	// Fork is where a fork comes from; null for any other thread.
	Fork *thread.Lineage `json:"fork"`
	// ParentThreadID is the thread whose agent started this one; null without one.
	ParentThreadID *string `json:"parent_thread_id"`
	// Children are the threads that this one's agent started, in the order in which they began: the last 100 of ChildrenCount.
	Children      []Child     `json:"children"`
	ChildrenCount int         `json:"children_count"`
	Descendants   Descendants `json:"descendants"`
}

// Reported is what a thread's provider said of its calls, in the usage of the assistant's messages.
type Reported struct {
	MessageID string        `json:"message_id"` // of the last call that reported
	Model     *string       `json:"model"`      // of that call, if the message names it
	Usage     ProviderUsage `json:"usage"`      // of that call
	Calls     uint64        `json:"calls"`
	Total     ProviderUsage `json:"total"` // of all calls
}

// ProviderUsage is the usage of calls.
type ProviderUsage struct {
	InputTokens              int64 `json:"input_tokens"` // what was read from and written to a cache included
	OutputTokens             int64 `json:"output_tokens"`
	CachedInputTokens        int64 `json:"cached_input_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
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
	if err = reply.report(snapshot.View, h); err == nil {
		err = family.lineage(ctx, h, &reply)
	}
	if err == nil {
		err = family.durable(ctx, s)
	}
	return s.told(ctx, partition, reply, err)
}

// report adds what the provider said of the thread's calls.
func (r *ThreadReply) report(view state.View, h *thread.Header) error {
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
	r.Reported = &Reported{MessageID: rows[0].ID, Usage: ProviderUsage(said.Last), Calls: said.Calls, Total: ProviderUsage(said.Total)}
	if said.Model != "" {
		r.Reported.Model = &said.Model
	}
	return nil
}

func replyOf(h *thread.Header, partition int) ThreadReply {
	r := ThreadReply{
		ThreadID: h.Thread, Partition: partition,
		Messages: h.Messages, ToolResults: h.ToolResults, Edits: h.Edits,
		Duplicates: h.Duplicates + h.Ignored, Rejected: h.Rejected, WaitingEdits: h.Waiting,
		TokensTotal: h.Tokens, Bytes: h.Bytes, TokensLive: h.TokensLive,
		SummariesActive: h.SummariesActive, SummariesStale: h.SummariesStale, SummariesStarted: h.Jobs,
		LLMInput: h.LLMInput, LLMOutput: h.LLMOutput, CostMicroUSD: h.CostMicroUSD, CostUnknown: h.CostUnknown,
		EventSeq: h.EventSeq, ChainSeq: h.ChainSeq, Fork: h.Lineage(),
	}
	if h.ChainSeq > 0 {
		r.ChainHead = &h.Chain
	}
	return r
}
