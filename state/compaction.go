package state

import (
	"precis/internal/thread"
	"precis/summarize/cut"
)

// compactionVersion begins the row of a thread.Compaction. Every event of a thread can change that row, so
// it has a binary form.
const compactionVersion = 2

func encodeCompaction(c *thread.Compaction) []byte {
	e := encoder{b: make([]byte, 0, 128+16*len(c.Cut.Pending)+48*(len(c.Cut.Open)+len(c.Cut.Early)+2*len(c.Tops)))}
	e.u(compactionVersion)
	e.ints(c.Cut.Seen.Tokens, c.Cut.Seen.Messages, c.Cut.Free.Tokens, c.Cut.Free.Messages, c.Cut.Gone.Tokens, c.Cut.Gone.Messages)
	e.u(c.Cut.Count)
	e.u(c.Cut.Edge.At)
	e.ints(c.Cut.Edge.Weight.Tokens, c.Cut.Edge.Weight.Messages, c.Cut.Behind.Tokens, c.Cut.Behind.Messages)
	for _, t := range []*cut.Turn{&c.Cut.User, &c.Cut.Assistant} {
		e.u(t.At)
		e.ints(t.Weight.Tokens, t.Weight.Messages)
		e.numbers(t.Members)
	}
	e.calls(c.Cut.Open)
	e.calls(c.Cut.Early)
	e.u(c.Cut.LastAt)
	e.ints(c.Cut.Last.Tokens, c.Cut.Last.Messages)
	e.position(&c.Cut.BestUser)
	e.position(&c.Cut.BestAny)
	e.u(uint64(len(c.Cut.Pending)))
	for i := range c.Cut.Pending {
		e.position(&c.Cut.Pending[i])
	}
	e.u(uint64(len(c.Tops)))
	for _, t := range c.Tops {
		e.s(t.Summary)
		e.s(t.Slot)
		e.u(uint64(t.Level))
		e.u(t.From)
		e.u(t.To)
	}
	e.numbers(c.Held)
	e.numbers(c.Fixed)
	return e.b
}

func (e *encoder) ints(list ...int64) {
	for _, v := range list {
		e.i(v)
	}
}

func (e *encoder) numbers(list []uint64) {
	e.u(uint64(len(list)))
	for _, n := range list {
		e.u(n)
	}
}

func (e *encoder) calls(list []cut.Call) {
	e.u(uint64(len(list)))
	for i := range list {
		c := &list[i]
		e.s(c.ID)
		e.u(c.At)
		e.u(c.Count)
		e.ints(c.Weight.Tokens, c.Weight.Messages)
	}
}

func (e *encoder) position(p *cut.Position) {
	e.u(p.At)
	e.u(p.Prev)
	e.flag(p.User)
	e.ints(p.Before.Tokens, p.Before.Messages, p.Tail.Tokens, p.Tail.Messages, p.Free.Tokens, p.Free.Messages)
}

func decodeCompaction(name string, b []byte) (*thread.Compaction, error) {
	d := decoder{b: b}
	c := &thread.Compaction{}
	d.version(compactionVersion)
	d.ints(&c.Cut.Seen.Tokens, &c.Cut.Seen.Messages, &c.Cut.Free.Tokens, &c.Cut.Free.Messages, &c.Cut.Gone.Tokens, &c.Cut.Gone.Messages)
	c.Cut.Count = d.u()
	c.Cut.Edge.At = d.u()
	d.ints(&c.Cut.Edge.Weight.Tokens, &c.Cut.Edge.Weight.Messages, &c.Cut.Behind.Tokens, &c.Cut.Behind.Messages)
	for _, t := range []*cut.Turn{&c.Cut.User, &c.Cut.Assistant} {
		t.At = d.u()
		d.ints(&t.Weight.Tokens, &t.Weight.Messages)
		t.Members = d.numbers()
	}
	c.Cut.Open, c.Cut.Early = d.calls(), d.calls()
	c.Cut.LastAt = d.u()
	d.ints(&c.Cut.Last.Tokens, &c.Cut.Last.Messages)
	c.Cut.BestUser, c.Cut.BestAny = d.position(), d.position()
	for n := d.count(9); n > 0; n-- {
		c.Cut.Pending = append(c.Cut.Pending, d.position())
	}
	for n := d.count(5); n > 0; n-- {
		c.Tops = append(c.Tops, thread.Top{Summary: d.s(), Slot: d.s(), Level: int(d.u()), From: d.u(), To: d.u()})
	}
	c.Held, c.Fixed = d.numbers(), d.numbers()
	return c, d.end("compaction", name)
}

func (d *decoder) ints(list ...*int64) {
	for _, v := range list {
		*v = d.i()
	}
}

func (d *decoder) numbers() (list []uint64) {
	for n := d.count(1); n > 0; n-- {
		list = append(list, d.u())
	}
	return list
}

func (d *decoder) calls() (list []cut.Call) {
	for n := d.count(5); n > 0; n-- {
		c := cut.Call{ID: d.s(), At: d.u(), Count: d.u()}
		d.ints(&c.Weight.Tokens, &c.Weight.Messages)
		list = append(list, c)
	}
	return list
}

func (d *decoder) position() (p cut.Position) {
	p.At, p.Prev, p.User = d.u(), d.u(), d.flag()
	d.ints(&p.Before.Tokens, &p.Before.Messages, &p.Tail.Tokens, &p.Tail.Messages, &p.Free.Tokens, &p.Free.Messages)
	return p
}
