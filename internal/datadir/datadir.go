// Package datadir asks the system about directories that one process works in: who holds one, and how much room its disk has.
package datadir

import "errors"

// ErrInUse is returned by Lock where another process holds the lock.
var ErrInUse = errors.New("directory in use")
