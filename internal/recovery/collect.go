package recovery

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// usual is the rate of garbage collection that Go begins with: the heap may double.
const usual = 100

// CollectLess halves the rate of garbage collection until the returned function is called: reading the log in bulk
// makes much garbage and keeps little, and takes up to a fifth longer otherwise. GOGC and GOMEMLIMIT take precedence
// if they are set. Without GOMEMLIMIT the memory limit is atMost bytes: the closer the heap comes to it, the more
// often it is collected.
func CollectLess(atMost int64) (undo func()) {
	const less = 200
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

// CollectFrom has garbage collected once there are so many bytes of it, where Go would sooner, until the returned function is called:
// the state that a processor keeps is small, and collecting each time that the heap has doubled takes a tenth of what an event costs.
// Above a heap of so many bytes Go's own rate holds. GOGC takes precedence if it is set.
func CollectFrom(bytes uint64) (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	g := &garbage{atLeast: bytes}
	g.set("/memory/classes/heap/objects:bytes") // the first collection would come with the first events; what is to be collected counts as left, which is safe
	g.watch()
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ended = true
		debug.SetGCPercent(usual)
	}
}

// garbage sets the rate of collection anew after each collection, from what that has left.
type garbage struct {
	atLeast uint64

	mu    sync.Mutex
	ended bool
}

// watch has set called by the next collection.
func (g *garbage) watch() {
	type unused struct{ _ *garbage } // has a pointer, so that it shares its memory with nothing that lives on
	runtime.SetFinalizer(&unused{g}, func(*unused) {
		if g.set("/gc/heap/live:bytes") {
			g.watch()
		}
	})
}

// leastHeap is where Go begins to collect at its own rate.
const leastHeap = 4 << 20

// set sets the rate by what a metric says is left, and returns false at the end.
func (g *garbage) set(left string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	live := []metrics.Sample{{Name: left}}
	metrics.Read(live)
	debug.SetGCPercent(max(usual, int(100*g.atLeast/max(live[0].Value.Uint64(), leastHeap)))) // again: CollectLess sets it, too
	return true
}
