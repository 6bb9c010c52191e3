package rules

import (
	"cmp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/words"
)

// What a digest's gaps hide is named there as far as it can be typed again: paths, what stands between backticks, the names in examples.

const (
	namesShare  = 30 // of the room, in percent, that names have
	mostNamed   = 8  // in one gap
	longestName = 60 // bytes
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
	var shown []int
	for _, p := range s.picks() {
		shown = append(shown, p.line)
	}
	told := map[int]int{} // by gap
	slices.SortStableFunc(list, func(a, b mark) int { return cmp.Compare(b.rate, a.rate) })
	for _, m := range list[:min(len(list), mostUnits)] {
		gap, _ := slices.BinarySearch(shown, m.line+1)
		size := lex.Runes(m.text) + len(", ")
		if s.used+size > room || told[gap] == mostNamed || s.markGain(m) < m.gain/2 || slices.ContainsFunc(s.named, func(n mark) bool { return n.text == m.text }) {
			continue
		}
		s.coverFragment(choice{m.line, m.start, m.end})
		s.named = append(s.named, m)
		s.used += size
		told[gap]++
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
			case example[i] && !strings.Contains(w.text, "-") || isTypedPath(text, at, int(m.end)):
				start := naturalPath(text, at)
				span.start, span.text = start, text[start:m.end]
			default:
				continue
			}
			end = span.end
			span.gain = s.markGain(span)
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

// isTypedPath reports whether a word of a sentence is a path or an address, and not two words with a slash between them.
func isTypedPath(text string, start, end int) bool {
	word := text[start:end]
	slash := strings.LastIndexByte(word, '/')
	look := words.LookOf(word)
	return look&words.IsFileName != 0 || slash > 0 && (strings.Contains(word, ".") || strings.Contains(word, "_") || start > 0 && text[start-1] == '/' || strings.Count(word, "/") > 1 && strings.ToLower(word) == word)
}

// hidden says how many headings are not shown between two lines, and names what is.
func (s *sketcher) hidden(above, below int) string {
	shown := map[int]bool{}
	for _, u := range s.taken {
		shown[u.line], shown[u.heading] = true, true
	}
	n := 0
	for _, u := range s.units {
		if u.level > 0 && u.line >= above && u.line < below && !shown[u.line] {
			n++
		}
	}
	named := slices.DeleteFunc(slices.Clone(s.named), func(m mark) bool { return m.line < above || m.line >= below || s.chosen[m.line] })
	slices.SortFunc(named, func(a, b mark) int { return cmp.Or(a.line-b.line, a.start-b.start) })
	var names []string
	for _, m := range named {
		names = append(names, m.text)
	}
	told := strings.Join(names, ", ")
	switch {
	case n == 0 && told == "":
		return ""
	case n == 0:
		return "… " + told
	case told == "":
		return "+" + lex.Counted(n, "heading")
	}
	return "+" + lex.Counted(n, "heading") + ": " + told
}
