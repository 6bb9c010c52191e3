package events

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ContentDigest is the digest of what the message says, the same for the same content however its JSON was laid
// out: of its type, role, content, tool calls and tool call id, and of nothing else.
func (m *Message) ContentDigest(t Type) [32]byte {
	return DigestOf(t, m.Role, m.Content, m.ToolCalls, m.ToolCallID)
}

// DigestOf is ContentDigest over its parts; an edit replaces the content alone. A content's form counts: a
// text, a list that holds the same text, null and the empty text are four contents.
//
// It is sha256 over length-prefixed fields, so that no two different inputs give the same bytes. Objects go in
// as RFC 8785 has them, but with integers as they were written: that form rounds what exceeds 53 bits, and two
// calls that differ in such an id are not the same call.
func DigestOf(t Type, role string, c Content, calls []ToolCall, callID string) [32]byte {
	return RevisionDigest(ShapeDigest(t, role, calls, callID), c)
}

// digester is the bytes that are hashed. Its methods return it grown, as append does: through a pointer, what
// it begins with would go to the heap for every message.
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

// json writes a value in canonical form; a value that can't be brought into it, which no decoded event has, is
// written as it stands.
func (d digester) json(v jsontext.Value) digester {
	canonical := v.Clone()
	if len(canonical) > 0 {
		_ = canonical.Canonicalize(jsontext.CanonicalizeRawInts(false))
	}
	return append(d.number(len(canonical)), canonical...)
}

// Key identifies an edit within its message: by its edit id, else by the event's id, else by what it says and
// when. An event's id is an edit id like one that was given: an exported edit has it as that, and is the same.
func (e *Edit) Key(ceID string) string {
	switch {
	case e.EditID != "":
		return "edit:" + e.EditID
	case ceID != "":
		return "edit:" + ceID
	}
	var d digester
	d = d.content(e.Content).text(strconv.FormatBool(e.Deleted))
	if !e.CreatedAt.IsZero() {
		at := e.CreatedAt.UTC()
		d = d.text(strconv.FormatInt(at.Unix(), 10)).number(at.Nanosecond())
	}
	sum := sha256.Sum256(d)
	return "hash:" + hex.EncodeToString(sum[:])
}
