package api

import (
	"precis/events"
)

// MessageRequest is the body of precis.message.get.
type MessageRequest struct {
	MessageID string  `json:"message_id"`
	Revision  *uint64 `json:"revision,omitzero"` // null: the current one; 0: as first published
	Lines     []int   `json:"lines,omitempty"`   // [from, to], 1-based, both included
	// MinEventSeq is a publish ack's sequence: the answer waits until that event is in it.
	MinEventSeq uint64 `json:"min_event_seq,omitzero"`
}

// MessageReply is the answer of precis.message.get: the original text, which every omission mark
// points to.
type MessageReply struct {
	ThreadID   string            `json:"thread_id"`
	MessageID  string            `json:"message_id"`
	Role       string            `json:"role"`
	ToolName   *string           `json:"tool_name"` // as the message says it, or its call
	Revision   uint64            `json:"revision"`
	Revisions  uint64            `json:"revisions"` // edits so far
	Deleted    bool              `json:"deleted"`   // this revision is a deletion; its content is null
	Content    *string           `json:"content"`   // the text; null also where none was published, as beside calls
	ToolCalls  []events.ToolCall `json:"tool_calls"`
	OtherParts map[string]int    `json:"other_parts"` // content parts that are no text, by type
	Lines      []int             `json:"lines"`       // what of the text this is; empty: no line of it
	LinesTotal int               `json:"lines_total"`
	EventSeq   uint64            `json:"event_seq"` // of the revision
}
