package cluster_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"precis/internal/cluster"
)

func count(plan []string) map[string]int {
	n := map[string]int{}
	for _, id := range plan {
		n[id]++
	}
	return n
}

func moved(a, b []string) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// Members come and go: each has its share, and nothing moves but what has to.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.IntRange(1, 70).Draw(t, "units")
		plan, live := make([]string, units), map[string]int{}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			id := fmt.Sprint("m", rapid.IntRange(0, 6).Draw(t, "member"))
			before := count(plan)
			weight, leaves := live[id]
			switch {
			case leaves && len(live) > 1:
				delete(live, id)
			case leaves:
				continue
			default:
				live[id] = rapid.IntRange(1, 4).Draw(t, "weight")
			}
			next := cluster.Plan(plan, live)
			total, after := 0, count(next)
			for _, w := range live {
				total += w
			}
			for id, w := range live {
				if low := units * w / total; after[id] < low || after[id] > low+1 {
					t.Fatalf("%s of weight %d of %d has %d of %d", id, w, total, after[id], units)
				}
			}
			if after[""] > 0 {
				t.Fatalf("%d units have no member", after[""])
			}
			// A move is due only to a member that has more than before, or from one that is gone.
			due := 0
			for id := range live {
				due += max(after[id]-before[id], 0)
			}
			if n := moved(plan, next); n != due {
				t.Fatalf("%d of %d moved, %d were due (weight %d)", n, units, due, weight)
			}
			if n := moved(next, cluster.Plan(next, live)); n > 0 {
				t.Fatalf("%d move although nothing has changed", n)
			}
			plan = next
		}
	})
}
