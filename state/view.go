package state

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"precis/internal/thread"
)

// View reads one partition: what is committed, or, inside a Partition, the open batch over it.
type View struct {
	r  pebble.Reader
	id uint16
}

// View reads what is committed in a partition.
func (s *Store) View(partition int) View { return View{r: s.db, id: uint16(partition)} }

// get calls use with the value of a key; found is false where there is none.
func (v View) get(k key, use func(value []byte) error) (found bool, err error) {
	value, closer, err := v.r.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, readError(err)
	}
	err = use(value)
	if cerr := closer.Close(); err == nil && cerr != nil {
		err = readError(cerr)
	}
	return err == nil, err
}

// scan calls each with every key that starts with prefix and is not before from, in order, until it
// returns false. Keys and values hold only during the call.
func (v View) scan(prefix, from key, each func(k, value []byte) (bool, error)) error {
	it, err := v.r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: prefix.end()})
	if err != nil {
		return readError(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		more, err := each(it.Key(), it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		if !more {
			break
		}
	}
	if err := it.Close(); err != nil {
		return readError(err)
	}
	return nil
}

// scanBack calls each with every key that starts with prefix, the last one first, until it returns false.
func (v View) scanBack(prefix key, each func(k, value []byte) (bool, error)) error {
	it, err := v.r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefix.end()})
	if err != nil {
		return readError(err)
	}
	for ok := it.Last(); ok; ok = it.Prev() {
		more, err := each(it.Key(), it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		if !more {
			break
		}
	}
	if err := it.Close(); err != nil {
		return readError(err)
	}
	return nil
}

// last is the last key that starts with prefix; nil where there is none.
func (v View) last(prefix key) (key, error) {
	it, err := v.r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefix.end()})
	if err != nil {
		return nil, readError(err)
	}
	var k key
	if it.Last() {
		k = append(k, it.Key()...)
	}
	if err := it.Close(); err != nil {
		return nil, readError(err)
	}
	return k, nil
}

func (v View) key(kind byte) key { return newKey(v.id, kind) }

// Meta is where the partition stands; the zero Meta where it has never run.
func (v View) Meta() (Meta, error) {
	var m Meta
	_, err := v.get(v.key(kindMeta), decodeJSON(&m, "meta", ""))
	return m, err
}

// Config is the data of the config.applied in force; nil where there is none yet.
func (v View) Config() ([]byte, error) {
	var data []byte
	_, err := v.get(v.key(kindConfig), func(b []byte) error {
		data = append([]byte(nil), b...)
		return nil
	})
	return data, err
}

// Header is the header of a thread; nil where the thread is not known.
func (v View) Header(name string) (*thread.Header, error) {
	var h *thread.Header
	_, err := v.get(v.key(kindHeader).rest(name), func(b []byte) (err error) {
		h, err = decodeHeader(name, b)
		return err
	})
	return h, err
}

// Headers calls each with the header of every thread, until it returns false.
func (v View) Headers(each func(*thread.Header) (bool, error)) error {
	prefix := v.key(kindHeader)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		h, err := decodeHeader(string(k[len(prefix):]), b)
		if err != nil {
			return false, err
		}
		return each(h)
	})
}

// Message is the row of a message; nil where there is none.
func (v View) Message(name, id string) (*thread.Message, error) {
	var m *thread.Message
	_, err := v.get(v.key(kindMessage).part(name).rest(id), func(b []byte) (err error) {
		m, err = decodeMessage(id, b)
		return err
	})
	return m, err
}

// Messages returns the rows of the messages with ordinals from (inclusive) to to (exclusive), in order.
func (v View) Messages(name string, from, to uint64) ([]*thread.Message, error) {
	prefix := v.key(kindOrder).part(name)
	var ids []string
	err := v.scan(prefix, v.key(kindOrder).part(name).number(from), func(k, id []byte) (bool, error) {
		if lastNumber(k) >= to {
			return false, nil
		}
		ids = append(ids, string(id))
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return v.ordered(name, ids)
}

// ordered are the rows of messages that a thread's order names.
func (v View) ordered(name string, ids []string) ([]*thread.Message, error) {
	rows, err := v.MessagesOf(name, ids)
	if err == nil && len(rows) < len(ids) {
		err = fmt.Errorf("%w: of %d messages of thread %q that are in its order %d have no row", ErrDamaged, len(ids), name, len(ids)-len(rows))
	}
	return rows, err
}

// MessagesOf returns the rows of the messages with these ids, in their order, without those that have none. The
// rows of a stretch of a thread mostly lie near each other: one iterator finds them faster than each by itself.
func (v View) MessagesOf(name string, ids []string) (rows []*thread.Message, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	prefix := v.key(kindMessage).part(name)
	it, err := v.r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefix.end()})
	if err != nil {
		return nil, readError(err)
	}
	found := make([]*thread.Message, len(ids))
	for _, i := range inOrder(ids) {
		k := append(prefix[:len(prefix):len(prefix)], ids[i]...)
		if !it.SeekGE(k) || !bytes.Equal(it.Key(), k) {
			continue
		}
		if found[i], err = decodeMessage(ids[i], it.Value()); err != nil {
			return nil, errors.Join(err, it.Close())
		}
	}
	if err := it.Close(); err != nil {
		return nil, readError(err)
	}
	return slices.DeleteFunc(found, func(m *thread.Message) bool { return m == nil }), nil
}

// inOrder is where strings stand in a list, the least first.
func inOrder(list []string) []int {
	at := make([]int, len(list))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int { return strings.Compare(list[a], list[b]) })
	return at
}

// RevisionSeq is the EVENTS sequence that holds a revision of a message; 0 where there is no such one.
func (v View) RevisionSeq(name string, m *thread.Message, revision uint64) (uint64, error) {
	switch {
	case revision == 0:
		return m.FirstSeq, nil
	case revision == m.Revision:
		return m.Seq, nil
	}
	var seq uint64
	_, err := v.get(v.key(kindRevision).part(name).part(m.ID).number(revision), func(b []byte) error {
		d := decoder{b: b}
		seq = d.u()
		return d.end("revision", m.ID)
	})
	return seq, err
}

// Summary is the row of a summary of a thread; nil where there is none.
func (v View) Summary(name, id string) (*thread.Summary, error) {
	var sum *thread.Summary
	_, err := v.get(v.key(kindSummary).part(name).rest(id), func(b []byte) (err error) {
		sum, err = decodeSummary(b)
		return err
	})
	return sum, err
}

// HasSummary says whether a thread has a summary, whatever became of it.
func (v View) HasSummary(name, id string) (bool, error) {
	return v.get(v.key(kindSummary).part(name).rest(id), func([]byte) error { return nil })
}

// SummaryThread is the thread that a summary belongs to.
func (v View) SummaryThread(id string) (name string, found bool, err error) {
	found, err = v.get(v.key(kindOwner).rest(id), func(b []byte) error {
		name = string(b)
		return nil
	})
	return name, found, err
}

// Summaries calls each with every summary of a thread, until it returns false.
func (v View) Summaries(name string, each func(*thread.Summary) (bool, error)) error {
	prefix := v.key(kindSummary).part(name)
	return v.scan(prefix, prefix, func(_, b []byte) (bool, error) {
		sum, err := decodeSummary(b)
		if err != nil {
			return false, err
		}
		return each(sum)
	})
}

// Slot is the row of a slot; an empty one where nothing has held it yet.
func (v View) Slot(name, slot string) (*thread.Slot, error) {
	s := &thread.Slot{Name: slot}
	_, err := v.get(v.key(kindSlot).part(name).rest(slot), decodeJSON(s, "slot", slot))
	return s, err
}

// Jobs are the partition's jobs that are under way.
func (v View) Jobs() ([]*thread.Job, error) {
	var jobs []*thread.Job
	prefix := v.key(kindJob)
	err := v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		job := &thread.Job{}
		err := decodeJSON(job, "job", string(k[len(prefix):]))(b)
		jobs = append(jobs, job)
		return true, err
	})
	return jobs, err
}

// Compaction is how far a thread is compacted; a new one where it never was.
func (v View) Compaction(name string) (*thread.Compaction, error) {
	c := &thread.Compaction{}
	_, err := v.get(v.key(kindCut).rest(name), func(b []byte) (err error) {
		c, err = decodeCompaction(name, b)
		return err
	})
	return c, err
}

// Ledger is the stored ledger of a leaf or node; nil where it has to be made again.
func (v View) Ledger(name, summary string) (ledger []byte, err error) {
	_, err = v.get(v.key(kindLedger).part(name).rest(summary), func(b []byte) error {
		ledger = append([]byte(nil), b...)
		return nil
	})
	return ledger, err
}

// Ledgers calls each with every stored ledger, until it returns false.
func (v View) Ledgers(each func(name, summary string, ledger []byte) (bool, error)) error {
	prefix := v.key(kindLedger)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		name, id, ok := cutPart(k[len(prefix):])
		if !ok {
			return false, fmt.Errorf("%w: key of a ledger", ErrDamaged)
		}
		return each(name, string(id), b)
	})
}

// MessagesAt returns the rows of the messages at ordinals.
func (v View) MessagesAt(name string, ordinals []uint64) ([]*thread.Message, error) {
	if len(ordinals) == 0 {
		return nil, nil
	}
	prefix := v.key(kindOrder).part(name)
	it, err := v.r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefix.end()})
	if err != nil {
		return nil, readError(err)
	}
	var ids []string
	for _, at := range ordinals {
		if it.SeekGE(v.key(kindOrder).part(name).number(at)) && lastNumber(it.Key()) == at {
			ids = append(ids, string(it.Value()))
		}
	}
	if err := it.Close(); err != nil {
		return nil, readError(err)
	}
	return v.ordered(name, ids)
}

// Job is a job of a thread; nil where it has ended.
func (v View) Job(name, id string) (*thread.Job, error) {
	job := &thread.Job{}
	found, err := v.get(v.key(kindJob).part(name).rest(id), decodeJSON(job, "job", id))
	if !found {
		return nil, err
	}
	return job, err
}
