package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestFieldBeforeSurroundings: what stands around records gives way to a field of theirs, as far as it has to.
func TestFieldBeforeSurroundings(t *testing.T) {
	var items []string
	for i, name := range []string{"Bilge pump", "Anchor chain", "Signal lamp", "Tide gauge", "Mooring line"} {
		items = append(items, fmt.Sprintf(`{"name":%q,"product_id":"6612004500%d","item_id":"7731008200%d","price":31%d.25,"options":{"finish %d":"galvanized %d","length":"%d0 m","fitting":"swivel"}}`, name, i, i, i, i, i, 3+i))
	}
	text := `{"order_id":"#H2040","berth":{"quay":"7 North Quay","dock":"Dock 12 B","city":"Tidewater","country":"Norway","zone":"NQ","code":"5003"},"items":[` + strings.Join(items, ",") +
		`],"status":"delivered","payments":[{"kind":"payment","amount":1577.5,"method":"card_5512"}],"refunds":null,"notes":null,"audit":{"by":["a","b"],"steps":[` + strings.Repeat("1,", 300) + `1]}}`
	out := ToolOutput(Input{MessageID: "m1", ToolName: "get_order", Arguments: []byte(`{"order_id":"#H2040"}`), Content: text, MaxChars: 800}).Text
	for _, want := range []string{"name | product_id | item_id | price | options\n", "Mooring line | 66120045004 | 77310082004 | 314.25 | finish 4 galv", "status=delivered", "amount=1577.5"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}
