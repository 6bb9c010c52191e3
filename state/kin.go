package state

import (
	"errors"
	"hash/maphash"
	"math/bits"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// kinBuckets bounds what a store remembers of parents: threads whose names share a bucket share its partitions.
const kinBuckets = 1 << 16

// kin knows in which partitions a thread may have children. The rows decide: it only says where to look, so that a look for the children
// of a thread needs no iterator over each partition. It is made from the rows as partitions are opened, and from what they write,
// before that is applied: it may name too many partitions, and never too few.
//
// Memory: at most 65,536 buckets of a bit for each partition up to the largest one: 8 MiB with 1,024 partitions.
type kin struct {
	seed    maphash.Seed
	mu      sync.RWMutex
	buckets map[uint32][]uint64
}

func newKin() *kin { return &kin{seed: maphash.MakeSeed(), buckets: map[uint32][]uint64{}} }

func (k *kin) bucket(parent string) uint32 {
	return uint32(maphash.String(k.seed, parent) % kinBuckets)
}

// note notes that a thread has a child in a partition.
func (k *kin) note(parent string, partition uint16) {
	at, word := k.bucket(parent), int(partition/64)
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.buckets[at]
	for len(b) <= word {
		b = append(b, 0)
	}
	b[word] |= 1 << (partition % 64)
	k.buckets[at] = b
}

// of returns the partitions in which a thread may have children, in ascending order.
func (k *kin) of(parent string) (partitions []int) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for word, b := range k.buckets[k.bucket(parent)] {
		for ; b != 0; b &= b - 1 {
			partitions = append(partitions, 64*word+bits.TrailingZeros64(b))
		}
	}
	return partitions
}

// ChildPartitions returns the partitions, of those that were opened, that may hold threads that name a thread as their parent.
func (s *Store) ChildPartitions(parent string) []int { return s.kin.of(parent) }

// readKin notes the children that a partition holds.
func (v View) readKin(k *kin) error {
	prefix := v.key(kindChild)
	return v.raw(prefix, prefix.end(), func(it *pebble.Iterator) error {
		for ok := it.First(); ok; {
			parent, _, valid := cutPart(it.Key()[len(prefix):])
			if !valid {
				return errors.Join(ErrDamaged, errors.New("key of a child"))
			}
			k.note(parent, v.id)
			ok = it.SeekGE(v.key(kindChild).part(parent).end()) // one row of each parent is enough
		}
		return it.Error()
	})
}
