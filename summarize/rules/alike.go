package rules

// countAlike counts for every line those that differ from it only in digits: lines that a loop prints.
func (d *document) countAlike() {
	hashes := make([]uint64, len(d.lines))
	first := make([]int32, len(d.lines)) // the first of a set of alike lines, which holds the count
	index := newTable(len(d.lines) / 2)
	for i := range d.lines {
		hashes[i] = maskedHash(d.lines[i].text)
		for key := folded(hashes[i]); ; key++ {
			first[i] = index.find(key)
			if first[i] == none {
				first[i] = int32(i)
				index.add(key, int32(i))
				break
			}
			if hashes[first[i]] == hashes[i] {
				d.lines[first[i]].alike++
				break
			}
		}
	}
	for i := range d.lines {
		d.lines[i].alike = d.lines[first[i]].alike
	}
}

// maskedHash is FNV-1a over a text with all numbers replaced by the same one, eight characters at a time if they
// contain no digit: texts that differ only in digits have such groups at the same places after each number.
func maskedHash(s string) uint64 {
	h := uint64(fnvOffset)
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			if w := eightBytes(s[i : i+8]); !hasDigit(w) {
				h = (h ^ w) * fnvPrime
				h ^= h >> 32 // multiplication only moves bits up
				i += 8
				continue
			}
		}
		c := s[i]
		for i++; isDigit(c) && i < len(s) && isDigit(s[i]); i++ {
		}
		if isDigit(c) {
			c = '0'
		}
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

func eightBytes(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// hasDigit reports whether eight characters may contain a digit: one of them has a digit's upper half.
func hasDigit(w uint64) bool {
	const low, high = 0x0101010101010101, 0x8080808080808080
	x := w&(low*0xF0) ^ low*'0' // 0 if the upper half is a digit's
	return (x-low)&^x&high != 0
}

// oftenAlike is the number of alike lines from which another one adds no information.
const oftenAlike = 3
