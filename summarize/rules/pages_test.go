package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/rules/page"
)

// TestPageReads: of a page what it says comes before its table of contents, its navigation and what it asks of everybody; fields to be filled in are
// shown, or it is marked that others are there.
func TestPageReads(t *testing.T) {
	var contents, fields, shop strings.Builder
	contents.WriteString("[1] banner \n  [2] link \"Harbour home\"  [url: https://harbour.example.org/]\n  [3] navigation \n    [4] link \"Berths\"  [url: https://harbour.example.org/berths]\n    [5] link \"Careers\"  [url: https://harbour.example.org/careers]\n")
	for i := range 40 {
		fmt.Fprintf(&contents, "[%d] link \"Section %c%d of the plan\"  [url: https://harbour.example.org/plan#section-%d]\n", 100+i, 'A'+i%26, i, i)
	}
	contents.WriteString("[60] heading \"Introduction\" \n[61] StaticText \"The harbour has an enormous effect on the towns around it and on all who live there.\" \n[62] strong \n  [63] StaticText \" \" \n" +
		"[64] StaticText \"The office was set up so that the council knows what the tides will do; it is the largest of its kind, and it says so in public.\" \n" +
		"[90] StaticText \"HARBOUR.EXAMPLE.ORG\" \n[91] StaticText \" uses cookies essential for website functionality and anonymous usage analytics.\" \n[92] StaticText \"I understand\" \n")
	fields.WriteString("RootWebArea 'Order a berth'\n\t[a1] heading 'Order a berth'\n")
	for i := range 30 {
		fmt.Fprintf(&fields, "\tStaticText 'part %d of it'\n", i)
	}
	for _, name := range []string{"Crane", "Fresh water", "Shore power", "Night watch"} {
		fmt.Fprintf(&fields, "\t[b%d] checkbox '%s', checked='false'\n\t\tStaticText '%s'\n", len(name), name, name)
	}
	fields.WriteString("\t[c1] textbox 'Further wishes of the master'\n")
	for i := range 60 {
		fmt.Fprintf(&fields, "\t[d%d] link 'Terms number %d of the office', url='https://h.example.org/t/%d'\n", i, i, i)
	}
	shop.WriteString("RootWebArea 'Choose a boat'\n")
	for _, size := range []string{"12 metres and one mast", "14 metres and one mast"} {
		fmt.Fprintf(&shop, "\t[g%c] group 'Select a colour: boat of %s'\n\t\t[h%c] radiogroup ''\n\t\t\t[i%c] radio 'Tar black', checked='true'\n\t\t\t[j%c] radio 'Sand', checked='false'\n\t[k%c] button 'Select the boat of %s'\n",
			size[1], size, size[1], size[1], size[1], size[1], size)
	}
	for i := range 40 {
		fmt.Fprintf(&shop, "\t[m%d] link 'Boats of other kinds %d', url='https://b.example.org/%d'\n", i, i, i)
	}
	for _, c := range []struct {
		name, content string
		want          []string
		not           string
	}{
		{"prose below a table of contents", contents.String(), []string{"[61] StaticText \"The harbour", "[64] StaticText \"The office"}, "cookies"},
		{"nothing of a blank text", contents.String(), nil, `StaticText " "`},
		{"fields", fields.String(), []string{"'Crane'", "'Fresh water'", "'Shore power'", "'Night watch'", "textbox 'Further wishes"}, ""},
		{"what is chosen for which boat", shop.String(), []string{"boat of 12 metres and one mast'\n[i2] radio 'Tar black'", "boat of 14 metres and one mast'\n[i4] radio 'Tar black'"}, ""},
	} {
		in := Input{MessageID: "m", ToolName: "browser_click", Arguments: []byte(`{"element_id": 7}`), Content: c.content, MaxChars: 800}
		checkOutput(t, in)
		text := ToolOutput(in).Text
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %q in\n%s", c.name, c.not, text)
		}
	}
}

// TestHiddenChoices: that other fields like those shown are left out is marked.
func TestHiddenChoices(t *testing.T) {
	doc := newDocument("RootWebArea 'x'\n\t[1] checkbox 'Crane'\n\t[2] checkbox 'Water'\n\t[3] heading 'More'\n\t[4] link 'x'\n\t[5] textbox 'Wishes'\n"+strings.Repeat("\t[9] button 'Go'\n", 9), Other, nil)
	for _, c := range []struct {
		above, line int
		want        bool
	}{{1, 3, true}, {2, 3, false}, {1, 2, false}, {3, 5, false}, {1, 5, true}} {
		if got := doc.parted(c.above, c.line); got != c.want {
			t.Errorf("%q, %q: %v", doc.lines[c.above].text, doc.lines[c.line].text, got)
		}
	}
}

// TestElementLabels: names that begin alike are cut where they differ.
func TestElementLabels(t *testing.T) {
	doc := newDocument("[1] button 'Select the boat of 12 metres'\n[2] button 'Select the boat of 14 metres'\n[3] button 'Save what is here for later'\n[4] link 'Select the boat of 12 metres'\n"+strings.Repeat("[9] button 'Go'\n", 9), Other, nil)
	names := doc.namesOf()
	for i, want := range []string{"Select…12 metres", "Select…14 metres", "Save what is he…", "Select the boat…"} {
		e, _ := page.ElementIn(doc.lines[i].text)
		if got := names.of(e); got != want {
			t.Errorf("%q is cut to %q, want %q", e.Name, got, want)
		}
	}
}
