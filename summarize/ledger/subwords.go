package ledger

import (
	"math"
	"strings"
)

// eachSubword calls found for the words of an identifier (GetSessionLog: get, session,
// log), in lower case, of three letters or more.
func eachSubword(w string, found func(s string)) {
	for i := 0; i < len(w); {
		end := subwordEnd(w, i)
		if end-i > 2 {
			found(strings.ToLower(w[i:end]))
		}
		i = max(end, i+1)
	}
}

// subwordEnd returns the end of the subword that begins at i; i if none does. The last letter of a run of capitals
// belongs to the following word (HTTPServer: http, server).
func subwordEnd(w string, i int) int {
	is := func(j int, from, to byte) bool { return j < len(w) && w[j] >= from && w[j] <= to }
	end := i
	switch {
	case is(i, '0', '9'):
		for is(end, '0', '9') {
			end++
		}
		return end
	case is(i, 'A', 'Z') && is(i+1, 'A', 'Z'):
		for is(end, 'A', 'Z') {
			end++
		}
		if is(end, 'a', 'z') {
			end--
		}
		return end
	case is(i, 'A', 'Z') || is(i, 'a', 'z'):
		for end++; is(end, 'a', 'z'); {
			end++
		}
	}
	return end
}

// kinship measures how many of an identifier's subwords also occur in the kept messages, 0 to 1: an agent that
// works on ParseHeader will need parseHeaderLine.
type kinship struct {
	rarity map[string]float64 // of the span's subwords
	kept   map[string]bool
}

func newKinship(words []Word, kept hint) kinship {
	k := kinship{rarity: map[string]float64{}, kept: map[string]bool{}}
	if len(kept.words) == 0 {
		return k // an empty kinship is 0 for every identifier
	}
	for w := range kept.words {
		eachSubword(w, func(s string) { k.kept[s] = true })
	}
	for _, w := range words {
		seen := map[string]bool{}
		eachSubword(w.Text, func(s string) {
			if !seen[s] {
				seen[s] = true
				k.rarity[s]++
			}
		})
	}
	for s, n := range k.rarity {
		k.rarity[s] = math.Log(float64(len(words)+1) / n)
	}
	return k
}

func (k kinship) of(w string) float64 {
	if len(k.kept) == 0 {
		return 0
	}
	shared, all := 0.0, 1e-6
	eachSubword(w, func(s string) {
		all += k.rarity[s]
		if k.kept[s] {
			shared += k.rarity[s]
		}
	})
	return shared / all
}
