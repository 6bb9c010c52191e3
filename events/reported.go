package events

import "github.com/go-json-experiment/json/jsontext"

// usage reads the provider's usage for the call behind a message; an absent count is 0.
func (r *reader) usage() *TokenUsage {
	v := r.get(fieldUsage, "an object", jsontext.KindBeginObject)
	if v == nil {
		return nil
	}
	u := new(TokenUsage)
	r.walk(v, "usage", func(name, value []byte) {
		switch string(name) {
		case "input_tokens":
			u.InputTokens = r.count("usage.input_tokens", value, 0)
		case "output_tokens":
			u.OutputTokens = r.count("usage.output_tokens", value, 0)
		}
	})
	return u
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
