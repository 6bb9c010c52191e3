package events

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
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
	fieldParentThreadID
	fieldUsage
	fieldModel
	fieldCreatedAt
	fieldMetadata
	fieldDeleted
	fieldRewind
	fieldEditID
	fieldAtMessageID
	fieldForkID
	fieldParts
	fieldName
	fieldRefusal
	fieldAudio
	fieldAnnotations
	fieldReasoningContent
	fieldReasoningDetails
	fieldID
	fieldStatus
	fieldPhase
	fieldProviderOptions
	fieldFunctionCall
	fieldReasoning
	fieldThinkingBlocks
	fieldReasoningText
	fieldReasoningOpaque
	fieldExtraContent
	fieldProviderSpecificFields
	fieldCacheControl
	fieldImages
	fieldPrefix
	fieldCount
)

// String returns the member name in the data.
func (f field) String() string {
	return [fieldCount]string{
		fieldType: "type", fieldThreadID: "thread_id", fieldMessageID: "message_id", fieldRole: "role",
		fieldContent: "content", fieldToolCalls: "tool_calls", fieldToolCallID: "tool_call_id",
		fieldToolName: "tool_name", fieldArguments: "arguments", fieldIsError: "is_error",
		fieldExitCode: "exit_code", fieldRelevantRange: "relevant_range", fieldPinned: "pinned",
		fieldAgentID: "agent_id", fieldPolicy: "policy", fieldParentThreadID: "parent_thread_id", fieldUsage: "usage", fieldModel: "model", fieldCreatedAt: "created_at",
		fieldMetadata: "metadata", fieldDeleted: "deleted", fieldRewind: "rewind", fieldEditID: "edit_id",
		fieldAtMessageID: "at_message_id", fieldForkID: "fork_id",
		fieldParts: "parts", fieldName: "name", fieldRefusal: "refusal", fieldAudio: "audio", fieldAnnotations: "annotations",
		fieldReasoningContent: "reasoning_content", fieldReasoningDetails: "reasoning_details", fieldID: "id", fieldStatus: "status", fieldPhase: "phase", fieldProviderOptions: "providerOptions",
		fieldFunctionCall: "function_call", fieldReasoning: "reasoning", fieldThinkingBlocks: "thinking_blocks", fieldReasoningText: "reasoning_text", fieldReasoningOpaque: "reasoning_opaque", fieldExtraContent: "extra_content", fieldProviderSpecificFields: "provider_specific_fields", fieldCacheControl: "cache_control", fieldImages: "images", fieldPrefix: "prefix",
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
	case "parent_thread_id":
		return fieldParentThreadID
	case "usage":
		return fieldUsage
	case "model":
		return fieldModel
	case "created_at":
		return fieldCreatedAt
	case "metadata":
		return fieldMetadata
	case "deleted":
		return fieldDeleted
	case "rewind":
		return fieldRewind
	case "edit_id":
		return fieldEditID
	case "at_message_id":
		return fieldAtMessageID
	case "fork_id":
		return fieldForkID
	case "parts":
		return fieldParts
	}
	return nativeField(name)
}

// nativeField is fieldOf for members that messages have in a provider's shape.
func nativeField(name []byte) field {
	switch string(name) {
	case "name":
		return fieldName
	case "refusal":
		return fieldRefusal
	case "audio":
		return fieldAudio
	case "annotations":
		return fieldAnnotations
	case "reasoning_content":
		return fieldReasoningContent
	case "reasoning_details":
		return fieldReasoningDetails
	case "id":
		return fieldID
	case "status":
		return fieldStatus
	case "phase":
		return fieldPhase
	case "providerOptions":
		return fieldProviderOptions
	case "function_call":
		return fieldFunctionCall
	case "reasoning":
		return fieldReasoning
	case "thinking_blocks":
		return fieldThinkingBlocks
	case "reasoning_text":
		return fieldReasoningText
	case "reasoning_opaque":
		return fieldReasoningOpaque
	case "extra_content":
		return fieldExtraContent
	case "provider_specific_fields":
		return fieldProviderSpecificFields
	case "cache_control":
		return fieldCacheControl
	case "images":
		return fieldImages
	case "prefix":
		return fieldPrefix
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

// done returns the members to the pool; values made from them are copies, or share the memory of the message alone.
func (m *members) done() {
	*m = members{}
	spare.Put(m)
}

// present reports whether a member exists and is not null.
func (m *members) present(f field) bool { return len(m[f]) > 0 && !isNull(m[f]) }

// plain reads the common kind of body: an object of known members, each once, and each a text, a boolean or null.
// It returns false for everything else, invalid bodies included: walk reads and reports those. walk handles all of JSON
// and takes five times as long.
func (m *members) plain(body []byte) bool {
	i := skipBlank(body, 0)
	if i == len(body) || body[i] != '{' {
		return false
	}
	for {
		name, next := plainText(body, skipBlank(body, i+1))
		f := fieldOf(name)
		if f == fieldUnknown || m[f] != nil {
			return false
		}
		if next = skipBlank(body, next); next == len(body) || body[next] != ':' {
			return false
		}
		at := skipBlank(body, next+1)
		end := plainValue(body, at)
		if end == 0 {
			return false
		}
		m[f] = body[at:end:end]
		if i = skipBlank(body, end); i == len(body) {
			return false
		}
		switch body[i] {
		case ',':
		case '}':
			return skipBlank(body, i+1) == len(body)
		default:
			return false
		}
	}
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// plainText returns the bytes between the quotes at i and the index behind them; nil if plain can't decide.
func plainText(b []byte, i int) (text []byte, next int) {
	if i >= len(b) || b[i] != '"' {
		return nil, i
	}
	wide := false
	for j := plainEnd(b, i+1); j < len(b); j = plainEnd(b, j+1) {
		switch plainBytes[b[j]] {
		case plainQuote:
			text = b[i+1 : j]
			if wide && !utf8.Valid(text) {
				return nil, i
			}
			return text, j + 1
		case plainEscape:
			if j++; j == len(b) || !plainEscapes[b[j]] {
				return nil, i
			}
		case plainWide:
			for wide = true; j+1 < len(b) && b[j+1] >= utf8.RuneSelf; {
				j++
			}
		default:
			return nil, i
		}
	}
	return nil, i
}

// plainEnd returns where the bytes from i on that stand for themselves end. It examines eight bytes at once, since nearly
// all do. The lowest high bit set among the eight belongs to the first byte that is below a blank, a quote, a backslash or
// beyond ASCII; a borrow may set others above it.
func plainEnd(b []byte, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, escape := x^ones*'"', x^ones*'\\'
		if ends := (x | (x - ones*' ') | (quote - ones) | (escape - ones)) & high; ends != 0 {
			return i + bits.TrailingZeros64(ends)/8
		}
	}
	for i < len(b) && plainBytes[b[i]] == plainByte {
		i++
	}
	return i
}

// plainValue returns the end of the value at i; 0 if the value is not plain.
func plainValue(b []byte, i int) (end int) {
	if i == len(b) {
		return 0
	}
	if b[i] == '"' {
		if text, next := plainText(b, i); text != nil {
			return next
		}
		return 0
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(b)-i > len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return 0
}

// Classes of a byte within a JSON string.
const (
	plainNot = iota // a control character
	plainByte
	plainQuote
	plainEscape
	plainWide // part of a character beyond ASCII
)

var plainBytes = func() (kinds [256]uint8) {
	for b := ' '; b < 256; b++ {
		kinds[b] = plainByte
		if b >= utf8.RuneSelf {
			kinds[b] = plainWide
		}
	}
	kinds['"'], kinds['\\'] = plainQuote, plainEscape
	return kinds
}()

// plainEscapes may follow a backslash; \u needs a further check.
var plainEscapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// walk checks all of src as RFC 7493 JSON in one pass and passes the top value's members (or, with a nil name, its
// elements) to visit as slices of src. It returns the top value's kind. A scalar has neither.
func walk(src []byte, visit func(name, value []byte)) (jsontext.Kind, error) {
	w := walker{src: src, visit: visit}
	// Unmarshal pools decoders; creating one costs more than reading a small event.
	err := json.Unmarshal(src, &w)
	return w.kind, err
}

type walker struct {
	src   []byte
	visit func(name, value []byte)
	kind  jsontext.Kind

	start, end int // position in src of the member being visited, including its name
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (w *walker) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	w.kind = dec.PeekKind()
	if w.kind != jsontext.KindBeginObject && w.kind != jsontext.KindBeginArray {
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if w.kind == jsontext.KindBeginObject {
		return w.members(dec)
	}
	return w.elements(dec)
}

func (w *walker) members(dec *jsontext.Decoder) error {
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := w.next(dec)
		if err != nil {
			return err
		}
		w.start = w.end - len(name)
		value, err := w.next(dec)
		if err != nil {
			return err
		}
		w.visit(memberName(name), value)
	}
	_, err := dec.ReadToken()
	return err
}

func (w *walker) elements(dec *jsontext.Decoder) error {
	for dec.PeekKind() != jsontext.KindEndArray {
		value, err := w.next(dec)
		if err != nil {
			return err
		}
		w.visit(nil, value)
	}
	_, err := dec.ReadToken()
	return err
}

// next returns the next value as a slice of src: the decoder's own slice is valid only until its next read.
func (w *walker) next(dec *jsontext.Decoder) ([]byte, error) {
	value, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	w.end = int(dec.InputOffset())
	return w.src[w.end-len(value) : w.end : w.end], nil
}

// memberName returns a name without quotes and escapes: "message\u005fid" is the same name as message_id.
func memberName(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	name, _ := jsontext.AppendUnquote(nil, quoted) // the decoder has checked it
	return name
}

// unquote returns the text of a JSON string that the decoder has checked.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	text, _ := jsontext.AppendUnquote(make([]byte, 0, len(quoted)), quoted)
	return string(text)
}

// isText reports whether a JSON string that the decoder has checked is a text.
func isText(quoted []byte, text string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == text // without a copy
	}
	return unquote(quoted) == text
}

func isString(v []byte) bool { return len(v) > 0 && v[0] == '"' }

func isNull(v []byte) bool { return len(v) > 0 && v[0] == 'n' }

// invalidJSON reports a decoder's error without its JSON pointer, which can be as long as the event.
func invalidJSON(field string, err error) *RejectError {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return reject(CodeInvalidJSON, field, "can't be read as JSON")
	}
	if errors.Is(syntax.Err, io.ErrUnexpectedEOF) {
		return reject(CodeInvalidJSON, field, "ends before its value does")
	}
	what := strings.ToValidUTF8(syntax.Err.Error(), "\uFFFD")
	return reject(CodeInvalidJSON, field, "%s at byte %d", what, syntax.ByteOffset)
}
