package tokens

import "math/bits"

// table is a hash table with linear probing that is filled once. It is at most half full.
type table struct {
	slots []slot
	shift int
}

// slot holds one token: its bytes (up to shortMax of them) or their hash, and its length or place.
// A slot with noRank is free.
type slot struct {
	key  uint64
	rank rank
	aux  uint32
}

func newTable(n int) table {
	size := 1 << bits.Len(uint(2*n))
	t := table{slots: make([]slot, size), shift: 64 - bits.Len(uint(size-1))}
	for i := range t.slots {
		t.slots[i].rank = noRank
	}
	return t
}

func (t *table) put(s slot) {
	i := t.home(s.key)
	for t.slots[i].rank != noRank {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = s
}

// home spreads keys by Fibonacci hashing (Knuth, TAOCP 6.4): the multiplier is 2^64 over the
// golden ratio.
func (t *table) home(key uint64) int { return int(key * 0x9E3779B97F4A7C15 >> t.shift) }

func (t *table) short(key uint64, n uint32) rank {
	mask := len(t.slots) - 1
	for i := t.home(key) & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.key == key && s.aux == n || s.rank == noRank {
			return s.rank
		}
	}
}

func (t *table) long(key uint64, token, arena string) rank {
	mask := len(t.slots) - 1
	for i := t.home(key) & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.rank == noRank || s.key == key && at(arena, s.aux) == token {
			return s.rank
		}
	}
}

// place packs where a long token stands in the arena (24 bits) and its length (8 bits; the longest
// token of either encoding has 128 bytes).
func place(offset, n int) uint32 { return uint32(offset)<<8 | uint32(n) }

func at(arena string, p uint32) string { return arena[p>>8 : p>>8+p&0xff] }

// shortMax is how many bytes fit a slot's key.
const shortMax = 8

// load is a token of up to shortMax bytes as a number; those it lacks are 0, which is why a short
// slot is compared by length too.
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

// hash mixes eight bytes at a time by folding 128-bit products (as wyhash does). It need not
// withstand chosen input: the tables hold vocabularies, and their longest probe is fixed by them.
func hash(token string) uint64 {
	h := uint64(len(token))
	for len(token) > 8 {
		hi, lo := bits.Mul64(h^le64(token, 0), 0xA0761D6478BD642F)
		h = hi ^ lo
		token = token[8:]
	}
	hi, lo := bits.Mul64(h^load(token), 0xE7037ED1A0B428DB)
	return hi ^ lo
}

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
