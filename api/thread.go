package api

import (
	"time"
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
	TokensTotal  int64  `json:"tokens_total"` // texts and arguments only
	Bytes        int64  `json:"bytes"`
	// TokensLive is what a compacted prompt holds now, by the policy's tokenizer: texts and arguments only, so that it is less than
	// ContextReply.TokenCount of the same prompt.
	TokensLive int64 `json:"tokens_live"`
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
	Fork *Lineage `json:"fork"`
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

// Child is a thread that another one's agent started: its first message names that thread as its parent.
type Child struct {
	ThreadID string `json:"thread_id"`
	AgentID  string `json:"agent_id"` // of its first message
	// Running: the thread does not end with what its assistant says without a call. One that was given up counts as
	// running; LastEventAt tells.
	Running      bool      `json:"running"`
	Messages     uint64    `json:"messages"`
	ToolResults  uint64    `json:"tool_results"`
	LLMInput     int64     `json:"llm_input_tokens"`
	LLMOutput    int64     `json:"llm_output_tokens"`
	CostMicroUSD int64     `json:"cost_microusd"`
	CostUnknown  uint64    `json:"calls_of_unknown_cost"`
	EventSeq     uint64    `json:"event_seq"`
	LastEventAt  time.Time `json:"last_event_at"`
}

// Descendants are a thread's children, theirs, and so on, in sum.
type Descendants struct {
	Threads      int    `json:"threads"`
	LLMInput     int64  `json:"llm_input_tokens"`
	LLMOutput    int64  `json:"llm_output_tokens"`
	CostMicroUSD int64  `json:"cost_microusd"`
	CostUnknown  uint64 `json:"calls_of_unknown_cost"`
}

// Lineage is where a fork comes from.
type Lineage struct {
	ParentThreadID string  `json:"parent_thread_id"`
	AtMessageID    *string `json:"at_message_id"` // null: the parent's end
	// ParentEventSeq is the parent's last event before the fork; null if it had none.
	ParentEventSeq    *uint64 `json:"parent_event_seq"`
	EventSeq          uint64  `json:"event_seq"`          // of the fork
	InheritedMessages uint64  `json:"inherited_messages"` // deleted ones included
	Reason            *string `json:"reason"`             // why it began with nothing: unknown_parent, unknown_message; null if it did not
}
