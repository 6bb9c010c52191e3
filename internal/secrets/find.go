package secrets

import (
	"cmp"
	"slices"
	"strings"
)

// Masker finds and masks secrets.
type Masker struct {
	rules []rule
	index *index
}

// New reads the rules. It fails only where gitleaks's configuration does not read, which a test would see.
func New() (*Masker, error) {
	rules, err := gitleaksRules()
	if err != nil {
		return nil, err
	}
	rules = append(ownRules(), rules...)
	return &Masker{rules: rules, index: indexOf(rules)}, nil
}

// Finding is a secret in a text, by bytes.
type Finding struct {
	Rule       string
	Start, End int
}

// window is a stretch of text in which a rule's expression is run.
type window struct{ start, end int }

// around is the window of a keyword.
func (r *rule) around(at, end, length int) window {
	if r.anchored {
		return window{at, min(length, end+r.reach)}
	}
	return window{max(0, at-r.reach), min(length, end+r.reach)}
}

// Find gives the secrets in a text in order; none overlap.
func (m *Masker) Find(text string) []Finding {
	windows := make(map[int][]window)
	m.index.each(fold(text), func(at, end int, rules []int) {
		for _, i := range rules {
			w := m.rules[i].around(at, end, len(text))
			if m.rules[i].anchored {
				windows[i] = append(windows[i], w)
			} else {
				windows[i] = widened(windows[i], w)
			}
		}
	})
	var found []Finding
	for i, ws := range windows {
		for _, w := range ws {
			found = m.rules[i].in(text, w, found)
		}
	}
	return merged(found)
}

// widened adds a window to those before it; keywords come in order, so only the last can meet it.
func widened(ws []window, w window) []window {
	if n := len(ws); n > 0 && w.start <= ws[n-1].end {
		ws[n-1].end = max(ws[n-1].end, w.end)
		return ws
	}
	return append(ws, w)
}

func (r *rule) in(text string, w window, found []Finding) []Finding {
	part := text[w.start:w.end]
	for _, loc := range r.regex.FindAllStringSubmatchIndex(part, -1) {
		start, end := r.secretIn(loc)
		if end == len(part) && w.end < len(text) {
			end += runLength(text[w.end:])
		}
		start, end = w.start+start, w.start+end
		secret := text[start:end]
		if secret == "" || (r.entropy > 0 && entropyOf(secret) <= r.entropy) {
			continue
		}
		from := w.start + loc[0]
		if r.anchored {
			from = nameStart(text, from)
		}
		if !r.allowed(secret, text[from:w.start+loc[1]], lineAround(text, start, end)) {
			found = append(found, Finding{r.id, start, end})
		}
	}
	return found
}

// runLength is how much longer a secret is that was cut by its window: all that tokens are made of.
func runLength(rest string) int {
	return len(rest) - len(strings.TrimLeft(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.-"))
}

// maxLine bounds what of a line an allow list sees, or one endless line would be read for each finding.
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

// merged sorts findings and joins those that overlap. The name of the more telling rule stays: a generic
// one says least.
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
