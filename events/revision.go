package events

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

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
	var small [512]byte // most messages hash without a heap allocation
	return sha256.Sum256(digester(append(small[:0], shape[:]...)).content(c))
}

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
