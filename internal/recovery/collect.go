package recovery

import (
	"os"
	"runtime/debug"
)

// CollectLess halves the rate of garbage collection until the returned function is called: reading the log in bulk
// makes much garbage and keeps little, and takes up to a fifth longer otherwise. GOGC and GOMEMLIMIT take precedence
// if they are set. Without GOMEMLIMIT the memory limit is atMost bytes: the closer the heap comes to it, the more
// often it is collected.
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
