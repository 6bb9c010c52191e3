package secrets

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Masker finds and masks secrets.
type Masker struct {
	rules  []rule
	index  *index
	values []string // of known secrets
}

// Load reads the rules once per process (some 40 ms); all callers share the masker. It fails only if gitleaks's
// configuration can't be read, which tests would reveal.
var Load = sync.OnceValues(load)

func load() (*Masker, error) {
	rules, err := gitleaksRules()
	if err != nil {
		return nil, err
	}
	rules = append(ownRules(), rules...)
	return &Masker{rules: rules, index: indexOf(rules)}, nil
}

// Finding is a secret in a text, in byte offsets.
type Finding struct {
	Rule       string
	Start, End int
}

// window is a range of text in which a rule's expression runs.
type window struct{ start, end int }

// Find returns the secrets in a text, in order and without overlaps.
func (m *Masker) Find(text string) []Finding { return merged(m.search(text).found) }

func (m *Masker) search(text string) *search {
	s := &search{
		rules: m.rules, text: text, folded: fold(text), behind: make([]int, len(m.rules)), around: make(map[int][]window),
	}
	m.index.each(s.folded, s.keyword)
	for i := range m.rules { // in order: what remains unread must be deterministic
		for _, w := range s.around[i] {
			s.look(&m.rules[i], w)
		}
	}
	for _, value := range m.values {
		s.exact(value)
	}
	return s
}

// around returns the window of a keyword.
func (r *rule) around(at, end, length int) window {
	w := window{max(0, at-r.reach), min(length, end+r.reach)}
	if r.first {
		w.start = at
	}
	return w
}

// widened adds a window; keywords come in order, so it can only overlap the last one.
func (r *rule) widened(ws []window, w window) []window {
	if n := len(ws); n > 0 && w.start <= ws[n-1].end {
		if !r.apart {
			ws[n-1].end = max(ws[n-1].end, w.end)
			return ws
		}
		ws[n-1].end = w.start
	}
	return append(ws, w)
}

// match is the range of an expression's match, and that of the secret in it.
type match struct{ from, to, start, end int }

// in returns a rule's matches in a window that may be secrets.
func (r *rule) in(text string, w window) []match {
	var out []match
	part := text[w.start:w.end]
	for _, loc := range r.regex.FindAllStringSubmatchIndex(part, -1) {
		start, end := r.secretIn(loc)
		if end == len(part) && w.end < len(text) {
			end += runLength(text[w.end:])
		}
		if r.ends != nil {
			end = start + r.ends(text[w.start+start:w.start+end], part[max(0, start-1)])
		}
		m := match{w.start + loc[0], w.start + loc[1], w.start + start, w.start + end}
		if secret := text[m.start:m.end]; secret != "" && (r.entropy == 0 || entropyOf(secret) > r.entropy) {
			out = append(out, m)
		}
	}
	return out
}

// allows reports whether an allow list excludes a match.
func (r *rule) allows(text string, m match) bool {
	if r.named {
		m.from = nameStart(text, m.from)
	}
	return r.allowed(text[m.start:m.end], text[m.from:m.to], lineAround(text, m.start, m.end))
}

// runLength returns by how much a secret continues beyond its window: all following characters that tokens consist of.
func runLength(rest string) int {
	return len(rest) - len(strings.TrimLeft(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.-%~"))
}

func isQuote(b byte) bool { return strings.IndexByte("\"'`", b) >= 0 }

// maxLine bounds the part of a line that allow lists see; otherwise an endless line would be read for each finding.
const maxLine = 512

func lineAround(text string, start, end int) string {
	before, after := text[max(0, start-maxLine):start], text[end:min(len(text), end+maxLine)]
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		before = before[i+1:]
	}
	if i := strings.IndexByte(after, '\n'); i >= 0 {
		after = after[:i]
	}
	return before + text[start:end] + after
}

// merged sorts findings and joins overlapping ones. The more specific rule's name stays: a generic one is the least
// specific.
func merged(found []Finding) []Finding {
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(a.Rule, b.Rule))
	})
	var out []Finding
	for _, f := range found {
		if n := len(out); n > 0 && f.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, f.End)
			if isGeneric(out[n-1].Rule) {
				out[n-1].Rule = f.Rule
			}
			continue
		}
		out = append(out, f)
	}
	return out
}

func isGeneric(rule string) bool {
	return strings.HasPrefix(rule, "generic") || rule == "env-secret"
}
