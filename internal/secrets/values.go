package secrets

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// LeastValue is the minimum length in bytes of a known secret that is masked by value: shorter ones also occur in
// unrelated text.
const LeastValue = 8

// known is the rule name of secrets that are masked by value.
const known = "known-secret"

// With returns a Masker that also masks known secrets wherever their values occur, regardless of their form: verbatim,
// and as URLs and JSON encode them. Each line of a multi-line value is a secret, except for its frame lines
// (`-----BEGIN …`). It ignores values shorter than LeastValue.
func (m *Masker) With(values ...string) *Masker {
	with := *m
	with.values = slices.Clone(m.values)
	for _, value := range values {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) < LeastValue || strings.HasPrefix(line, "---") {
				continue
			}
			with.values = append(with.values, line, url.QueryEscape(line), url.PathEscape(line), inJSON(line))
		}
	}
	// The longest first: one may contain another.
	slices.SortFunc(with.values, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	with.values = slices.Compact(with.values)
	return &with
}

func inJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return text // a string always encodes
	}
	return strings.Trim(string(data), `"`)
}

// exact finds a known secret.
func (s *search) exact(value string) {
	for at := 0; ; {
		i := strings.Index(s.text[at:], value)
		if i < 0 {
			return
		}
		s.found = append(s.found, Finding{known, at + i, at + i + len(value)})
		at += i + len(value)
	}
}
