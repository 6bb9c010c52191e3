// Package machine tells benchmarks in which spells the machine itself is slow, as virtual machines are whose host has other work: latencies measured in
// them are the host's. It is for tests alone.
package machine

import (
	"slices"
	"sort"
	"time"
)

// computation is the same work each time; times are in ns of the clock that Now reads.
type computation struct{ begun, took int64 }

// Spells are the times in which the machine was slow, in order and apart.
type Spells []Spell

// Spell is from the first slow computation to the end of the last one.
type Spell struct{ From, To int64 }

const (
	// times the median is slow: a computation that keeps its processor varies by far less.
	times = 2
	// Fewer slow computations in a row may be interrupts; a spell has dozens.
	fewest = 4
	// apart is the longest time between two slow computations of a spell. Each processor computes every 4 ms.
	apart = int64(15 * time.Millisecond)
)

func spells(list []computation) Spells {
	if len(list) == 0 {
		return nil
	}
	took := make([]int64, len(list))
	for i, c := range list {
		took[i] = c.took
	}
	slices.Sort(took)
	limit := times * took[len(took)/2]
	slow := slices.DeleteFunc(list, func(c computation) bool { return c.took <= limit })
	slices.SortFunc(slow, func(a, b computation) int { return int(a.begun - b.begun) })
	found := Spells{}
	for i := 0; i < len(slow); {
		s, n := Spell{slow[i].begun, slow[i].begun + slow[i].took}, 0
		for ; i < len(slow) && slow[i].begun <= s.To+apart; i++ {
			s.To = max(s.To, slow[i].begun+slow[i].took)
			n++
		}
		if n >= fewest {
			found = append(found, s)
		}
	}
	return found
}

// Behind is how long the work that has piled up in a spell delays what comes after it.
const Behind = 50 * time.Millisecond

// Touch says whether what began then and took so long was under way in a spell, or Behind one.
func (s Spells) Touch(begun int64, took time.Duration) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].To+int64(Behind) >= begun })
	return i < len(s) && s[i].From <= begun+int64(took)
}

// Share is the part of the time between from and to that the spells take.
func (s Spells) Share(from, to int64) float64 {
	var slow int64
	for _, p := range s {
		slow += max(0, min(p.To, to)-max(p.From, from))
	}
	return float64(slow) / float64(to-from)
}
