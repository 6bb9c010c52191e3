package state

import (
	"context"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
)

// openBatch is a batch that can be read while it grows, but rarely is: the rows that nearly every
// event reads are in memory. Pebble's index of the batch is built on the first read, and kept from then
// on.
type openBatch struct {
	db      *pebble.DB
	batch   *pebble.Batch
	indexed bool
}

// newOpenBatch begins with room for so many bytes, 0 for as much as usual. The sizes are given then too: Pebble uses
// batches again, with those that they had.
func newOpenBatch(db *pebble.DB, room int) *openBatch {
	first, most := usualRoom, mostRoom
	if room > 0 {
		first, most = room, room
	}
	b := db.NewBatch(pebble.WithInitialSizeBytes(first), pebble.WithMaxRetainedSizeBytes(most))
	if room > 0 && cap(b.Repr()) < room { // Pebble has used it before, and it has as much room as then
		_ = b.SetRepr(make([]byte, batchrepr.HeaderLen, room)) // an empty one can't be wrong
	}
	return &openBatch{db: db, batch: b}
}

// Pebble's own sizes, in bytes: with which a batch begins, and up to which it is used again.
const usualRoom, mostRoom = 1 << 10, 1 << 20

// read is the batch over what the store holds.
func (o *openBatch) read() (*pebble.Batch, error) {
	if o.indexed {
		return o.batch, nil
	}
	with := o.db.NewIndexedBatch()
	if !o.batch.Empty() {
		if err := with.Apply(o.batch, nil); err != nil {
			return nil, err
		}
	}
	plain := o.batch
	o.batch, o.indexed = with, true
	return with, plain.Close()
}

// Get implements pebble.Reader.
func (o *openBatch) Get(key []byte) (value []byte, closer io.Closer, err error) {
	b, err := o.read()
	if err != nil {
		return nil, nil, err
	}
	return b.Get(key)
}

// NewIter implements pebble.Reader.
func (o *openBatch) NewIter(opts *pebble.IterOptions) (*pebble.Iterator, error) {
	return o.NewIterWithContext(context.Background(), opts)
}

// NewIterWithContext implements pebble.Reader.
func (o *openBatch) NewIterWithContext(ctx context.Context, opts *pebble.IterOptions) (*pebble.Iterator, error) {
	b, err := o.read()
	if err != nil {
		return nil, err
	}
	return b.NewIterWithContext(ctx, opts)
}

// Close gives the batch up.
func (o *openBatch) Close() error { return o.batch.Close() }
