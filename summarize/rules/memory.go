package rules

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"precis/summarize/lex"
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
func (v *vocabulary) recall(earlier []string, seen *Seen) *memory {
	m := &memory{subs: v.traces.take(len(v.lexicon.subwords)), pairs: v.traces.take(len(v.lexicon.pairs))}
	for i := range v.words {
		v.words[i].seen = seen.Has(v.words[i].text)
	}
	for i := len(earlier) - 1; i >= 0; i-- {
		r := reading{v: v, m: m, age: int32(len(earlier) - i), short: len(earlier[i]) <= talkChars, last: none}
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
func placesNamed(earlier []string, args arguments) map[int]bool {
	const few = 8
	path, _ := args.shown()
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

// wordsOf returns the identifiers in some texts.
func wordsOf(texts []string) map[string]struct{} {
	words := map[string]struct{}{}
	for _, text := range texts {
		eachWord(text, func(start, end int) {
			if w := text[start:end]; specific(w) {
				words[w] = struct{}{}
			}
		})
	}
	return words
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
		start, end, joined := nextWord(text, at)
		if start == end {
			return
		}
		at = end
		if end-start < shortestSubword || r.know(text[start:end]) {
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
	eachPart(text, 0, len(text), func(start, end int) {
		if end-start >= shortestSubword && !r.know(text[start:end]) {
			r.cut(text[start:end])
		}
	})
}

// know marks the words of a term of the document, if the text is one.
func (r *reading) know(text string) bool {
	n := r.v.terms.find(text)
	if n == none {
		return false
	}
	r.word(n)
	for _, p := range r.v.terms.partsOf(n) {
		r.word(p.term)
	}
	for _, id := range r.v.terms.subsOf(n) {
		r.sub(id)
	}
	return true
}

// cut marks the subwords of a text that is not a term.
func (r *reading) cut(text string) {
	for start, end := nextSubword(text, 0); start < end; start, end = nextSubword(text, end) {
		r.sub(r.v.lexicon.find(text[start:end]))
	}
}

func (r *reading) word(n int32) {
	t := &r.v.terms.list[n]
	if t.word == none {
		return
	}
	if len(t.text) >= shortestWord {
		r.v.words[t.word].seen = true
	}
	if r.said != nil {
		r.said.words = append(r.said.words, t.word)
	}
}

// sub marks a subword, and its pair with the previous one.
func (r *reading) sub(id int32) {
	if id != none {
		r.m.subs[id].mark(r.age, r.short)
		if r.said != nil {
			r.said.subs = append(r.said.subs, id)
		}
	}
	if pair := r.v.lexicon.findPair(r.last, id); pair != none {
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

// Seen remembers which identifiers a thread has had, so that a summary can recognize new ones without the
// thread's whole text: a caller adds every message's text once, and passes only the newest texts in
// Input.Earlier. It holds 32-bit fingerprints (one in some hundred thousand collides), in
// two generations of at most seenGeneration each; the older one is dropped when the younger is full.
// The zero value is empty and ready. It is a pure fold over the added texts, in order.
type Seen struct {
	young, old map[uint32]struct{}
}

// seenGeneration bounds one generation: 32,768 identifiers cover a thread of some megabytes.
const seenGeneration = 1 << 15

// Add adds a message's text: its content and the arguments of its calls.
func (s *Seen) Add(text string) {
	eachWord(text, func(start, end int) {
		if w := text[start:end]; specific(w) {
			s.add(fingerprint(w))
		}
	})
}

func (s *Seen) add(mark uint32) {
	if _, ok := s.young[mark]; ok {
		return
	}
	if len(s.young) >= seenGeneration {
		s.young, s.old = nil, s.young
	}
	if s.young == nil {
		s.young = map[uint32]struct{}{}
	}
	s.young[mark] = struct{}{}
}

// Has reports whether an identifier was added and not dropped since.
func (s *Seen) Has(word string) bool {
	if s == nil {
		return false
	}
	mark := fingerprint(word)
	if _, ok := s.young[mark]; ok {
		return true
	}
	_, ok := s.old[mark]
	return ok
}

// Len is the number of identifiers held.
func (s *Seen) Len() int { return len(s.young) + len(s.old) }

// fingerprint is FNV-1a, folded to 32 bits.
func fingerprint(w string) uint32 {
	h := uint64(fnvOffset)
	for i := 0; i < len(w); i++ {
		h = (h ^ uint64(w[i])) * fnvPrime
	}
	return folded(h)
}

// MarshalBinary writes both generations as sorted, delta-coded fingerprints: two to four bytes each.
func (s *Seen) MarshalBinary() ([]byte, error) {
	return appendMarks(appendMarks(nil, s.young), s.old), nil
}

func appendMarks(b []byte, marks map[uint32]struct{}) []byte {
	sorted := make([]uint32, 0, len(marks))
	for m := range marks {
		sorted = append(sorted, m)
	}
	slices.Sort(sorted)
	b = binary.AppendUvarint(b, uint64(len(sorted)))
	last := uint32(0)
	for _, m := range sorted {
		b = binary.AppendUvarint(b, uint64(m-last))
		last = m
	}
	return b
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (s *Seen) UnmarshalBinary(b []byte) error {
	young, b, err := readMarks(b)
	if err != nil {
		return err
	}
	old, b, err := readMarks(b)
	if err != nil {
		return err
	}
	if len(b) > 0 {
		return fmt.Errorf("read seen identifiers: %w: %d bytes left over", ErrDamaged, len(b))
	}
	s.young, s.old = young, old
	return nil
}

func readMarks(b []byte) (map[uint32]struct{}, []byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > seenGeneration {
		return nil, nil, fmt.Errorf("read seen identifiers: %w: count", ErrDamaged)
	}
	b = b[n:]
	marks := make(map[uint32]struct{}, min(int(count), len(b)))
	last := uint64(0)
	for range count {
		delta, n := binary.Uvarint(b)
		if n <= 0 || delta > 1<<32-1 || last+delta > 1<<32-1 {
			return nil, nil, fmt.Errorf("read seen identifiers: %w: fingerprint", ErrDamaged)
		}
		last += delta
		b = b[n:]
		marks[uint32(last)] = struct{}{}
	}
	return marks, b, nil
}
