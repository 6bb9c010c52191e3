package cut

import (
	"testing"
	"time"

	"precis/events"
	"precis/summarize"
)

func TestFires(t *testing.T) {
	facts := Facts{RemovableTokens: 100, RemovableMessages: 10, LiveTokens: 200, LiveMessages: 20, ContextWindow: 1000, Idle: time.Minute}
	type cond = summarize.Condition
	tests := []struct {
		name   string
		cond   cond
		reason string // "": does not fire
	}{
		{"nothing set", cond{}, ""},
		{"tokens passed", cond{Tokens: 99}, events.TriggerThreadTokens},
		{"tokens not passed at the value", cond{Tokens: 100}, ""},
		{"messages passed", cond{Messages: 9}, events.TriggerThreadMessages},
		{"messages not passed at the value", cond{Messages: 10}, ""},
		{"fraction passed", cond{Fraction: 0.09}, events.TriggerWindowFraction},
		{"fraction not passed at the value", cond{Fraction: 0.1}, ""},
		{"idle passed", cond{Idle: 59 * time.Second}, events.TriggerIdle},
		{"idle not passed at the value", cond{Idle: time.Minute}, ""},
		{"any names the first that holds", cond{Any: []cond{{Tokens: 500}, {Messages: 5}, {Tokens: 5}}}, events.TriggerThreadMessages},
		{"any of none", cond{Any: []cond{{Tokens: 500}, {Messages: 50}}}, ""},
		{"all", cond{All: []cond{{Tokens: 50}, {Idle: time.Second}}}, events.TriggerThreadTokens},
		{"all but one", cond{All: []cond{{Tokens: 50}, {Idle: time.Hour}}}, ""},
		{"nested", cond{Any: []cond{{All: []cond{{Tokens: 50}, {Idle: time.Hour}}}, {All: []cond{{Messages: 5}, {Tokens: 50}}}}}, events.TriggerThreadMessages},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Fires(tt.cond, facts)
			if ok != (tt.reason != "") || got.Reason != tt.reason {
				t.Fatalf("fires %v by %q, want %q", ok, got.Reason, tt.reason)
			}
			if ok && !(*got.Value > *got.Threshold) {
				t.Fatalf("value %v does not pass %v", *got.Value, *got.Threshold)
			}
		})
	}
}

// The window's share is measured by what the provider said, where it said something, and a tenth of that must be removable.
func TestFiresByWeightAtProvider(t *testing.T) {
	cond := summarize.Condition{Fraction: 0.7}
	for _, tt := range []struct {
		prompt, removable int64
		fires             bool
	}{
		{0, 600, false}, {0, 701, true}, // nothing is known: what can be removed
		{701, 100, true},
		{700, 100, false}, // the value itself
		{400, 701, false}, // the provider says that there is room
		{900, 89, false},  // less than a tenth of the prompt would go
		{900, 90, true},
		{5000, 499, false}, // an agent that sends its own prompt
	} {
		f := Facts{RemovableTokens: tt.removable, RemovableMessages: 10, LiveTokens: 800, LiveMessages: 20, ContextWindow: 1000, PromptTokens: tt.prompt}
		got, ok := Fires(cond, f)
		if ok != tt.fires {
			t.Errorf("prompt %d, removable %d: fires %t", tt.prompt, tt.removable, ok)
		}
		if ok && tt.prompt > 0 && *got.Value != float64(tt.prompt)/1000 {
			t.Errorf("prompt %d: the trigger's value is %v", tt.prompt, *got.Value)
		}
	}
}

// The shapes that make compactions loop elsewhere: each thread goes on for 300 messages, and the
// number of compactions stays what progress allows.
func TestNoLoops(t *testing.T) {
	trigger := summarize.Condition{Any: []summarize.Condition{{Tokens: 1000}, {Messages: 50}}}
	small := func(i int) Item { return Item{Role: role(i), Tokens: 20} }
	tests := []struct {
		name   string
		keep   summarize.Keep
		item   func(i int) Item
		atMost int
	}{
		{"huge system prompt", summarize.Keep{Messages: 10}, func(i int) Item {
			if i == 0 {
				return Item{Role: events.RoleSystem, Tokens: 500000}
			}
			return small(i)
		}, 300/50 + 1},
		{"everything pinned", summarize.Keep{Messages: 10}, func(i int) Item {
			it := small(i)
			it.Pinned = true
			return it
		}, 0},
		{"one enormous last message", summarize.Keep{Messages: 10}, func(i int) Item {
			it := small(i)
			if i == 299 {
				it.Tokens = 1000000
			}
			return it
		}, 300/50 + 1},
		{"a tail larger than the threshold", summarize.Keep{Messages: 100}, func(i int) Item {
			it := small(i)
			it.Tokens = 500
			return it
		}, 300 * 500 / 1000},
		{"a tail of tokens larger than the thread", summarize.Keep{Tokens: 1 << 30}, small, 0},
		{"a call that is never answered", summarize.Keep{Messages: 10}, func(i int) Item {
			it := small(i)
			if i == 5 {
				it = Item{Role: events.RoleAssistant, Calls: []string{"lost"}, Tokens: 20}
			}
			return it
		}, 300/50 + 1},
		{"one user message, then the agent alone", summarize.Keep{Messages: 10}, func(i int) Item {
			it := small(1)
			if i == 0 {
				it.Role = events.RoleUser
			}
			return it
		}, 300/50 + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := summarize.Compaction{Trigger: trigger, Keep: tt.keep}
			fired := run(t, c, tt.item)
			if fired > tt.atMost || tt.atMost > 0 && fired == 0 {
				t.Fatalf("%d compactions, want 1 to %d", fired, tt.atMost)
			}
		})
	}
}

// run applies 300 items and compacts whenever the condition holds.
func run(t *testing.T, c summarize.Compaction, item func(int) Item) (fired int) {
	t.Helper()
	var s State
	for i := range 300 {
		it := item(i)
		it.Ordinal = uint64(i + 1)
		s.Apply(it, c)
		before := s.Facts(c)
		if _, ok := Fires(c.Trigger, before); !ok {
			continue
		}
		p, ok := s.Choose(c.Keep)
		if !ok {
			t.Fatal("fires with nothing to replace")
		}
		s.Replace(p)
		fired++
		if _, again := Fires(c.Trigger, s.Facts(c)); again {
			t.Fatalf("message %d: fires again at once: %+v", i, s.Facts(c))
		}
	}
	return fired
}

func role(i int) string {
	if i%2 == 0 {
		return events.RoleUser
	}
	return events.RoleAssistant
}
