package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestWrittenFirst: of records, what people wrote comes before ids that nobody types and before flags.
func TestWrittenFirst(t *testing.T) {
	var list []string
	for i := range 5 {
		list = append(list, fmt.Sprintf(`{"id":"IC_kwDOQxYz0%cABCdEf","author":{"login":"mara%d"},"role":"%s","body":"The crane on berth %d stops when %s","createdAt":"2025-11-1%dT15:20:20Z","edited":%v,"hidden":false,"reason":"","url":"https://forge.example/quay/9#comment-%d","mine":false}`,
			'A'+rune(i), i, []string{"MEMBER", "GUEST"}[i%2], i, strings.Repeat("the wind is strong and ", 6), i, i == 2, 88100+i))
	}
	text := ToolOutput(Input{ToolName: "Bash", MessageID: "m4", Arguments: []byte(`{"command":"gh issue view 9 --json comments,title"}`), MaxChars: 800,
		Content: `{"comments":[` + strings.Join(list, ",") + `],"title":"Cranes stop"}`}).Text
	if n := strings.Count(text, "The crane on berth"); n < 4 || strings.Contains(text, "IC_kw") || strings.Contains(text, "| false") {
		t.Error(text)
	}
}
