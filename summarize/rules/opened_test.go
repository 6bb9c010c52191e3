package rules

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestHeldInJSON: an output that JSON holds has the verdict, the category and the facts of the output itself. Its lines are those of no
// original, so that none of a command's is numbered.
func TestHeldInJSON(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no samples", err)
	}
	numbered := regexp.MustCompile(`(?m)^See (?:.*; )?\d+(?:\+:| )`)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(string(raw), "-- content --\n")
		content, _, _ := strings.Cut(rest, "-- summary --\n")
		in, _ := sampleInput(t, head, content)
		want := ToolOutput(in)
		for name, around := range map[string]any{
			"string":  content,
			"part":    []any{map[string]any{"type": "text", "text": content}},
			"result":  map[string]any{"content": []any{map[string]any{"type": "text", "text": content}}, "isError": false},
			"output":  map[string]any{"output": content},
			"harness": nil,
		} {
			encoded, err := json.Marshal(around, json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			in.Content = string(encoded)
			if name == "harness" {
				text, err := json.Marshal(content)
				if err != nil {
					t.Fatal(err)
				}
				in.Content = "Wall time: 0.3 seconds\nOutput:\n" + string(text)
			}
			checkOutput(t, in)
			got := ToolOutput(in)
			if name != "harness" && !reflect.DeepEqual(got.Tool, want.Tool) {
				t.Errorf("%s in a %s: %+v, want %+v", file, name, got.Tool, want.Tool)
			}
			if mark := strings.LastIndex(got.Text, "[… "); mark < 0 || !strings.Contains(got.Text[mark:], " in JSON; message m") {
				t.Errorf("%s in a %s: no mark in\n%s", file, name, got.Text)
			}
			if got.Tool.Category == string(CommandOutput) && numbered.MatchString(got.Text) {
				t.Errorf("%s in a %s: a number of no line of the original in\n%s", file, name, got.Text)
			}
		}
	}
}

// TestDataFile: a file of JSON that has a long text is read as a file; what is around a file is not read as one.
func TestDataFile(t *testing.T) {
	text, err := json.Marshal(strings.Repeat("one line of a template\n", 60))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ content, want string }{
		"the file":     {"{\n  \"name\": \"welcome\",\n  \"content\": " + string(text) + "\n}", `2|"name": "welcome"`},
		"around it":    {`{"content":"{\n  \"name\": \"welcome\",\n  \"body\": ` + strings.ReplaceAll(strings.Trim(string(text), `"`), `\`, `\\`) + `\n}","bytes":1412}`, "bytes=1412\n"},
		"with numbers": {`{"content":"1\t{\n2\t  \"name\": \"welcome\",\n3\t  \"x\": 1,\n` + strings.Repeat(`4\tlast `, 90) + `"}`, `2|"name": "welcome"`},
	} {
		got := ToolOutput(Input{ToolName: "Read", Arguments: []byte(`{"path":"templates/mail.json"}`), Content: c.content, MaxChars: 400}).Text
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, got)
		}
	}
}
