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
	r     pebble.Reader
	s     *Store
	id    uint16
	stops *stops // of a partition that waits for rows of parked threads; nil: a request does
	// looks bounds how many objects a walk over all threads fetches; nil: any number.
	looks *looks
}

// View reads what is committed in a partition.
func (s *Store) View(partition int) View { return View{r: s.db, s: s, id: uint16(partition)} }

// Snapshot reads one state of a partition, whatever is committed meanwhile.
type Snapshot struct {
	View
	snapshot *pebble.Snapshot
}

// Snapshot takes the state that is committed now. The caller closes it.
func (s *Store) Snapshot(partition int) *Snapshot {
	snap := s.db.NewSnapshot()
	return &Snapshot{View: View{r: snap, s: s, id: uint16(partition)}, snapshot: snap}
}

// Close gives the snapshot up; a store can't be closed before.
func (s *Snapshot) Close() error { return s.snapshot.Close() }

// get calls use with the value of a key; found is false where there is none.
func (v View) get(k key, use func(value []byte) error) (found bool, err error) {
	found, err = v.read(k, use)
	if found || err != nil || !v.mayBeParked(k) {
		return found, err
	}
	return v.getParked(k, use)
}

// read is get for the rows that are in the store itself.
func (v View) read(k key, use func(value []byte) error) (found bool, err error) {
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

// has says whether a key is there.
func (v View) has(k key) (bool, error) { return v.get(k, func([]byte) error { return nil }) }

// bytes is a copy of the value of a key; nil where there is none.
func (v View) bytes(k key) (data []byte, err error) {
	_, err = v.get(k, func(b []byte) error {
		data = bytes.Clone(b)
		return nil
	})
	return data, err
}

// rowAt is the row of a key; nil where there is none.
func rowAt[T any](v View, k key, decode func([]byte) (*T, error)) (row *T, err error) {
	_, err = v.get(k, func(b []byte) (err error) {
		row, err = decode(b)
		return err
	})
	return row, err
}

// scan calls each with every key that starts with prefix and is not before from, in order, until it
// returns false. Keys and values hold only during the call.
func (v View) scan(prefix, from key, each func(k, value []byte) (bool, error)) error {
	return v.walk(from, prefix.end(), cursor.First, cursor.Next, each)
}

// scanBack calls each with every key that starts with prefix, the last one first, until it returns false.
func (v View) scanBack(prefix key, each func(k, value []byte) (bool, error)) error {
	return v.walk(prefix, prefix.end(), cursor.Last, cursor.Prev, each)
}

func (v View) walk(from, to key, first, next func(cursor) bool, each func(k, value []byte) (bool, error)) error {
	return v.iterate(from, to, func(it cursor) error {
		for ok := first(it); ok; ok = next(it) {
			if more, err := each(it.Key(), it.Value()); err != nil || !more {
				return err
			}
		}
		return nil
	})
}

// iterate calls use with a cursor over the keys from from up to before to.
func (v View) iterate(from, to key, use func(cursor) error) error {
	it, err := v.r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return readError(err)
	}
	if v.mayBeParked(from) {
		if err := it.Close(); err != nil {
			return readError(err)
		}
		return v.iterateParked(from, to, use)
	}
	return closed(it, use(it))
}

// closed closes an iterator after its use, which err is the error of.
func closed(it *pebble.Iterator, err error) error {
	if err != nil {
		return errors.Join(err, it.Close())
	}
	if err := it.Close(); err != nil {
		return readError(err)
	}
	return nil
}

// raw is iterate for the rows that are in the store itself.
func (v View) raw(from, to key, use func(*pebble.Iterator) error) error {
	it, err := v.r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return readError(err)
	}
	return closed(it, use(it))
}

func (v View) key(kind byte) key { return newKey(v.id, kind) }

// Meta is where the partition stands; the zero Meta where it has never run.
func (v View) Meta() (Meta, error) {
	var m Meta
	_, err := v.get(v.key(kindMeta), decodeJSON(&m, "meta", ""))
	return m, err
}

// Config is the data of the config.applied in force; nil where there is none yet.
func (v View) Config() ([]byte, error) { return v.bytes(v.key(kindConfig)) }

// Header is the header of a thread; nil where the thread is not known.
func (v View) Header(name string) (*thread.Header, error) {
	h, _, err := v.thread(name)
	return h, err
}

// Headers calls each with the header of every thread, until it returns false.
func (v View) Headers(each func(*thread.Header) (bool, error)) error {
	prefix := v.key(kindHeader)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		h, _, err := decodeThread(string(k[len(prefix):]), b)
		if err != nil {
			return false, err
		}
		return each(h)
	})
}

// HeadersAlone is Headers without the rest of the threads' rows, which it does not read.
func (v View) HeadersAlone(each func(*thread.Header) (bool, error)) error {
	prefix := v.key(kindHeader)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		h, err := decodeHeader(string(k[len(prefix):]), b)
		if err != nil {
			return false, err
		}
		return each(h)
	})
}

// HeadersAfter is HeadersAlone for the threads behind a name, in the order of their names.
func (v View) HeadersAfter(name string, each func(*thread.Header) (bool, error)) error {
	prefix := v.key(kindHeader)
	return v.scan(prefix, append(v.key(kindHeader).rest(name), 0), func(k, b []byte) (bool, error) {
		h, err := decodeHeader(string(k[len(prefix):]), b)
		if err != nil {
			return false, err
		}
		return each(h)
	})
}

// Message is the row of a message; nil where there is none.
func (v View) Message(name, id string) (*thread.Message, error) {
	return rowAt(v, v.key(kindMessage).part(name).rest(id), func(b []byte) (*thread.Message, error) { return decodeMessage(id, b) })
}

// MessagesEnding returns the ids of a thread's messages that end with a text, in the order of the thread.
func (v View) MessagesEnding(name, end string) (ids []string, err error) {
	prefix := v.key(kindOrder).part(name)
	err = v.scan(prefix, prefix, func(_, id []byte) (bool, error) {
		if bytes.HasSuffix(id, []byte(end)) {
			ids = append(ids, string(id))
		}
		return true, nil
	})
	return ids, err
}

// Children calls each with the header of every thread of the partition that names a thread as its parent, until it returns
// false. The parent may belong to another partition.
func (v View) Children(parent string, each func(*thread.Header) (bool, error)) error {
	prefix := v.key(kindChild).part(parent)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		if err := noValue(b); err != nil {
			return false, err
		}
		name := string(k[len(prefix):])
		h, err := v.Header(name)
		if err == nil && (h == nil || h.Parent != parent) {
			err = fmt.Errorf("%w: thread %q is not a child of thread %q", ErrDamaged, name, parent)
		}
		if err != nil {
			return false, err
		}
		return each(h)
	})
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
	found := make([]*thread.Message, len(ids))
	err = v.iterate(prefix, prefix.end(), func(it cursor) (err error) {
		for _, i := range inOrder(ids) {
			k := append(prefix[:len(prefix):len(prefix)], ids[i]...)
			if !it.SeekGE(k) || !bytes.Equal(it.Key(), k) {
				continue
			}
			if found[i], err = decodeMessage(ids[i], it.Value()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
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
		c := reading(b)
		c.uints(&seq)
		return c.end("revision", m.ID)
	})
	return seq, err
}

// Summary is the row of a summary of a thread; nil where there is none.
func (v View) Summary(name, id string) (*thread.Summary, error) {
	return rowAt(v, v.key(kindSummary).part(name).rest(id), decodeSummary)
}

// HasSummary says whether a thread has a summary, whatever became of it.
func (v View) HasSummary(name, id string) (bool, error) {
	return v.has(v.key(kindSummary).part(name).rest(id))
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
	return v.jobsUnder(v.key(kindJob))
}

// JobsOf are the jobs of a thread that have not ended.
func (v View) JobsOf(name string) ([]*thread.Job, error) {
	return v.jobsUnder(v.key(kindJob).part(name))
}

func (v View) jobsUnder(prefix key) (jobs []*thread.Job, err error) {
	err = v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		job := &thread.Job{}
		err := decodeJSON(job, "job", string(k[len(prefix):]))(b)
		jobs = append(jobs, job)
		return true, err
	})
	return jobs, err
}

// Compaction is how far a thread is compacted; a new one where it never was.
func (v View) Compaction(name string) (*thread.Compaction, error) {
	_, c, err := v.thread(name)
	if c == nil {
		c = &thread.Compaction{}
	}
	return c, err
}

// thread is a thread's row; nil where the thread is not known, and a nil compaction where it never was compacted.
func (v View) thread(name string) (h *thread.Header, k *thread.Compaction, err error) {
	_, err = v.get(v.key(kindHeader).rest(name), func(b []byte) (err error) {
		h, k, err = decodeThread(name, b)
		return err
	})
	return h, k, err
}

// Ledger is the stored ledger of a leaf or node; nil where it has to be made again.
func (v View) Ledger(name, summary string) (ledger []byte, err error) {
	return v.bytes(v.key(kindLedger).part(name).rest(summary))
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

// Seen is the identifiers of a thread's messages up to an ordinal, as SaveSeen wrote them; nil where
// there are none.
func (v View) Seen(name string) (upTo uint64, data []byte, err error) {
	_, err = v.get(v.key(kindSeen).rest(name), func(b []byte) error {
		c := reading(b)
		c.uints(&upTo)
		blobs(&c, &data)
		return c.end("seen identifiers", name)
	})
	return upTo, data, err
}

// Spent calls each with what every provider has cost on every day, in micro-dollars.
func (v View) Spent(each func(provider, day string, microUSD int64)) error {
	prefix := v.key(kindSpent)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		provider, day, ok := cutPart(k[len(prefix):])
		if !ok {
			return false, fmt.Errorf("%w: key of spending", ErrDamaged)
		}
		microUSD, err := spentIn(provider, b)
		if err == nil {
			each(provider, string(day), microUSD)
		}
		return true, err
	})
}

// MessagesAt returns the rows of the messages at ordinals.
func (v View) MessagesAt(name string, ordinals []uint64) ([]*thread.Message, error) {
	if len(ordinals) == 0 {
		return nil, nil
	}
	prefix := v.key(kindOrder).part(name)
	var ids []string
	err := v.iterate(prefix, prefix.end(), func(it cursor) error {
		for _, at := range ordinals {
			if it.SeekGE(v.key(kindOrder).part(name).number(at)) && lastNumber(it.Key()) == at {
				ids = append(ids, string(it.Value()))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
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
