package events

import "unicode/utf8"

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
	return at.event(env.id.value, data)
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

// event reads the data according to the type in the subject.
func (a address) event(id string, data *members) (Event, *RejectError) {
	r := &reader{members: data}
	ev := Event{Type: a.typ, Thread: a.thread, CloudEventID: id}
	switch a.typ {
	case MessageEdited:
		ev.Edit = r.edit()
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
