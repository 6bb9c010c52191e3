package events

import (
	"crypto/rand"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Type is a CloudEvents type; it is also the head of the NATS subject that carries it.
type Type string

// What agents publish.
const (
	ThreadMessage Type = "thread.message"
	ToolResult    Type = "tool.result"
	MessageEdited Type = "message.edited"
	ThreadForked  Type = "thread.forked"
)

// What the processor publishes.
const (
	SummaryStarted     Type = "summary.started"
	SummaryCreated     Type = "summary.created"
	SummaryInvalidated Type = "summary.invalidated"
	SummaryFailed      Type = "summary.failed"
	UsageRecorded      Type = "usage.recorded"
	ConfigApplied      Type = "config.applied"
	PartitionClaimed   Type = "partition.claimed"
	EventRejected      Type = "event.rejected"
)

// Roles a message may have.
const (
	RoleSystem    = "system"
	RoleDeveloper = "developer"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Event is one accepted event, as Decode returns it.
// Exactly one of Message, Edit and Fork is set.
type Event struct {
	// Type is the effective type: a thread.message with role tool is a ToolResult here.
	Type Type
	// Thread is the thread id itself, not its subject token.
	Thread string
	// CloudEventID is the ce-id (or the structured mode's id); empty for a bare event.
	CloudEventID string

	Message *Message
	Edit    *Edit
	Fork    *Fork
}

// Message is the data of a thread.message or a tool.result; fields that a type does not have are zero.
type Message struct {
	MessageID string     `json:"message_id"`
	Role      string     `json:"role"` // RoleTool for every tool result
	Content   Content    `json:"content,omitzero"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`

	ToolCallID    string         `json:"tool_call_id,omitempty"`
	ToolName      string         `json:"tool_name,omitempty"`
	Arguments     jsontext.Value `json:"arguments,omitzero"` // of the tool call: an object or a JSON string
	IsError       *bool          `json:"is_error,omitempty"`
	ExitCode      *int           `json:"exit_code,omitempty"`
	RelevantRange *LineRange     `json:"relevant_range,omitempty"`

	Pinned  bool   `json:"pinned,omitempty"`
	AgentID string `json:"agent_id,omitempty"`
	// ParentThreadID is the thread of the agent that started this one; it counts on a thread's first message.
	ParentThreadID string         `json:"parent_thread_id,omitempty"`
	Policy         string         `json:"policy,omitempty"`
	Usage          *TokenUsage    `json:"usage,omitempty"`
	Model          string         `json:"model,omitempty"` // that made the message, as its provider names it
	CreatedAt      time.Time      `json:"created_at,omitzero"`
	Metadata       jsontext.Value `json:"metadata,omitzero"`

	// Native is an object of further members that the message has in its provider's shape, as OpenAI's name, refusal and audio.
	Native jsontext.Value `json:",embed"`

	legacy *ToolCall // its function_call
}

// ToolCall is one call that an assistant message makes.
type ToolCall struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments,omitzero"` // an object, or a JSON string that contains one

	// Raw is the call as published, where that is its provider's shape; JSON has it then instead of the other fields.
	Raw jsontext.Value `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	if len(c.Raw) > 0 {
		return c.Raw, nil
	}
	type plain ToolCall
	return json.Marshal(plain(c))
}

// LineRange is a range of lines, 1-based and inclusive.
type LineRange struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// TokenUsage is the usage that the provider reported for the call that produced a message.
type TokenUsage struct {
	InputTokens  int64 `json:"input_tokens"` // the whole prompt, what came from or went into a cache included
	OutputTokens int64 `json:"output_tokens"`
	// The parts of InputTokens that were read from the provider's cache and written to it.
	CachedInputTokens        int64 `json:"cached_input_tokens,omitzero"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens,omitzero"`
}

// Edit is the data of a message.edited: another content, a deletion, a rewind, or a pin. Where Deleted, Rewind or Pinned is set,
// nothing else is.
type Edit struct {
	MessageID string    `json:"message_id"`
	Content   Content   `json:"content"`
	Deleted   bool      `json:"deleted,omitempty"`
	Rewind    bool      `json:"rewind,omitempty"` // everything after the message is deleted; the message stays
	Pinned    *bool     `json:"pinned,omitempty"` // pins the message, or unpins it; its content stays
	EditID    string    `json:"edit_id,omitempty"`
	AgentID   string    `json:"agent_id,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// Contents reports whether the edit is one of the message's content, which a deletion is too.
func (e *Edit) Contents() bool { return e.Pinned == nil && !e.Rewind }

// MarshalJSON leaves the content out of an edit that pins or rewinds: null would be a content.
func (e Edit) MarshalJSON() ([]byte, error) {
	type plain Edit
	if e.Contents() {
		return json.Marshal(plain(e))
	}
	return json.Marshal(struct {
		MessageID string    `json:"message_id"`
		Rewind    bool      `json:"rewind,omitempty"`
		Pinned    *bool     `json:"pinned,omitempty"`
		EditID    string    `json:"edit_id,omitempty"`
		AgentID   string    `json:"agent_id,omitempty"`
		CreatedAt time.Time `json:"created_at,omitzero"`
	}{e.MessageID, e.Rewind, e.Pinned, e.EditID, e.AgentID, e.CreatedAt})
}

// Fork is the data of a thread.forked: the thread begins with the messages of another one, as they stand at the event's place in the
// log. It is the thread's first event.
type Fork struct {
	ParentThreadID string `json:"parent_thread_id"`
	// AtMessageID is the last message that the fork begins with; empty: the parent's last one.
	AtMessageID string    `json:"at_message_id,omitempty"`
	ForkID      string    `json:"fork_id,omitempty"`
	AgentID     string    `json:"agent_id,omitempty"`
	CreatedAt   time.Time `json:"created_at,omitzero"`
}

// Types returns every type, those that agents publish first.
func Types() []Type {
	return []Type{
		ThreadMessage, ToolResult, MessageEdited, ThreadForked,
		SummaryStarted, SummaryCreated, SummaryInvalidated, SummaryFailed, UsageRecorded, ConfigApplied, PartitionClaimed, EventRejected,
	}
}

// Incoming reports whether agents publish events of this type.
func (t Type) Incoming() bool {
	switch t {
	case ThreadMessage, ToolResult, MessageEdited, ThreadForked:
		return true
	}
	return false
}

// Stream is the stream that holds a type.
func (t Type) Stream() string {
	switch {
	case t.Incoming():
		return StreamEvents
	case t == EventRejected:
		return StreamRejected
	default:
		return StreamSummaries
	}
}

// Known reports whether t is one of this package's types.
func (t Type) Known() bool { return slices.Contains(Types(), t) }

// NewMessageID returns a unique message id: 26 random characters, 130 bits.
func NewMessageID() string { return "msg_" + rand.Text() }

// NewEditID returns a unique edit id.
func NewEditID() string { return "edit_" + rand.Text() }

// NewForkID returns a unique fork id.
func NewForkID() string { return "fork_" + rand.Text() }
