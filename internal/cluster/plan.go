package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Plan assigns each of so many units to a live member, by its weight. before is who has or is to have each unit now; an empty id, and
// one that is not live, has none. A unit stays where it is unless its member has more than its share; one that is fixed stays anyway.
func Plan(before []string, fixed []bool, live map[string]int) []string {
	next := make([]string, len(before))
	if len(live) == 0 {
		return next
	}
	have := map[string]int{}
	for _, id := range before {
		if _, ok := live[id]; ok {
			have[id]++
		}
	}
	left := shares(len(before), live, have)
	for unit, id := range before {
		if _, ok := live[id]; ok && fixed != nil && fixed[unit] {
			next[unit] = id
			left[id]--
		}
	}
	for unit, id := range before {
		if next[unit] == "" && left[id] > 0 {
			next[unit] = id
			left[id]--
		}
	}
	ids := byName(live)
	for unit := range next {
		if next[unit] != "" {
			continue
		}
		// To the one that lacks most of its share, so that units which are freed together spread.
		to := slices.MaxFunc(ids, func(a, b string) int {
			return cmp.Or(cmp.Compare(left[a], left[b]), cmp.Compare(b, a))
		})
		next[unit] = to
		left[to]--
	}
	return next
}

// Most returns the live member that has the most units.
func Most(before []string, live map[string]int) string {
	have := map[string]int{}
	for _, id := range before {
		have[id]++
	}
	return slices.MaxFunc(byName(live), func(a, b string) int { return cmp.Or(cmp.Compare(have[a], have[b]), cmp.Compare(b, a)) })
}

// standbys assigns n of the other live members to each unit, to follow it. Those of one owner's units are spread as assign spreads units,
// and so is what it had when it dies. before is as it was: a unit keeps a live one unless that has more than its share.
func standbys(owners []string, before [][]string, live map[string]int, n int, assign func([]string, []bool, map[string]int) []string) [][]string {
	if n = min(n, len(live)-1); n <= 0 {
		return nil
	}
	next := make([][]string, len(owners))
	for k := range n {
		alike := map[string][]int{} // units with the same owner and standbys so far
		for unit, owner := range owners {
			taken := strings.Join(append([]string{owner}, next[unit]...), "\x00")
			alike[taken] = append(alike[taken], unit)
		}
		for _, units := range alike {
			others, was := maps.Clone(live), make([]string, len(units))
			for _, taken := range append([]string{owners[units[0]]}, next[units[0]]...) {
				delete(others, taken)
			}
			for i, unit := range units {
				if k < len(before[unit]) {
					was[i] = before[unit][k]
				}
			}
			for i, id := range assign(was, nil, others) {
				next[units[i]] = append(next[units[i]], id)
			}
		}
	}
	return next
}

// shares divides units by weight: whole parts first, and of the rest one each to those that have it already, then to those with the
// largest fraction.
func shares(units int, live, have map[string]int) map[string]int {
	total := 0
	for _, weight := range live {
		total += weight
	}
	share, rest := map[string]int{}, units
	for id, weight := range live {
		share[id] = units * weight / total
		rest -= share[id]
	}
	ids := byName(live)
	slices.SortStableFunc(ids, func(a, b string) int {
		return cmp.Or(
			cmp.Compare(min(have[b]-share[b], 1), min(have[a]-share[a], 1)),
			cmp.Compare(units*live[b]%total, units*live[a]%total),
		)
	})
	for _, id := range ids[:rest] {
		share[id]++
	}
	return share
}

func byName(live map[string]int) []string {
	ids := make([]string, 0, len(live))
	for id := range live {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
