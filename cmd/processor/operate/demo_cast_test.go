package operate

import (
	"slices"
	"testing"

	"precis/events"
)

// Each category of tool output is shown, and has a summary.
func TestDemoCast(t *testing.T) {
	var tools []string
	for _, act := range cast() {
		for _, m := range act.script {
			if m.Role != events.RoleTool {
				continue
			}
			tools = append(tools, m.ToolName)
			if !isLarge(m) {
				t.Errorf("%s of %s has %d characters", m.ToolName, act.name, chars(m.Content))
			}
		}
	}
	if want := []string{"grep", "read_file", "bash", "web_fetch", "http_get", "find"}; !slices.Equal(tools, want) {
		t.Errorf("tools %v, want %v", tools, want)
	}
}
