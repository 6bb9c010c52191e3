package events

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ContentDigest is the digest of a message's type, role, content, tool calls and tool call id. It does not depend on
// the layout of the JSON, nor on any other member.
func (m *Message) ContentDigest(t Type) [32]byte {
	return DigestOf(t, m.Role, m.Content, m.ToolCalls, m.ToolCallID)
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
	if e.Pinned != nil {
		d = d.text("pinned").text(strconv.FormatBool(*e.Pinned))
	}
	if !e.CreatedAt.IsZero() {
		at := e.CreatedAt.UTC()
		d = d.text(strconv.FormatInt(at.Unix(), 10)).number(at.Nanosecond())
	}
	sum := sha256.Sum256(d)
	return "hash:" + hex.EncodeToString(sum[:])
}
