package processor

import (
	"sync"

	"precis/state"
)

// delivered is what the server has stored and the lane has yet to note. The outbox leaves it here and continues: the
// lane waits for an outbox that is full, so an outbox that waited for the lane would deadlock.
type delivered struct {
	mu    sync.Mutex
	waves []wave
}

// add reports whether the list was empty before.
func (d *delivered) add(w wave) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waves = append(d.waves, w)
	return len(d.waves) == 1
}

func (d *delivered) take() []wave {
	d.mu.Lock()
	defer d.mu.Unlock()
	waves := d.waves
	d.waves = nil
	return waves
}

// stored hands a wave to the lane; it never blocks. One turn takes all waves that are there by then.
func (p *partition) stored(w wave) {
	if p.delivered.add(w) {
		go p.turn(p.deliverAll)
	}
}

func (p *partition) deliverAll() error {
	for _, w := range p.delivered.take() {
		if err := p.deliver(w); err != nil {
			return err
		}
	}
	return nil
}

// deliver notes a wave that the server has stored.
func (p *partition) deliver(w wave) error {
	if err := p.failpoint(FailPublished, p.id); err != nil {
		return err
	}
	for i, row := range w.rows {
		p.part.Delivered(row, w.seqs[i])
	}
	meta := p.part.Meta()
	if w.own.ChainSeq > meta.Own.ChainSeq {
		meta.Own = w.own
	}
	p.reached(&meta, w.summaries, w.rejected)
	p.outbox.noted(len(w.rows))
	return p.failpoint(FailDelivered, p.id)
}

// confirmed is the last record of SUMMARIES and of REJECTED that the server has stored for any partition. A partition
// without records of its own would otherwise fall behind, and a start reads both streams from the position of the last
// partition.
type confirmed struct {
	every uint64 // how many records may pass before all partitions are notified

	mu                  sync.Mutex
	summaries, rejected state.Mark
	told                uint64 // records at the last notification, of both streams
}

// note notes a wave, and reports whether to notify all partitions.
func (c *confirmed) note(w wave) (tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.summaries, c.rejected = later(c.summaries, w.summaries), later(c.rejected, w.rejected)
	if now := c.summaries.Seq + c.rejected.Seq; now >= c.told+c.every {
		c.told, tell = now, true
	}
	return tell
}

func (c *confirmed) now() (summaries, rejected state.Mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.summaries, c.rejected
}

func later(a, b state.Mark) state.Mark {
	if b.Seq > a.Seq {
		return b
	}
	return a
}

// keepNote hands a wave to its lane and, from time to time, tells all other lanes how far the streams have come; it
// never blocks.
func (p *Processor) keepNote(part *partition, w wave) {
	part.stored(w)
	if !p.confirmed.note(w) {
		return
	}
	for _, other := range p.parts() {
		go other.turn(other.keepUp)
	}
}

// keepUp moves a partition without records under way to the position of the others. What it decides from here on is
// stored after that.
func (p *partition) keepUp() error {
	summaries, rejected := p.confirmed.now()
	if err := p.deliverAll(); err != nil {
		return err
	}
	if p.outbox.underWay() {
		return nil // its own confirmations move it on
	}
	meta := p.part.Meta()
	if summaries.Seq <= meta.SummariesSeq && rejected.Seq <= meta.RejectedSeq {
		return nil
	}
	p.reached(&meta, summaries, rejected)
	return nil
}

// reached notes the positions up to which SUMMARIES and REJECTED hold nothing of the partition that it does not know.
func (p *partition) reached(meta *state.Meta, summaries, rejected state.Mark) {
	if summaries.Seq > meta.SummariesSeq {
		meta.SummariesSeq, meta.SummariesMark = summaries.Seq, summaries
	}
	if rejected.Seq > meta.RejectedSeq {
		meta.RejectedSeq, meta.RejectedMark = rejected.Seq, rejected
	}
	p.part.SetMeta(*meta)
}
