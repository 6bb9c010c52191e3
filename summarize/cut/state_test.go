package cut

import (
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"precis/events"
	"precis/summarize"
)

// A thread that is compacted as it grows: the counters agree with the messages that are still live,
// after every compaction and every edit, and a State survives being stored.
func TestStateFollowsARollingThread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, c := threads().Draw(t, "thread"), policies().Draw(t, "policy")
		threshold := rapid.Int64Range(1, 3000).Draw(t, "threshold")
		var s State
		var live []Item
		for _, it := range items {
			s.Apply(it, c)
			live = append(live, it)
			if rapid.IntRange(0, 9).Draw(t, "edit") == 0 {
				edit(t, &s, live, c)
			}
			s = stored(t, s)
			f := s.Facts(c)
			agree(t, f, live)
			if f.RemovableTokens <= threshold {
				continue
			}
			p, _ := s.Choose(c.Keep)
			cut := s.Split(p, live, c)
			if tokens, messages := cut.Removed(); tokens != f.RemovableTokens || messages != f.RemovableMessages {
				t.Fatalf("facts %+v, cut at %d removes %d in %d", f, p.At, tokens, messages)
			}
			s.Replace(p)
			live = append(cut.Held, cut.Kept...)
			agree(t, s.Facts(c), live)
			if s.Facts(c).RemovableMessages != 0 && s.BestAny.At <= p.At {
				t.Fatal("a compaction leaves something to remove at the same place")
			}
		}
	})
}

func edit(t *rapid.T, s *State, live []Item, c summarize.Compaction) {
	i := rapid.IntRange(0, len(live)-1).Draw(t, "edited")
	after := live[i]
	after.Tokens = rapid.Int64Range(0, 400).Draw(t, "edited tokens")
	s.Adjust(live[i], after, c)
	live[i] = after
}

func agree(t *rapid.T, f Facts, live []Item) {
	var w weight
	for _, it := range live {
		w = w.plus(it.weight())
	}
	if f.LiveTokens != w.Tokens || f.LiveMessages != w.Messages {
		t.Fatalf("facts %+v, live %+v", f, w)
	}
}

func stored(t *rapid.T, s State) State {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// The state of a long thread is as small as that of a short one, whatever the shape.
func TestStateIsBounded(t *testing.T) {
	c := summarize.Compaction{Keep: summarize.Keep{Tokens: 1 << 40}}
	var s State
	for i := range uint64(20000) {
		s.Apply(Item{Ordinal: 3*i + 1, Role: events.RoleUser, Tokens: 1}, c)
		s.Apply(Item{Ordinal: 3*i + 2, Role: events.RoleTool, Results: []string{string(rune('a' + i%9000))}}, c)
		s.Apply(Item{Ordinal: 3*i + 3, Role: events.RoleAssistant, Tokens: 1}, c)
	}
	data, err := json.Marshal(s)
	if err != nil || len(data) > 64<<10 {
		t.Fatalf("state of %d bytes, %v", len(data), err)
	}
}

func BenchmarkApply(b *testing.B) {
	c := summarize.Default().Compaction
	for _, n := range []int{100, 100000} {
		b.Run(map[int]string{100: "100th", 100000: "100000th"}[n], func(b *testing.B) {
			var s State
			at := uint64(0)
			round := func() {
				at += 2
				s.Apply(Item{Ordinal: at, Role: events.RoleAssistant, Calls: []string{"c"}, Tokens: 50}, c)
				s.Apply(Item{Ordinal: at + 1, Role: events.RoleTool, Results: []string{"c"}, Tokens: 500}, c)
				if _, ok := Fires(c.Trigger, s.Facts(c)); ok {
					p, _ := s.Choose(c.Keep)
					s.Replace(p)
				}
			}
			for range n / 2 {
				round()
			}
			b.ResetTimer()
			for range b.N {
				round()
			}
		})
	}
}
