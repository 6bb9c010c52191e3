package state

import (
	"fmt"
	"hash/maphash"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// idsBytes bounds what all partitions together remember of message ids: 2.3 to 4.7 million.
const idsBytes = 24 << 20

// ids knows, of the threads that had messages last, which message ids can't be in the store: nearly every
// event brings a new one, and a read of a missing row is the most expensive one. What
// it does not rule out is looked up, so that it can make nothing wrong but by forgetting an id: every new row
// is added as it is saved, and where the open batch is given up, an id too many only costs a look.
type ids struct {
	lru   *simplelru.LRU[string, *idSet]
	bytes int
	most  int
	seed  maphash.Seed
}

// idSet is the ids of one thread. Until it is whole it only counts how often it was missed.
type idSet struct {
	whole  bool
	gone   bool // evicted: its holder requests another one
	misses uint64
	known  hashes
}

// hashes is a set of hashes: a table with linear probing, three quarters full at most, in which 0 is a free place. Nearly every event
// asks for one that is not there, which is one look into memory here, and several in a map.
type hashes struct {
	table []uint32 // its length is a power of two, or 0
	n     int
}

// place is where a hash is, or where it would be. The table has a free place.
func (s *hashes) place(h uint32) int {
	mask := len(s.table) - 1
	i := int(h) & mask
	for s.table[i] != 0 && s.table[i] != h {
		i = (i + 1) & mask
	}
	return i
}

// named is a hash as the table has it.
func named(h uint32) uint32 { return max(h, 1) }

func (s *hashes) has(h uint32) bool {
	h = named(h)
	return s.n > 0 && s.table[s.place(h)] == h
}

func (s *hashes) add(h uint32) {
	h = named(h)
	if 4*(s.n+1) > 3*len(s.table) {
		was := s.table
		s.table = make([]uint32, max(8, 2*len(was)))
		for _, h := range was {
			if h != 0 {
				s.table[s.place(h)] = h
			}
		}
	}
	if i := s.place(h); s.table[i] == 0 {
		s.table[i] = h
		s.n++
	}
}

// clear empties the set, and keeps its table if that is no longer than most.
func (s *hashes) clear(most int) {
	if len(s.table) > most {
		s.table = nil
	}
	clear(s.table)
	s.n = 0
}

func newIDs(most int) *ids {
	s := &ids{seed: maphash.MakeSeed(), most: most}
	lru, err := simplelru.NewLRU(1+most/minIDBytes, func(_ string, set *idSet) {
		s.bytes -= set.weight()
		*set = idSet{gone: true}
	})
	if err != nil {
		panic(fmt.Sprintf("keep ids: %v", err)) // its size is more than 0
	}
	s.lru = lru
	return s
}

// minIDBytes is what a thread without ids weighs here.
const minIDBytes = 200

func (s *idSet) weight() int { return minIDBytes + 4*len(s.known.table) }

// of is the set of a thread of so many messages; one without any is whole from the start.
func (s *ids) of(name string, messages uint64) *idSet {
	if set, ok := s.lru.Get(name); ok {
		return set
	}
	set := &idSet{whole: messages == 0}
	s.lru.Add(name, set)
	s.grown(name, minIDBytes)
	return set
}

// grown makes room for a thread that weighs more by so much; the thread goes itself where it alone is too
// heavy.
func (s *ids) grown(name string, by int) {
	for s.bytes += by; s.bytes > s.most && s.lru.Len() > 0; {
		if set, ok := s.lru.Peek(name); ok && set.weight() > s.most/2 {
			s.lru.Remove(name)
			continue
		}
		s.lru.RemoveOldest()
	}
}

// add notes that a thread has a message, where its other ids are known.
func (s *ids) add(name string, set *idSet, id string) {
	if !set.whole {
		return
	}
	before := set.weight()
	set.known.add(s.hash(id))
	if by := set.weight() - before; by > 0 {
		s.grown(name, by)
	}
}

func (s *ids) key(k key) uint32 { return uint32(maphash.Bytes(s.seed, k)) }

func (s *ids) hash(id string) uint32 { return uint32(maphash.String(s.seed, id)) }

// may says whether a message can be in the store.
func (s *idSet) may(h uint32) bool { return !s.whole || s.known.has(h) }

// missing says that a thread's ids are worth reading: it was missed so often that its share of the reading
// is small beside the looks that it saves.
func (s *idSet) missing(messages uint64, most int) bool {
	s.misses++
	return s.misses > 8+messages/16 && messages < uint64(most)/32
}

// newID says that a thread can't have a message of that id.
func (p *Partition) newID(name, id string, messages uint64) (bool, error) {
	set := p.idsOf(name, messages)
	if !set.whole && set.missing(messages, p.ids.most) {
		if err := p.readIDs(name, set); err != nil {
			return false, err
		}
	}
	return !set.may(p.ids.hash(id)), nil
}

// idsTouch is after how many questions a thread that the open batch has at hand counts as used again.
const idsTouch = 32

// idsOf are a thread's, which the open batch has at hand where it writes the thread.
func (p *Partition) idsOf(name string, messages uint64) *idSet {
	w := p.written(name)
	if w != nil && w.ids != nil && !w.ids.gone {
		if w.asked++; w.asked%idsTouch == 0 {
			p.ids.lru.Get(name)
		}
		return w.ids
	}
	set := p.ids.of(name, messages)
	if w != nil {
		w.ids = set
	}
	return set
}

// addID notes a message of a thread that the open batch writes. A thread whose ids are not here stays out: the others
// are not known.
func (p *Partition) addID(w *written, name, id string) {
	if w.ids == nil || w.ids.gone {
		w.ids, _ = p.ids.lru.Peek(name)
	}
	if w.ids != nil {
		p.ids.add(name, w.ids, id)
	}
}

func (p *Partition) readIDs(name string, set *idSet) error {
	before := set.weight()
	prefix := p.key(kindOrder).part(name)
	err := p.scan(prefix, prefix, func(_, id []byte) (bool, error) {
		set.known.add(p.ids.hash(string(id)))
		return true, nil
	})
	if err != nil {
		return err
	}
	set.whole = true
	p.ids.grown(name, set.weight()-before)
	return nil
}
