package processor

import (
	"testing"
	"time"

	"precis/internal/snapshot"
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

// A partition that comes to the end of the log while its snapshots are looked for has another one made all the same: those may name what is lost.
func TestOutdatedWhileSnapshotsAreLookedFor(t *testing.T) {
	s := snapshots{bucket: &snapshot.Bucket{}, last: map[int]snapshot.Info{}}
	there := snapshot.Info{Partition: 1, Position: 7}
	if last := s.found(1, there); last.Position != 7 {
		t.Errorf("%+v", last)
	}
	s.outdated(1)
	if last := s.found(1, there); last.Position != 0 || s.last[1].Position != 0 {
		t.Errorf("%+v, noted %+v", last, s.last[1])
	}
}
