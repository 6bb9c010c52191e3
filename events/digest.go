package events

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// ContentDigest is the digest of a message's type, role, content, calls and tool call id, and of its refusal and recording where
// they stand for the content. It does not depend on the layout of the JSON, nor on any other member.
func (m *Message) ContentDigest(t Type) [32]byte {
	return RevisionDigest(m.ShapeDigest(t), m.Content)
}

// ShapeDigest is the function's digest of a message. A refusal and a recording count where there is no content.
func (m *Message) ShapeDigest(t Type) [32]byte {
	shape := ShapeDigest(t, m.Role, m.Listed(), m.ToolCallID)
	if len(m.Native) == 0 || !m.Content.IsNull() {
		return shape
	}
	d := digester(shape[:])
	native := objectOf(m.Native)
	for _, f := range []field{fieldRefusal, fieldAudio} {
		if v := native[f.String()]; says(v) {
			d = d.text(f.String()).json(jsontext.Value(v))
		}
	}
	if len(d) == len(shape) {
		return shape
	}
	return sha256.Sum256(d)
}

// DigestOf is ContentDigest of separate parts; an edit replaces only the content. The form of the content counts: a
// text, a list that contains the same text, null and the empty text are four different contents.
//
// The digest is sha256 over length-prefixed fields, so that different inputs never give the same bytes. Objects are
// hashed in RFC 8785 form, but with integers as written: RFC 8785 rounds integers beyond 53 bits, and two calls that
// differ in such an id are different calls.
func DigestOf(t Type, role string, c Content, calls []ToolCall, callID string) [32]byte {
	return RevisionDigest(ShapeDigest(t, role, calls, callID), c)
}

// digester holds the bytes to hash. Its methods return the grown slice, as append does: a pointer receiver would
// move the initial buffer to the heap for every message.
type digester []byte

func (d digester) number(n int) digester { return binary.AppendUvarint(d, uint64(n)) }

func (d digester) text(s string) digester { return append(d.number(len(s)), s...) }

func (d digester) content(c Content) digester {
	if c.IsNull() {
		return append(d, byte(contentNull))
	}
	d = append(d, byte(c.kind))
	switch c.kind {
	case contentText:
		return d.text(c.text)
	case contentParts:
		return d.json(c.parts)
	}
	return d
}

// json writes a value in canonical form; a value without one, which no decoded event has, is written unchanged.
func (d digester) json(v jsontext.Value) digester {
	canonical := v.Clone()
	if len(canonical) > 0 {
		_ = canonical.Canonicalize(jsontext.CanonicalizeRawInts(false))
	}
	return append(d.number(len(canonical)), canonical...)
}

// Key identifies an edit within its message: by its edit id, else by the event id, else by its content and time. An
// event id counts as an edit id: an export writes it as the edit id, and the import must find the same edit.
func (e *Edit) Key(ceID string) string {
	switch {
	case e.EditID != "":
		return "edit:" + e.EditID
	case ceID != "":
		return "edit:" + ceID
	}
	var d digester
	d = d.content(e.Content).text(strconv.FormatBool(e.Deleted))
	if e.Rewind {
		d = d.text("rewind")
	}
	if e.Pinned != nil {
		d = d.text("pinned").text(strconv.FormatBool(*e.Pinned))
	}
	sum := sha256.Sum256(d.time(e.CreatedAt))
	return "hash:" + hex.EncodeToString(sum[:])
}

// time writes a time; nothing if it is zero.
func (d digester) time(t time.Time) digester {
	if t.IsZero() {
		return d
	}
	t = t.UTC()
	return d.text(strconv.FormatInt(t.Unix(), 10)).number(t.Nanosecond())
}

// Key identifies a fork within its thread: by its fork id, else by the event id, else by its content and time.
func (f *Fork) Key(ceID string) [32]byte {
	var d digester
	switch {
	case f.ForkID != "":
		d = d.text("fork").text(f.ForkID)
	case ceID != "":
		d = d.text("fork").text(ceID) // an export writes it as the fork id
	default:
		d = d.text("hash").text(f.ParentThreadID).text(f.AtMessageID).time(f.CreatedAt)
	}
	return sha256.Sum256(d)
}

// ShapeDigest is the digest of what an edit does not change: type, role, tool calls and tool call id. It is stored
// with the message, so that the digest of an edit's content is computed without the original.
func ShapeDigest(t Type, role string, calls []ToolCall, callID string) [32]byte {
	if t == ThreadMessage && len(calls) == 0 && callID == "" {
		if shape, ok := bareShapes[role]; ok {
			return shape
		}
	}
	return shapeDigest(t, role, calls, callID)
}

// bareShapes are the shapes of text-only messages, by role.
var bareShapes = func() map[string][32]byte {
	shapes := map[string][32]byte{}
	for _, role := range []string{RoleSystem, RoleDeveloper, RoleUser, RoleAssistant} {
		shapes[role] = shapeDigest(ThreadMessage, role, nil, "")
	}
	return shapes
}()

func shapeDigest(t Type, role string, calls []ToolCall, callID string) [32]byte {
	var small [256]byte
	d := digester(small[:0]).text(string(t)).text(role).number(len(calls))
	for _, call := range calls {
		d = d.text(call.ID).text(call.Name).json(call.Arguments)
	}
	return sha256.Sum256(d.text(callID))
}

// RevisionDigest is the content digest of a revision: of its message's shape and its own content.
func RevisionDigest(shape [32]byte, c Content) [32]byte {
	d := digesters.Get().(*digester)
	*d = append((*d)[:0], shape[:]...).content(c)
	sum := sha256.Sum256(*d)
	if cap(*d) <= mostDigester {
		digesters.Put(d)
	}
	return sum
}

// digesters pools buffers of contents up to mostDigester bytes: otherwise each content is garbage once more.
var digesters = sync.Pool{New: func() any { return new(digester) }}

const mostDigester = 64 << 10

// ArgumentsText returns the canonical arguments: a JSON string's text unchanged, an object in RFC 8785 form.
func (c ToolCall) ArgumentsText() string { return argumentsText(c.Arguments) }

// ArgumentsValues returns the values of the arguments, one per line, without names and JSON escapes: an escape such as
// "\n" before a name would run into the word and change it.
func (c ToolCall) ArgumentsValues() string {
	text := c.ArgumentsText()
	values, err := leaves([]byte(text))
	if err != nil {
		return text // a string that contains no JSON
	}
	return strings.Join(values, "\n")
}

// leaves returns the strings and numbers of a JSON value, in order.
func leaves(v jsontext.Value) (values []string, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		t, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		kind, length := dec.StackIndex(dec.StackDepth())
		isName := kind == '{' && length%2 == 1
		if k := t.Kind(); !isName && (k == '"' || k == '0') {
			values = append(values, t.String())
		}
	}
}

func argumentsText(v jsontext.Value) string {
	switch {
	case len(v) == 0 || isNull(v):
		return ""
	case isString(v):
		return unquote(v)
	}
	canonical := v.Clone()
	// A decoded event's arguments are valid JSON; anything else is kept unchanged.
	_ = canonical.Canonicalize(jsontext.CanonicalizeRawInts(false))
	return string(canonical)
}
