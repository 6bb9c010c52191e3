package cluster_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
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
			next := cluster.Plan(plan, nil, live)
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
			if n := moved(next, cluster.Plan(next, nil, live)); n > 0 {
				t.Fatalf("%d move although nothing has changed", n)
			}
			plan = next
		}
	})
}

// Members come and go, and take what is planned, or do not yet: what a dead one had goes to a live one that followed it, each unit is followed
// by as many others as there are to be, and nothing changes without a cause.
func TestStandbysOfAPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units, standbys, idle := rapid.IntRange(1, 40).Draw(t, "units"), rapid.IntRange(0, 3).Draw(t, "standbys"), rapid.IntRange(0, 1).Draw(t, "idle")
		at, live := cluster.Layout{Owners: make([]string, units)}, map[string]int{}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			before := maps.Clone(live)
			for range rapid.IntRange(1, 2).Draw(t, "at once") {
				if id := fmt.Sprint("m", rapid.IntRange(0, 5).Draw(t, "member")); live[id] == 0 {
					live[id] = rapid.IntRange(1, 3).Draw(t, "weight")
				} else if len(live) > 1 {
					delete(live, id)
				}
			}
			was := at
			at = cluster.Next(at, live, standbys, idle)
			for n, owner := range was.Owners {
				if before[owner] == 0 || live[owner] > 0 || was.Planned[n] != owner || len(was.Standbys) == 0 {
					continue
				}
				alive := slices.IndexFunc(was.Standbys[n], func(id string) bool { return live[id] > 0 })
				if alive >= 0 && at.Planned[n] != was.Standbys[n][alive] {
					t.Fatalf("unit %d of %s, which is dead, goes to %s, and %v followed it", n, owner, at.Planned[n], was.Standbys[n])
				}
			}
			for n, owner := range at.Planned {
				if live[owner] == 0 {
					t.Fatalf("unit %d goes to %q, which is not live", n, owner)
				}
				follow := map[string]bool{}
				if at.Standbys != nil {
					for _, id := range at.Standbys[n] {
						follow[id] = live[id] > 0 && id != owner
					}
				}
				if len(follow) != min(standbys, len(live)-1) || slices.Contains(slices.Collect(maps.Values(follow)), false) {
					t.Fatalf("unit %d of %s is followed by %v", n, owner, follow)
				}
			}
			if again := cluster.Next(at, live, standbys, idle); !reflect.DeepEqual(at, again) {
				t.Fatalf("the plan changes without a cause: %v, then %v", at, again)
			}
			if rapid.Bool().Draw(t, "taken") {
				at.Owners = at.Planned
			}
		}
	})
}

// Of the partition that has hardly any work a member has no less of the others, whatever joined in which order, and it stays with a live one.
func TestIdleUnitCountsInNoShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const partitions = 16
		at, live := cluster.Layout{Owners: make([]string, partitions+1)}, map[string]int{}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			id := fmt.Sprint("m", rapid.IntRange(0, 7).Draw(t, "member"))
			if live[id] == 0 {
				live[id] = 1
			} else if len(live) > 1 {
				delete(live, id)
			}
			had := at.Owners[partitions]
			at = cluster.Next(at, live, 0, 1)
			if live[had] > 0 && at.Planned[partitions] != had {
				t.Fatalf("it goes from %s, which is live, to %s", had, at.Planned[partitions])
			}
			if live[at.Planned[partitions]] == 0 {
				t.Fatalf("nobody has it: %v", at.Planned)
			}
			at.Owners = at.Planned
			at = cluster.Next(at, live, 0, 1) // what a dead one had may move on once it is taken
			for id, n := range count(at.Planned[:partitions]) {
				if low := partitions / len(live); n < low || n > (partitions+len(live)-1)/len(live) {
					t.Fatalf("%s has %d of %d, with %d members", id, n, partitions, len(live))
				}
			}
			at.Owners = at.Planned
		}
	})
}
