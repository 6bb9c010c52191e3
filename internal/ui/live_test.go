package ui

import (
	"fmt"
	"testing"
	"time"
)

// The dearer a look at a page was, the longer its stream rests; pages that cost nothing are not remembered, and of all others not all.
func TestPaces(t *testing.T) {
	var p paces
	for _, c := range []struct{ took, rest time.Duration }{
		{0, 0}, {20 * time.Millisecond, 0}, {21 * time.Millisecond, 2100 * time.Millisecond}, {50 * time.Millisecond, 5 * time.Second}, {time.Hour, restAtMost}, {time.Millisecond, 0},
	} {
		p.note("/ui/threads/t", c.took)
		if got := p.rest("/ui/threads/t"); got != c.rest {
			t.Errorf("behind a look of %v a stream rests %v, want %v", c.took, got, c.rest)
		}
	}
	if len(p.took) != 0 || p.rest("/ui/") != 0 {
		t.Errorf("remembered: %v", p.took)
	}
	for i := range 3 * pacedPaths {
		p.note(fmt.Sprint(i), time.Second)
		if len(p.took) > pacedPaths || p.rest(fmt.Sprint(i)) != restAtMost {
			t.Fatalf("%d paths are remembered, the last one for %v", len(p.took), p.rest(fmt.Sprint(i)))
		}
	}
}
