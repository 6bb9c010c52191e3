package events

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Raw is an event as received: a NATS message in EVENTS.
type Raw struct {
	Subject string              // as published or as stored
	Header  map[string][]string // names in any case
	Body    []byte
}

// Limits are the configured limits on which an event's acceptance depends.
type Limits struct {
	EventBytes int // the longest body, in bytes; 0: no limit
}

// Decode turns a message into an event, or says why it is rejected. It depends on raw and lim alone, so that every
// replay decides the same. The first failing check decides the code; the order is the subject, the size, the JSON, the
// envelope against subject and body, the data.
func Decode(raw Raw, lim Limits) (Event, *RejectError) {
	return decode(raw, lim, 0)
}

// DecodeKept is Decode for a message that does not change as long as the event is in use: a text that is most of it shares its memory.
func DecodeKept(raw Raw, lim Limits) (Event, *RejectError) {
	return decode(raw, lim, raw.memory())
}

// memory is what a message takes as it was received: NATS has its header in front of its body.
func (raw Raw) memory() int {
	n := len(raw.Body)
	for key, values := range raw.Header {
		for _, v := range values {
			n += len(key) + len(": \r\n") + len(v)
		}
	}
	return n
}

func decode(raw Raw, lim Limits, kept int) (Event, *RejectError) {
	at, rej := decodeSubject(raw.Subject)
	if rej != nil {
		return Event{}, rej
	}
	if lim.EventBytes > 0 && len(raw.Body) > lim.EventBytes {
		return Event{}, reject(CodeTooLarge, "", "body of %d bytes, at most %d", len(raw.Body), lim.EventBytes)
	}
	env, data, rej := open(raw)
	if rej != nil {
		return Event{}, rej
	}
	defer data.done()
	if rej := at.agree(env, data); rej != nil {
		return Event{}, rej
	}
	return at.event(env.id.value, &reader{members: data, kept: kept})
}

// address is the type and thread that the subject names.
type address struct {
	typ    Type
	thread string
}

func decodeSubject(subject string) (address, *RejectError) {
	t, token, ok := ParseSubject(subject)
	if !ok || !t.Incoming() {
		return address{}, schemaError("subject", "no event is published there")
	}
	thread, err := ThreadOf(token)
	if err != nil {
		return address{}, schemaError("subject", "%v", err)
	}
	if !utf8.ValidString(thread) {
		return address{}, schemaError("subject", "the thread id is not valid UTF-8")
	}
	return address{typ: t, thread: thread}, nil
}

// event reads the reader's data according to the type in the subject.
func (a address) event(id string, r *reader) (Event, *RejectError) {
	ev := Event{Type: a.typ, Thread: a.thread, CloudEventID: id}
	switch a.typ {
	case MessageEdited:
		ev.Edit = r.edit()
	case ThreadForked:
		ev.Fork = r.fork(a.thread)
	case ToolResult:
		ev.Message = r.toolResult()
	default:
		ev.Message = r.message()
		if ev.Message.Role == RoleTool {
			ev.Type = ToolResult
		}
	}
	if r.rej != nil {
		return Event{}, r.rej
	}
	return ev, nil
}

// ForkParent returns the thread whose messages an event of the log has its thread begin with; empty if it is not a thread.forked that
// can be accepted. It depends on the event alone: limits are not checked.
func ForkParent(raw Raw) string {
	if !strings.HasPrefix(trimPartition(raw.Subject), string(ThreadForked)+".") {
		return ""
	}
	ev, rej := Decode(raw, Limits{})
	if rej != nil {
		return ""
	}
	return ev.Fork.ParentThreadID
}

// Data returns an accepted event's data without its envelope, byte for byte. It fails as Decode does if the envelope
// can't be read.
func Data(raw Raw) ([]byte, *RejectError) {
	head, rej := readHeader(raw.Header)
	if rej != nil {
		return nil, rej
	}
	if structured, rej := head.structured(); !structured {
		return raw.Body, rej
	}
	var env envelope
	if _, err := walk(raw.Body, env.member); err != nil {
		return nil, invalidJSON("", err)
	}
	_, data, rej := env.payload()
	return data, rej
}

// open removes the envelope: structured if the content type says so, binary if the headers carry a specversion, else
// bare, where individual attributes are hints that must not contradict the rest.
func open(raw Raw) (attributes, *members, *RejectError) {
	head, headFault := readHeader(raw.Header)
	structured, formFault := head.structured()
	if structured {
		return openStructured(raw.Body, head, headFault)
	}
	data, rej := readMembers("", raw.Body)
	if rej != nil {
		return attributes{}, nil, rej
	}
	for _, fault := range []*RejectError{headFault, formFault} {
		if fault != nil {
			return attributes{}, nil, fault
		}
	}
	if head.specversion.set {
		return head.attributes, data, head.require(attrPrefix)
	}
	return head.attributes, data, nil
}

// envelope is a structured event's body.
type envelope struct {
	attributes
	data, base64 []byte
	fault        *RejectError
}

func openStructured(body []byte, head header, headFault *RejectError) (attributes, *members, *RejectError) {
	var env envelope
	kind, err := walk(body, env.member)
	if err != nil {
		return attributes{}, nil, invalidJSON("", err)
	}
	if kind != jsontext.KindBeginObject {
		return attributes{}, nil, schemaError("", "a structured event must be an object")
	}
	for _, fault := range []*RejectError{headFault, env.fault, env.require(""), env.hints(head)} {
		if fault != nil {
			return attributes{}, nil, fault
		}
	}
	field, body, rej := env.payload()
	if rej != nil {
		return attributes{}, nil, rej
	}
	data, rej := readMembers(field, body)
	return env.attributes, data, rej
}

func (e *envelope) member(name, value []byte) {
	switch string(name) {
	case "data":
		e.data = value
		return
	case "data_base64":
		e.base64 = value
		return
	}
	place := e.by(string(name))
	if place == nil || isNull(value) {
		return
	}
	if !isString(value) {
		if e.fault == nil {
			e.fault = schemaError(string(name), "must be a string")
		}
		return
	}
	*place = attr{value: unquote(value), set: true}
}

// hints checks the headers against the envelope.
func (e *envelope) hints(head header) *RejectError {
	if head.typ.set && head.typ.value != e.typ.value {
		return reject(CodeTypeMismatch, "ce-type", "differs from the envelope's type")
	}
	if !head.subject.set {
		return nil
	}
	if !e.subject.set {
		e.subject = head.subject
	}
	if head.subject.value != e.subject.value {
		return reject(CodeThreadMismatch, "ce-subject", "differs from the envelope's subject")
	}
	return nil
}

// payload returns the envelope's data, either JSON or base64 of JSON, and the member that contains it.
func (e *envelope) payload() (field string, data []byte, rej *RejectError) {
	inline, encoded := len(e.data) > 0 && !isNull(e.data), len(e.base64) > 0 && !isNull(e.base64)
	switch {
	case inline && encoded:
		return "", nil, schemaError("data_base64", "stands beside data")
	case inline:
		return "data", e.data, nil
	case !encoded:
		return "", nil, schemaError("data", "required")
	case !isString(e.base64):
		return "", nil, schemaError("data_base64", "must be a string")
	}
	body, err := base64.StdEncoding.Strict().DecodeString(unquote(e.base64))
	if err != nil {
		return "", nil, schemaError("data_base64", "not base64")
	}
	return "data_base64", body, nil
}

// agree checks subject, envelope and body against each other: wherever the event's type or thread is named, it must be
// the same.
func (a address) agree(env attributes, data *members) *RejectError {
	if env.typ.set && env.typ.value != string(a.typ) {
		return reject(CodeTypeMismatch, "ce-type", "differs from the subject's type")
	}
	if v := data[fieldType]; isString(v) && !isText(v, string(a.typ)) && !(a.typ == ThreadMessage && isText(v, typeMessage)) {
		return reject(CodeTypeMismatch, "type", "differs from the subject's type")
	}
	if env.subject.set && env.subject.value != a.thread {
		return reject(CodeThreadMismatch, "ce-subject", "differs from the subject's thread")
	}
	if v := data[fieldThreadID]; isString(v) && !isText(v, a.thread) {
		return reject(CodeThreadMismatch, "thread_id", "differs from the subject's thread")
	}
	return nil
}
