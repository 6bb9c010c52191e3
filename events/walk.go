package events

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
