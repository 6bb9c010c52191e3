package state

import (
	"encoding/binary"
	"fmt"
	"time"

	"precis/internal/thread"
)

// saveTimes keeps the rows by which a summary is found when it has to be made again, or expires.
func (p *Partition) saveTimes(name string, sum *thread.Summary) {
	k := p.key(kindRenewal).part(name).renewal(sum)
	if sum.Renew {
		p.set(k, nil)
	} else if sum.Status == thread.Replaced || len(sum.Invalidated) > 0 {
		p.remove(k) // an active one has never had the row
	}
	if sum.ExpiresAt.IsZero() {
		return
	}
	k = p.key(kindExpiry).number(instant(sum.ExpiresAt)).part(name).rest(sum.ID)
	if sum.Status == thread.Active {
		p.expiry.add(instant(sum.ExpiresAt))
		p.set(k, nil)
		return
	}
	p.remove(k)
}

// renewal orders what waits: compactions before tool outputs, what is made from messages before what is
// made from that.
func (k key) renewal(sum *thread.Summary) key {
	return append(k, sum.RenewalRank()).rest(sum.ID)
}

// instant is a time as keys have it; before 1970 there is none.
func instant(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) }

// Renewals are the ids of the summaries of a thread that wait to be made again, limit at most, each
// before what is made from it.
func (v View) Renewals(name string, limit int) ([]string, error) {
	prefix := v.key(kindRenewal).part(name)
	var ids []string
	err := v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		ids = append(ids, string(k[len(prefix)+1:]))
		return len(ids) < limit, noValue(b)
	})
	return ids, err
}

// Ref names a summary.
type Ref struct{ Thread, Summary string }

// IdleAt is when the thread is checked for being idle; false if no check is due.
func (v View) IdleAt(name string) (at time.Time, found bool, err error) {
	found, err = v.get(v.key(kindIdle).rest(name), func(b []byte) (err error) {
		if len(b) < 8 {
			return rowError("time of an idle thread", name, fmt.Errorf("%w: cut short, or written by another version", ErrDamaged))
		}
		at = time.Unix(0, int64(binary.BigEndian.Uint64(b))).UTC()
		c := reading(b[8:])
		return c.end("time of an idle thread", name)
	})
	return at, found, err
}

// LookAt sets when a thread is checked for being idle; a zero time: never. was is what IdleAt returns now. It is
// no part of the state that a log makes: the thread's next event sets it again.
func (p *Partition) LookAt(name string, was, at time.Time) {
	if !was.IsZero() {
		p.remove(p.key(kindIdleDue).number(instant(was)).rest(name))
	}
	if at.IsZero() {
		p.remove(p.key(kindIdle).rest(name))
		return
	}
	p.look.add(instant(at))
	p.set(p.key(kindIdleDue).number(instant(at)).rest(name), nil)
	p.set(p.key(kindIdle).rest(name), binary.BigEndian.AppendUint64(nil, instant(at)))
}

// Sweep is how far the partition's summaries were compared with the configuration in force.
type Sweep struct {
	Judges string `json:"judges"` // digest of what summaries are compared with
	After  []byte `json:"after"`  // the last summary's key; nil before the first
	Left   uint64 `json:"left"`   // summaries, as far as that is known
	Done   bool   `json:"done"`
}

// Sweep is how far the last sweep came.
func (v View) Sweep() (s Sweep, err error) {
	_, err = v.get(v.key(kindSweep), decodeJSON(&s, "sweep", ""))
	return s, err
}

// SaveSweep writes how far a sweep has come to the open batch, with what it has found.
func (p *Partition) SaveSweep(s Sweep) { p.set(p.key(kindSweep), encodeJSON(s)) }

// sweepLooks is how many objects of parked threads are fetched for one slice of summaries, and sweepBytes how much they have together, beside one: it holds up what
// else the partition has to do, and who looks at the summaries reads the rows again, which are in memory then.
const (
	sweepLooks = 16
	sweepBytes = 4 << 20
)

// NextSummaries returns the summaries behind a key, limit at most, and the key of the last one, behind which there may be more.
func (v View) NextSummaries(after []byte, limit int) (refs []Ref, last []byte, more bool, err error) {
	prefix := v.key(kindSummary)
	from := prefix
	if len(after) > 0 {
		from = append(key(after[:len(after):len(after)]), 0)
	}
	last = after
	v.looks = &looks{left: sweepLooks, bytes: sweepBytes}
	err = v.scan(prefix, from, func(k, _ []byte) (bool, error) {
		name, id, ok := cutPart(k[len(prefix):])
		if ok {
			refs = append(refs, Ref{name, string(id)})
		}
		last = append([]byte(nil), k...)
		return len(refs) < limit, nil
	})
	if v.looks.at != nil && len(refs) < limit { // it ends in front of a parked thread
		return refs, v.looks.at, true, err
	}
	return refs, last, len(refs) == limit, err
}

// MadeFrom are the active summaries that were made from a summary.
func (v View) MadeFrom(name, summary string) ([]string, error) {
	return v.madeFrom(name, summarySource(summary))
}

// MadeFromMessage are the active summaries that were made from a message.
func (v View) MadeFromMessage(name, message string) ([]string, error) {
	return v.madeFrom(name, messageSource(message))
}

func (v View) madeFrom(name, source string) (ids []string, err error) {
	prefix := v.key(kindSource).part(name).part(source)
	err = v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		ids = append(ids, string(k[len(prefix):]))
		return true, noValue(b)
	})
	return ids, err
}

// LoadMadeFrom loads the active summaries that were made from a summary, those made from them, and so
// on, each before what was made from it.
func (p *Partition) LoadMadeFrom(st *thread.State, summary string) error {
	return p.loadMadeFrom(st, summarySource(summary))
}
