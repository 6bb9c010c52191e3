package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestWholeTable: what stands below a table that shows all of its records is no text of them, and nothing counts as missing.
func TestWholeTable(t *testing.T) {
	var groups []string
	for i := range 10 {
		leg := func(k int, from, to string) string {
			return fmt.Sprintf(`{"ferry_number": "FE%03d", "origin": "%s", "destination": "%s", "scheduled_departure_time": "%02d:00:00", "status": "available", "free_places": {"deck": %d, "cabin": %d}, "prices": {"deck": %d, "cabin": %d}, "date": "2025-03-02"}`,
				100+k, from, to, 8+k, k+2, k+1, 20+k, 90+k)
		}
		groups = append(groups, "["+leg(i%3, "OSL", "CPH")+", "+leg(4+i%4, "CPH", "KEL")+"]")
	}
	in := Input{ToolName: "search_ferries", MessageID: "m17", Arguments: []byte(`{"date":"2025-03-02"}`), Content: "[" + strings.Join(groups, ", ") + "]", MaxChars: 1800}
	text := ToolOutput(in).Text
	if strings.Contains(text, "•") || strings.Contains(text, `"`) || !strings.HasSuffix(text, "[… message m17]") || !strings.Contains(text, "FE107") {
		t.Error(text)
	}
	// A text in a record that its row cuts is missing.
	in.Content = strings.Replace(in.Content, `"status": "available"`, `"status": "available", "note": "`+strings.Repeat("bring a coat and a warm hat ", 40)+`"`, 1)
	if text := ToolOutput(in).Text; strings.HasSuffix(text, "[… message m17]") {
		t.Error(text)
	}
}
