package tokens

// rank is a token's number, and its priority: of all neighbours that could merge, those whose
// token ranks lowest do.
type rank uint32

// noRank: no such token. It is higher than every rank.
const noRank = rank(1<<32 - 1)

// vocab finds a token's rank by its bytes. Read-only once built.
//
// Three tables instead of a map, since lookups are what counting spends its time on: most cost one
// cache line, and none hashes more bytes than the longest token has.
type vocab struct {
	pairs [1 << 16]rank // by two bytes
	short table         // of 1 to 8 bytes, by the bytes themselves
	long  table         // by hash; a hit is compared with the token
	arena string        // the long tokens' bytes
	limit int           // length of the longest, in bytes
}

// newVocab takes every token at its rank; an empty string is a rank without one.
func newVocab(tokens []string) *vocab {
	v := &vocab{}
	longs, bytes := 0, 0
	for _, t := range tokens {
		v.limit = max(v.limit, len(t))
		if len(t) > shortMax {
			longs++
			bytes += len(t)
		}
	}
	v.short, v.long = newTable(len(tokens)-longs), newTable(longs)
	for i := range v.pairs {
		v.pairs[i] = noRank
	}
	arena := make([]byte, 0, bytes)
	for r, t := range tokens {
		if len(t) > shortMax {
			v.long.put(slot{hash(t), rank(r), place(len(arena), len(t))})
			arena = append(arena, t...)
			continue
		}
		if len(t) == 2 {
			v.pairs[pairIndex(t, 0)] = rank(r)
		}
		if t != "" {
			v.short.put(slot{load(t), rank(r), uint32(len(t))})
		}
	}
	v.arena = string(arena)
	return v
}

// rank is noRank where there is no such token.
func (v *vocab) rank(token string) rank {
	if len(token) <= shortMax {
		return v.short.short(load(token), uint32(len(token)))
	}
	if len(token) > v.limit {
		return noRank
	}
	return v.long.long(hash(token), token, v.arena)
}

// pair is the rank of the two bytes at text[i:].
func (v *vocab) pair(text string, i int) rank { return v.pairs[pairIndex(text, i)] }

func pairIndex(text string, i int) int { return int(text[i])<<8 | int(text[i+1]) }
