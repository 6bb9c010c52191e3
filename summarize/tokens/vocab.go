package tokens

// rank is a token's number, and its priority: of all neighbours that could merge, those whose
// token ranks lowest do.
type rank uint32

// noRank: no such token. It is higher than every rank.
const noRank = rank(1<<32 - 1)

// vocab finds a token's rank by its bytes. Read-only once built.
//
// Three tables and a map of what is left, since lookups are what counting spends its time on: most cost one
// cache line.
type vocab struct {
	pairs  [1 << 16]rank   // by two bytes
	short  table           // of 1 to 8 bytes
	middle wideTable       // of 9 to 16
	rest   map[string]rank // longer ones, and those that end in NUL
	limit  int             // length of the longest, in bytes
}

// newVocab takes every token at its rank; an empty string is a rank without one.
func newVocab(tokens []string) *vocab {
	v := &vocab{rest: map[string]rank{}}
	shorts, middles := 0, 0
	for _, t := range tokens {
		v.limit = max(v.limit, len(t))
		if len(t) <= shortMax {
			shorts++
		} else if len(t) <= middleMax {
			middles++
		}
	}
	v.short, v.middle = newTable(shorts), newWideTable(middles)
	for i := range v.pairs {
		v.pairs[i] = noRank
	}
	for i, t := range tokens {
		r := rank(i)
		if len(t) == 2 {
			v.pairs[pairIndex(t, 0)] = r
		}
		switch {
		case t == "":
		case unusual(t):
			v.rest[t] = r
		case len(t) <= shortMax:
			v.short.put(load(t), r)
		default:
			v.middle.put(loadWide(t), r)
		}
	}
	return v
}

// unusual says that a token is in no table.
func unusual(token string) bool { return len(token) > middleMax || token[len(token)-1] == 0 }

// rank is noRank where there is no such token.
func (v *vocab) rank(token string) rank {
	switch {
	case len(token) > v.limit:
		return noRank
	case unusual(token):
		if r, ok := v.rest[token]; ok {
			return r
		}
		return noRank
	case len(token) <= shortMax:
		return v.short.rank(load(token))
	}
	return v.middle.rank(loadWide(token))
}

// pair is the rank of the two bytes at text[i:].
func (v *vocab) pair(text string, i int) rank { return v.pairs[pairIndex(text, i)] }

func pairIndex(text string, i int) int { return int(text[i])<<8 | int(text[i+1]) }
