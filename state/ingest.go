package state

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Ingest ends the open batch like Apply, and is durable when it returns: the batch becomes a table of the store, whole
// or not at all, and goes neither through the log nor through memory that is written out and merged later. Each costs
// some syncs of its own, so that it is for large batches.
func (p *Partition) Ingest() (*Applied, error) {
	if p.ranged {
		return p.Apply(Sync) // what a range takes with it depends on what came before it in the batch
	}
	if err := p.end(); err != nil {
		return nil, p.ended(err)
	}
	a := &Applied{Decided: p.outgoing, Jobs: p.jobs, partition: p.id, batch: p.open.batch}
	return a, p.ended(p.ingest())
}

func (p *Partition) ingest() error {
	defer p.store.unwritten()
	path := p.store.tableFile(p.id)
	if err := p.store.writeTable(path, p.open.batch); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return p.store.db.Ingest(context.Background(), []string{path})
}

// Expect has batches begin with room for so many bytes, 0 for as much as usual: a large one that grows into its size
// is copied over and over.
func (p *Partition) Expect(bytes int) {
	p.room = bytes
	if empty := p.open; empty.batch.Empty() {
		p.open = newOpenBatch(p.store.db, p.room)
		p.r = p.open
		_ = empty.Close() // nothing is in it
	}
}

// Flush writes out what is in memory. Ingest would have to wait for each row of the same partition there.
func (s *Store) Flush() error {
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("flush store: %w", err)
	}
	return nil
}

// tableFile is where a partition writes its next table, which is linked to its place when it is whole. A crash may
// leave one behind.
func (s *Store) tableFile(partition uint16) string {
	return s.opts.FS.PathJoin(s.dir, fmt.Sprintf("table-%d", partition))
}

// row is what a batch does to a key.
type row struct {
	kind       pebble.InternalKeyKind
	key, value []byte
}

// place is where a row stands in its batch; head is of its key, as a number that sorts as it does: most of what is
// compared is not worth a look at the key.
type place struct {
	head uint64
	nth  uint32
}

// sorter brings the rows of a batch in order.
type sorter struct {
	rows   []row
	places []place
}

// newSorters are as many as there are processors: each takes as much memory as its batch, and more at once would not end
// earlier.
func newSorters() chan *sorter {
	n := runtime.GOMAXPROCS(0)
	sorters := make(chan *sorter, n)
	for range n {
		sorters <- new(sorter)
	}
	return sorters
}

// sorted calls fn for the last row of each key of a batch, in order.
func (s *Store) sorted(b *pebble.Batch, fn func(row) error) error {
	rows := <-s.sorters
	defer func() {
		clear(rows.rows) // they are the batch's
		rows.rows, rows.places = rows.rows[:0], rows.places[:0]
		s.sorters <- rows
	}()
	if err := rows.read(b); err != nil {
		return err
	}
	rows.sort()
	return rows.each(fn)
}

func (s *sorter) read(b *pebble.Batch) error {
	s.rows, s.places = slices.Grow(s.rows, int(b.Count())), slices.Grow(s.places, int(b.Count()))
	for r := b.Reader(); ; {
		kind, k, value, more, err := r.Next()
		if err != nil || !more {
			return err
		}
		s.places = append(s.places, place{headOf(k), uint32(len(s.rows))})
		s.rows = append(s.rows, row{kind, k, value})
	}
}

// sort orders rows by their heads, and then, a few at once, those that share one: a thread's rows of a kind mostly come
// in the order of their keys, which costs a look at each. Of rows with the same key the last one stays.
func (s *sorter) sort() {
	slices.SortFunc(s.places, func(a, b place) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Compare(a.nth, b.nth)
	})
	kept := s.places[:0]
	for rest := s.places; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].head == rest[0].head {
			n++
		}
		kept = append(kept, s.byKey(rest[:n])...)
		rest = rest[n:]
	}
	s.places = kept
}

// byKey orders rows by their keys. Equal keys are compared at some point, since they end up side by
// side, so that no second pass is needed to find them.
func (s *sorter) byKey(places []place) []place {
	twice := false
	slices.SortFunc(places, func(a, b place) int {
		c := bytes.Compare(s.rows[a.nth].key, s.rows[b.nth].key)
		if c == 0 {
			twice = true
			return cmp.Compare(b.nth, a.nth)
		}
		return c
	})
	if !twice {
		return places
	}
	return slices.CompactFunc(places, func(a, b place) bool { return bytes.Equal(s.rows[a.nth].key, s.rows[b.nth].key) })
}

// each calls fn for the rows in order.
func (s *sorter) each(fn func(row) error) error {
	for _, at := range s.places {
		if err := fn(s.rows[at.nth]); err != nil {
			return err
		}
	}
	return nil
}

// headOf is of what follows the partition, which all keys of a batch share.
func headOf(k []byte) uint64 {
	var head [8]byte
	copy(head[:], k[2:])
	return binary.BigEndian.Uint64(head[:])
}

// writeTable writes the rows of a batch to a file, and syncs it.
func (s *Store) writeTable(path string, b *pebble.Batch) error {
	f, err := s.opts.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.pebble.MakeWriterOptions(0, s.db.TableFormat()))
	err = s.sorted(b, func(r row) error { return writeRow(w, r) })
	return errors.Join(err, w.Close())
}

func writeRow(w *sstable.Writer, r row) error {
	switch r.kind {
	case pebble.InternalKeyKindSet:
		return w.Set(r.key, r.value)
	case pebble.InternalKeyKindDelete:
		return w.Delete(r.key)
	default:
		return fmt.Errorf("no way to write rows of kind %s", r.kind)
	}
}
