package processor

import (
	"sync"

	"precis/state"
)

// confirmed is the last record of SUMMARIES and of REJECTED that the server has stored, of any partition. A partition
// with none of its own would stay behind, and a start reads both streams from where the last partition stands.
type confirmed struct {
	every uint64 // how many records may pass before all partitions are told

	mu                  sync.Mutex
	summaries, rejected state.Mark
	told                uint64 // records, of both
}

// note takes a wave, and says whether it is time to tell.
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

// keepNote has the lane take note of a wave, and now and then all others of how far the streams have come; it never
// blocks.
func (p *Processor) keepNote(part *partition, w wave) {
	part.stored(w)
	if !p.confirmed.note(w) {
		return
	}
	for _, other := range p.parts {
		go other.turn(other.keepUp)
	}
}

// keepUp moves a partition that has no records under way to where the others are. What it decides from here on is
// stored behind that.
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

// reached notes up to where SUMMARIES and REJECTED hold nothing of the partition that it does not know.
func (p *partition) reached(meta *state.Meta, summaries, rejected state.Mark) {
	if summaries.Seq > meta.SummariesSeq {
		meta.SummariesSeq, meta.SummariesMark = summaries.Seq, summaries
	}
	if rejected.Seq > meta.RejectedSeq {
		meta.RejectedSeq, meta.RejectedMark = rejected.Seq, rejected
	}
	p.part.SetMeta(*meta)
}
