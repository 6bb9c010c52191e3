package events

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// attrPrefix starts the names of CloudEvents attributes in a message's headers (CloudEvents NATS binding, 3.1.3.1).
	attrPrefix = "ce-"
	// specVersion is the only supported CloudEvents version.
	specVersion = "1.0"
	// structuredType is the media type of a structured event; its suffix names the format.
	structuredType = "application/cloudevents"
)

// attr is one optional attribute.
type attr struct {
	value string
	set   bool
}

// attributes are the CloudEvents attributes that Decode interprets.
type attributes struct {
	specversion, id, source, typ, subject attr
}

// by returns a pointer to the attribute of that name; nil for an attribute that is not interpreted.
func (a *attributes) by(name string) *attr {
	switch name {
	case "specversion":
		return &a.specversion
	case "id":
		return &a.id
	case "source":
		return &a.source
	case "type":
		return &a.typ
	case "subject":
		return &a.subject
	}
	return nil
}

// require reports the first required CloudEvents attribute that is missing; prefix is the envelope form's name prefix.
func (a *attributes) require(prefix string) *RejectError {
	for _, name := range []string{"specversion", "id", "source", "type"} {
		if at := a.by(name); !at.set || at.value == "" {
			return schemaError(prefix+name, "required by CloudEvents")
		}
	}
	if a.specversion.value != specVersion {
		return schemaError(prefix+"specversion", "must be %s", specVersion)
	}
	return nil
}

// header is the content of a message's headers.
type header struct {
	attributes
	contentType string
}

// readHeader collects the attributes from the headers, whose names are case-insensitive. Of several faults it reports
// the first by name: a Go map has no order, and a rejection must be deterministic.
func readHeader(h map[string][]string) (header, *RejectError) {
	var got header
	if len(h) == 0 {
		return got, nil
	}
	values := make(map[string][]string)
	for name, vs := range h {
		if lower := strings.ToLower(name); lower == "content-type" || strings.HasPrefix(lower, attrPrefix) {
			values[lower] = append(values[lower], vs...)
		}
	}
	var first *RejectError
	for name, vs := range values {
		if rej := got.take(name, vs); rej != nil && (first == nil || rej.Field < first.Field) {
			first = rej
		}
	}
	return got, first
}

// take reads one header. A Content-Type given twice with different values is ambiguous and is rejected too.
func (h *header) take(name string, values []string) *RejectError {
	if len(values) == 0 {
		return nil
	}
	if slices.ContainsFunc(values[1:], func(v string) bool { return v != values[0] }) {
		return schemaError(name, "repeated with different values")
	}
	if name == "content-type" {
		h.contentType = values[0]
		return nil
	}
	place := h.by(strings.TrimPrefix(name, attrPrefix))
	if place == nil {
		return nil
	}
	value, ok := percentDecode(values[0])
	if !ok {
		return schemaError(name, "not percent-encoded UTF-8")
	}
	*place = attr{value: value, set: true}
	return nil
}

// structured reports whether the headers announce a structured event. It rejects batches and other formats, which
// would otherwise pass as bare data.
func (h *header) structured() (bool, *RejectError) {
	media, _, _ := strings.Cut(h.contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if !strings.HasPrefix(media, structuredType) {
		return false, nil
	}
	if media != structuredType && media != structuredType+"+json" {
		return false, schemaError("content-type", "only the JSON event format is read")
	}
	return true, nil
}

// percentDecode decodes a header value (CloudEvents NATS binding, 3.1.3.2). It first strips the quotes of a quoted
// string, which older publishers write.
func percentDecode(s string) (string, bool) {
	s = unquoteHeader(strings.TrimSpace(s))
	if strings.IndexByte(s, '%') < 0 {
		return s, utf8.ValidString(s)
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) {
				return "", false
			}
			hi, lo := hexValue(s[i+1]), hexValue(s[i+2])
			if hi < 0 || lo < 0 {
				return "", false
			}
			c = byte(hi<<4 | lo)
			i += 2
		}
		b = append(b, c)
	}
	return string(b), utf8.Valid(b)
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// unquoteHeader strips a value's double quotes (RFC 7230, 3.2.6).
func unquoteHeader(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}
