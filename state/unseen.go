package state

import (
	"hash/maphash"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"
)

// unseenBytes bounds the filters of all partitions together: 13 million rows with one in a hundred looked for in vain,
// and more rows with more of these.
const unseenBytes = 16 << 20

// unseen is a Bloom filter of the threads and messages of a partition: a row that was never written is not looked for.
// While much of a log is read at once nearly every event brings a new message, many a new thread, and each look for a
// missing row asks the filter of every table that a batch has become.
//
// All bits of a key are in one cache line.
type unseen struct {
	lines []line
	seed  maphash.Seed
}

type line [8]uint64

// Bits for each key, and how many of them are set: one key in a hundred that was never added is not ruled out.
const unseenBits, unseenProbes = 10, 5

func newUnseen(rows, most int) *unseen {
	n := min(rows*unseenBits/8, most) / 64
	return &unseen{lines: make([]line, max(n, 1)), seed: maphash.MakeSeed()}
}

// at is the line of a key, and a number of which nine bits a time say where in it.
func (u *unseen) at(k key) (*line, uint64) {
	h := maphash.Bytes(u.seed, k)
	nth, _ := bits.Mul64(h, uint64(len(u.lines)))
	return &u.lines[nth], h * 0x9E3779B97F4A7C15 // the high bits of h have chosen the line
}

func (u *unseen) add(k key) {
	l, h := u.at(k)
	for range unseenProbes {
		l[h>>61] |= 1 << (h >> 55 & 63)
		h <<= 9
	}
}

// rulesOut reports that a key was never added. A nil filter rules out nothing.
func (u *unseen) rulesOut(k key) bool {
	if u == nil {
		return false
	}
	l, h := u.at(k)
	for range unseenProbes {
		if l[h>>61]&(1<<(h>>55&63)) == 0 {
			return true
		}
		h <<= 9
	}
	return false
}

// Fill says that about so many events follow at once; 0 that no more do. The rows that the partition has are read once,
// unless they are more than those to come.
func (p *Partition) Fill(events int) error {
	p.unseen = nil
	if events == 0 {
		return nil
	}
	most := 2 * events // a thread and a message each
	u, rows := newUnseen(2*most, p.store.share(unseenBytes)), 0
	for _, kind := range []byte{kindHeader, kindMessage} {
		prefix := p.key(kind)
		// Messages of parked threads are not among them: those are never asked for here.
		err := p.committed().raw(prefix, prefix.end(), func(it *pebble.Iterator) error {
			for ok := it.First(); ok && rows <= most; ok = it.Next() {
				u.add(it.Key())
				rows++
			}
			return it.Error()
		})
		if err != nil || rows > most {
			return err
		}
	}
	p.unseen = u
	return nil
}
