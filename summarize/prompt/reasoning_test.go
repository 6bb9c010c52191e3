package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Reasoning that was published before the call that it led to comes back with it, and goes with it where there is no room.
func TestReasoningGoesWithItsCall(t *testing.T) {
	shapes := map[string][3]string{
		FormatResponses: {
			`{"role":"assistant","content":[{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"gAAA"}]}`,
			`{"role":"assistant","content":[{"type":"function_call","call_id":"call_%d","name":"ls","arguments":"{}"}]}`,
			`{"role":"user","content":[{"type":"function_call_output","call_id":"call_%d","output":"a.go"}]}`,
		},
		FormatAnthropic: {
			`{"role":"assistant","content":[{"type":"thinking","thinking":"rs_%d","signature":"c2ln"}]}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"call_%d","name":"ls","input":{}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%d","content":"a.go"}]}`,
		},
	}
	for format, shape := range shapes {
		list := []jsontext.Value{jsontext.Value(`{"role":"user","content":[{"type":"` + map[string]string{FormatResponses: "input_text", FormatAnthropic: "text"}[format] + `","text":"Go."}]}`)}
		for i := range 20 {
			for _, m := range shape {
				list = append(list, jsontext.Value(fmt.Sprintf(m, i)))
			}
		}
		messages := published(t, list)
		dropped := 0
		for limit := 0; limit < 900; limit += 7 {
			r := request(messages, format)
			r.MaxTokens = limit
			p, err := Build(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := validity(p, format); err != nil {
				t.Fatalf("%s, limit %d: %v", format, limit, err)
			}
			for i := range 20 {
				reasoned := strings.Contains(string(p.Messages), fmt.Sprintf(`"rs_%d"`, i))
				called := strings.Contains(string(p.Messages), fmt.Sprintf(`"call_%d"`, i))
				if reasoned != called || called == slices.Contains(p.DroppedMessageIDs, fmt.Sprintf("m%d", 3*i+2)) {
					t.Fatalf("%s, limit %d, turn %d: reasoning %v, call %v, dropped %v", format, limit, i, reasoned, called, p.DroppedMessageIDs)
				}
			}
			dropped += len(p.DroppedMessageIDs)
			if limit == 0 && len(p.OmittedParts) > 0 {
				t.Fatalf("%s: omitted %v", format, p.OmittedParts)
			}
		}
		if dropped == 0 {
			t.Errorf("%s: nothing had to go", format)
		}
	}
}
