package rules

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
	"precis/summarize/lex"
)

func TestWithoutDropped(t *testing.T) {
	for _, c := range []struct {
		name, source string
		drop         []string
		want         string
		lines        int
	}{
		{"nothing named", `{"a":1}`, nil, `{"a":1}`, 0},
		{"first member", `{"a":1,"b":2}`, []string{"a"}, `{"b":2}`, 0},
		{"first members", `{"a":1 , "b":2, "c":3}`, []string{"a", "b"}, `{ "c":3}`, 0},
		{"last member", `{"a":1,"b":2}`, []string{"b"}, `{"a":1}`, 0},
		{"first and last", `{"a":1,"b":2,"c":3}`, []string{"a", "c"}, `{"b":2}`, 0},
		{"all members", `{"a":1,"b":2}`, []string{"a", "b"}, `{}`, 0},
		{"at any depth", `[{"x":{"a":[1,{"a":2}],"c":3}},{"a":{}}]`, []string{"a"}, `[{"x":{"c":3}},{}]`, 0},
		{"by what leads there", `{"status":{"id":1,"name":"x"},"id":2}`, []string{"status.id"}, `{"status":{"name":"x"},"id":2}`, 0},
		{"through an array", `{"list":[{"id":1,"n":2}]}`, []string{"list.id"}, `{"list":[{"n":2}]}`, 0},
		{"a name with dots", `{"app.kubernetes.io/name":1,"b":2}`, []string{"app.kubernetes.io/name"}, `{"b":2}`, 0},
		{"not a part of a name", `{"keys":1,"monkey":2}`, []string{"key"}, `{"keys":1,"monkey":2}`, 0},
		{"over lines", "{\n  \"a\": [\n    1\n  ],\n  \"b\": 2\n}", []string{"a"}, "{\n\n\n\n  \"b\": 2\n}", 3},
		{"many values", "{\"a\":1,\"b\":2}\n{\"b\":3,\"a\":4}\n", []string{"a"}, "{\"b\":2}\n{\"b\":3}\n", 0},
		{"cut off", `{"a":1,"b":{"a":2,"c":`, []string{"a"}, `{"b":{"c":`, 0},
		{"cut off in what goes", `{"b":1,"a":[1,`, []string{"a"}, `{"b":1,"a":[1,`, 0},
		{"lines", "ok 1\nDEBUG x\r\nok 2\nDEBUG y", []string{"DEBUG"}, "ok 1\n\r\nok 2\n", 2},
		{"blanks between", `{ "a" : 1 , "b" : 2 , "a" : 3 }`, []string{"a"}, `{  "b" : 2 }`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, lines := withoutDropped(c.source, c.drop)
			if got != c.want || lines != c.lines {
				t.Errorf("%q, %d lines, want %q, %d", got, lines, c.want, c.lines)
			}
			if jsontext.Value(c.source).IsValid(envelope.Lenient) && !jsontext.Value(got).IsValid(envelope.Lenient) {
				t.Error("it was JSON, and is none")
			}
		})
	}
}

// issues is what a tracker's tool returns: what is asked for is two levels down, between what nobody reads.
func issues(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"expand":"renderedFields","id":"%d","self":"https://tracker.example/rest/api/2/issue/%d","key":"OPS-%d","fields":{"summary":"Retry the upload of part %d",`+
			`"avatarUrls":{"48x48":"https://tracker.example/avatar/%d"},"status":{"name":"%s","id":"%d"},"assignee":null}}`,
			10400+i, 10400+i, 100+i, i, i, []string{"Open", "Done"}[i%2], i%2))
	}
	return `{"total":` + fmt.Sprint(n) + `,"issues":[` + strings.Join(list, ",") + `]}`
}

func TestOwnRecords(t *testing.T) {
	in := Input{
		MessageID: "m1", ToolName: "mcp__jira__search", Content: issues(40), MaxChars: 800, PreserveErrors: true, IncludeMetadata: true,
	}
	if text := ToolOutput(in).Text; strings.Contains(text, "Done") {
		t.Fatalf("the states are shown without being asked for:\n%s", text)
	}
	in.Keep, in.Drop = []string{"key", "status.name", "summary"}, []string{"self", "avatarUrls", "expand"}
	out := ToolOutput(in)
	for _, want := range []string{"40 records", "key | status.name | summary", "OPS-100 | Open | Retry the upload of part 0", "OPS-107 | Done | Retry the upload of part 7"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("lacks %q:\n%s", want, out.Text)
		}
	}
	for _, not := range []string{"self", "avatar", "https://", "expand"} {
		if strings.Contains(out.Text, not) {
			t.Errorf("holds %q:\n%s", not, out.Text)
		}
	}
	if lex.Runes(out.Text) > in.MaxChars || out.Tool.Category != string(SearchResults) {
		t.Errorf("%d characters, %s", lex.Runes(out.Text), out.Tool.Category)
	}
}

// What docs/rules.md shows is what comes out.
func TestOwnRecordsInTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	in := Input{
		MessageID: "m7", ToolName: "mcp__jira__search", Content: issues(40), MaxChars: 800, PreserveErrors: true, IncludeMetadata: true,
		Category: StructuredData, Keep: []string{"key", "status.name", "summary"}, Drop: []string{"self", "avatarUrls", "expand"},
	}
	if got := ToolOutput(in).Text; !strings.Contains(string(text), "```text\n"+got+"\n```") {
		t.Errorf("docs/rules.md does not have\n%s", got)
	}
}

// One object, not in records: its lines that name what is kept come first, wherever they are.
func TestOwnObject(t *testing.T) {
	var b strings.Builder
	b.WriteString("{\n")
	for i := range 200 {
		fmt.Fprintf(&b, "  \"parameter_%d\": \"value_%d of the deployment\",\n", i, i*7)
	}
	b.WriteString("  \"phase\": \"Degraded\",\n  \"token_count\": 7\n}\n")
	in := Input{MessageID: "m1", ToolName: "deploy_status", Content: b.String(), MaxChars: 500, Keep: []string{"spec.phase", "parameter_150"}, Drop: []string{"parameter_1"}}
	text := ToolOutput(in).Text
	for _, want := range []string{`"phase": "Degraded"`, `"parameter_150": "value_1050`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, `"parameter_1"`) {
		t.Errorf("holds what is dropped:\n%s", text)
	}
}

func TestOwnLines(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "heartbeat %d of worker-%d in %d ms\n", i, i%7, i*13%101)
		if i%100 == 50 {
			fmt.Fprintf(&b, "QUOTA worker-%d has %d left\n", i%7, 1000-i)
		}
	}
	in := Input{MessageID: "m1", ToolName: "fleet", Content: b.String(), MaxChars: 600, Keep: []string{"QUOTA"}, Drop: []string{"heartbeat"}, Category: CommandOutput}
	out := ToolOutput(in)
	for _, want := range []string{"QUOTA worker-1 has 950 left", "QUOTA worker-0 has 650 left", "404 lines", "400 lines"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("lacks %q:\n%s", want, out.Text)
		}
	}
	if strings.Contains(out.Text, "heartbeat") || strings.Contains(out.Text, "\n\n") {
		t.Errorf("holds what is dropped, or room for it:\n%s", out.Text)
	}
	in.Drop = []string{"worker"} // all of it
	if text := ToolOutput(in).Text; !strings.Contains(text, "404 lines") || strings.Contains(text, "QUOTA") {
		t.Errorf("of nothing:\n%s", text)
	}
}

// What the policy says of a tool holds, whatever its name and its output look like.
func TestOwnCategory(t *testing.T) {
	in := Input{MessageID: "m1", ToolName: "read_file", Content: strings.Repeat("a line of text\n", 200) + "exit status 3\n", MaxChars: 300, Category: CommandOutput}
	if out := ToolOutput(in); out.Tool.Category != string(CommandOutput) {
		t.Errorf("%s", out.Tool.Category)
	}
	if in.Recognized() != CommandOutput {
		t.Error("recognized as something else")
	}
	in.Category = ""
	if in.Recognized() != FileContent {
		t.Error("not recognized by its name")
	}
}

// Nothing that is dropped stands in a line of the source, and nothing breaks a bound, whatever is named.
func FuzzOwn(f *testing.F) {
	f.Add(issues(3), "key", "self")
	f.Add("a\nb\nc", "a", "b")
	f.Add("{\"a\":1,\n\"b\":2}\n{\"a\":", "a", "b")
	f.Fuzz(func(t *testing.T, content, keep, drop string) {
		if keep == "" || drop == "" || strings.ContainsAny(drop, "\r\n") {
			return
		}
		in := Input{MessageID: "m", ToolName: "t", Content: content, MaxChars: 400, Keep: []string{keep}, Drop: []string{drop}}
		if text := ToolOutput(in).Text; lex.Runes(text) > min(400, lex.Runes(content)) {
			t.Errorf("%d characters of %d: %q", lex.Runes(text), lex.Runes(content), text)
		}
		rest, _ := withoutDropped(content, in.Drop)
		if again, _ := withoutDropped(rest, in.Drop); again != rest && shapeOf(rest) == shapeOf(content) {
			t.Errorf("%q\n%q\n%q", content, rest, again)
		}
		if strings.Count(rest, "\n") != strings.Count(content, "\n") {
			t.Errorf("lines have other numbers: %q, %q", content, rest)
		}
	})
}
