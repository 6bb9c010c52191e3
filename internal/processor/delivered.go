package processor

import "sync"

// delivered is what the server has stored and the lane has yet to take note of. The outbox leaves it here and
// goes on: the lane waits for an outbox that is full, and would wait for ever for one that waits for the lane.
type delivered struct {
	mu    sync.Mutex
	waves []wave
}

// add says whether nothing was there before.
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

// stored has the lane take note of a wave; it never blocks. One turn takes all that is there by then.
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

// deliver takes note of a wave that the server has stored.
func (p *partition) deliver(w wave) error {
	if err := p.failpoint(FailPublished, p.id); err != nil {
		return err
	}
	for i, row := range w.rows {
		if err := p.part.Delivered(row, w.seqs[i]); err != nil {
			return err
		}
	}
	// Rows of the batches before this one know no better than what the outbox remembers: it may forget when
	// they are all in it.
	p.onCommit(func() { p.outbox.settle(w) })
	meta := p.part.Meta()
	p.reached(&meta, w.summaries, w.rejected)
	p.outbox.noted(len(w.rows))
	return p.failpoint(FailDelivered, p.id)
}
