package events

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
