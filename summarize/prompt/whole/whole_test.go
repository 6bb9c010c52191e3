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
	for what, p := range map[string]whole.Prompt{
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
