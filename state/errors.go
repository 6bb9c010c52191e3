package state

import (
	"errors"
	"fmt"
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
