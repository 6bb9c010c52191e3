package state

import (
	"slices"
	"sort"
)

// Stage keeps a record of SUMMARIES until the fold reaches the event it took effect at. Staging it
// again, after a crash in the middle, changes nothing.
func (p *Partition) Stage(s *Staged) error {
	k := p.stagedKey(s)
	if found, err := p.has(k); err != nil || found {
		return err
	}
	p.set(k, encodeStaged(s))
	p.near = near{}
	to, err := p.StagedTo(s.Thread)
	if err != nil {
		return err
	}
	if s.ChainSeq > to.ChainSeq {
		c := writing(nil)
		linkRow(&c, &Link{ChainSeq: s.ChainSeq, Chain: s.Chain, Gap: to.Gap || s.Gap})
		p.set(p.key(kindStagedTo).rest(s.Thread), c.b)
	}
	p.meta.Staged++
	return nil
}

// stagedEffective is where the effective sequence ends in a staged record's key.
const stagedEffective = 3 + 8

func (p *Partition) stagedKey(s *Staged) key {
	return p.key(kindStaged).number(s.EffectiveSeq).number(s.Under).part(s.Thread).number(s.ChainSeq)
}

// Void has the staged records that took effect behind an EVENTS sequence take effect at it, as void ones: limit at most.
// It returns how many there were.
func (p *Partition) Void(behind uint64, limit int) (int, error) {
	rows, err := p.StagedFrom(behind+1, ^uint64(0), limit)
	if err != nil {
		return 0, err
	}
	p.near = near{}
	for _, s := range rows {
		p.remove(p.stagedKey(s))
		s.EffectiveSeq, s.Void = behind, true
		p.set(p.stagedKey(s), encodeStaged(s))
	}
	return len(rows), nil
}

// EachStaged calls each with the staged records that took effect at or behind an EVENTS sequence, in order, until it
// returns false. None may be staged, voided or adopted meanwhile.
func (p *Partition) EachStaged(from uint64, each func(*Staged) (bool, error)) error {
	n := &p.near
	if !n.covers(from) {
		if err := n.fill(p.View, from, p.store.share(nearBytes)); err != nil {
			return err
		}
	}
	for _, s := range n.rows[n.first(from):] {
		if more, err := each(s); !more || err != nil {
			return err
		}
	}
	if n.all {
		return nil
	}
	return p.scan(p.key(kindStaged), n.next, eachStaged(each))
}

// nearRows bounds the staged records that a partition keeps decoded, its next ones, and nearBytes those of all partitions
// together; one is always kept.
const nearRows, nearBytes = 256, 4 << 20

// near is the staged records of a range, in order. Nearly every event of a recovery asks several times for the next ones,
// and each answer of the store needs an iterator over the open batch and all tables.
type near struct {
	known bool
	from  uint64    // those that took effect before are not in it
	rows  []*Staged // none is left out in between
	all   bool      // there are none behind rows
	next  key       // behind rows
}

func (n *near) covers(from uint64) bool {
	return n.known && from >= n.from && (n.all || n.first(from) < len(n.rows))
}

// first is the place of the first record that took effect at or behind from.
func (n *near) first(from uint64) int {
	return sort.Search(len(n.rows), func(i int) bool { return n.rows[i].EffectiveSeq >= from })
}

func (n *near) fill(v View, from uint64, most int) error {
	*n = near{known: true, from: from, rows: n.rows[:0], all: true}
	bytes := 0
	err := v.scan(v.key(kindStaged), v.key(kindStaged).number(from), func(k, b []byte) (bool, error) {
		if len(n.rows) == nearRows || bytes >= most {
			n.all, n.next = false, slices.Clone(key(k))
			return false, nil
		}
		s, err := decodeStaged(k, b)
		n.rows, bytes = append(n.rows, s), bytes+len(b)
		return true, err
	})
	n.known = err == nil
	return err
}

// drop removes a record that is not staged any more.
func (n *near) drop(s *Staged) {
	for i := n.first(s.EffectiveSeq); i < len(n.rows) && n.rows[i].EffectiveSeq == s.EffectiveSeq; i++ {
		if r := n.rows[i]; r.Under == s.Under && r.Thread == s.Thread && r.ChainSeq == s.ChainSeq {
			n.rows = slices.Delete(n.rows, i, i+1)
			return
		}
	}
}

// EachStagedBack is EachStaged from the last one back.
func (v View) EachStagedBack(each func(*Staged) (bool, error)) error {
	return v.scanBack(v.key(kindStaged), eachStaged(each))
}

func eachStaged(each func(*Staged) (bool, error)) func(k, b []byte) (bool, error) {
	return func(k, b []byte) (bool, error) {
		s, err := decodeStaged(k, b)
		if err != nil {
			return false, err
		}
		return each(s)
	}
}

// Unstored is the sequence of a staged record that SUMMARIES may not hold yet.
const Unstored = ^uint64(0)

// stored is where SUMMARIES holds the record; 0 if it may not.
func (s *Staged) stored() uint64 {
	if s.Seq == Unstored {
		return 0
	}
	return s.Seq
}

// Adopted removes a staged record that is part of the state now.
func (p *Partition) Adopted(s *Staged) {
	p.remove(p.stagedKey(s))
	p.near.drop(s)
	if !s.Void {
		p.place(s.Type, s.Thread, s.ChainSeq, s.stored())
	}
	p.meta.Staged--
	if p.meta.Staged == 0 {
		k := p.key(kindStagedTo)
		p.must(p.open.batch.DeleteRange(k, k.end(), nil))
		p.ranged = true
	}
}

// StagedTo is the last record that SUMMARIES holds of a thread whose records are still being adopted; the zero
// Link where none are.
func (v View) StagedTo(name string) (to Link, err error) {
	_, err = v.get(v.key(kindStagedTo).rest(name), func(b []byte) error {
		c := reading(b)
		linkRow(&c, &to)
		return c.end("staged mark", name)
	})
	return to, err
}

// StagedFrom returns the staged records, limit at most, that took effect from one EVENTS sequence to
// another, both included, in order. Adopted records leave marks of deletion behind: where from is the
// sequence of the first that is left, a scan does not go through all of them again.
func (p *Partition) StagedFrom(from, to uint64, limit int) ([]*Staged, error) {
	var rows []*Staged
	err := p.EachStaged(from, func(s *Staged) (bool, error) {
		if s.EffectiveSeq > to {
			return false, nil
		}
		rows = append(rows, s)
		return len(rows) < limit, nil
	})
	return rows, err
}

// NextStaged is the EVENTS sequence of the first staged record that took effect at or behind from; false
// where there is none.
func (p *Partition) NextStaged(from uint64) (effective uint64, found bool, err error) {
	err = p.EachStaged(from, func(s *Staged) (bool, error) {
		effective, found = s.EffectiveSeq, true
		return false, nil
	})
	return effective, found, err
}

// LastStaged is the last EVENTS sequence that a staged record took effect at; 0 where none is staged.
func (v View) LastStaged() (effective uint64, err error) {
	err = v.scanBack(v.key(kindStaged), func(k, _ []byte) (bool, error) {
		effective = lastNumber(k[:stagedEffective])
		return false, nil
	})
	return effective, err
}

// StageRejection notes that REJECTED holds a rejection at the sequence of an event that the fold has not reached, and
// the digest of the event that it is about: a log that was rolled back has another event there.
func (p *Partition) StageRejection(eventSeq uint64, event [32]byte) error {
	k := p.key(kindRejected).number(eventSeq)
	staged, err := p.stagedRejections(k)
	if err != nil || slices.Contains(staged, event) {
		return err
	}
	c := writing(nil)
	staged = append(staged, event)
	rejectionsRow(&c, &staged)
	p.set(k, c.b)
	return nil
}

// TakeRejection returns the digests that were staged at an event's sequence, and forgets them.
func (p *Partition) TakeRejection(eventSeq uint64) ([][32]byte, error) {
	k := p.key(kindRejected).number(eventSeq)
	staged, err := p.stagedRejections(k)
	if len(staged) > 0 {
		p.remove(k)
	}
	return staged, err
}

func (p *Partition) stagedRejections(k key) (staged [][32]byte, err error) {
	_, err = p.get(k, func(b []byte) error {
		c := reading(b)
		rejectionsRow(&c, &staged)
		return c.end("staged rejection", "")
	})
	return staged, err
}

func rejectionsRow(c *codec, staged *[][32]byte) {
	n := len(*staged)
	c.small(&n)
	for i := range n {
		if c.reads {
			if len(c.b) == 0 {
				c.fail("staged rejection")
				return
			}
			*staged = append(*staged, [32]byte{})
		}
		c.sums(&(*staged)[i])
	}
}
