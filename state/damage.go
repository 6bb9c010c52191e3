package state

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
)

// readError tells bytes on the disk that are not what was written from a disk that can't be read.
func readError(err error) error {
	if damaged(err) {
		return fmt.Errorf("read store: %w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("read store: %w", err)
}

// damaged says whether Pebble met such bytes: in a table or its own log, which it marks, or in the log of
// what was not yet in tables, whose reader has errors of its own.
func damaged(err error) bool {
	return pebble.IsCorruptionError(err) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, record.ErrInvalidChunk) || errors.Is(err, record.ErrZeroedChunk)
}
