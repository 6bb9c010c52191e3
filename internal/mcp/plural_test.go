package mcp

import "testing"

// Numbers have the commands' form.
func TestCounted(t *testing.T) {
	if got := counted(12345, "summary"); got != "12,345 summaries" {
		t.Error(got)
	}
}
