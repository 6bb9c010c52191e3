package tokens

// machine is a finite automaton over bytes whose transitions cost fractions of a token: it stands
// for o200k_base's way of cutting a text into pieces and, with the price of each further letter or
// sign, for how pieces merge. One table look-up a byte.
type machine struct {
	class [256]uint8
	steps [1 << stepBits]step
}

// step packs a transition: the cost in thousandths of a token, above the index of the next state's
// row.
type step uint32

const (
	rowBits    = 16
	rowMask    = 1<<rowBits - 1
	classesMax = 32
	stepBits   = 10 // states * classesMax and some, so that an index needs no check
)

// States: what the text before this byte ends in.
const (
	atLine    = iota // the start, or a line break
	atBlank          // one space
	atBlanks         // more
	atTab            //
	atDigit          // the first of a group of three; the next two follow
	atDigit2         //
	atDigit3         //
	atSign           // one ASCII sign
	atSigns          // more
	atWide           // a character beyond ASCII
	atCapital        // one capital after anything but a capital
	atCaps           // more
	atSmall          // the first letter of a word; one state for each up to longWord follows
	states    = atSmall + longWord
)

// longWord is the length in letters from which on further small letters are no word that a
// vocabulary would have.
const longWord = 13

// Classes of bytes. Those that begin characters beyond ASCII follow.
const (
	small = iota
	capital
	digit
	blank
	tab
	lineBreak
	sign
	continuation
	wideFirst
)

// thousandths is the guess at o200k_base's tokens, times 1,000. It walks both halves of the text at once: each look-up
// waits for the one before it, and the other half's is made meanwhile.
func (m *machine) thousandths(text string) int {
	at, row := parting(text)
	first, second := text[:at], text[at:]
	both := min(len(first), len(second))
	sum, from := uint64(0), step(atLine*classesMax)
	for i := range both {
		from, row = m.next(from, first[i]), m.next(row, second[i])
		sum += uint64(from>>rowBits) + uint64(row>>rowBits)
	}
	for i := both; i < len(first); i++ {
		from = m.next(from, first[i])
		sum += uint64(from >> rowBits)
	}
	for i := both; i < len(second); i++ {
		row = m.next(row, second[i])
		sum += uint64(row >> rowBits)
	}
	return int(sum)
}

func (m *machine) next(row step, b byte) step {
	return m.steps[(row&rowMask|step(m.class[b]))&(1<<stepBits-1)]
}

// parting is a place near the middle and the row of the state there, which is the same whatever the text begins with:
// behind a line break, or one space. The end where there is no such place.
func parting(text string) (at int, row step) {
	const far = 64
	for i := len(text)/2 + 1; i < min(len(text), len(text)/2+far); i++ {
		switch {
		case text[i] == '\n':
			return i + 1, atLine * classesMax
		case text[i] == ' ' && text[i-1] != ' ':
			return i + 1, atBlank * classesMax
		}
	}
	return len(text), 0
}

func newMachine(w weights) *machine {
	m := &machine{}
	for b := range m.class {
		m.class[b] = byteClass(byte(b))
	}
	for from := range states {
		for class := range wideFirst + len(wideLeads) {
			to, cost := transition(w, from, class)
			m.steps[from*classesMax+class] = step(cost)<<rowBits | step(to*classesMax)
		}
	}
	return m
}

func byteClass(b byte) uint8 {
	switch {
	case b >= 'a' && b <= 'z':
		return small
	case b >= 'A' && b <= 'Z':
		return capital
	case b >= '0' && b <= '9':
		return digit
	case b == ' ':
		return blank
	case b == '\t':
		return tab
	case b == '\n' || b == '\r':
		return lineBreak
	case b < 0x80:
		return sign
	case b < 0xC0:
		return continuation
	}
	class := wideFirst
	for i, lead := range wideLeads {
		if b >= lead {
			class = wideFirst + i
		}
	}
	return uint8(class)
}

func transition(w weights, from, class int) (to int, cost int) {
	switch class {
	case small:
		return smallLetter(w, from)
	case capital:
		return capitalLetter(w, from)
	case digit:
		return digitOf(w, from)
	case blank:
		return blankOf(w, from)
	case tab:
		if from == atTab {
			return atTab, w.tabs
		}
		return atTab, w.tab
	case lineBreak:
		return atLine, lineCost(w, from)
	case sign:
		return signOf(w, from)
	case continuation:
		return atWide, 0
	}
	if class == wideArrow && isDigit(from) {
		return atWide, 0 // "12→", as numbered lines begin
	}
	return atWide, w.wide[class-wideFirst]
}

func isDigit(state int) bool { return state >= atDigit && state <= atDigit3 }

func smallLetter(w weights, from int) (int, int) {
	switch {
	case from == atCapital:
		return atSmall + 1, w.letter
	case from == atCaps:
		return atSmall + 1, w.smallAfterCaps
	case from < atSmall:
		return atSmall, wordCost(w, from)
	}
	n := from - atSmall + 2 // letters with this one
	switch {
	case n <= 4:
		return from + 1, w.letter
	case n < longWord:
		return from + 1, w.letters
	case n == longWord:
		return from + 1, w.longWord
	}
	return from, w.longWord
}

func capitalLetter(w weights, from int) (int, int) {
	switch {
	case from == atCapital || from == atCaps:
		return atCaps, w.caps
	case from >= atSmall:
		return atCapital, w.hump
	}
	return atCapital, wordCost(w, from)
}

func wordCost(w weights, from int) int {
	switch {
	case from == atBlank || from == atBlanks:
		return w.wordAfterBlank
	case from == atLine:
		return w.wordAfterLine
	case from == atTab:
		return w.wordAfterTab
	case isDigit(from):
		return w.wordAfterDigit
	case from == atSign:
		return w.wordAfterSign
	case from == atSigns:
		return w.wordAfterSigns
	}
	return w.wordAfterWide
}

// digitOf: groups of three are all in the vocabulary, and never take in the blank before them. In
// columns half a token less, as numberedLines has it for Claude.
func digitOf(w weights, from int) (int, int) {
	switch from {
	case atDigit, atDigit2:
		return from + 1, 0
	case atBlank:
		return atDigit, 2000
	case atBlanks:
		return atDigit, 1500
	}
	return atDigit, 1000
}

// blankOf: one space goes with what follows, more are a token.
func blankOf(w weights, from int) (int, int) {
	switch from {
	case atBlank:
		return atBlanks, w.blanks
	case atBlanks:
		return atBlanks, 0
	}
	return atBlank, 0
}

func lineCost(w weights, from int) int {
	switch from {
	case atLine:
		return 0
	case atSign, atSigns:
		return w.lineAfterSign
	case atBlank, atBlanks, atTab:
		return w.lineAfterBlank
	}
	return w.line
}

func signOf(w weights, from int) (int, int) {
	switch {
	case from == atSign:
		return atSigns, w.secondSign
	case from == atSigns:
		return atSigns, w.furtherSign
	case from >= atCapital:
		return atSign, w.signAfterWord
	case isDigit(from):
		return atSign, w.signAfterDigit
	case from == atWide:
		return atSign, w.signAfterWide
	}
	return atSign, w.signAfterBlank
}
