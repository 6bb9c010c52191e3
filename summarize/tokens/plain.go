package tokens

import "math/bits"

// plain finds the pieces of text that is ASCII, most of a text, eight bytes at a time. A byte with some property is marked by its high bit
// in a mask, so that the length of a piece takes no branch per character. What it can't decide is left to a splitter.
type plain struct {
	// humps is every high bit if a word ends before a capital behind a small letter, else 0.
	humps uint64
	// least is the least length in bits of a word that begins with a byte: a letter, or a character that a word takes in from before it.
	least [256]uint8
	// closer holds for a byte behind a word if the word may go on with it.
	closer [256]bool
}

// never is more bits than a word can have.
const never = 255

func newPlain(c *classes) *plain {
	p := &plain{}
	for b := range p.least {
		p.least[b], p.closer[b] = never, b >= len(c.ascii)
	}
	for b, k := range c.ascii {
		switch {
		case k&letter != 0:
			p.least[b] = 8
		case k.isPrefix():
			p.least[b] = 16
		}
	}
	return p
}

func plainO200k(c *classes) *plain {
	p := newPlain(c)
	p.humps = highBits
	p.closer['\''] = true // a contraction
	return p
}

func plainCL100k(c *classes) *plain {
	p := newPlain(c)
	p.least['\''] = never // a contraction is a piece, and no word's beginning
	return p
}

// count counts the tokens of the pieces from i on, up to the first that takes a splitter, which begins at end. It stops in
// the last 16 bytes.
func (p *plain) count(b *bpe, text string, i int) (count, end int) {
	v := b.vocab
	for i+16 <= len(text) {
		x := le64(text, i)
		small, capital := smalls(x), capitals(x)
		n := first(p.wordEnds(small, capital, 0) &^ 0xff)
		switch {
		case n < int(p.least[byte(x)]):
			if n = other(x, small|capital); n == 0 {
				return count, i
			}
		case n == 64:
			y := le64(text, i+8)
			m := first(p.wordEnds(smalls(y), capitals(y), small))
			if m == 64 || p.closer[byte(y>>m)] {
				return count, i
			}
			end := i + 8 + m/8
			if m == 0 && v.short.has(x) || m > 0 && v.middle.rank(wideKey{x, y & (1<<m - 1)}) != noRank {
				count++
			} else {
				count += b.merge(text[i:end])
			}
			i = end
			continue
		case p.closer[byte(x>>n)]:
			return count, i
		}
		end := i + n/8
		if v.short.has(x & (1<<n - 1)) {
			count++
		} else {
			count += b.merge(text[i:end])
		}
		i = end
	}
	return count, i
}

// wordEnds marks the bytes that a word ends before; before marks the small letters of the eight bytes before these.
func (p *plain) wordEnds(small, capital, before uint64) uint64 {
	return (small | capital) ^ highBits | capital&(small<<8|before>>56)&p.humps
}

// other is the length in bits of a piece that is no word; 0 if it takes a splitter. letters marks those of the eight bytes.
func other(x, letters uint64) int {
	digits := between(x, '0', '9')
	if digits&0x80 != 0 {
		n := min(first(digits^highBits), 3*8)
		if n < 3*8 && byte(x>>n) >= 0x80 { // it may be a number
			return 0
		}
		return n
	}
	spaces := between(x, '\t', '\r') | between(x, ' ', ' ')
	signs := (letters|digits|spaces|x)&highBits ^ highBits
	if signs&0x80 != 0 || byte(x) == ' ' && signs&0x8000 != 0 {
		n := first((signs ^ highBits) &^ 0xff)
		switch next := byte(x >> n); {
		case n == 64, next >= 0x80, next == '\n', next == '\r', letters&0x8000 != 0:
			return 0
		case byte(x>>(n-8)) == 0: // a token that ends in NUL is in no table
			return 0
		}
		return n
	}
	n := first(spaces ^ highBits)
	if n == 0 || n == 64 || byte(x>>n) >= 0x80 {
		return 0
	}
	if lines := (between(x, '\n', '\n') | between(x, '\r', '\r')) & (1<<n - 1); lines != 0 {
		return bits.Len64(lines)
	}
	return max(n-8, 8)
}

const (
	every     = 0x0101010101010101
	highBits  = 0x80 * every
	sevenBits = 0x7f * every
)

// between marks the bytes from one character of ASCII to another: of a byte below 0x80, adding 0x80 less from sets the high bit from there on.
func between(x uint64, from, to byte) uint64 {
	low := x & sevenBits
	return (low + uint64(0x80-from)*every) &^ (low + uint64(0x7f-to)*every) &^ x & highBits
}

func smalls(x uint64) uint64   { return between(x, 'a', 'z') }
func capitals(x uint64) uint64 { return between(x, 'A', 'Z') }

// first is where, in bits, the first marked byte begins; 64: none is.
func first(marks uint64) int { return bits.TrailingZeros64(marks) &^ 7 }
