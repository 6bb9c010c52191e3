package state

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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
	p.end()
	a := &Applied{Decided: p.outgoing, Jobs: p.jobs, partition: p.id, batch: p.open.batch}
	return a, p.ended(p.ingest())
}

func (p *Partition) ingest() error {
	defer p.store.unwritten()
	rows, err := sorted(p.open.batch)
	if err != nil {
		return err
	}
	path := p.store.tableFile(p.id)
	if err := p.store.writeTable(path, rows); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return p.store.db.Ingest(context.Background(), []string{path})
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

// sorted are the rows of a batch in the order of their keys, the last one of each.
func sorted(b *pebble.Batch) ([]row, error) {
	rows, places := make([]row, 0, b.Count()), make([]place, 0, b.Count())
	for r := b.Reader(); ; {
		kind, k, value, more, err := r.Next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		places = append(places, place{headOf(k), uint32(len(rows))})
		rows = append(rows, row{kind, k, value})
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Or(bytes.Compare(rows[a.nth].key, rows[b.nth].key), cmp.Compare(b.nth, a.nth)) // the last one first
	})
	list := make([]row, 0, len(rows))
	for _, at := range places {
		if n := len(list); n == 0 || !bytes.Equal(list[n-1].key, rows[at.nth].key) {
			list = append(list, rows[at.nth])
		}
	}
	return list, nil
}

// headOf is of what follows the partition, which all keys of a batch share.
func headOf(k []byte) uint64 {
	var head [8]byte
	copy(head[:], k[2:])
	return binary.BigEndian.Uint64(head[:])
}

// writeTable writes rows to a file, and syncs it.
func (s *Store) writeTable(path string, rows []row) error {
	f, err := s.opts.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.pebble.MakeWriterOptions(0, s.db.TableFormat()))
	for _, r := range rows {
		if err = writeRow(w, r); err != nil {
			break
		}
	}
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
