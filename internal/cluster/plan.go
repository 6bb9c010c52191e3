package cluster

import (
	"cmp"
	"slices"
)

// Plan assigns each of so many units to a live member, by its weight. before is who has or is to have each unit now; an empty id, and
// one that is not live, has none. A unit stays where it is unless its member has more than its share.
func Plan(before []string, live map[string]int) []string {
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
		if left[id] > 0 {
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
