package secrets

import "slices"

// index finds the keywords of all rules in one pass: by a hash of their first three bytes, then by comparison.
type index struct {
	first   [1 << hashBits]uint16 // bucket + 1
	buckets [][]keyword
}

// hashBits gives a table that fits a CPU cache and is nearly empty, so that most positions of a text need one
// lookup.
const hashBits = 16

func hashOf(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1 >> (32 - hashBits)
}

type keyword struct {
	text  string
	rules []int
}

func indexOf(rules []rule) *index {
	x := &index{}
	byText := map[string][]int{}
	var order []string
	for i, r := range rules {
		for _, k := range r.keywords {
			if len(k) < 2 {
				continue
			}
			if byText[k] == nil {
				order = append(order, k)
			}
			byText[k] = append(byText[k], i)
		}
	}
	for _, text := range order {
		k := keyword{text, byText[text]}
		if len(text) > 2 {
			x.add(hashOf(text[0], text[1], text[2]), k)
			continue
		}
		for c := range 256 { // any third byte
			x.add(hashOf(text[0], text[1], byte(c)), k)
		}
	}
	return x
}

func (x *index) add(hash uint32, k keyword) {
	slot := &x.first[hash]
	if *slot == 0 {
		x.buckets = append(x.buckets, nil)
		*slot = uint16(len(x.buckets))
	}
	bucket := &x.buckets[*slot-1]
	if !slices.ContainsFunc(*bucket, func(other keyword) bool { return other.text == k.text }) {
		*bucket = append(*bucket, k)
	}
}

// each calls found for every keyword in the text, which is in lower case. A two-byte keyword at the very end can't
// begin a secret.
func (x *index) each(folded []byte, found func(at, end int, rules []int)) {
	for i := 0; i+2 < len(folded); i++ {
		slot := x.first[hashOf(folded[i], folded[i+1], folded[i+2])]
		if slot == 0 {
			continue
		}
		for _, k := range x.buckets[slot-1] {
			if end := i + len(k.text); end <= len(folded) && string(folded[i:end]) == k.text {
				found(i, end, k.rules)
			}
		}
	}
}

// fold returns the text in lower case; it changes only ASCII, so that offsets stay the same.
func fold(text string) []byte {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}
