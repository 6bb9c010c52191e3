package events

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ShapeDigest is the digest of what an edit of a message leaves alone: type, role, tool calls and tool call id.
// It is kept with the message, so that the digest of an edit's content can be told without the original.
func ShapeDigest(t Type, role string, calls []ToolCall, callID string) [32]byte {
	if t == ThreadMessage && len(calls) == 0 && callID == "" {
		if shape, ok := bareShapes[role]; ok {
			return shape
		}
	}
	return shapeDigest(t, role, calls, callID)
}

// bareShapes are the shapes of messages that are nothing but text, by role.
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
	var small [512]byte // most messages are hashed without touching the heap
	return sha256.Sum256(digester(append(small[:0], shape[:]...)).content(c))
}

// ArgumentsText is the arguments as they count: a JSON string's text as it is, an object in RFC 8785 form.
func (c ToolCall) ArgumentsText() string { return argumentsText(c.Arguments) }

// ArgumentsValues is the values of the arguments, one a line, without their names and without JSON's escapes,
// which would run into words: "\n" before a name makes another name of it.
func (c ToolCall) ArgumentsValues() string {
	text := c.ArgumentsText()
	values, err := leaves([]byte(text))
	if err != nil {
		return text // a string that holds no JSON
	}
	return strings.Join(values, "\n")
}

// leaves are the strings and numbers of a JSON value, in its order.
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
	// A decoded event's arguments are valid JSON; whatever else comes here counts as it stands.
	_ = canonical.Canonicalize(jsontext.CanonicalizeRawInts(false))
	return string(canonical)
}
