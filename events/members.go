package events

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// field is a member of an event's data that means something to some type of event.
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

// fieldNames are the fields as the data spells them.
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

// fieldOf finds a member's field; the compiler makes a search of the switch, and no string of the name.
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

// members are an event's data, not yet interpreted: each known member's JSON as it stands in the body. Reading
// them apart from interpreting them lets broken JSON and a contradicting envelope be told before a wrong field,
// wherever in the body they stand.
type members [fieldCount][]byte

// readMembers checks the whole of body as JSON; field is what a fault of it is booked to.
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

// spare has members that nobody reads any more: half a kilobyte for each event otherwise.
var spare = sync.Pool{New: func() any { return new(members) }}

// done gives the members back; what was made of them holds copies.
func (m *members) done() {
	*m = members{}
	spare.Put(m)
}

// present says whether a member stands and is not null.
func (m *members) present(f field) bool { return len(m[f]) > 0 && !isNull(m[f]) }
