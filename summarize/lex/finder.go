package lex

import (
	"math/bits"
	"strings"
)

// Finder searches for many words at once, each by the two of its bytes that are rarely adjacent.
type Finder struct {
	words         []anchored
	first, second [256]uint64 // the words that have this byte as the first or the second of the two, by number
}

// anchored is a word and the position of its two bytes.
type anchored struct {
	text string
	at   int
}

// finderBits are the bits for words; more of them share theirs.
const finderBits = 64

// NewFinder returns a finder of words of two bytes or more.
func NewFinder(words ...string) *Finder {
	f := &Finder{}
	for i, w := range words {
		at := rarest(w)
		f.words = append(f.words, anchored{w, at})
		f.first[w[at]] |= 1 << (i % finderBits)
		f.second[w[at+1]] |= 1 << (i % finderBits)
	}
	return f
}

// In reports whether one of the words is in a text.
func (f *Finder) In(text string) bool {
	for i := 1; i < len(text); i++ {
		for left := f.first[text[i-1]] & f.second[text[i]]; left != 0; left &= left - 1 {
			for n := bits.TrailingZeros64(left); n < len(f.words); n += finderBits {
				w := &f.words[n]
				if from := i - 1 - w.at; from >= 0 && strings.HasPrefix(text[from:], w.text) {
					return true
				}
			}
		}
	}
	return false
}

// rarest returns the start of the two adjacent bytes of a word that are the rarest in texts.
func rarest(word string) int {
	const common = " etaoinsrhldcumfpgwybvkxjqz" // most common first
	rarity := func(c byte) int {
		if i := strings.IndexByte(common, c); i >= 0 {
			return i
		}
		return len(common)
	}
	best := 0
	for i := range len(word) - 1 {
		if rarity(word[i])+rarity(word[i+1]) > rarity(word[best])+rarity(word[best+1]) {
			best = i
		}
	}
	return best
}
