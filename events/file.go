package events

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxLineBytes bounds a line of an event file: eight of the largest messages the embedded server takes.
const MaxLineBytes = 64 << 20

// FileEvent is one line of an event file.
type FileEvent struct {
	Line   int // 1-based
	Type   Type
	Thread string // empty if the line has none, or null
	Data   []byte // the data's JSON: the line without its type, otherwise unchanged
}

// Subject returns the subject on which the event is published.
func (e FileEvent) Subject() (string, error) {
	if e.Thread == "" {
		return "", fmt.Errorf("line %d: %w", e.Line, ErrNoThread)
	}
	subject, err := Subject(e.Type, e.Thread)
	if err != nil {
		return "", fmt.Errorf("line %d: %w", e.Line, err)
	}
	return subject, nil
}

// lineReader parses one line.
type lineReader struct {
	walker
	event FileEvent
	fault *RejectError
}

// parseLine reads one line; its errors don't include the line number.
func parseLine(line []byte) (FileEvent, error) {
	r := &lineReader{walker: walker{src: line}, event: FileEvent{Data: line}}
	r.visit = r.member
	if err := json.Unmarshal(line, &r.walker); err != nil {
		return FileEvent{}, invalidJSON("", err)
	}
	if r.kind != jsontext.KindBeginObject {
		return FileEvent{}, schemaError("", "must be an object")
	}
	if r.fault != nil {
		return FileEvent{}, r.fault
	}
	if !r.event.Type.Known() {
		return FileEvent{}, fmt.Errorf("%w: %q", ErrType, string(r.event.Type))
	}
	return r.event, nil
}

func (r *lineReader) member(name, value []byte) {
	isType := string(name) == "type"
	if !isType && (string(name) != "thread_id" || isNull(value)) {
		return
	}
	if !isString(value) {
		r.fault = schemaError(string(name), "must be a string")
		return
	}
	if !isType {
		r.event.Thread = unquote(value)
		return
	}
	r.event.Type = Type(unquote(value))
	r.event.Data = cutMember(r.src, r.start, r.end)
}

// cutMember returns an object without the member at src[start:end] and without its comma. Every other byte stays:
// numbers and unknown members keep the publisher's spelling.
func cutMember(src []byte, start, end int) []byte {
	rest := bytes.TrimLeft(src[end:], " \t\r\n")
	head := src[:start]
	if after, ok := bytes.CutPrefix(rest, []byte(",")); ok {
		rest = bytes.TrimLeft(after, " \t\r\n")
	} else {
		head = bytes.TrimRight(head, " \t\r\n")
		head = bytes.TrimSuffix(head, []byte(","))
	}
	return append(append(make([]byte, 0, len(head)+len(rest)), head...), rest...)
}
