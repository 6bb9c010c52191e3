package tokens

import "math/bits"

// table finds tokens of up to shortMax bytes by these as one number. It is a hash table with linear probing that is filled once, and at
// most half full. Most look-ups only want to know whether there is a token, so the keys stand by themselves: eight in a cache line.
type table struct {
	keys  []uint64 // 0: free
	ranks []rank
	shift int
}

func newTable(n int) table {
	size := bits.Len(uint(2 * n))
	return table{keys: make([]uint64, 1<<size), ranks: make([]rank, 1<<size), shift: 64 - size}
}

// home spreads keys by Fibonacci hashing (Knuth, TAOCP 6.4): the multiplier is 2^64 over the
// golden ratio.
func (t *table) home(key uint64) uint { return uint(key * 0x9E3779B97F4A7C15 >> t.shift) }

// put is called in the order of ranks, so that the tokens that texts have most are found first.
func (t *table) put(key uint64, r rank) {
	i := t.home(key)
	for t.keys[i] != 0 {
		i = (i + 1) & uint(len(t.keys)-1)
	}
	t.keys[i], t.ranks[i] = key, r
}

// has reports whether there is a token of this number, which must not be 0.
func (t *table) has(key uint64) bool {
	mask := uint(len(t.keys) - 1)
	for i := t.home(key) & mask; ; i = (i + 1) & mask {
		if k := t.keys[i]; k == key || k == 0 {
			return k == key
		}
	}
}

func (t *table) rank(key uint64) rank {
	mask := uint(len(t.keys) - 1)
	for i := t.home(key) & mask; ; i = (i + 1) & mask {
		switch t.keys[i] {
		case key:
			return t.ranks[i]
		case 0:
			return noRank
		}
	}
}

// wideTable is a table of tokens of up to middleMax bytes.
type wideTable struct {
	keys  []wideKey
	ranks []rank
	shift int
}

type wideKey struct{ low, high uint64 }

func newWideTable(n int) wideTable {
	size := bits.Len(uint(2 * n))
	return wideTable{keys: make([]wideKey, 1<<size), ranks: make([]rank, 1<<size), shift: 64 - size}
}

// hash folds a 128-bit product (as wyhash does). It need not withstand chosen input: the tables hold vocabularies, whose
// longest probe is fixed, and of the pieces that are remembered a collision costs one its place.
func (k wideKey) hash() uint64 {
	hi, lo := bits.Mul64(k.low^0xA0761D6478BD642F, k.high^0xE7037ED1A0B428DB)
	return (hi ^ lo) * 0x9E3779B97F4A7C15
}

func (t *wideTable) put(key wideKey, r rank) {
	i := uint(key.hash() >> t.shift)
	for t.keys[i] != (wideKey{}) {
		i = (i + 1) & uint(len(t.keys)-1)
	}
	t.keys[i], t.ranks[i] = key, r
}

func (t *wideTable) rank(key wideKey) rank {
	mask := uint(len(t.keys) - 1)
	for i := uint(key.hash()>>t.shift) & mask; ; i = (i + 1) & mask {
		switch t.keys[i] {
		case key:
			return t.ranks[i]
		case wideKey{}:
			return noRank
		}
	}
}

const (
	shortMax  = 8  // bytes of a table's key
	middleMax = 16 // of a wideTable's
)

// load is a token of up to shortMax bytes as a number; those it lacks are 0, so two tokens have one number if one of them ends in
// NUL.
func load(token string) uint64 {
	var x uint64
	switch n := len(token); {
	case n >= 8:
		return le64(token, 0)
	case n >= 4:
		return uint64(le32(token, 0)) | uint64(le32(token, n-4))<<(8*(n-4))
	}
	for i := range len(token) {
		x |= uint64(token[i]) << (8 * i)
	}
	return x
}

func loadWide(token string) wideKey { return wideKey{le64(token, 0), load(token[8:])} }

// Byte by byte, which the compiler turns into one load.

func le32(s string, i int) uint32 {
	_ = s[i+3]
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}

func le64(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}
