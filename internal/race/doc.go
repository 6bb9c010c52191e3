// Package race has tests that compute, rather than run beside each other, spend less under the race detector, which
// makes them many times slower and has nothing to find in one goroutine.
//
// A test that calls [Slow] or [Fewer] itself runs in full in .ci/run's step without the detector, which finds it by the call.
package race

import "testing"

// Slow skips a test under the race detector.
func Slow(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("takes too long with the race detector: go test without -race runs it, and .ci/run does")
	}
}

// Fewer is how many rounds a test takes: some under the race detector, else all.
func Fewer(some, all int) int {
	if Enabled {
		return some
	}
	return all
}
