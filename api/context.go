package api

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ContextRequest is the body of precis.thread.context; it may be empty.
type ContextRequest struct {
	MaxTokens   int    `json:"max_tokens"` // 0: no limit
	Format      string `json:"format"`     // one of the formats; default FormatMessages
	MinEventSeq uint64 `json:"min_event_seq"`
	Explain     bool   `json:"explain,omitzero"` // ContextReply.Explain
	// Children has the threads named that the thread's agent started and that still run: ContextReply.RunningThreadIDs, and a line
	// behind the compaction, which may stand for the messages that started them.
	Children bool `json:"children,omitzero"`
	// OnlySummaries has null in the place of each of ContextReply.Messages that stands without a summary, for a caller that has the
	// thread's messages itself. Sources names them.
	OnlySummaries bool `json:"only_summaries,omitzero"`
}

// ContextReply is the answer: the compacted prompt, and what it is made of.
type ContextReply struct {
	System   jsontext.Value `json:"system"` // Anthropic's list of system blocks, Gemini's system instruction; else null
	Messages jsontext.Value `json:"messages"`
	// TokenCount has what a provider adds to each message and call, beside the texts, names and arguments.
	TokenCount   int  `json:"token_count"`
	WithinBudget bool `json:"within_budget"`
	Dropped
	SummaryIDs []string `json:"summary_ids"`
	// RenewingSummaryIDs are those of SummaryIDs that are stale by a policy, a prompt, a model or their age, and serve
	// until they are made again.
	RenewingSummaryIDs []string `json:"renewing_summary_ids"`
	WaitingMessageIDs  []string `json:"waiting_message_ids"` // held back until their calls' results are there
	// OmittedParts are parts of the messages in the prompt that the format has no counterpart of: a mark stands there instead,
	// or nothing where it is another provider's reasoning.
	OmittedParts []OmittedPart `json:"omitted_parts"`
	// ShortenedMessageIDs are tool outputs that would stand whole (context.keep_outputs), and stand as their summaries to
	// hold max_tokens.
	ShortenedMessageIDs []string `json:"shortened_message_ids"`
	// Sources says of each of Messages, in their order, what it is made of; SystemSource says it of System, null without one.
	Sources      []Source     `json:"sources"`
	SystemSource *Source      `json:"system_source"`
	Explain      *Explanation `json:"explain"` // null unless the request says explain
	// RunningThreadIDs are the threads that the thread's agent started and that still run; null unless the request says children.
	RunningThreadIDs Nullable[string] `json:"running_thread_ids"`
	Fork             *Lineage         `json:"fork"` // where a fork comes from; null for any other thread
	EventSeq         uint64           `json:"event_seq"`
}

// OmittedPart is a part of a message's content that the prompt does not hold.
type OmittedPart struct {
	MessageID string `json:"message_id"`
	Index     int    `json:"index"` // in the message's list of parts, from 0; -1: a member beside the content
	Type      string `json:"type"`
	Reason    string `json:"reason"`
}

// Dropped are the messages whose contents had to go, or are gone from the log, in the thread's order.
type Dropped struct {
	DroppedCount int `json:"dropped_count"`
	// DroppedMessageIDs names them all; null where they are more than 1,000, and DroppedRanges has them.
	DroppedMessageIDs Nullable[string] `json:"dropped_message_ids"`
	// DroppedRanges is null where DroppedMessageIDs has them.
	DroppedRanges Nullable[DroppedRange] `json:"dropped_ranges"`
}

// DroppedRange is a run of dropped messages: nothing of the thread that stands in the prompt, in a summary or waits lies
// between the first and the last. Between two ranges something does, so that ranges are few where a prompt is small.
type DroppedRange struct {
	First string `json:"first_message_id"`
	Last  string `json:"last_message_id"`
	Count int    `json:"count"`
}

// Nullable is a list that is null in JSON where it is nil.
type Nullable[T any] []T

// MarshalJSON implements json.Marshaler.
func (l Nullable[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("null"), nil
	}
	return json.Marshal([]T(l))
}
