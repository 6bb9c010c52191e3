package ledger

import (
	"hash/maphash"
	"math/bits"
)

// index finds the names of a list's entries: where each stands. It is a hash table without pointers but the
// names, that is used again: a map for each list of each merge took a fifth of the time, half of it to be
// allocated and collected.
type index struct {
	slots []slot // a power of two, at most half of them taken
	names []string
}

type slot struct {
	hash uint32
	at   int32 // 1 and more; 0 where nothing stands
}

var seed = maphash.MakeSeed() // nothing that is found depends on it

// reset forgets all names, and makes room for n.
func (x *index) reset(n int) {
	x.names = grown(x.names, n)
	size := 1 << bits.Len(uint(2*n))
	if cap(x.slots) < size {
		x.slots = make([]slot, size)
		return
	}
	x.slots = x.slots[:size]
	clear(x.slots)
}

// add finds a name, or gives it the next place.
func (x *index) add(name string) (at int, fresh bool) {
	s := x.seek(name)
	if s.at == 0 {
		x.names = append(x.names, name)
		s.at, fresh = int32(len(x.names)), true
	}
	return int(s.at) - 1, fresh
}

// find says where a name stands; -1 for nowhere.
func (x *index) find(name string) int { return int(x.seek(name).at) - 1 }

// seek is the slot that a name is in, or the one where it would be.
func (x *index) seek(name string) *slot {
	hash, mask := uint32(maphash.String(seed, name)), len(x.slots)-1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.at == 0 {
			s.hash = hash
			return s
		}
		if s.hash == hash && x.names[s.at-1] == name {
			return s
		}
	}
}

// grown is an empty list with room for n, the old one's where that is enough.
func grown[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, 0, n)
	}
	return list[:0]
}
