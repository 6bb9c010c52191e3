package tokens

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class says which of the sets named in the encodings' split patterns a character is in.
type class uint8

const (
	upperish class = 1 << iota // \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}: what may begin a word in o200k_base
	lowerish                   // \p{Ll}\p{Lm}\p{Lo}\p{M}: what may follow
	letter                     // \p{L}
	number                     // \p{N}
	space                      // \s
	newline                    // \r \n
)

// isPunct: [^\s\p{L}\p{N}], which takes in combining marks and control characters.
func (c class) isPunct() bool { return c&(space|letter|number) == 0 }

// isPrefix: [^\r\n\p{L}\p{N}], the one character a word may take in from before it.
func (c class) isPrefix() bool { return c&(newline|letter|number) == 0 }

// classes finds a character's class in two steps, so that a text in one script touches few pages.
type classes struct {
	ascii [utf8.RuneSelf]class
	page  [(unicode.MaxRune + 1) >> pageBits]uint16
	pages [][pageSize]class // pages[0] is all zero: punctuation and the unassigned
}

const (
	pageBits = 8
	pageSize = 1 << pageBits
)

var loadClasses = sync.OnceValue(newClasses)

// newClasses reads the categories of the Unicode version that the Go release carries.
func newClasses() *classes {
	c := &classes{pages: make([][pageSize]class, 1)}
	c.add(unicode.L, letter)
	c.add(unicode.N, number)
	for _, t := range []*unicode.RangeTable{unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M} {
		c.add(t, upperish)
	}
	for _, t := range []*unicode.RangeTable{unicode.Ll, unicode.Lm, unicode.Lo, unicode.M} {
		c.add(t, lowerish)
	}
	c.add(unicode.White_Space, space)
	c.set('\r', newline)
	c.set('\n', newline)
	for r := range c.ascii {
		c.ascii[r] = c.of(rune(r))
	}
	return c
}

func (c *classes) add(t *unicode.RangeTable, bits class) {
	for _, r := range t.R16 {
		for x := rune(r.Lo); x <= rune(r.Hi); x += rune(r.Stride) {
			c.set(x, bits)
		}
	}
	for _, r := range t.R32 {
		for x := rune(r.Lo); x <= rune(r.Hi); x += rune(r.Stride) {
			c.set(x, bits)
		}
	}
}

func (c *classes) set(r rune, bits class) {
	p := &c.page[r>>pageBits]
	if *p == 0 {
		*p = uint16(len(c.pages))
		c.pages = append(c.pages, [pageSize]class{})
	}
	c.pages[*p][r&(pageSize-1)] |= bits
}

func (c *classes) of(r rune) class { return c.pages[c.page[r>>pageBits]][r&(pageSize-1)] }

// at is the class and width in bytes of the character at text[i:]; at the end 0 and 0.
func (c *classes) at(text string, i int) (class, int) {
	if i >= len(text) {
		return 0, 0
	}
	if b := text[i]; b < utf8.RuneSelf {
		return c.ascii[b], 1
	}
	return c.wide(text, i)
}

func (c *classes) wide(text string, i int) (class, int) {
	r, n := utf8.DecodeRuneInString(text[i:])
	return c.of(r), n
}

// run is the end of the longest run from i of characters in any set of want.
func (c *classes) run(text string, i int, want class) int {
	for {
		k, n := c.at(text, i)
		if k&want == 0 {
			return i
		}
		i += n
	}
}
