package state

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// cursor goes through rows in the order of their keys. Keys and values hold until it moves. *pebble.Iterator is one.
type cursor interface {
	First() bool
	Last() bool
	Next() bool
	Prev() bool
	SeekGE(key []byte) bool
	Key() []byte
	Value() []byte
	Error() error
}

// packCursor goes through rows of one parked thread.
type packCursor struct {
	rows      []packedRow
	partition key // what the keys begin with
	at        int
}

// cursor goes through the rows of a pack from one key to before another one.
func (k *pack) cursor(partition uint16, from, to key) *packCursor {
	first, _ := k.at(from[2:])
	end := len(k.rows)
	if len(to) >= 2 && bytes.Equal(to[:2], from[:2]) {
		end, _ = k.at(to[2:])
	}
	return &packCursor{rows: k.rows[first:max(first, end)], partition: newKey(partition, 0)[:2:2], at: -1}
}

func (c *packCursor) valid() bool { return c.at >= 0 && c.at < len(c.rows) }

func (c *packCursor) First() bool { c.at = 0; return c.valid() }
func (c *packCursor) Last() bool  { c.at = len(c.rows) - 1; return c.valid() }
func (c *packCursor) Next() bool  { c.at++; return c.valid() }
func (c *packCursor) Prev() bool  { c.at--; return c.valid() }

func (c *packCursor) SeekGE(k []byte) bool {
	c.at, _ = (&pack{rows: c.rows}).at(k[2:])
	return c.valid()
}

func (c *packCursor) Key() []byte {
	if !c.valid() {
		return nil
	}
	return append(c.partition, c.rows[c.at].key...)
}

func (c *packCursor) Value() []byte {
	if !c.valid() {
		return nil
	}
	return c.rows[c.at].value
}

func (c *packCursor) Error() error { return nil }

// allCursor goes forward through the rows of a kind: those in the store, and those of its parked threads, which have none there. It fetches one
// thread's rows after the other.
type allCursor struct {
	View
	from, to key
	stored   *pebble.Iterator
	stubs    *pebble.Iterator // from the first parked thread that can have such rows
	parked   *packCursor      // of the parked thread at which stubs stands
	err      error
	upTo     key  // the first key of a thread whose rows are not fetched; nil: none
	given    bool // it has come to a row
}

// looks is how many objects a walk over the rows of all threads may fetch, and how much they may have, beside the first one. One that would need more ends at the thread
// that it has come to.
type looks struct {
	left  int
	bytes uint64 // packed
	begun bool
	at    key // what the keys of that thread begin with; nil: it has come to the end
}

// enough reports whether a walk ends before a thread whose rows are not in memory. A walk that has come to something
// lets the next one meet what is in its way.
func (l *looks) enough(stub *Parked) bool {
	if l == nil {
		return false
	}
	if l.left == 0 || l.begun && stub.Bytes > l.bytes {
		return true
	}
	l.left, l.begun = l.left-1, true
	l.bytes -= min(l.bytes, stub.Bytes)
	return false
}

// iterateAll is iterate for the rows of a kind of more than one thread.
func (v View) iterateAll(from, to key, use func(cursor) error) error {
	return v.raw(from, to, func(stored *pebble.Iterator) error {
		begin := v.key(kindParked)
		if name, ok := threadIn(from); ok {
			begin = begin.part(name)
		}
		return v.raw(begin, v.key(kindParked).end(), func(stubs *pebble.Iterator) error {
			c := &allCursor{View: v, from: from, to: to, stored: stored, stubs: stubs}
			return errors.Join(use(c), c.err)
		})
	})
}

// threads moves on to the next parked thread that has such rows.
func (c *allCursor) threads(ok bool) {
	kind := c.from[2]
	for c.parked = nil; ok && c.err == nil; ok = c.stubs.Next() {
		name, _, is := cutPart(c.stubs.Key()[3:])
		if !is {
			c.err = errors.Join(ErrDamaged, errors.New("row of a parked thread"))
			return
		}
		stub := &Parked{}
		r := reading(c.stubs.Value())
		parkedRow(&r, stub)
		if c.err = r.end("parked thread", name); c.err != nil {
			return
		}
		if stub.has(kind) == 0 {
			continue
		}
		prefix := newKey(c.id, kind).part(name)
		if c.s.packs.get(stub.Digest) == nil && c.looks.enough(stub) {
			c.upTo, c.looks.at = prefix, prefix
			return
		}
		var rows *pack
		if rows, c.err = c.rowsOf(name, stub); c.err != nil {
			if errors.Is(c.err, ErrParked) && c.looks != nil && c.inFront(prefix) { // what it has come to is not lost
				c.err, c.upTo, c.looks.at = nil, prefix, prefix
			}
			return
		}
		from, to := prefix, prefix.end()
		if bytes.Compare(c.from, from) > 0 {
			from = c.from
		}
		if bytes.Compare(c.to, to) < 0 {
			to = c.to
		}
		if of := rows.cursor(c.id, from, to); of.First() {
			c.parked = of
			return
		}
	}
}

// inFront reports whether there are rows in front of a key, or were.
func (c *allCursor) inFront(k key) bool {
	return c.given || c.stored.Valid() && bytes.Compare(c.stored.Key(), k) < 0
}

// onParked reports whether the next row is of a parked thread.
func (c *allCursor) onParked() bool {
	return c.parked != nil && (!c.stored.Valid() || bytes.Compare(c.parked.Key(), c.stored.Key()) < 0)
}

func (c *allCursor) more() bool {
	if c.err != nil {
		return false
	}
	more := c.parked != nil || c.stored.Valid() && (c.upTo == nil || bytes.Compare(c.stored.Key(), c.upTo) < 0)
	c.given = c.given || more
	return more
}

func (c *allCursor) First() bool {
	c.stored.First()
	c.threads(c.stubs.First())
	return c.more()
}

func (c *allCursor) Next() bool {
	switch {
	case !c.onParked():
		c.stored.Next()
	case !c.parked.Next():
		c.threads(c.stubs.Next())
	}
	return c.more()
}

func (c *allCursor) Key() []byte {
	if c.onParked() {
		return c.parked.Key()
	}
	return c.stored.Key()
}

func (c *allCursor) Value() []byte {
	if c.onParked() {
		return c.parked.Value()
	}
	return c.stored.Value()
}

func (c *allCursor) Error() error { return errors.Join(c.err, c.stored.Error(), c.stubs.Error()) }

// Nothing goes back, or jumps, through the rows of all threads.

func (c *allCursor) Last() bool         { panic("rows of all threads are read forward") }
func (c *allCursor) Prev() bool         { panic("rows of all threads are read forward") }
func (c *allCursor) SeekGE([]byte) bool { panic("rows of all threads are read forward") }
