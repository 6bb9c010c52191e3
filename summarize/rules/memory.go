package rules

// memory is what the thread's earlier messages have of a document's words: when last (1 is the newest
// message, 0 never), how often, and in which kind of message.
type memory struct {
	subs  []trace
	pairs []trace
	talk  []string // the newest short messages, newest first
}

// trace is one subword's or pair's history.
type trace struct {
	count int32
	age   int32 // messages ago, from 1; 0 is never
	talk  bool  // stood in a short message
}

const (
	// talkChars is the length up to which a message counts as something said (a request, a thought, a call)
	// rather than as material (a file, an output), in bytes; talkTexts how many of the newest are the focus.
	talkChars = 2000
	talkTexts = 8
	// recentTexts is how many of the newest messages of any length count as recent.
	recentTexts = 6
)

// recall reads the earlier messages, newest first, for the words of the document, and marks those seen.
func (v *vocabulary) recall(earlier []string, seen *Seen) *memory {
	m := &memory{subs: make([]trace, len(v.lexicon.ids)), pairs: make([]trace, len(v.lexicon.pairs))}
	for i := range v.words {
		v.words[i].seen = seen.Has(v.words[i].text)
	}
	for i := len(earlier) - 1; i >= 0; i-- {
		text := earlier[i]
		age := int32(len(earlier) - i)
		short := len(text) <= talkChars
		if short && len(m.talk) < talkTexts {
			m.talk = append(m.talk, text)
		}
		v.recallWords(text)
		v.recallSubwords(m, text, age, short)
	}
	return m
}

func (v *vocabulary) recallWords(text string) {
	eachWord(text, func(start, end int) {
		if end-start < 4 || end-start > maxWord {
			return
		}
		if id, ok := v.index[text[start:end]]; ok {
			v.words[id].seen = true
		}
	})
}

func (v *vocabulary) recallSubwords(m *memory, text string, age int32, short bool) {
	last := int32(-1)
	eachSubword(text, func(start, end int) {
		id := v.lexicon.find(text[start:end])
		if id >= 0 {
			m.subs[id].mark(age, short)
		}
		if pair := v.lexicon.findPair(last, id); pair >= 0 {
			m.pairs[pair].mark(age, short)
		}
		last = id
	})
}

func (t *trace) mark(age int32, short bool) {
	t.count++
	if t.age == 0 {
		t.age = age
	}
	t.talk = t.talk || short
}
