package recovery

import (
	"os"
	"runtime/debug"
)

// CollectLess has garbage collected half as often until the function it returns is called: who reads the log in bulk makes
// a lot of it while little else is kept, and takes up to a fifth longer otherwise. What the operator has set with GOGC stays, and
// GOMEMLIMIT holds all the same.
func CollectLess() (undo func()) {
	const less, usual = 200, 100
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(less)
	return func() { debug.SetGCPercent(usual) }
}
