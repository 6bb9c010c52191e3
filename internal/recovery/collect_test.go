package recovery_test

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"precis/internal/recovery"
)

// Where little is in use, garbage may be many times as much; at the end Go's own rate is back.
func TestCollectFrom(t *testing.T) {
	t.Setenv("GOGC", "")
	undo := recovery.CollectFrom(1 << 30)
	defer undo()
	for until := time.Now().Add(10 * time.Second); percent() <= 200; runtime.Gosched() {
		if time.Now().After(until) {
			t.Fatalf("the rate is %d", percent())
		}
		runtime.GC()
	}
	undo()
	runtime.GC()
	runtime.GC() // the finalizer of the one before has been called, or is
	if got := percent(); got != 100 {
		t.Fatalf("the rate at the end is %d", got)
	}
}

func percent() uint64 {
	now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	return now[0].Value.Uint64()
}

// GOGC takes precedence.
func TestCollectFromLeavesGOGC(t *testing.T) {
	t.Setenv("GOGC", "150")
	before := percent()
	defer recovery.CollectFrom(1 << 30)()
	runtime.GC()
	runtime.GC()
	if got := percent(); got != before {
		t.Fatalf("the rate is %d, it was %d", got, before)
	}
}
