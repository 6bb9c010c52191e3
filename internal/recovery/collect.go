package recovery

import (
	"os"
	"runtime/debug"
)

// CollectLess has garbage collected half as often until the function it returns is called: who reads the log in bulk makes
// a lot of it while little else is kept, and takes up to a fifth longer otherwise. What the operator has set with GOGC stays, and
// GOMEMLIMIT holds all the same. Without one atMost bytes are aimed at: the nearer the heap comes to them, the more often it is collected.
func CollectLess(atMost int64) (undo func()) {
	const less, usual = 200, 100
	var undos []func()
	if os.Getenv("GOMEMLIMIT") == "" {
		was := debug.SetMemoryLimit(atMost)
		undos = append(undos, func() { debug.SetMemoryLimit(was) })
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(less)
		undos = append(undos, func() { debug.SetGCPercent(usual) })
	}
	return func() {
		for _, undo := range undos {
			undo()
		}
	}
}
