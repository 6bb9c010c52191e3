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

	thinks := assistant(Leads)
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
		{"reasoning, and what it led to", []Item{thinks, assistant("a"), result("a")}, 2, 25},
		{"reasoning twice", []Item{thinks, thinks, assistant()}, 2, 30},
		{"a late result between", []Item{assistant("x"), thinks, result("x"), assistant()}, 1, 20},
		{"reasoning that led to nothing", []Item{thinks, user, assistant()}, 0, 10},
		{"reasoning that was deleted", []Item{deleted(thinks), assistant()}, 0, 10},
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
			tokens, messages := Boundary(items, c).Removed()
			if f := s.Facts(c); f.RemovableTokens != tokens || f.RemovableMessages != messages {
				t.Errorf("facts %+v, a cut removes %d tokens in %d messages", f, tokens, messages)
			}
		})
	}
}

// A message with results of two turns, held with the first, belongs to the second as well when its call comes.
func TestResultsOfTwoTurns(t *testing.T) {
	var c summarize.Compaction
	live := []Item{
		{Ordinal: 1, Role: events.RoleAssistant, Calls: []string{"a"}, Tokens: 10},
		{Ordinal: 2, Role: events.RoleTool, Results: []string{"a", "b"}, Tokens: 5},
		{Ordinal: 3, Role: events.RoleUser, Tokens: 1},
		{Ordinal: 4, Role: events.RoleUser, Tokens: 1},
		{Ordinal: 5, Role: events.RoleAssistant, Calls: []string{"b"}, Tokens: 10},
		{Ordinal: 6, Role: events.RoleUser, Tokens: 1},
	}
	var s State
	for _, it := range live[:4] {
		s.Apply(it, c)
	}
	p, ok := s.Choose(c.Keep)
	if !ok || p.At != 4 {
		t.Fatalf("a cut at %d, want 4", p.At)
	}
	cut := s.Split(p, live[:4], c)
	s.Replace(p)
	live = append(append(cut.Held, cut.Kept...), live[4:]...)
	for _, it := range live[3:] {
		s.Apply(it, c)
	}
	counted(t, &s, live, c)
}

// The latest user message may hold results of the latest turn: it stays once.
func TestLatestUserIsAResult(t *testing.T) {
	var c summarize.Compaction
	items := []Item{
		{Ordinal: 1, Role: events.RoleUser, Tokens: 1},
		{Ordinal: 2, Role: events.RoleAssistant, Calls: []string{"a"}, Tokens: 10},
		{Ordinal: 3, Role: events.RoleUser, Results: []string{"a"}, Tokens: 5},
		{Ordinal: 4, Role: events.RoleUser, Tokens: 1},
	}
	var s State
	for _, it := range items {
		s.Apply(it, c)
	}
	last := items[3]
	items[3].Deleted = true
	s.Adjust(last, items[3], c)
	s.Retake(events.RoleUser, items[2], nil, c)
	counted(t, &s, items, c)
}

// counted: what a cut removes is what the facts say.
func counted(t *testing.T, s *State, live []Item, c summarize.Compaction) {
	t.Helper()
	p, ok := s.Choose(c.Keep)
	if !ok {
		t.Fatal("nothing to cut")
	}
	tokens, messages := s.Split(p, live, c).Removed()
	if f := s.Facts(c); f.RemovableTokens != tokens || f.RemovableMessages != messages {
		t.Errorf("facts %+v, a cut at %d removes %d tokens in %d messages", f, p.At, tokens, messages)
	}
}

// No cut is made between reasoning and the message that it led to.
func TestReasoningIsNotCutOff(t *testing.T) {
	var c summarize.Compaction
	var items []Item
	for i := range uint64(40) {
		it := Item{Ordinal: i + 1, Role: events.RoleAssistant, Tokens: 10}
		if i%2 == 0 {
			it.Calls = []string{Leads}
		}
		items = append(items, it)
		cut := Boundary(items, c)
		if p := cut.At; p > 0 && p%2 == 0 {
			t.Fatalf("a cut before %d of %d", p, len(items))
		}
		if len(cut.Replaced) == 0 && len(items) > 6 {
			t.Fatalf("no cut in %d messages", len(items))
		}
	}
}
