package secrets

// index finds all rules' keywords in one pass: by their first two bytes, then by comparing.
type index struct {
	first   [1 << 16]uint16 // bucket + 1 by the first two bytes
	buckets [][]keyword
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
		slot := &x.first[int(text[0])<<8|int(text[1])]
		if *slot == 0 {
			x.buckets = append(x.buckets, nil)
			*slot = uint16(len(x.buckets))
		}
		x.buckets[*slot-1] = append(x.buckets[*slot-1], keyword{text, byText[text]})
	}
	return x
}

// each calls found for every keyword in the text, which is in lower case.
func (x *index) each(folded []byte, found func(at, end int, rules []int)) {
	for i := 0; i+1 < len(folded); i++ {
		slot := x.first[int(folded[i])<<8|int(folded[i+1])]
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

// fold is the text in lower case, ASCII alone, so that positions stay what they are.
func fold(text string) []byte {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}
