package valid

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// Plain: no result without its call before it, no call without a result behind it.
func Plain(v jsontext.Value) error {
	var list []struct {
		events.Message
		ToolCallIDs []string `json:"tool_call_ids"`
	}
	if err := json.Unmarshal(v, &list); err != nil {
		return err
	}
	open := map[string]int{}
	for i, m := range list {
		for _, c := range m.Calls() {
			open[c.ID]++
		}
		ids := m.ToolCallIDs
		if len(ids) == 0 && m.ToolCallID != "" {
			ids = []string{m.ToolCallID}
		}
		for _, id := range ids {
			if open[id] == 0 {
				return fmt.Errorf("message %d: result of %q without its call", i, id)
			}
			if open[id]--; open[id] == 0 {
				delete(open, id)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %v not answered", open)
	}
	return nil
}
