package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestNamedRecords: records that the talk names have a row if not all have, the others stay in their order.
func TestNamedRecords(t *testing.T) {
	var list []string
	for i := range 27 {
		list = append(list, fmt.Sprintf(`{"item_id":"%d","options":{"wood":"%s","finish":"%s","size":"%s"},"available":%v,"price":%d.5}`,
			7000100+i, []string{"maple", "walnut", "beech"}[i/9], []string{"oiled", "waxed", "raw"}[i/3%3], []string{"small", "large", "full size"}[i%3], i%2 == 0, 90+i))
	}
	in := Input{ToolName: "get_product", MessageID: "m4", Arguments: []byte(`{"product_id":"p77"}`), MaxChars: 600, Content: "[" + strings.Join(list, ",") + "]"}
	if text := ToolOutput(in).Text; !strings.Contains(text, "\n7000100 | ") || strings.Contains(text, "beech") {
		t.Fatal(text)
	}
	in.Earlier = []string{"I want the same desk in Beech, waxed, in full size please."}
	rows := strings.Split(ToolOutput(in).Text, "\n7000")
	if len(rows) < 3 || !strings.HasPrefix(rows[1], "123 | beech/waxed/full size") {
		t.Error(rows)
	}
}
