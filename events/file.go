package events

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

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

// ParseLine reads one event as a line of an event file has it, which may have line breaks of its own here. Its errors are a
// *RejectError or ErrType, without a line number.
func ParseLine(line []byte) (FileEvent, error) {
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
	if r.event.Type = Type(unquote(value)); r.event.Type == typeMessage { // the message's own
		r.event.Type, r.event.Data = ThreadMessage, r.src
		return
	}
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

// FileReader reads an event file line by line.
type FileReader struct {
	in   *bufio.Reader
	line int
}

// NewFileReader reads events from in; it reads ahead.
func NewFileReader(in io.Reader) *FileReader {
	return &FileReader{in: bufio.NewReaderSize(in, 256<<10)}
}

// Next returns the next line's event and skips empty lines. It returns io.EOF at the end. An error contains the line
// number, and the next call continues with the following line, so that a caller may count bad lines and go on.
func (r *FileReader) Next() (FileEvent, error) {
	for {
		line, err := r.readLine()
		if errors.Is(err, io.EOF) {
			return FileEvent{}, io.EOF
		}
		if err != nil {
			return FileEvent{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		if len(line) == 0 {
			continue
		}
		ev, err := ParseLine(line)
		if err != nil {
			return FileEvent{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		ev.Line = r.line
		return ev, nil
	}
}

// readLine returns the next line, newly allocated and without surrounding white space. It reads an overlong line to
// its end, so that the next call finds the next line.
func (r *FileReader) readLine() ([]byte, error) {
	r.line++
	var line []byte
	length := 0
	for {
		piece, err := r.in.ReadSlice('\n')
		if length += len(piece); length <= MaxLineBytes {
			line = append(line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (err != io.EOF || length == 0) {
			return nil, err
		}
		if length > MaxLineBytes {
			return nil, ErrLineTooLong
		}
		return r.trim(line), nil
	}
}

// trim removes white space, and the byte order mark that some editors put at the start of a file.
func (r *FileReader) trim(line []byte) []byte {
	if r.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	return bytes.Trim(line, " \t\r\n")
}

// FileWriter writes an event file, one event per line.
type FileWriter struct{ out io.Writer }

// NewFileWriter writes events to out, each in one Write.
func NewFileWriter(out io.Writer) *FileWriter { return &FileWriter{out: out} }

// Write writes one event: its type and, unless the data contains it, its thread, followed by the data's own members
// unchanged. It omits an empty thread. The data must be a JSON object.
func (w *FileWriter) Write(t Type, thread string, data []byte) error {
	line, err := fileLine(t, thread, data)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	_, err = w.out.Write(line)
	return err
}

func fileLine(t Type, thread string, data []byte) ([]byte, error) {
	body, err := oneLine(data)
	if err != nil {
		return nil, err
	}
	hasType, hasThread, body, err := hints(body, thread)
	if err != nil {
		return nil, err
	}
	members := []byte("{")
	if !hasType {
		members = appendMember(members, "type", string(t))
	}
	if thread != "" && !hasThread {
		members = appendMember(members, "thread_id", thread)
	}
	rest := bytes.TrimLeft(body[1:], " \t")
	if rest[0] == '}' {
		members = bytes.TrimSuffix(members, []byte(","))
	}
	return append(append(members, rest...), '\n'), nil
}

// hints reports which of type and thread_id the data contains. It removes one that is null and is about to get a value:
// null counts as absent, and a name may occur only once. A record without a thread keeps its null, because the chain
// covers it.
func hints(data []byte, thread string) (hasType, hasThread bool, rest []byte, err error) {
	w := walker{src: data}
	var cut [2]int
	w.visit = func(name, value []byte) {
		isType, isThread := string(name) == "type", string(name) == "thread_id"
		switch {
		case !isType && !isThread:
		case isNull(value) && (isType || thread != ""):
			cut = [2]int{w.start, w.end}
		default:
			hasType, hasThread = hasType || isType, hasThread || isThread
		}
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return false, false, nil, invalidJSON("", err)
	}
	if w.kind != jsontext.KindBeginObject {
		return false, false, nil, schemaError("", "must be an object")
	}
	if cut[1] > 0 {
		return hints(cutMember(data, cut[0], cut[1]), thread)
	}
	return hasType, hasThread, data, nil
}

// oneLine removes the line breaks from a JSON value; they can only be white space.
func oneLine(data []byte) (jsontext.Value, error) {
	body := jsontext.Value(bytes.TrimSpace(data)).Clone()
	if bytes.IndexByte(body, '\n') < 0 && bytes.IndexByte(body, '\r') < 0 {
		return body, nil
	}
	err := body.Compact()
	return body, err
}

func appendMember(b []byte, name, value string) []byte {
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, `":`...)
	b, _ = jsontext.AppendQuote(b, value) // replaces invalid UTF-8, which no accepted event has
	return append(b, ',')
}
