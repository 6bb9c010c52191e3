package rules

// countAlike counts for every line those that differ from it in digits only: the lines that a loop prints.
func (d *document) countAlike() {
	count := make(map[uint64]int32, len(d.lines))
	keys := make([]uint64, len(d.lines))
	for i := range d.lines {
		keys[i] = maskedHash(d.lines[i].text)
		count[keys[i]]++
	}
	for i := range d.lines {
		d.lines[i].alike = count[keys[i]] - 1
	}
}

// maskedHash is FNV-1a over a text with every number in it taken for the same.
func maskedHash(s string) uint64 {
	h, inNumber := uint64(14695981039346656037), false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isDigit(c) {
			if inNumber {
				continue
			}
			c = '0'
		}
		inNumber = c == '0'
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// oftenAlike is from how many lines alike on one of them tells nothing more.
const oftenAlike = 3
