package cut

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"precis/events"
	"precis/summarize"
)

// threads generates threads of every shape that calls and results can take: parallel, out of order,
// late, before their call, without one, never answered, ids used again.
func threads() *rapid.Generator[[]Item] {
	return rapid.Custom(func(t *rapid.T) []Item {
		g := generator{t: t}
		n := rapid.IntRange(0, 150).Draw(t, "items")
		for range n {
			g.add()
		}
		return g.items
	})
}

type generator struct {
	t       *rapid.T
	items   []Item
	waiting []string // calls without a result so far
	calls   int
}

func (g *generator) add() {
	it := Item{
		Ordinal: uint64(len(g.items)*2 + 1), MessageID: fmt.Sprintf("m%d", len(g.items)),
		Tokens: rapid.Int64Range(0, 400).Draw(g.t, "tokens"),
		Pinned: rapid.IntRange(0, 19).Draw(g.t, "pinned") == 0, Deleted: rapid.IntRange(0, 29).Draw(g.t, "deleted") == 0,
	}
	switch k := rapid.IntRange(0, 19).Draw(g.t, "kind"); {
	case len(g.waiting) > 0 && k < 12:
		g.answer(&it)
	case k < 2:
		it.Role = events.RoleUser
	case k == 2:
		it.Role = rapid.SampledFrom([]string{events.RoleSystem, events.RoleDeveloper}).Draw(g.t, "role")
	case k == 3:
		it.Role, it.Results = events.RoleTool, []string{rapid.SampledFrom([]string{"nobody", "early"}).Draw(g.t, "orphan")}
	default:
		g.call(&it)
	}
	g.items = append(g.items, it)
}

func (g *generator) call(it *Item) {
	it.Role = events.RoleAssistant
	if rapid.IntRange(0, 9).Draw(g.t, "reasons") == 0 {
		it.Calls = []string{Leads}
		return
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 5}).Draw(g.t, "parallel") {
		id := fmt.Sprintf("c%d", g.calls%40)
		g.calls++
		if rapid.IntRange(0, 19).Draw(g.t, "early") == 0 {
			id = "early"
		}
		it.Calls = append(it.Calls, id)
		if rapid.IntRange(0, 24).Draw(g.t, "answered") > 0 {
			g.waiting = append(g.waiting, id)
		}
	}
	if len(it.Calls) > 0 && rapid.IntRange(0, 29).Draw(g.t, "itself") == 0 { // an assistant's message that names a call's id as a result does
		it.Results = []string{rapid.SampledFrom(it.Calls).Draw(g.t, "own")}
	}
}

func (g *generator) answer(it *Item) {
	i := rapid.IntRange(0, len(g.waiting)-1).Draw(g.t, "which")
	it.Role, it.Results = events.RoleTool, []string{g.waiting[i]}
	if rapid.IntRange(0, 4).Draw(g.t, "spoken") == 0 { // a text stands beside the results
		it.Role = events.RoleUser
	}
	g.waiting = append(g.waiting[:i:i], g.waiting[i+1:]...)
	for len(g.waiting) > 0 && rapid.IntRange(0, 9).Draw(g.t, "more") == 0 { // one message has the results of several calls
		it.Results = append(it.Results, g.waiting[0])
		g.waiting = g.waiting[1:]
	}
	for _, id := range []string{"early", it.Results[0]} { // of calls that come later, and named twice
		if rapid.IntRange(0, 29).Draw(g.t, "besides") == 0 {
			it.Results = append(it.Results, id)
		}
	}
}

func policies() *rapid.Generator[summarize.Compaction] {
	return rapid.Custom(func(t *rapid.T) summarize.Compaction {
		c := summarize.Compaction{SummarizeSystem: rapid.Bool().Draw(t, "system"), ContextWindow: 10000}
		if rapid.Bool().Draw(t, "by tokens") {
			c.Keep.Tokens = rapid.IntRange(1, 5000).Draw(t, "keep tokens")
		} else {
			c.Keep.Messages = rapid.IntRange(0, 40).Draw(t, "keep messages")
		}
		return c
	})
}

// pairing is an independent statement of which result belongs to which call: indexes into items, by
// the rule of doc.go, with the whole thread in view.
func pairing(items []Item) map[int][]int {
	callOf := map[int][]int{}
	waiting, early := map[string][]int{}, map[string][]int{}
	take := func(m map[string][]int, id string, now int) (int, bool) {
		for len(m[id]) > 0 {
			at := m[id][0]
			m[id] = m[id][1:]
			if now-at <= Patience {
				return at, true
			}
		}
		return 0, false
	}
	lead := -1 // reasoning alone, which the assistant's next message belongs to
	for i, it := range items {
		if !it.Deleted && it.Role != events.RoleTool {
			if lead >= 0 && it.Role == events.RoleAssistant && i-lead <= Patience {
				callOf[i] = append(callOf[i], lead)
			}
			lead = -1
		}
		if slices.Equal(it.Calls, []string{Leads}) {
			if !it.Deleted {
				lead = i
			}
			continue
		}
		for _, id := range it.Calls {
			if r, ok := take(early, id, i); ok {
				callOf[r] = append(callOf[r], i)
				continue
			}
			waiting[id] = append(waiting[id], i)
		}
		for _, id := range it.Results {
			if c, ok := take(waiting, id, i); ok {
				callOf[i] = append(callOf[i], c)
			} else {
				early[id] = append(early[id], i)
			}
		}
	}
	return callOf
}
