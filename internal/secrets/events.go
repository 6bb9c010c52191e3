package secrets

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// MaskEvent returns a copy of an event for summaries, with secrets masked in the content, in the calls' arguments and in
// tool names. It does not change the event itself.
func MaskEvent(ev *events.Event, mask func(string) string) *events.Event {
	masked := *ev
	maskJSON := func(v jsontext.Value) jsontext.Value { return MaskJSON(v, mask) }
	if ev.Edit != nil {
		edit := *ev.Edit
		edit.Content = edit.Content.Masked(mask, maskJSON)
		masked.Edit = &edit
	}
	if ev.Message != nil {
		m := *ev.Message
		m.Content, m.ToolName, m.Arguments = m.Content.Masked(mask, maskJSON), mask(m.ToolName), MaskJSON(m.Arguments, mask)
		m.MaskBeside(mask, maskJSON)
		m.ToolCalls = make([]events.ToolCall, len(ev.Message.ToolCalls))
		for i, call := range ev.Message.ToolCalls {
			m.ToolCalls[i] = events.ToolCall{ID: call.ID, Name: mask(call.Name), Arguments: MaskJSON(call.Arguments, mask)}
		}
		masked.Message = &m
	}
	return &masked
}

// MaskJSON masks the strings of a JSON value: each one separately and without JSON's escapes, together with its name, or
// with the previous string of an array, as in a command's arguments. A string that contains JSON is masked as that JSON.
// Text that is not valid JSON is masked as text.
func MaskJSON(v jsontext.Value, mask func(string) string) jsontext.Value {
	if len(bytes.TrimSpace(v)) == 0 {
		return v
	}
	var out bytes.Buffer
	w := jsonMask{dec: jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true)), enc: jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true)), mask: mask}
	if err := w.all(); err != nil {
		return jsontext.Value(mask(string(v)))
	}
	return jsontext.Value(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

type jsonMask struct {
	dec  *jsontext.Decoder
	enc  *jsontext.Encoder
	mask func(string) string
	// before is the name of the next string, or the previous string in an array.
	before string
}

func (w *jsonMask) all() error {
	for {
		t, err := w.dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		kind, length := w.dec.StackIndex(w.dec.StackDepth())
		switch isName := kind == '{' && length%2 == 1; {
		case t.Kind() != '"':
			w.before = ""
		case isName:
			w.before = t.String()
			t = jsontext.String(w.mask(w.before))
		default:
			text := t.String()
			t = jsontext.String(w.text(text, kind == '['))
			w.before = ""
			if kind == '[' {
				w.before = text
			}
		}
		if err := w.enc.WriteToken(t); err != nil {
			return err
		}
	}
}

// text masks a string.
func (w *jsonMask) text(s string, inArray bool) string {
	if trimmed := strings.TrimSpace(s); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if v := jsontext.Value(trimmed); v.IsValid() {
			return string(MaskJSON(v, w.mask))
		}
	}
	s = w.mask(s)
	if w.before == "" {
		return s
	}
	// Some values are secrets only by their name or option: try the JSON form, and the form of an assignment or command.
	forms := [][2]string{{`"` + w.before + `":"`, `"`}, {w.before + `="`, `"`}}
	if inArray {
		forms = [][2]string{{w.before + " ", ""}}
	} else if strings.ContainsAny(s, "\"\n") {
		forms = [][2]string{{w.before + ": ", ""}}
	}
	for _, form := range forms {
		value, ok := strings.CutPrefix(w.mask(form[0]+s+form[1]), form[0])
		if value = strings.TrimSuffix(value, form[1]); ok && value != s {
			return value
		}
	}
	return s
}
