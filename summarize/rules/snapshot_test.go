package rules

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"precis/summarize/rules/page"
)

// TestElements: of an element's line its role, its name and its state are shown, in the forms that browsers' drivers print.
func TestElements(t *testing.T) {
	for line, want := range map[string]string{
		`[a405] link 'iPad pro', url='https://shop.example/item?id=1'`:          `[a405] link 'iPad pro'`,
		`[a271] combobox 'Quantity' value='1', hasPopup='menu', expanded=False`: `[a271] combobox 'Quantity' value='1'`,
		`[a210] checkbox 'Adobe Acrobat', focused, checked='false'`:             `[a210] checkbox 'Adobe Acrobat', focused, checked='false'`,
		`[12] button 'All', expanded=False, controls='menu'`:                    `[12] button 'All', expanded=False`,
		`- checkbox "Save this card" [ref=e29]`:                                 `- checkbox "Save this card" [ref=e29]`,
		`[809] link "About us" [url: https://shop.example/about]`:               `[809] link "About us"`,
		`StaticText 'Delivery'`:                                                 `StaticText 'Delivery'`,
		`[46] generic, live='assertive', atomic, relevant='additions text'`:     "",
		`- text: Welcome back`:                                                  `- text: Welcome back`,
		`- Page URL: https://shop.example/`:                                     "",
		`[error] cannot open 'a.txt'`:                                           "",
		`const link = 'iPad pro'`:                                               "",
		`[a1] textbox 'It''s', url='x'`:                                         `[a1] textbox 'It''s'`,
		`[a9] row ''`:                                                           `[a9] row ''`,
	} {
		e, ok := page.ElementIn(line)
		got := ""
		if ok {
			got = strings.TrimRight(line[:e.End], " ,:")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestSnapshot: what a user can act on is shown with its id, role and name, what wraps it is not, and no address.
func TestSnapshot(t *testing.T) {
	var b strings.Builder
	b.WriteString("RootWebArea 'Catalog', url='https://shop.example/'\n")
	for i := range 60 {
		fmt.Fprintf(&b, "\t[a%d] row ''\n\t\t[a%d] cell 'Laptop %d'\n\t\t\t[a%d] link 'Laptop %d', url='https://shop.example/item?id=%d&sysparm_view=catalog_default'\n", 4*i, 4*i+1, i, 4*i+2, i, i)
	}
	b.WriteString("[a900] textbox 'Delivery address'\n[a901] button 'Order now'\n")
	text := ToolOutput(Input{ToolName: "browser_click", Content: b.String(), MaxChars: 800}).Text
	for _, want := range []string{`a900(?:\] textbox '| )Delivery address`, `a901(?:\] button '| )Order now`, `\[a\d+\] link 'Laptop \d+'`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "sysparm") || strings.Count(text, "link") < 3*strings.Count(text, "row ''") {
		t.Errorf("addresses, or more rows than links:\n%s", text)
	}
}
