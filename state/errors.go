package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
)

// Errors at open.
var (
	// ErrFormat: the directory holds a store that this version can't read.
	ErrFormat = errors.New("unknown store format")
	// ErrMissing: a store was to be read and there is none.
	ErrMissing = errors.New("no store in this directory")
)

// OwnedError says that another process holds the data directory.
type OwnedError struct {
	Dir   string
	Owner string // what the owner wrote of itself; empty where it can't be read
}

func (e *OwnedError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "another process"
	}
	return fmt.Sprintf("data directory %s is in use by %s: stop it, or use another directory", e.Dir, owner)
}

// Errors of reading.
var (
	// ErrDamaged: what is on the disk is not what was written, or a row does not decode; processor check
	// tells more.
	ErrDamaged = errors.New("damaged store")
	// ErrNoRow: a row that another one names is not there. In a recovery the record that made it may be missing in
	// SUMMARIES.
	ErrNoRow = errors.New("has no row")
)

// readError tells bytes on the disk that are not what was written from a disk that can't be read.
func readError(err error) error {
	if damaged(err) {
		return fmt.Errorf("read store: %w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("read store: %w", err)
}

// nameless fails where tables are in a directory that no marker says the manifest of: Pebble would take it for empty, and
// begin a store with what its last log holds.
func nameless(fsys FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	manifest := ""
	for _, name := range names {
		if strings.HasPrefix(name, "marker.manifest.") {
			return nil
		}
		if strings.HasPrefix(name, "MANIFEST-") || strings.HasSuffix(name, ".sst") {
			manifest = name
		}
	}
	if manifest == "" {
		return nil
	}
	return fmt.Errorf("%w: %s is there, and no marker.manifest file", ErrDamaged, manifest)
}

// incomplete says whether Pebble misses files that its manifest names, its manifest, or its format marker, or
// found one of another size. Only some of these errors have a type.
func incomplete(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, pebble.ErrDBNotPristine) || strings.Contains(err.Error(), "object size mismatch")
}

// damaged says whether Pebble met such bytes: in a table or its own log, which it marks, or in the log of
// what was not yet in tables, whose reader has errors of its own.
func damaged(err error) bool {
	return pebble.IsCorruptionError(err) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, record.ErrInvalidChunk) || errors.Is(err, record.ErrZeroedChunk)
}
