package events

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSafeInt is the largest integer that every JSON reader represents exactly (RFC 7493, 2.2).
const maxSafeInt = 1<<53 - 1

// reader interprets members. Its first fault sticks, and later members read as absent, so that the functions that
// build an event need no error checks. They read fields in a fixed order, so that the reported fault depends on the
// event alone.
type reader struct {
	*members
	rej *RejectError
}

func (r *reader) fail(field, format string, args ...any) {
	if r.rej == nil {
		r.rej = schemaError(field, format, args...)
	}
}

// get returns a member's JSON; nil if it is absent, null or not of one of the kinds.
func (r *reader) get(f field, what string, kinds ...jsontext.Kind) []byte {
	if r.rej != nil || !r.present(f) {
		return nil
	}
	v := r.members[f]
	if kind := jsontext.Value(v).Kind(); !slices.Contains(kinds, kind) {
		r.fail(f.String(), "must be %s", what)
		return nil
	}
	return v
}

func (r *reader) text(f field) string {
	v := r.get(f, "a string", jsontext.KindString)
	if v == nil {
		return ""
	}
	return unquote(v)
}

func (r *reader) boolean(f field) *bool {
	v := r.get(f, "true or false", jsontext.KindTrue, jsontext.KindFalse)
	if v == nil {
		return nil
	}
	b := v[0] == 't'
	return &b
}

// flag is false where the member is absent.
func (r *reader) flag(f field) bool {
	b := r.boolean(f)
	return b != nil && *b
}

func (r *reader) object(f field) jsontext.Value {
	return jsontext.Value(r.get(f, "an object", jsontext.KindBeginObject)).Clone()
}

func (r *reader) arguments(f field) jsontext.Value {
	return jsontext.Value(r.get(f, "an object or a string", jsontext.KindBeginObject, jsontext.KindString)).Clone()
}

// integer reads an integer that a double represents exactly.
func (r *reader) integer(f field) *int64 {
	v := r.get(f, "an integer", jsontext.KindNumber)
	if v == nil {
		return nil
	}
	n, ok := parseInteger(string(v))
	if !ok || n < -maxSafeInt || n > maxSafeInt {
		r.fail(f.String(), "must be an integer of at most 53 bits")
		return nil
	}
	return &n
}

func (r *reader) time(f field) time.Time {
	v := r.get(f, "a string", jsontext.KindString)
	if v == nil {
		return time.Time{}
	}
	t, ok := parseTime(unquote(v))
	if !ok {
		r.fail(f.String(), "must be an RFC 3339 time")
	}
	return t
}

// messageID reads the message id, which every event has.
func (r *reader) messageID() string {
	if r.rej == nil && !r.present(fieldMessageID) {
		r.fail("message_id", "required")
	}
	id := r.text(fieldMessageID)
	if r.rej == nil && (len(id) == 0 || len(id) > MaxIDBytes) {
		r.fail("message_id", "must be 1 to %d bytes, is %d", MaxIDBytes, len(id))
	}
	return id
}

// content reads the content, where null is a value and does not mean absent.
func (r *reader) content() Content {
	if r.rej != nil {
		return Content{}
	}
	if len(r.members[fieldContent]) == 0 {
		r.fail("content", "required")
		return Content{}
	}
	c, rej := parseContent("content", r.members[fieldContent])
	r.rej = rej
	return c
}
