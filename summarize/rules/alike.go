package rules

// countAlike counts for every line those that differ from it in digits only: the lines that a loop prints.
func (d *document) countAlike() {
	hashes := make([]uint64, len(d.lines))
	first := make([]int32, len(d.lines)) // of those alike, which counts for all
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

// maskedHash is FNV-1a over a text with every number in it taken for the same.
func maskedHash(s string) uint64 {
	h, inNumber := uint64(fnvOffset), false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isDigit(c) {
			if inNumber {
				continue
			}
			c = '0'
		}
		inNumber = c == '0'
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// oftenAlike is from how many lines alike on one of them tells nothing more.
const oftenAlike = 3
