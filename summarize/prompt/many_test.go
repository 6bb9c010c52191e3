package prompt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/internal/race"
)

// A message may make 10,000 calls, and one or 10,000 messages may have the results: reading each of them with all the others would take hours.
func TestManyCalls(t *testing.T) {
	race.Slow(t)
	const n = 10_000
	list := func(element string) string {
		var all []string
		for i := range n {
			all = append(all, strings.ReplaceAll(element, "#", fmt.Sprintf("t%d", i)))
		}
		return strings.Join(all, ",")
	}
	calls := jsontext.Value(`{"role":"assistant","content":[` + list(`{"type":"tool_use","id":"#","name":"a","input":{}}`) + `]}`)
	twice := jsontext.Value(`{"role":"assistant","content":[` + list(`{"type":"tool_use","id":"#","name":"a","input":{}}`) +
		`],"tool_calls":[` + list(`{"id":"#","type":"function","function":{"name":"a","arguments":"{}"}}`) + `]}`)
	inside := jsontext.Value(`{"role":"assistant","content":[` + list(`{"type":"tool_use","id":"#","name":"a","input":{}},{"type":"tool_result","tool_use_id":"#","content":"a"}`) + `]}`)
	results := jsontext.Value(`{"role":"user","content":[{"type":"text","text":"These."},` + list(`{"type":"tool_result","tool_use_id":"#","content":"result of #"}`) + `]}`)
	apart := []jsontext.Value{calls}
	for i := range n {
		apart = append(apart, jsontext.Value(fmt.Sprintf(`{"role":"tool","tool_call_id":"t%d","content":"result of t%d"}`, i, i)))
	}
	for name, thread := range map[string][]jsontext.Value{
		"one message": {calls, results}, "calls twice": {twice, results}, "a message each": apart, "answered inside": {inside},
	} {
		messages := published(t, append([]jsontext.Value{jsontext.Value(`{"role":"user","content":"Go."}`)}, thread...))
		for i := range messages {
			if m := &messages[i]; len(m.Message.Answers()) > 0 && i%2 == 0 {
				m.Spare, m.Tokens = &Summary{ID: "sum_" + m.MessageID, Content: "short"}, 50
			}
		}
		for _, format := range formats {
			r := request(messages, format)
			r.MaxTokens = 400_000
			p, err := Build(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := validity(p, format); err != nil && name != "answered inside" {
				t.Errorf("%s in %s: %.300v", name, format, err)
			}
		}
	}
}
