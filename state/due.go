package state

import (
	"encoding/binary"
	"math"
	"sync/atomic"
	"time"
)

// due is a lower bound of the times in an index that is ordered by time. It says without a look into the store whether
// something may be due, and a scan that begins there skips nothing that was removed before. The partition's owner
// writes it, anybody reads it.
type due struct{ from atomic.Uint64 }

// by says whether something may be due.
func (d *due) by(now time.Time) bool { return d.from.Load() <= instant(now) }

// add notes that a row was added.
func (d *due) add(at uint64) {
	if at < d.from.Load() {
		d.from.Store(at)
	}
}

// ExpiryDue says whether a summary's time may be over. Any goroutine may ask.
func (p *Partition) ExpiryDue(now time.Time) bool { return p.expiry.by(now) }

// IdleDue says whether a thread may be due to be looked at. Any goroutine may ask.
func (p *Partition) IdleDue(now time.Time) bool { return p.look.by(now) }

// Expired are the active summaries whose time is over, limit at most, the oldest first. Those that stay active are
// found again.
func (p *Partition) Expired(now time.Time, limit int) (refs []Ref, err error) {
	err = p.dueRows(kindExpiry, &p.expiry, now, limit, func(rest []byte) {
		if name, id, ok := cutPart(rest); ok {
			refs = append(refs, Ref{name, string(id)})
		}
	})
	return refs, err
}

// Idle are the threads that are due to be looked at, limit at most, the first due first. Those that are not given
// another time are found again.
func (p *Partition) Idle(now time.Time, limit int) (names []string, err error) {
	err = p.dueRows(kindIdleDue, &p.look, now, limit, func(rest []byte) { names = append(names, string(rest)) })
	return names, err
}

// dueRows takes what follows the time in each row that is due, and moves the bound to the first row that there is.
func (p *Partition) dueRows(kind byte, d *due, now time.Time, limit int, take func(rest []byte)) error {
	prefix, n, first := p.key(kind), 0, uint64(math.MaxUint64)
	err := p.scan(prefix, p.key(kind).number(d.from.Load()), func(k, b []byte) (bool, error) {
		if len(k) < len(prefix)+8 {
			return true, nil
		}
		at := binary.BigEndian.Uint64(k[len(prefix):])
		first = min(first, at)
		if at > instant(now) {
			return false, nil
		}
		take(k[len(prefix)+8:])
		n++
		return n < limit, noValue(b)
	})
	if err == nil {
		d.from.Store(first)
	}
	return err
}
