package cut

import (
	"testing"

	"precis/events"
	"precis/summarize"
)

// The latest assistant turn holds each result of its calls once, however the results and the ids are spread over messages.
func TestLatestTurn(t *testing.T) {
	assistant := func(calls ...string) Item { return Item{Role: events.RoleAssistant, Calls: calls, Tokens: 10} }
	result := func(ids ...string) Item { return Item{Role: events.RoleTool, Results: ids, Tokens: 5} }
	deleted := func(it Item) Item { it.Deleted, it.Tokens = true, 0; return it }
	user := Item{Role: events.RoleUser, Tokens: 1}
	own := assistant("a")
	own.Results = []string{"a"}

	tests := []struct {
		name    string
		items   []Item
		members int
		tokens  int64
	}{
		{"several results in one message", []Item{assistant("a", "b"), result("a", "b")}, 1, 15},
		{"a result named twice", []Item{assistant("a"), result("a", "a")}, 1, 15},
		{"the second of its results is the turn's", []Item{assistant("a"), assistant("b"), result("a", "b")}, 1, 15},
		{"none is", []Item{assistant("a", "b"), assistant(), result("a", "b")}, 0, 10},
		{"one id twice, the first call deleted", []Item{deleted(assistant("a")), assistant("a"), result("a", "a")}, 1, 15},
		{"before their calls", []Item{result("a", "b"), assistant("b", "a")}, 1, 15},
		{"one before, one after", []Item{result("x", "a"), assistant("a", "b"), result("b")}, 2, 20},
		{"its own", []Item{own}, 0, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s State
			var c summarize.Compaction
			items := append([]Item{user}, tt.items...)
			items = append(items, user)
			for i := range items {
				items[i].Ordinal = uint64(i + 1)
				s.Apply(items[i], c)
			}
			if len(s.Assistant.Members) != tt.members || s.Assistant.Weight.Tokens != tt.tokens {
				t.Errorf("turn %+v, want %d results and %d tokens", s.Assistant, tt.members, tt.tokens)
			}
			tokens, messages := Removable(items, c)
			if f := s.Facts(c); f.RemovableTokens != tokens || f.RemovableMessages != messages {
				t.Errorf("facts %+v, a cut removes %d tokens in %d messages", f, tokens, messages)
			}
		})
	}
}
