//go:build !linux

package machine

import "testing"

// Watcher does nothing: elsewhere no thread can go before all others, and nothing can be told of the machine.
type Watcher struct{}

// Main says that the process is there for tests.
func Main() bool { return false }

// Now is no time.
func Now() int64 { return 0 }

// Watch watches nothing.
func Watch(testing.TB) *Watcher { return nil }

// Stop says that nothing can be told.
func (*Watcher) Stop(testing.TB) (Spells, bool) { return nil, false }
