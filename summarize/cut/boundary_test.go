package cut

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"precis/events"
	"precis/summarize"
)

// No message is lost, none stands twice, and order is kept.
func TestCutIsAPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, c := threads().Draw(t, "thread"), policies().Draw(t, "policy")
		cut := Boundary(items, c)
		var all []Item
		all = append(append(append(all, cut.Replaced...), cut.Held...), cut.Kept...)
		for _, list := range [][]Item{cut.Replaced, cut.Held, cut.Kept} {
			if !slices.IsSortedFunc(list, byOrdinal) {
				t.Fatalf("out of order: %v", list)
			}
		}
		slices.SortFunc(all, byOrdinal)
		if !slices.EqualFunc(all, items, func(a, b Item) bool { return a.Ordinal == b.Ordinal }) {
			t.Fatalf("%d of %d messages", len(all), len(items))
		}
	})
}

// A result and its call are both replaced or both verbatim, unless one stays for another reason, and no call is replaced while it
// waits.
func TestCutOrphansNoPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, c := threads().Draw(t, "thread"), policies().Draw(t, "policy")
		cut := Boundary(items, c)
		gone := map[uint64]bool{}
		for _, it := range cut.Replaced {
			gone[it.Ordinal] = true
		}
		answered := map[int]int{}
		for r, calls := range pairing(items) {
			for _, call := range calls {
				answered[call]++
				pinned := items[r].fixed(c.SummarizeSystem) || items[call].fixed(c.SummarizeSystem)
				stays := r == latest(items, events.RoleUser) || slices.Contains(calls, latest(items, events.RoleAssistant))
				if gone[items[r].Ordinal] != gone[items[call].Ordinal] && !pinned && !stays {
					t.Fatalf("cut at %d between call %d and result %d", cut.At, items[call].Ordinal, items[r].Ordinal)
				}
			}
		}
		for i, it := range items {
			waits := len(it.Calls) > answered[i] && it.Calls[0] != Leads && len(items)-i < Patience
			if waits && gone[it.Ordinal] {
				t.Fatalf("call %d still waits", it.Ordinal)
			}
		}
	})
}

func latest(items []Item, role string) int {
	for i, it := range slices.Backward(items) {
		if it.Role == role && !it.Deleted {
			return i
		}
	}
	return -1
}

// System, pinned, latest user and latest assistant messages are never replaced, and neither are the
// newest messages that the policy keeps.
func TestCutKeepsWhatStaysVerbatim(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, c := threads().Draw(t, "thread"), policies().Draw(t, "policy")
		latest := map[string]uint64{}
		for _, it := range items {
			if !it.Deleted {
				latest[it.Role] = it.Ordinal
			}
		}
		cut := Boundary(items, c)
		for _, it := range cut.Replaced {
			byRole := it.Role != events.RoleTool && latest[it.Role] == it.Ordinal && !(it.Role == events.RoleSystem || it.Role == events.RoleDeveloper)
			if it.fixed(c.SummarizeSystem) || byRole {
				t.Fatalf("replaced %+v", it)
			}
		}
		if len(cut.Replaced) > 0 && !keepsEnough(cut, c.Keep) {
			t.Fatalf("kept %d messages, policy %+v", len(cut.Kept), c.Keep)
		}
	})
}

func keepsEnough(cut Cut, keep summarize.Keep) bool {
	var tokens, messages int64
	for _, it := range cut.Kept {
		tokens, messages = tokens+it.weight().Tokens, messages+it.weight().Messages
	}
	before := cut.Before.Tokens - cut.Tail.Tokens
	if keep.Tokens > 0 {
		return tokens+before > int64(keep.Tokens)
	}
	return messages >= int64(keep.Messages)
}

// What thresholds count is exactly what the cut then removes.
func TestFactsAreWhatTheCutRemoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, c := threads().Draw(t, "thread"), policies().Draw(t, "policy")
		var s State
		for _, it := range items {
			s.Apply(it, c)
		}
		tokens, messages := Boundary(items, c).Removed()
		f := s.Facts(c)
		if f.RemovableTokens != tokens || f.RemovableMessages != messages {
			t.Fatalf("facts %+v, cut removes %d tokens in %d messages", f, tokens, messages)
		}
	})
}

func byOrdinal(a, b Item) int { return int(a.Ordinal) - int(b.Ordinal) }
