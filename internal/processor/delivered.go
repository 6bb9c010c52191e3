package processor

import "sync"

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
	for _, row := range w.rows {
		p.part.Delivered(row)
	}
	meta := p.part.Meta()
	if w.own.ChainSeq > meta.Own.ChainSeq {
		meta.Own = w.own
	}
	p.reached(&meta, w.summaries, w.rejected)
	p.outbox.noted(len(w.rows))
	return p.failpoint(FailDelivered, p.id)
}
