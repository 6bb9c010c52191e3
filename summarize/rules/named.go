package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/words"
)

// What a digest's gaps hide is named there as far as it can be typed again: paths, what stands between backticks, the names in examples.

const (
	namesShare  = 30 // of the room, in percent, that names may have
	mostNamed   = 12 // below one heading
	longestName = 60 // bytes; of a longer path its end is told
	longestSpan = 40 // bytes of what stands between backticks; of a longer one its name alone is told
)

// mark is what a gap may name.
type mark struct {
	line, start, end int
	text             string
	gain, rate       float64
}

// name shows names of what is hidden, those of the highest worth per character first.
func (s *sketcher) name(room int) {
	list := s.marks()
	told := map[int]int{} // by heading
	slices.SortStableFunc(list, func(a, b mark) int { return cmp.Compare(b.rate, a.rate) })
	for _, m := range list[:min(len(list), mostUnits)] {
		size := lex.Runes(m.text) + len(", ")
		head := s.headOf(m.line)
		if head >= 0 && !s.told[head] && !s.chosen[head] {
			size += lex.Runes(s.headEntry(head)) + 3
		}
		if s.used+size > room || told[head] == mostNamed || s.markGain(m) < m.gain/2 || slices.ContainsFunc(s.named, func(n mark) bool { return n.text == m.text }) {
			continue
		}
		if head >= 0 && !s.told[head] && !s.chosen[head] {
			s.tell(head, room)
			size = lex.Runes(m.text) + len(", ")
		}
		s.coverFragment(choice{m.line, m.start, m.end})
		s.named = append(s.named, m)
		s.used += size
		told[head]++
	}
}

// markGain is what naming adds to what is shown.
func (s *sketcher) markGain(m mark) (sum float64) {
	return s.gain(unit{line: m.line, last: m.line, start: m.start, end: m.end})
}

// marks are what the gaps may name.
func (s *sketcher) marks() (list []mark) {
	example := map[int]bool{}
	for _, u := range s.units {
		example[u.line] = example[u.line] || u.worth < 0
	}
	for i := range s.doc.lines {
		text, ticks, at, end := s.doc.lines[i].text, 0, 0, 0
		for _, m := range s.words.of(i) {
			w := &s.words.words[m.id]
			if int(m.start) < end || m.again || s.covered[m.id] || w.seen {
				continue
			}
			ticks += strings.Count(text[at:m.start], "`")
			at = int(m.start)
			span := mark{line: i, start: at, end: int(m.end), text: text[m.start:m.end]}
			switch {
			case w.how&(words.IsEscaped) != 0 || w.look&(words.IsDigits|words.IsDate|words.IsHex) != 0 || w.look&words.IsCapitals != 0 && !strings.Contains(w.text, "_"):
				continue
			case ticks%2 == 1 && !example[i]:
				from := strings.LastIndexByte(text[:at], '`') + 1
				if to := strings.IndexByte(text[at:], '`'); to >= 0 && at+to-from <= longestSpan {
					span.start, span.end, span.text = from, at+to, text[from:at+to]
				}
			case example[i] && !strings.Contains(w.text, "-") || isCode(w) || isTypedPath(text, at, int(m.end)):
				start := naturalPath(text, at)
				span.start, span.text = start, text[start:m.end]
			default:
				continue
			}
			if w.look&words.IsFileName != 0 || strings.Contains(w.text, "/") {
				withLines(text, &span)
			}
			end = span.end
			span.gain = s.markGain(span)
			if at := strings.IndexByte(span.text, '/'); at >= 0 && len(span.text) > longestName && !strings.ContainsAny(span.text, " :") {
				span.text = shortPath(span.text, longestName)
			}
			span.rate = span.gain / float64(lex.Runes(span.text)+2)
			if span.gain > 0 && len(span.text) <= longestName {
				list = append(list, span)
			}
		}
	}
	return list
}

// naturalPath returns where a path begins whose first word does at a byte: with its slash, its dot, its scheme.
func naturalPath(text string, at int) int {
	start := at
	if strings.HasSuffix(text[:at], "://") {
		for start -= len("://"); start > 0 && lex.IsLower(text[start-1]); {
			start--
		}
		return start
	}
	for start > 0 && strings.IndexByte("./~@", text[start-1]) >= 0 {
		start--
	}
	return start
}

// isCode reports whether a word of a sentence is a name of code even without backticks: session_id, sessionId, and SessionState if it recurs.
func isCode(w *word) bool {
	switch {
	case strings.Contains(w.text, "_"):
		return true
	case strings.ContainsAny(w.text, "/."):
		return false
	case strings.Contains(w.text, "-"):
		return w.count >= recurring && strings.ToLower(w.text) == w.text
	}
	for i := 1; i < len(w.text); i++ {
		if lex.IsUpper(w.text[i]) && lex.IsLower(w.text[i-1]) {
			return lex.IsLower(w.text[0]) || w.count > 1 && !products[w.text]
		}
	}
	return false
}

// recurring is how often words with a hyphen occur that are terms.
const recurring = 2

// products are words of prose that look like names of code.
var products = map[string]bool{"GitHub": true, "GitLab": true, "JavaScript": true, "TypeScript": true, "OpenAI": true, "YouTube": true, "PostgreSQL": true, "MySQL": true, "MongoDB": true, "DevOps": true, "LinkedIn": true}

// linesBehind matches where in the file that stands in front of it something is.
var linesBehind = regexp.MustCompile("^[`*]{0,3},? ?(?:[(,:]? ?(?:at )?lines? ~?(\\d+(?:[-–]\\d+)?)\\)?|:(\\d+(?:[-–]\\d+)?))")

// withLines adds the lines to a file's name: store.go:12-40.
func withLines(text string, m *mark) {
	if found := linesBehind.FindStringSubmatch(text[m.end:]); found != nil {
		m.text += ":" + found[1] + found[2]
		m.end += len(found[0])
	}
}

// isTypedPath reports whether a word of a sentence is a path or an address, and not two words with a slash between them.
func isTypedPath(text string, start, end int) bool {
	word := text[start:end]
	slash := strings.LastIndexByte(word, '/')
	look := words.LookOf(word)
	return look&words.IsFileName != 0 || slash > 0 && (strings.Contains(word, ".") || strings.Contains(word, "_") || start > 0 && text[start-1] == '/' || strings.Count(word, "/") > 1 && strings.ToLower(word) == word)
}

// hidden names the headings and what else is worth it between two shown lines: `38 Usage: app.py · 61 Limits · +2`.
func (s *sketcher) hidden(above, below int) string {
	var entries []string
	marks := slices.DeleteFunc(slices.Clone(s.named), func(m mark) bool { return m.line < above || m.line >= below || s.chosen[m.line] })
	slices.SortFunc(marks, func(a, b mark) int { return cmp.Or(a.line-b.line, a.start-b.start) })
	namesTo := func(line int, sep string) string {
		var b strings.Builder
		for ; len(marks) > 0 && marks[0].line < line; marks = marks[1:] {
			b.WriteString(sep + marks[0].text)
			sep = ", "
		}
		return b.String()
	}
	more := 0
	for _, h := range s.heads {
		if h.line < above || h.line >= below || s.chosen[h.line] {
			continue
		}
		if !s.told[h.line] {
			more++
			continue
		}
		entries = s.entered(entries, namesTo(h.line, ": "))
		entries = append(entries, s.headEntry(h.line))
	}
	entries = s.entered(entries, namesTo(below, ": "))
	if alone := s.alone(above, below); alone >= 0 && len(entries) == 1 && more == 0 && entries[0] == s.headEntry(alone) {
		return s.doc.lead(choice{line: alone}, nowhere) + s.doc.shown(choice{line: alone, end: s.head(alone).end}, false)
	}
	if more > 0 {
		entries = append(entries, "+"+itoa(more))
	}
	return s.folded(entries)
}

// alone returns the first heading that is named between two shown lines; none if there is none.
func (s *sketcher) alone(above, below int) int {
	for _, h := range s.heads {
		if h.line >= above && h.line < below && s.told[h.line] && !s.chosen[h.line] {
			return h.line
		}
	}
	return words.None
}

// entered adds names to the last heading, or to what is shown above if there is none.
func (s *sketcher) entered(entries []string, names string) []string {
	switch n := len(entries); {
	case names == "":
	case n == 0:
		entries = append(entries, "…"+names[1:])
	default:
		entries[n-1] += names
	}
	return entries
}

// folded writes entries into lines that are not too long.
func (s *sketcher) folded(entries []string) string {
	var b strings.Builder
	size := 0
	for n, text := range entries {
		names := n == 0 && strings.HasPrefix(text, "…")
		switch {
		case n > 0 && size+lex.Runes(text) <= widestGap && !strings.HasPrefix(entries[0], "…") || n > 1 && size+lex.Runes(text) <= widestGap:
			b.WriteString(" · ")
			size += 3
		default:
			if size = 0; n > 0 {
				b.WriteByte('\n')
			}
			if !s.doc.placed && !names {
				b.WriteString("# ")
			}
		}
		b.WriteString(text)
		size += lex.Runes(text)
	}
	return b.String()
}

const widestGap = 110 // characters of a line that names headings
