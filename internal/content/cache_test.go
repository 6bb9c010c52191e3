package content

import (
	"strings"
	"testing"

	"precis/events"
)

// The cache holds the last events and those read repeatedly, and never exceeds its limit.
func TestCacheIsBounded(t *testing.T) {
	const limit = 100 << 10
	c := sized(nil, limit)
	ev := func(chars int) *events.Event {
		return &events.Event{Message: &events.Message{Content: events.TextContent(strings.Repeat("x", chars))}}
	}
	held := func() (sum int) {
		for _, some := range []map[uint64]*events.Event{c.young, c.old} {
			for _, ev := range some {
				sum += weight(ev)
			}
		}
		return sum
	}
	for seq := uint64(1); seq < 1000; seq++ {
		c.Keep(seq, ev(int(seq)))
		if _, err := c.Event(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if sum := held(); sum > limit {
			t.Fatalf("%d bytes are held after event %d", sum, seq)
		}
		for last := max(seq, 20) - 19; last <= seq; last++ {
			if !c.has(last) {
				t.Fatalf("event %d is gone after event %d", last, seq)
			}
		}
	}
	if c.has(500) {
		t.Error("nothing is forgotten")
	}
	c.Keep(2000, ev(2*limit))
	if !c.has(2000) {
		t.Error("one that is too large is not even held until the next one comes")
	}
}

// What the log has lost at its beginning is forgotten, and not held again.
func TestCacheForgets(t *testing.T) {
	c := sized(nil, 10<<10)
	ev := &events.Event{Message: &events.Message{Content: events.TextContent(strings.Repeat("x", 1000))}}
	for seq := uint64(1); seq <= 5; seq++ {
		c.Keep(seq, ev)
	}
	if len(c.old) == 0 || len(c.young) == 0 {
		t.Fatalf("%d old events and %d young ones", len(c.old), len(c.young))
	}
	c.Forget(5)
	c.Keep(4, ev)
	if c.has(3) || c.has(4) || !c.has(5) || c.bytes != weight(ev)*len(c.young) {
		t.Errorf("old %d, young %d of %d bytes", len(c.old), len(c.young), c.bytes)
	}
}
