package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Table is the rows of a partition as they were at one moment, in a file beside the store: one that Export has written, or that came from
// another store and has been verified.
type Table struct {
	Partition int
	Meta      Meta
	Rows      uint64
	Bytes     int64 // of the file

	fs     FS
	path   string
	parked bool     // it has parked threads
	gone   []string // objects that none of them may name
}

// Open reads the file.
func (t *Table) Open() (io.ReadCloser, error) { return t.fs.Open(t.path) }

// Remove removes the file, unless it has become the store's.
func (t *Table) Remove() error {
	if err := t.fs.Remove(t.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Names of the files of tables that leave the store, and that come into it, before the partition.
const exportFile, importFile = "export-", "import-"

func (s *Store) besideFile(prefix string, partition int) string {
	return s.opts.FS.PathJoin(s.dir, prefix+strconv.Itoa(partition))
}

// tidy removes tables that a crash has left behind.
func (s *Store) tidy() error {
	names, err := s.opts.FS.List(s.dir)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, exportFile) || strings.HasPrefix(name, importFile) {
			if err := s.opts.FS.Remove(s.opts.FS.PathJoin(s.dir, name)); err != nil {
				return fmt.Errorf("open store: %w", err)
			}
		}
	}
	return nil
}

// Export writes the rows of a partition to a table, as they are committed now, while its owner goes on. pace is called from time to time
// with the bytes of rows written since; its error ends the export. Only one export of a partition runs at a time.
func (s *Store) Export(partition int, pace func(bytes int) error) (_ *Table, err error) {
	snapshot := s.Snapshot(partition)
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	t := &Table{Partition: partition, fs: s.opts.FS, path: s.besideFile(exportFile, partition)}
	if t.Meta, err = snapshot.Meta(); err != nil {
		return nil, err
	}
	if err := s.export(snapshot, t, pace); err != nil {
		return nil, errors.Join(fmt.Errorf("export partition %d: %w", partition, err), t.Remove())
	}
	return t, nil
}

// exportEvery is after how many bytes an export is paced.
const exportEvery = 1 << 20

func (s *Store) export(from *Snapshot, t *Table, pace func(bytes int) error) error {
	f, err := t.fs.Create(t.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.pebble.MakeWriterOptions(len(s.pebble.Levels)-1, s.db.TableFormat()))
	all, written := newKey(uint16(t.Partition), 0)[:2], 0
	err = from.raw(all, all.end(), func(it *pebble.Iterator) error {
		for ok := it.First(); ok; ok = it.Next() {
			value, err := it.ValueAndErr()
			if err == nil {
				err = w.Set(it.Key(), value)
			}
			if written += len(it.Key()) + len(value); err == nil && written >= exportEvery {
				err, written = pace(written), 0
			}
			if err != nil {
				return err
			}
			t.Rows++
		}
		return it.Error()
	})
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	info, err := t.fs.Stat(t.path)
	if err == nil {
		t.Bytes = info.Size()
	}
	return err
}

// Receive writes a table of a partition with fill, and verifies that it is one: each of its blocks, and that each row is the partition's. It
// fails with ErrDamaged if not, and with ErrLost if it names an object that the partition's mark has as lost, and that is not back. What the rows mean is not verified otherwise.
func (s *Store) Receive(partition int, fill func(io.Writer) error) (*Table, error) {
	mark, err := s.Lost(partition)
	if err != nil {
		return nil, fmt.Errorf("receive table of partition %d: %w", partition, err)
	}
	t := &Table{Partition: partition, fs: s.opts.FS, path: s.besideFile(importFile, partition), gone: mark.Gone}
	f, err := t.fs.Create(t.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("receive table of partition %d: %w", partition, err)
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.verify(t)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("receive table of partition %d: %w", partition, err), t.Remove())
	}
	return t, nil
}

// verify reads a table whole.
func (s *Store) verify(t *Table) (err error) {
	f, err := t.fs.Open(t.path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	t.Bytes = info.Size()
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, s.pebble.MakeReaderOptions())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Attributes.Has(sstable.AttributeRangeDels) || r.Attributes.Has(sstable.AttributeRangeKeySets) ||
		r.Attributes.Has(sstable.AttributeRangeKeyUnsets) || r.Attributes.Has(sstable.AttributeRangeKeyDels) || r.Attributes.Has(sstable.AttributeBlobValues) {
		return fmt.Errorf("%w: the table has more than rows", ErrDamaged)
	}
	return s.readTable(t, r)
}

// readTable counts the rows, and reads where the partition stood.
func (s *Store) readTable(t *Table, r *sstable.Reader) (err error) {
	it, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	all, meta := newKey(uint16(t.Partition), 0)[:2], newKey(uint16(t.Partition), kindMeta)
	found := false
	for kv := it.First(); kv != nil; kv = it.Next() {
		k := kv.K.UserKey
		if kv.K.Kind() != pebble.InternalKeyKindSet || len(k) < 3 || !bytes.HasPrefix(k, all) {
			return fmt.Errorf("%w: the table has rows that are not of the partition", ErrDamaged)
		}
		t.parked = t.parked || k[2] == kindParked
		value, _, err := kv.Value(nil)
		switch {
		case err != nil:
		case bytes.Equal(k, meta):
			found = true
			err = decodeJSON(&t.Meta, "meta", "")(value)
		case k[2] == kindParked && len(t.gone) > 0:
			err = s.fits(t, value)
		}
		if err != nil {
			return err
		}
		t.Rows++
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !found {
		return fmt.Errorf("%w: the table does not say where the partition stands", ErrDamaged)
	}
	return nil
}

// fits fails if a parked thread's row names an object that was lost, and is not back: a store that was made again may have put the same rows there.
func (s *Store) fits(t *Table, row []byte) error {
	var stub Parked
	c := reading(row)
	parkedRow(&c, &stub)
	if err := c.end("parked thread", ""); err != nil || !slices.Contains(t.gone, stub.Object) {
		return err
	}
	if s.opts.Objects != nil {
		ctx, cancel := until(nil, stub.patience())
		defer cancel()
		if data, err := s.opts.Objects.Get(ctx, t.Partition, stub.Object); err == nil && nameOf(data) == stub.Object {
			return nil
		}
	}
	return fmt.Errorf("%w: the table names object %s", ErrLost, stub.Object)
}

// Install puts the rows of a table in the place of what the store has of its partition, which nothing may have open. A crash in between
// leaves a partition without rows.
func (s *Store) Install(t *Table) error {
	if t.parked {
		if err := s.allowParking(); err != nil {
			return err
		}
	}
	if err := s.Drop(t.Partition); err != nil {
		return err
	}
	if err := s.db.Ingest(context.Background(), []string{t.path}); err != nil {
		return fmt.Errorf("install table of partition %d: %w", t.Partition, err)
	}
	return nil
}
