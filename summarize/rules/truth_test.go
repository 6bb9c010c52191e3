package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/rules/call"
	"precis/summarize/rules/words"
)

// TestHeaderCountsWhatIsThere: a page's links are its elements or Markdown's, not the addresses in its text, and a view of a part has its range.
func TestHeaderCountsWhatIsThere(t *testing.T) {
	filler := strings.Repeat("Some words that fill the page, without a link in any of them.\n", 30)
	var view strings.Builder
	for i := range 151 {
		fmt.Fprintf(&view, "%d.     step_%d();\n", 1325+i, i)
	}
	for name, c := range map[string]struct{ tool, args, content, want, not string }{
		"a DTD":         {"web_fetch", `{"url":"https://a.example"}`, `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1.dtd"><html><body><p>print "http://www.w3.org/TR"</p>` + filler + "</body></html>", "Lines: 31", "Links"},
		"two elements":  {"web_fetch", `{"url":"https://a.example"}`, `<html><body><a href="/docs">Docs</a> <a href="https://b.example/x">B</a><p>` + filler + "</p></body></html>", "Links: 2", ""},
		"addresses":     {"web_search", `{"query":"locks"}`, "URL: https://a.example\nURL: https://b.example\n" + filler, "Query", "Links"},
		"Markdown":      {"web_fetch", `{"url":"https://a.example"}`, "See [A](https://a.example/a) and [B](/b), not https://c.example.\n" + filler, "Links: 2", ""},
		"relative":      {"web_fetch", `{"url":"https://a.example"}`, `<html><body><a href="guide.html">Guide</a> <a href="../index.html">Up</a> <a href="#top">Top</a><p>` + filler + "</p></body></html>", "Links: 2", ""},
		"images":        {"web_fetch", `{"url":"https://a.example"}`, "![A](a.png) and [![B](b.png)](https://a.example/b), x[0](y).\n" + filler, "Links: 2", ""},
		"part of file":  {"view", `{"path":"src/run.ts"}`, view.String(), "Lines: 1325-1475", "Lines: 151"},
		"whole of file": {"view", `{"path":"src/run.ts"}`, dotted(90), "Lines: 90", "1-90"},
	} {
		got := ToolOutput(Input{ToolName: c.tool, Arguments: []byte(c.args), Content: c.content, MaxChars: 800})
		facts := strings.Join(got.Tool.KeyFacts, " | ")
		if !strings.Contains(facts, c.want) || c.not != "" && strings.Contains(facts, c.not) {
			t.Errorf("%s: %s", name, facts)
		}
	}
}

func dotted(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d. step_%d();\n", i+1, i)
	}
	return b.String()
}

// TestPlacesOfSeveralFiles: lines of an output of several files have the numbers of their files, or none: those of the output would be read as such.
func TestPlacesOfSeveralFiles(t *testing.T) {
	file := "import a\nexport interface JsonValue {}\n" + strings.Repeat("x\n", 38)
	for name, c := range map[string]struct {
		command, content string
		at, number       int
	}{
		"one was shorter":   {`sed -n '1,200p' a.ts; sed -n '1,200p' b.ts`, file + file, 0, 0},
		"a file is missing": {`sed -n '1,40p' a.ts; printf '\n--\n'; sed -n '1,40p' b.ts`, file + "\n--\nsed: can't read b.ts: No such file or directory\n", 0, 0},
		"parted by printf":  {`sed -n '1,40p' a.ts; printf '\n--\n'; sed -n '1,40p' b.ts`, file + "\n--\n" + file, 0, 2},
		"one file":          {`sed -n '11,50p' a.ts`, file, 12, 12},
	} {
		args := call.ParseArguments([]byte(fmt.Sprintf(`{"command":%q}`, c.command)))
		doc := read(Input{}, c.content, FileContent, args)
		at := -1
		for i := range doc.lines {
			if doc.lines[i].text == "export interface JsonValue {}" {
				if at = i; name == "a file is missing" || name == "one file" {
					break
				}
			}
		}
		if at < 0 {
			t.Fatalf("%s: the line is gone", name)
		}
		if l := doc.lines[at]; l.at != c.at || l.number != c.number {
			t.Errorf("%s: at %d, number %d, want %d and %d", name, l.at, l.number, c.at, c.number)
		}
	}
}

// TestBlanks: an edit takes its old text from a file, a search or a diff, so that blanks in their lines stay; what a command prints in columns is folded.
func TestBlanks(t *testing.T) {
	for in, want := range map[string]string{
		"Fprintf(w,   \"  %s\\n\",  x)": "Fprintf(w, \" %s\\n\", x)", "name   size\tkind": "name size kind", "one two": "one two",
	} {
		if got := squash(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	code, row := "ID:      id,   // \"  %s\\n\"", "| a    | b    |"
	for _, c := range []struct {
		category Category
		path     string
		line     string
		stays    bool
	}{
		{FileContent, "a.go", code, true}, {FileContent, "a.md", code, true}, {SearchResults, "a.go", code, true}, {WriteResult, "a.go", code, true}, {CommandOutput, "a.go", code, false},
		{FileContent, "a.txt", code, false}, {FileContent, "a.md", row, false}, {Other, "a.go", code, false},
	} {
		doc := newDocument("\t"+c.line+"\n", c.category, call.ParseArguments([]byte(`{"file_path":"`+c.path+`"}`)))
		if got := doc.lines[0].text == c.line; got != c.stays {
			t.Errorf("%s of %s: %q", c.category, c.path, doc.lines[0].text)
		}
	}
}

// TestPagesAreMarked: a page that is shown whole has a mark, since tags in it may be what it says.
func TestPagesAreMarked(t *testing.T) {
	page := "<html><body><p>use strict;</p>\n<p>print \"<br />\";</p>\n" + strings.Repeat("<div class=\"wrapper wide\"></div>\n", 40) + "</body></html>"
	got := ToolOutput(Input{MessageID: "m1", ToolName: "web_fetch", Content: page, MaxChars: 800}).Text
	if !strings.Contains(got, "use strict;") || !strings.HasSuffix(got, " chars; message m1]") {
		t.Error(got)
	}
}

// TestTitleIsNoConclusion: what stands below the title of a report is its beginning, unless nothing else in it concludes.
func TestTitleIsNoConclusion(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"insights": {"## Summary: Fields of SessionState\nThe struct has these fields for the state of a session.\n### Fields\n- `ID`\n### **Critical Insights**\n1. **Never read**: the field is written by two and read by none\n2. **Races**: two of the hooks write it at the same time\n",
			"1. **Never read**: the field is written by two and read by none|2. **Races**: two of the hooks write it at the same time"},
		"not validated": {"## Summary: Tests of the Sessions\nThis report looks at what the tests of sessions validate.\n### WHAT IS VALIDATED\n- The id\n### WHAT IS NOT VALIDATED IN TESTS\n- **Summary field** - never accessed or validated by any of them\n- **Tokens** - only the sum is compared with a number\n",
			"- **Summary field** - never accessed or validated by any of them|- **Tokens** - only the sum is compared with a number"},
		"at the end":    {"# The cache\n### Test Coverage Summary\nNine of the ten paths have no test at all.\n", "Nine of the ten paths have no test at all."},
		"key takeaways": {"# The cache\nIntro\n## Takeaways\nThe cache is never emptied, and so grows.\n", "The cache is never emptied, and so grows."},
		"nothing else":  {"# Summary\nThe queue is at fault, so raise its limit.\n## Files\n- a.go\n## Method\n- b.go\n", "The queue is at fault, so raise its limit."},
		"not a title":   {"## Summary\nThe queue is at fault, so raise its limit.\n## Recommendations\nRaise it to ten and look at it again.\n", "The queue is at fault, so raise its limit.|Raise it to ten and look at it again."},
		"a verdict": {"## Verdict\nRequest changes: two of the handlers never check the token.\n**Critical:**\n- login accepts an empty token from anybody\n**Minor:**\n- a typo\n",
			"Request changes: two of the handlers never check the token.|- login accepts an empty token from anybody|- a typo"},
		"only one below": {"## Summary\nThe queue is at fault, so raise its limit.\n### Findings\nIt was full on each day of the week.\n", "The queue is at fault, so raise its limit.|It was full on each day of the week."},
	} {
		doc := newDocument(c.text, Other, nil)
		var got []string
		for _, i := range doc.conclusions(false) {
			got = append(got, doc.lines[i].text)
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLabelsOfTexts: what a page sets off in bold or as a term is what the texts behind it are about, up to the next one.
func TestLabelsOfTexts(t *testing.T) {
	tree := "[a1] heading 'Order'\n" +
		"[a288] strong ''\n\tStaticText 'Subtotal'\nStaticText '$799.00'\nStaticText 'Monthly'\n" +
		"[a307] strong ''\n\tStaticText 'Delivery time'\nStaticText '2 Days'\n" +
		"[a308] term ''\n\tStaticText 'Weight'\n[a309] definition ''\n\tStaticText '3 kg'\n" +
		"[a310] paragraph ''\n\tStaticText 'Words'\nStaticText 'Behind'\n" +
		"[a311] heading 'Returns'\nStaticText 'You have '\n[a312] strong ''\n\tStaticText '30 days'\nStaticText ' to return.'\nStaticText 'Refunds take a week.'\n"
	doc := newDocument(tree+strings.Repeat("[b1] link 'x'\n", 9), Other, nil)
	if doc.shape != shapeSnapshot {
		t.Fatal(doc.shape)
	}
	doc.findOpeners()
	owner := func(text string) string {
		for i := range doc.lines {
			if doc.lines[i].text == "StaticText '"+text+"'" {
				if above := doc.openers(i)[1]; above != words.None {
					return doc.lines[above].text
				}
				return ""
			}
		}
		return "absent"
	}
	for text, want := range map[string]string{
		"Subtotal": "[a1] heading 'Order'", "$799.00": "StaticText 'Subtotal'", "Monthly": "StaticText 'Subtotal'",
		"Delivery time": "[a1] heading 'Order'", "2 Days": "StaticText 'Delivery time'", "Weight": "[a1] heading 'Order'", "3 kg": "StaticText 'Weight'",
		"Words": "[a1] heading 'Order'", "Behind": "[a1] heading 'Order'",
		"30 days": "[a311] heading 'Returns'", " to return.": "[a311] heading 'Returns'", "Refunds take a week.": "[a311] heading 'Returns'",
	} {
		if got := owner(text); got != want {
			t.Errorf("%q is below %q, want %q", text, got, want)
		}
	}
}

// TestHeadingsLeftOut: in a report, what is below a heading that is not shown does not seem to be below the one that is.
func TestHeadingsLeftOut(t *testing.T) {
	doc := newDocument("### WHAT IS VALIDATED\n- The id is compared\n- The name\n### WHAT IS NOT VALIDATED\n- **Summary** is never read\n- **Tokens** are\n", Other, nil)
	written := func(lines ...int) string {
		var picks []pick
		for _, i := range lines {
			picks = append(picks, pick{choice: choice{line: i, end: len(doc.lines[i].text)}})
		}
		return doc.write(picks, nothing).text
	}
	for _, c := range []struct {
		lines []int
		want  string
	}{
		{[]int{0, 1, 4}, "### WHAT IS VALIDATED\n- The id is compared\n…\n- **Summary** is never read"},
		{[]int{0, 2}, "### WHAT IS VALIDATED\n- The name"},
		{[]int{1, 4}, "- The id is compared\n- **Summary** is never read"},
		{[]int{0, 1, 3, 5}, "### WHAT IS VALIDATED\n- The id is compared\n### WHAT IS NOT VALIDATED\n- **Tokens** are"},
	} {
		if got := written(c.lines...); got != c.want {
			t.Errorf("%v:\n%s", c.lines, got)
		}
	}
}
