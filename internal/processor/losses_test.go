package processor

import (
	"testing"
	"time"

	"precis/state"
)

// Two reads agree that an object is lost only if none in between has found it, and they are not far apart.
func TestLossIsForgotten(t *testing.T) {
	data := []byte("rows")
	sum := state.NewObjectSum()
	sum.Write(data)
	of, now := lossOf{1, sum.Object()}, time.Unix(1000, 0)
	var l losses
	missing := func(what string, after time.Duration, want bool) {
		t.Helper()
		now = now.Add(after)
		if _, again := l.note(of, now); again != want {
			t.Errorf("%s: again %t", what, again)
		}
	}
	missing("the first", 0, false)
	missing("the second", time.Second, true)
	l.found(of, []byte("others"))
	missing("behind other rows in its place", time.Second, true)
	l.found(of, data)
	missing("behind a read that has found it", time.Second, false)
	missing("long after", 2*lossForgotten, false)
	if !l.some() {
		t.Error("none is held")
	}
}
