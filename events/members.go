package events

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// field is a known member of an event's data, of any event type.
type field uint8

const (
	fieldUnknown field = iota
	fieldType
	fieldThreadID
	fieldMessageID
	fieldRole
	fieldContent
	fieldToolCalls
	fieldToolCallID
	fieldToolName
	fieldArguments
	fieldIsError
	fieldExitCode
	fieldRelevantRange
	fieldPinned
	fieldAgentID
	fieldPolicy
	fieldUsage
	fieldCreatedAt
	fieldMetadata
	fieldDeleted
	fieldEditID
	fieldCount
)

// String returns the member name in the data.
func (f field) String() string {
	return [fieldCount]string{
		fieldType: "type", fieldThreadID: "thread_id", fieldMessageID: "message_id", fieldRole: "role",
		fieldContent: "content", fieldToolCalls: "tool_calls", fieldToolCallID: "tool_call_id",
		fieldToolName: "tool_name", fieldArguments: "arguments", fieldIsError: "is_error",
		fieldExitCode: "exit_code", fieldRelevantRange: "relevant_range", fieldPinned: "pinned",
		fieldAgentID: "agent_id", fieldPolicy: "policy", fieldUsage: "usage", fieldCreatedAt: "created_at",
		fieldMetadata: "metadata", fieldDeleted: "deleted", fieldEditID: "edit_id",
	}[f]
}

// fieldOf returns a member's field. The compiler turns the switch into a search and allocates no string for name.
func fieldOf(name []byte) field {
	switch string(name) {
	case "type":
		return fieldType
	case "thread_id":
		return fieldThreadID
	case "message_id":
		return fieldMessageID
	case "role":
		return fieldRole
	case "content":
		return fieldContent
	case "tool_calls":
		return fieldToolCalls
	case "tool_call_id":
		return fieldToolCallID
	case "tool_name":
		return fieldToolName
	case "arguments":
		return fieldArguments
	case "is_error":
		return fieldIsError
	case "exit_code":
		return fieldExitCode
	case "relevant_range":
		return fieldRelevantRange
	case "pinned":
		return fieldPinned
	case "agent_id":
		return fieldAgentID
	case "policy":
		return fieldPolicy
	case "usage":
		return fieldUsage
	case "created_at":
		return fieldCreatedAt
	case "metadata":
		return fieldMetadata
	case "deleted":
		return fieldDeleted
	case "edit_id":
		return fieldEditID
	}
	return fieldUnknown
}

// members are an event's data before interpretation: the JSON of each known member as it stands in the body. Because
// reading and interpreting are separate, invalid JSON and a contradicting envelope are reported before a wrong field,
// wherever they stand in the body.
type members [fieldCount][]byte

// readMembers checks the whole body as JSON; field is the field that its errors name.
func readMembers(field string, body []byte) (*members, *RejectError) {
	m := spare.Get().(*members)
	if m.plain(body) {
		return m, nil
	}
	*m = members{}
	kind, err := walk(body, func(name, value []byte) { m[fieldOf(name)] = value })
	if err != nil {
		return nil, invalidJSON(field, err)
	}
	if kind != jsontext.KindBeginObject {
		return nil, schemaError(field, "must be an object")
	}
	return m, nil
}

// spare pools members that are no longer in use: otherwise each event allocates half a kilobyte.
var spare = sync.Pool{New: func() any { return new(members) }}

// done returns the members to the pool; values made from them are copies.
func (m *members) done() {
	*m = members{}
	spare.Put(m)
}

// present reports whether a member exists and is not null.
func (m *members) present(f field) bool { return len(m[f]) > 0 && !isNull(m[f]) }
