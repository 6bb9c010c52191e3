//go:build !linux

package machine

import (
	"testing"
	"time"
)

var start = time.Now()

// Watcher does nothing: elsewhere no thread can go before all others, and nothing can be told of the machine.
type Watcher struct{}

// Main says that the process is there for tests.
func Main() bool { return false }

// Now is the time since the program began.
func Now() int64 { return int64(time.Since(start)) }

// Watch watches nothing.
func Watch(testing.TB) *Watcher { return nil }

// Stop says that nothing can be told.
func (*Watcher) Stop(testing.TB) (Spells, bool) { return nil, false }

func (*Watcher) stop(testing.TB) []computation { return nil }
