package events

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSafeInt is the largest integer that every JSON reader represents exactly (RFC 7493, 2.2).
const maxSafeInt = 1<<53 - 1

// reader interprets members. Its first fault sticks, and later members read as absent, so that the functions that
// build an event need no error checks. They read fields in a fixed order, so that the reported fault depends on the
// event alone.
type reader struct {
	*members
	rej     *RejectError
	carried bool // the message may have no content
	kept    int  // what the message takes in memory, if texts may share that
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

// threadID reads the id of another thread; empty where it is absent.
func (r *reader) threadID(f field) string {
	id := r.text(f)
	if len(id) > MaxIDBytes {
		r.fail(f.String(), "must be at most %d bytes, is %d", MaxIDBytes, len(id))
	}
	return id
}

// content reads the content, where null is a value and does not mean absent.
func (r *reader) content() Content {
	if r.rej != nil {
		return Content{}
	}
	if len(r.members[fieldContent]) == 0 {
		if r.carried {
			return Content{kind: contentAbsent}
		}
		r.fail("content", "required")
		return Content{}
	}
	if text, ok := r.inPlace(r.members[fieldContent]); ok {
		return TextContent(text)
	}
	c, rej := parseContent("content", r.members[fieldContent], false)
	r.rej = rej
	return c
}

// inPlace is a text that shares the memory of its message: one of four fifths of it, so that little else is kept, which nothing counts.
func (r *reader) inPlace(v []byte) (string, bool) {
	if r.kept == 0 || 5*len(v) < 4*r.kept || !isString(v) || bytes.IndexByte(v, '\\') >= 0 {
		return "", false
	}
	text := v[1 : len(v)-1]
	return unsafe.String(unsafe.SliceData(text), len(text)), true
}

// lineRange reads the lines of a tool output that are relevant to the caller; both ends are required.
func (r *reader) lineRange() *LineRange {
	v := r.get(fieldRelevantRange, "an object", jsontext.KindBeginObject)
	if v == nil {
		return nil
	}
	lines := new(LineRange)
	r.walk(v, "relevant_range", func(name, value []byte) {
		switch string(name) {
		case "start":
			lines.Start = int(r.count("relevant_range.start", value, 1))
		case "end":
			lines.End = int(r.count("relevant_range.end", value, 1))
		}
	})
	if lines.Start == 0 || lines.End == 0 {
		r.fail("relevant_range", "start and end are required")
	}
	if lines.End < lines.Start {
		r.fail("relevant_range", "ends before it starts")
	}
	return lines
}

// count reads an integer member that is not below least; null counts as absent.
func (r *reader) count(path string, v []byte, least int64) int64 {
	if isNull(v) {
		return 0
	}
	n, ok := int64(0), false
	if jsontext.Value(v).Kind() == jsontext.KindNumber {
		n, ok = parseInteger(string(v))
	}
	if !ok || n < least || n > maxSafeInt {
		r.fail(path, "must be an integer of at least %d", least)
		return 0
	}
	return n
}

// parseInteger reads a JSON number with an integer value in any notation ("1e2", "3.0"), without going through a
// float (which would round) or a big number (whose exponent the publisher could choose).
func parseInteger(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	mantissa, exponent, _ := strings.Cut(strings.ReplaceAll(s, "E", "e"), "e")
	negative := strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, true
	}
	shift, err := exponentOf(exponent)
	if err != nil {
		return 0, false
	}
	// The value is digits × 10^(shift - len(fraction)); fold trailing zeros into the power.
	significant := strings.TrimRight(digits, "0")
	power := shift - len(fraction) + len(digits) - len(significant)
	if power < 0 || len(significant)+power > 18 {
		return 0, false
	}
	n, err := strconv.ParseInt(significant+strings.Repeat("0", power), 10, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}

func exponentOf(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err
}

// parseTime reads an RFC 3339 time. Go's parser refuses two forms that the RFC allows: lower-case letters, and a leap
// second, which parseTime reads as the following second. It also accepts some that the RFC does not allow: an hour of one
// digit, a comma before the fraction, and an offset of 24 hours or 60 minutes, of which Go won't format the first.
func parseTime(s string) (time.Time, bool) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[len("2006-01-02T15")] != ':' || strings.Contains(s, ",") {
		return time.Time{}, false
	}
	if zone := s[len(s)-len("07:00"):]; zone[2] == ':' && (zone[:2] >= "24" || zone[3:] >= "60") {
		return time.Time{}, false
	}
	b := []byte(s)
	upper(&b[len("2006-01-02")])
	upper(&b[len(b)-1])
	leap := string(b[17:19]) == "60"
	if leap {
		copy(b[17:], "59")
	}
	var t time.Time
	if err := t.UnmarshalText(b); err != nil {
		return time.Time{}, false
	}
	if !leap {
		return t, true
	}
	utc := t.UTC()
	return t.Add(time.Second), utc.Hour() == 23 && utc.Minute() == 59
}

func upper(c *byte) {
	if *c == 't' || *c == 'z' {
		*c -= 'a' - 'A'
	}
}
