package machine

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if Main() {
		return
	}
	goleak.VerifyTestMain(m)
}

const ms = int64(time.Millisecond)

// every 4 ms from one time to another, each of which takes so long
func computations(from, to, took int64) (list []computation) {
	for t := from; t < to; t += 4 * ms {
		list = append(list, computation{t, took})
	}
	return list
}

func TestSpells(t *testing.T) {
	quick, slow := ms/8, 2*ms
	list := slices.Concat(
		computations(0, 100*ms, quick), computations(100*ms, 160*ms, slow), computations(160*ms, 400*ms, quick),
		[]computation{{200 * ms, slow}, {230 * ms, slow}, {234 * ms, slow}, {238 * ms, slow}}, // some interrupts
		computations(400*ms, 420*ms, slow), computations(420*ms, 430*ms, quick), computations(430*ms, 440*ms, slow), computations(450*ms, 1000*ms, quick),
	)
	slices.SortFunc(list, func(a, b computation) int { return int(b.took - a.took) }) // as the processors' lists are not in order
	got := spells(list)
	if want := (Spells{{100 * ms, 158 * ms}, {400 * ms, 440 * ms}}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, c := range []struct {
		begun, took int64
		want        bool
	}{
		{0, 99, false}, {0, 100, true}, {120, 1, true}, {159, 5, true}, {207, 1, true}, {209, 5, false}, {209, 300, true}, {300, 99, false}, {491, 500, false},
	} {
		if touch := got.Touch(c.begun*ms, time.Duration(c.took*ms)); touch != c.want {
			t.Errorf("from %d for %d ms: %t", c.begun, c.took, touch)
		}
	}
	if share := got.Share(130*ms, 230*ms); share != .28 {
		t.Errorf("%v of the time", share)
	}
	if got := spells(nil); got != nil {
		t.Errorf("%v", got)
	}
}

// What the other process computes has its times on this one's clock, and ends when it is stopped.
func TestWatch(t *testing.T) {
	begun := Now()
	w := Watch(t)
	list := w.stop(t)
	if len(list) == 0 {
		t.Skip("no thread may go before all others here")
	}
	for _, c := range list {
		if c.begun < begun || c.took <= 0 || c.begun+c.took > Now() {
			t.Errorf("%v, watched from %d to %d", c, begun, Now())
		}
	}
}
