package state

// Stage keeps a record of SUMMARIES until the fold reaches the event it took effect at. Staging it
// again, after a crash in the middle, changes nothing.
func (p *Partition) Stage(s *Staged) error {
	k := p.stagedKey(s)
	if found, err := p.has(k); err != nil || found {
		return err
	}
	p.set(k, encodeStaged(s))
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
	for _, s := range rows {
		p.remove(p.stagedKey(s))
		s.EffectiveSeq, s.Void = behind, true
		p.set(p.stagedKey(s), encodeStaged(s))
	}
	return len(rows), nil
}

// EachStaged calls each with the staged records that took effect at or behind an EVENTS sequence, in order, until it
// returns false. None may be staged, voided or adopted meanwhile.
func (v View) EachStaged(from uint64, each func(*Staged) (bool, error)) error {
	return v.scan(v.key(kindStaged), v.key(kindStaged).number(from), eachStaged(each))
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

// Adopted removes a staged record that is part of the state now.
func (p *Partition) Adopted(s *Staged) {
	p.remove(p.stagedKey(s))
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
func (v View) StagedFrom(from, to uint64, limit int) ([]*Staged, error) {
	var rows []*Staged
	err := v.EachStaged(from, func(s *Staged) (bool, error) {
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
func (v View) NextStaged(from uint64) (effective uint64, found bool, err error) {
	prefix := v.key(kindStaged)
	err = v.scan(prefix, v.key(kindStaged).number(from), func(k, _ []byte) (bool, error) {
		effective, found = lastNumber(k[:stagedEffective]), true
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

// StageRejection notes that REJECTED holds the rejection of an event that the fold has not reached.
func (p *Partition) StageRejection(eventSeq uint64) {
	p.set(p.key(kindRejected).number(eventSeq), nil)
}

// TakeRejection says whether REJECTED holds the rejection of an event already, and forgets it.
func (p *Partition) TakeRejection(eventSeq uint64) (bool, error) {
	k := p.key(kindRejected).number(eventSeq)
	found, err := p.get(k, noValue)
	if found {
		p.remove(k)
	}
	return found, err
}
