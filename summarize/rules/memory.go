package rules

import (
	"regexp"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/words"
)

// memory is the occurrence of a document's words in the thread's earlier messages: the last one (1 is the newest
// message, 0 never), the count, and the kind of message.
type memory struct {
	subs  []trace
	pairs []trace
	talk  []said // the newest short messages, newest first
}

// trace is one subword's or pair's history.
type trace struct {
	count int32
	age   int32 // messages ago, from 1; 0 is never
	talk  bool  // occurred in a short message
}

// said are the document's words in a short message, in order.
type said struct{ words, subs []int32 }

const (
	// talkChars is the maximum length of a message that counts as talk (a request, a thought, a call)
	// rather than material (a file, an output), in bytes; talkTexts is how many of the newest are the focus.
	talkChars = 2000
	talkTexts = 8
	// recentTexts is how many of the newest messages of any length count as recent.
	recentTexts = 6
)

// recall searches the earlier messages, newest first, for the words of the document, and marks those seen.
func (v *vocabulary) recall(earlier []string, seen *words.Seen) *memory {
	m := &memory{subs: v.traces.Take(len(v.lexicon.Subwords)), pairs: v.traces.Take(len(v.lexicon.Pairs))}
	for i := range v.words {
		v.words[i].seen = seen.Has(v.words[i].text)
	}
	for i := len(earlier) - 1; i >= 0; i-- {
		r := reading{v: v, m: m, age: int32(len(earlier) - i), short: len(earlier[i]) <= talkChars, last: words.None}
		if r.short && len(m.talk) < talkTexts {
			m.talk = append(m.talk, said{})
			r.said = &m.talk[len(m.talk)-1]
		}
		r.read(earlier[i])
	}
	return m
}

// talkOf returns the texts of the newest short messages, newest first.
func talkOf(earlier []string) []string {
	var talk []string
	for i := len(earlier) - 1; i >= 0 && len(talk) < talkTexts; i-- {
		if len(earlier[i]) <= talkChars {
			talk = append(talk, earlier[i])
		}
	}
	return talk
}

// placesNamed returns the lines of the file that is shown of which one of the newest messages gives the place, `store.go:12`, `store.go(12,3)`: a
// compiler's messages, or the few matches of a search.
func placesNamed(earlier []string, args call.Arguments) map[int]bool {
	const few = 8
	path, _ := args.Shown()
	name := path[strings.LastIndexByte(path, '/')+1:]
	if name == "" {
		return nil
	}
	for i := len(earlier) - 1; i >= max(0, len(earlier)-recentTexts); i-- {
		found := map[int]bool{}
		for text := earlier[i]; ; {
			at := strings.Index(text, name)
			if at < 0 {
				break
			}
			text = text[at+len(name):]
			if len(text) > 1 && (text[0] == ':' || text[0] == '(') && lex.IsDigit(text[1]) {
				end := 1
				for end < len(text) && lex.IsDigit(text[end]) {
					end++
				}
				found[lex.Atoi(text[1:end])] = true
			}
		}
		if len(found) > 0 && len(found) <= few {
			return found
		}
	}
	return nil
}

// linesNamed returns the lines that the call asks for one by one, `{"line": 88}`, `goto 88`, `edit 88:90`, or that the newest message names, "near line
// 88": the file is read for them.
func linesNamed(tool string, earlier []string, args call.Arguments) map[int]bool {
	const few = 4
	found := map[int]bool{}
	add := func(number string) {
		if n := lex.Atoi(number); n > 0 && len(number) < len("1000000") && strings.Trim(number, "0123456789") == "" {
			found[n] = true
		}
	}
	add(args.Text("line", "line_number", "lineno", "line_no"))
	line, _, _ := strings.Cut(args.ShellLine(), "\n")
	if verb, rest, ok := strings.Cut(line, " "); ok && verb == tool { // the tool's own language, and no shell's
		for _, word := range strings.Fields(rest) {
			from, to, _ := strings.Cut(word, ":")
			add(from)
			add(to)
		}
	}
	if len(found) > 0 {
		return found
	}
	if talk := talkOf(earlier); len(talk) > 0 {
		for _, m := range lineNamed.FindAllStringSubmatch(talk[0], few+1) {
			add(m[1])
		}
	}
	if len(found) > few {
		return nil
	}
	return found
}

// lineNamed matches where a message names a line.
var lineNamed = regexp.MustCompile(`(?i)\bline #?(\d{1,6})\b`)

// wordsOf returns the identifiers in some texts.
func wordsOf(texts []string) map[string]struct{} {
	found := map[string]struct{}{}
	for _, text := range texts {
		words.EachWord(text, func(start, end int) {
			if w := text[start:end]; words.Specific(w) {
				found[w] = struct{}{}
			}
		})
	}
	return found
}

// reading is the state of reading an earlier message.
type reading struct {
	v     *vocabulary
	m     *memory
	age   int32
	short bool
	said  *said // what is kept of it; may be nil
	last  int32 // the previous subword
}

func (r *reading) read(text string) {
	for at := 0; ; {
		start, end, joined := words.NextWord(text, at)
		if start == end {
			return
		}
		at = end
		if end-start < words.ShortestSubword || r.know(text[start:end]) {
			continue
		}
		if joined {
			r.readParts(text[start:end])
		} else {
			r.cut(text[start:end])
		}
	}
}

// readParts reads a whole that is not a term.
func (r *reading) readParts(text string) {
	words.EachPart(text, 0, len(text), func(start, end int) {
		if end-start >= words.ShortestSubword && !r.know(text[start:end]) {
			r.cut(text[start:end])
		}
	})
}

// know marks the words of a term of the document, if the text is one.
func (r *reading) know(text string) bool {
	n := r.v.terms.Find(text)
	if n == words.None {
		return false
	}
	r.word(n)
	for _, p := range r.v.terms.PartsOf(n) {
		r.word(p.Term)
	}
	for _, id := range r.v.terms.SubsOf(n) {
		r.sub(id)
	}
	return true
}

// cut marks the subwords of a text that is not a term.
func (r *reading) cut(text string) {
	for start, end := words.NextSubword(text, 0); start < end; start, end = words.NextSubword(text, end) {
		r.sub(r.v.lexicon.Find(text[start:end]))
	}
}

func (r *reading) word(n int32) {
	t := &r.v.terms.List[n]
	if t.Word == words.None {
		return
	}
	if len(t.Text) >= words.ShortestWord {
		r.v.words[t.Word].seen = true
	}
	if r.said != nil {
		r.said.words = append(r.said.words, t.Word)
	}
}

// sub marks a subword, and its pair with the previous one.
func (r *reading) sub(id int32) {
	if id != words.None {
		r.m.subs[id].mark(r.age, r.short)
		if r.said != nil {
			r.said.subs = append(r.said.subs, id)
		}
	}
	if pair := r.v.lexicon.FindPair(r.last, id); pair != words.None {
		r.m.pairs[pair].mark(r.age, r.short)
	}
	r.last = id
}

func (t *trace) mark(age int32, short bool) {
	t.count++
	if t.age == 0 {
		t.age = age
	}
	t.talk = t.talk || short
}
