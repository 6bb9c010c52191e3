package tokens

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCountingGrowsAlmostLinearly holds the processor time of 16 times the text below 64 times the
// time: quadratic work would take 256. It is about growth, not speed; the thread's own clock leaves
// out whatever else the machine does.
func TestCountingGrowsAlmostLinearly(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const n = 2 << 10
	for _, name := range []string{O200k, Estimate} {
		c, err := For(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, part := range worst {
			small, large := worstText(part, n), worstText(part, 16*n)
			if once, more := leastTime(t, c, small), leastTime(t, c, large); more > 64*once {
				t.Errorf("%s: %s: %d ns for %d bytes, %d ns for 16 times that", name, what, once, n, more)
			}
		}
	}
}

// leastTime is the least processor time of three counts, in ns.
func leastTime(t *testing.T, c Counter, text string) int64 {
	t.Helper()
	least := int64(1) << 62
	for range 3 {
		start := threadTime(t)
		c.Count(text)
		least = min(least, threadTime(t)-start)
	}
	return max(least, 1)
}

func threadTime(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Skipf("no processor time of threads here: %v", err)
	}
	return ts.Nano()
}
