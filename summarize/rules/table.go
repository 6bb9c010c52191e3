package rules

import (
	"math/bits"
	"slices"
)

// table is a hash table of numbers from 0 on. It takes half the time and memory of a map: a
// large output needs some hundred thousand lookups. The user of a table holds what the numbers stand for: if
// two things have the same key, the second one takes the next free key.
type table struct {
	slots []slot // a power of two, at most half full
	shift uint8  // of a spread key, so that its highest bits number a slot
	used  int
}

type slot struct {
	key   uint32
	value int32 // plus one; 0: the slot is free
}

// none is the number of a missing entry.
const none = -1

// newTable returns a table with room for a number of keys before it grows.
func newTable(keys int) table {
	var t table
	t.reset(keys)
	return t
}

// reset empties the table, with room for a number of keys.
func (t *table) reset(keys int) {
	n := bits.Len(uint(max(keys, 16)*2 - 1))
	t.slots = slices.Grow(t.slots[:0], 1<<n)[:1<<n]
	clear(t.slots)
	t.shift, t.used = uint8(32-n), 0
}

// spread distributes consecutive keys, and those with equal low bits, by the golden ratio.
func spread(key uint32) uint32 { return key * 0x9E3779B1 }

// at returns the slot of a key, or the free one for it.
func (t *table) at(key uint32) *slot {
	mask := uint(len(t.slots) - 1)
	for i := uint(spread(key) >> t.shift); ; i++ {
		if s := &t.slots[i&mask]; s.value == 0 || s.key == key {
			return s
		}
	}
}

// find returns the number of a key, or none if it is free.
func (t *table) find(key uint32) int32 { return t.at(key).value - 1 }

// add assigns a number to a free key.
func (t *table) add(key uint32, number int32) {
	if t.used++; t.used*2 > len(t.slots) {
		t.grow()
	}
	*t.at(key) = slot{key, number + 1}
}

func (t *table) grow() {
	old := t.slots
	t.slots, t.shift = make([]slot, 2*len(old)), t.shift-1
	for _, s := range old {
		if s.value != 0 {
			*t.at(s.key) = s
		}
	}
}

// filter is a bitmap over the length, the first and the last character of texts: it saves most lookups of texts
// that a small document does not contain.
type filter [64]uint64

func (f *filter) add(s string) {
	bit := filterBit(s)
	f[bit/64] |= 1 << (bit % 64)
}

func (f *filter) has(s string) bool {
	bit := filterBit(s)
	return f[bit/64]&(1<<(bit%64)) != 0
}

// filterBit ignores case.
func filterBit(s string) uint {
	return (uint(s[0]|0x20)*37 + uint(s[len(s)-1]|0x20)*7 + uint(len(s))*401) % (64 * 64)
}

// roomy returns a list with room for one more. A full list doubles: append grows a long one by a
// quarter, and so copies it five times before all of a large output is in it.
func roomy[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(len(list), 16))
	}
	return list
}

// FNV-1a's constants.
const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// folded folds a hash to 32 bits.
func folded(hash uint64) uint32 { return uint32(hash>>32) ^ uint32(hash) }
