package whole_test

import (
	"errors"
	"testing"

	"precis/summarize/prompt/whole"
)

// The thread: a and b are inside a compaction of two leaves, c is a tool output that its summary stands for, d was
// dropped to a mark, e is verbatim, f waits.
func TestCheck(t *testing.T) {
	sums := map[string]whole.Summary{
		"current": {Kind: "compaction", SourceSummaryIDs: []string{"leaf1", "leaf2"}},
		"leaf1":   {Kind: "compaction", SourceMessageIDs: []string{"a"}},
		"leaf2":   {Kind: "compaction", SourceMessageIDs: []string{"b"}},
		"tool":    {Kind: "tool_result", SourceMessageIDs: []string{"c"}},
	}
	of := func(id string) (whole.Summary, error) {
		if sum, ok := sums[id]; ok {
			return sum, nil
		}
		return whole.Summary{}, errors.New("not found")
	}
	prompt := func(messages string, dropped ...string) whole.Prompt {
		return whole.Prompt{
			Messages: []byte(messages), SummaryIDs: []string{"current", "tool"},
			DroppedMessageIDs: dropped, WaitingMessageIDs: []string{"f"},
		}
	}
	const messages = `[{"summary_id":"current"},{"message_id":"c","summary_id":"tool"},{"message_id":"d"},{"message_id":"e"}]`
	live := []string{"a", "b", "c", "d", "e", "f"}
	if err := whole.Check(live, prompt(messages, "d"), of); err != nil {
		t.Error(err)
	}
	ranged := func(first, last string, count int) whole.Prompt {
		p := prompt(`[{"summary_id":"tool","message_id":"c"}]`)
		p.SummaryIDs, p.WaitingMessageIDs = []string{"tool"}, nil
		p.DroppedRanges = []whole.Range{{First: "a", Last: "b", Count: 2}, {First: first, Last: last, Count: count}}
		return p
	}
	if err := whole.Check(live, ranged("d", "f", 3), of); err != nil {
		t.Error(err)
	}
	for what, p := range map[string]whole.Prompt{
		"a range miscounts":           ranged("d", "f", 2),
		"a range is too short":        ranged("d", "e", 2),
		"a range overlaps":            ranged("c", "f", 4),
		"a range of no messages":      ranged("x", "f", 3),
		"one vanished":                prompt(`[{"summary_id":"current"},{"message_id":"c","summary_id":"tool"},{"message_id":"d"}]`, "d"),
		"one twice":                   prompt(`[{"message_id":"c","summary_id":"tool"},{"message_id":"d"},{"message_id":"e"},{"message_id":"e"}]`, "d"),
		"one inside and verbatim":     prompt(`[{"message_id":"a"},{"message_id":"c","summary_id":"tool"},{"message_id":"d"},{"message_id":"e"}]`, "d"),
		"one dropped and inside":      prompt(messages, "d", "b"),
		"a summary that is not named": prompt(`[{"summary_id":"other"},{"message_id":"c","summary_id":"tool"},{"message_id":"d"},{"message_id":"e"}]`, "d"),
		"a deleted one is named":      prompt(messages, "d", "x"),
	} {
		if whole.Check(live, p, of) == nil {
			t.Errorf("%s: nothing found", what)
		}
	}
}
