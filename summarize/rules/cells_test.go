package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestCellsOfTables: the cells of a table whose columns have names are texts of the page, those of a table that only sets where fields stand are not.
func TestCellsOfTables(t *testing.T) {
	var page strings.Builder
	page.WriteString("RootWebArea 'Mooring order', url='https://harbour.example/orders/7'\n\t[a1] main ''\n\t\t[a2] heading 'Mooring order'\n")
	for i := range 12 {
		fmt.Fprintf(&page, "\t\t[b%d] generic 'Panel %c'\n\t\t\t[c%d] LayoutTableCell 'Toggle %c'\n\t\t\t\t[d%d] image 'Expand %c'\n", i, 'A'+i, i, 'A'+i, i, 'A'+i)
	}
	page.WriteString("\t\t[a3] table ''\n\t\t\t[a4] row ''\n\t\t\t\t[a5] columnheader 'Berth'\n\t\t\t\t[a6] columnheader 'Days'\n\t\t\t\t[a7] columnheader 'Fee'\n" +
		"\t\t\t[a8] row ''\n\t\t\t\t[a9] cell 'North 12'\n\t\t\t\t\t[e1] link 'North 12'\n\t\t\t\t[e2] cell '14'\n\t\t\t\t[e3] cell '$620.00 +$20.00 per day'\n\t\t\t\t\tStaticText '+$20.00 per day'\n" +
		"\t\t[f1] table ''\n\t\t\t[f2] row ''\n\t\t\t\t[f3] cell 'Until when? 7 May'\n\t\t\t\t\t[f4] textbox 'Until when?' value='7 May'\n")
	for i := range 12 {
		fmt.Fprintf(&page, "\t\t[g%d] generic 'Footer %c'\n\t\t\t[h%d] LayoutTableCell 'Fold %c'\n\t\t\t\t[i%d] image 'Collapse %c'\n", i, 'A'+i, i, 'A'+i, i, 'A'+i)
	}
	out := ToolOutput(Input{MessageID: "m1", ToolName: "browser_click", Arguments: []byte(`{"args":"'a99'"}`), Content: page.String(), MaxChars: 500}).Text
	for want, shown := range map[string]bool{"[e1] link 'North 12'": true, "cell '14'": true, "cell '$620.00 +$20.00 per day'": true, "cell 'North 12'": false, "cell 'Until when? 7 May'": false, "textbox 'Until when?' value='7 May'": true} {
		if strings.Contains(out, want) != shown {
			t.Errorf("%q shown: %v, want %v, in\n%s", want, !shown, shown, out)
		}
	}
}
