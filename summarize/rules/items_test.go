package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"precis/summarize/rules/words"
)

// TestItemsOfPages: what belongs to an item of a list is below its title, not below what another item or the same one has in front of it.
func TestItemsOfPages(t *testing.T) {
	tree := "[a1] heading 'Notices'\n" +
		"[a2] list ''\n" +
		"\t[a3] listitem ''\n\t\t[a4] link 'Tides'\n\t\t[a5] link 'News'\n\t\tStaticText 'March 12'\n" +
		"\t[a6] listitem ''\n\t\tStaticText 'March 6'\n\t\t[a7] link 'Dredging'\n\t\t[a8] link 'News'\n\t\tStaticText 'Two dredgers'\n" +
		"\t[a9] article ''\n\t\t[a10] link 'picture'\n\t\t[a11] heading 'Berths'\n\t\tStaticText 'They are allotted'\n\t\t[a12] heading 'Fees'\n\t\tStaticText 'By length'\n" +
		"StaticText 'Behind the list'\n" +
		"[a13] list ''\n\t[a14] listitem ''\n\t\t[a15] link 'Alone'\n"
	doc := newDocument(tree+strings.Repeat("[b1] link 'x'\n", 9), Other, nil)
	if doc.shape != shapeSnapshot {
		t.Fatal(doc.shape)
	}
	doc.findOpeners()
	for text, want := range map[string]string{
		"[a5] link 'News'": "[a4] link 'Tides'", "StaticText 'March 12'": "[a4] link 'Tides'", "StaticText 'March 6'": "",
		"StaticText 'Two dredgers'": "[a7] link 'Dredging'", "StaticText 'They are allotted'": "[a11] heading 'Berths'",
		"StaticText 'By length'": "[a11] heading 'Berths' [a12] heading 'Fees'", "StaticText 'Behind the list'": "", "[a15] link 'Alone'": "",
	} {
		got := "absent"
		for i := range doc.lines {
			if doc.lines[i].text != text {
				continue
			}
			got = ""
			for _, at := range doc.openers(i) {
				if at != words.None {
					got += " " + doc.lines[at].text
				}
			}
			got = strings.TrimPrefix(got, " ")
		}
		if got != want {
			t.Errorf("%q is below %q, want %q", text, got, want)
		}
	}
}

// TestFilledIn: the text in a field that only repeats what is filled in there does not take the room of another element.
func TestFilledIn(t *testing.T) {
	for _, value := range []string{"'Leave it at the gate'", `"Leave it at the neighbour's"`} {
		var b strings.Builder
		fmt.Fprintf(&b, "RootWebArea 'Order', focused\n[a1] textbox 'Note' value=%s, focused\n\tStaticText %s\n", value, value)
		for i := range 60 {
			fmt.Fprintf(&b, "[b%d] button 'Choose the delivery %d'\n", i, i)
		}
		text := ToolOutput(Input{ToolName: "browser_fill", Content: b.String(), MaxChars: 800}).Text
		if !strings.Contains(text, "[a1] textbox 'Note' value="+value) || strings.Contains(text, "StaticText "+value) {
			t.Error(text)
		}
	}
}

// TestHiddenItem: `…` stands before the title of an item if one between it and what is shown above is left out.
func TestHiddenItem(t *testing.T) {
	var b strings.Builder
	b.WriteString("[1] heading \"Notices\" \n[2] list \n")
	for i, name := range []string{"Tide tables", "Lock closures", "Mooring fees", "Pilot rota"} {
		fmt.Fprintf(&b, "  [%d0] listitem \n    [%d1] link \"%s\"  [url: https://harbour.example/notices/%d]\n", i+1, i+1, name, i)
		if i != 1 {
			fmt.Fprintf(&b, "    [%d2] StaticText \"Posted in week %d\" \n", i+1, i+20)
		}
	}
	doc := read(Input{}, b.String(), WebContent, nil)
	at := func(name string) int {
		return slices.IndexFunc(doc.lines, func(l line) bool { return strings.Contains(l.text, name) })
	}
	if doc.shape != shapeSnapshot || at("Pilot rota") < 0 {
		t.Fatalf("the page is read as %v: %+v", doc.shape, doc.lines)
	}
	for _, c := range []struct {
		above, line string
		want        bool
	}{
		{"Tide tables", "Mooring fees", true}, // a link without a text stands between them
		{"Tide tables", "Pilot rota", true},
		{"week 22", "Pilot rota", false},
		{"Mooring fees", "week 22", false},
		{"Notices", "Mooring fees", false}, // the heading is in no item
	} {
		if got := doc.parted(at(c.above), at(c.line)); got != c.want {
			t.Errorf("%q below %q: a mark %v, want %v", c.line, c.above, got, c.want)
		}
	}
}
