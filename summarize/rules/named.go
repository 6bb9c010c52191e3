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
		head := int(s.above[m.line])
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

// entry is what a gap tells: a heading and names from below it; or names alone, which are below what is shown above, or from a line on.
type entry struct {
	head  string
	at    int // the number of the line, if the names are below another heading, or below none
	names []string
}

func (e entry) String() string {
	names := strings.Join(e.names, ", ")
	switch {
	case e.head != "" && names != "":
		return e.head + ": " + names
	case e.head == "" && e.at > 0:
		return itoa(e.at) + "+: " + names
	case e.head == "":
		return "… " + names
	}
	return e.head
}

// hidden names the headings and what else is worth it between two shown lines: `38 Usage: app.py · 61 Limits · +2 headings`.
func (s *sketcher) hidden(above, below int) string {
	var entries []entry
	marks := slices.DeleteFunc(slices.Clone(s.named), func(m mark) bool { return m.line < above || m.line >= below || s.chosen[m.line] })
	slices.SortFunc(marks, func(a, b mark) int { return cmp.Or(a.line-b.line, a.start-b.start) })
	last := int(s.above[above]) // the heading that what is told last is below
	namesTo := func(line int) {
		for ; len(marks) > 0 && marks[0].line < line; marks = marks[1:] {
			switch m, head := marks[0], int(s.above[marks[0].line]); {
			case head != last:
				entries, last = append(entries, entry{at: s.doc.lines[m.line].number, names: []string{m.text}}), head
			case len(entries) == 0:
				entries = append(entries, entry{at: s.introduced(above, m.line), names: []string{m.text}})
			default:
				e := &entries[len(entries)-1]
				if at := s.introduced(above, m.line); at > 0 && e.head == "" && e.at == 0 {
					entries = append(entries, entry{at: at, names: []string{m.text}})
				} else {
					e.names = append(e.names, m.text)
				}
			}
		}
	}
	more := 0
	for _, h := range s.heads {
		if h.line < above || h.line >= below || s.chosen[h.line] {
			continue
		}
		namesTo(h.line)
		if !s.told[h.line] {
			more++
			continue
		}
		entries, last = append(entries, entry{head: s.headEntry(h.line)}), h.line
	}
	namesTo(below)
	if alone := s.alone(above, below); alone >= 0 && len(entries) == 1 && more == 0 && entries[0].String() == s.headEntry(alone) {
		return s.doc.lead(choice{line: alone}, nowhere) + s.doc.shown(choice{line: alone, end: s.head(alone).end}, false)
	}
	if more > 0 {
		entries = append(entries, entry{head: "+" + lex.Counted(more, "heading")})
	}
	return s.folded(entries)
}

// introduced returns the number of a line if another one that introduces it, `Steps:`, stands between it and the one shown above it; 0 if none does.
func (s *sketcher) introduced(above, line int) int {
	for i := above + 1; i < line; i++ {
		if l := &s.doc.lines[i]; strings.HasSuffix(l.text, ":") {
			return s.doc.lines[line].number
		}
	}
	return 0
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

// folded writes entries into lines that are not too long; names alone have a line of their own.
func (s *sketcher) folded(entries []entry) string {
	var b strings.Builder
	size := 0
	for n, e := range entries {
		text := e.String()
		if n > 0 && e.head != "" && entries[n-1].head != "" && (size+lex.Runes(text) <= widestGap || e.head[0] == '+') {
			b.WriteString(" · ")
			size += 3
		} else {
			if size = 0; n > 0 {
				b.WriteByte('\n')
			}
			if !s.doc.placed && e.head != "" {
				b.WriteString("# ")
			}
		}
		b.WriteString(text)
		size += lex.Runes(text)
	}
	return b.String()
}

const widestGap = 110 // characters of a line that names headings
