package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestHeaderSays: what a header states of an output holds for all of it.
func TestHeaderSays(t *testing.T) {
	long := strings.Repeat("The harbour master wrote down which berth each ship took that day.\n", 40)
	goFile := "package tide\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\n\tmoon \"example.org/sky/moon\"\n\t_ \"example.org/sky/sun\"\n)\n\nimport \"time\"\n"
	for i := range 60 {
		goFile += fmt.Sprintf("\nfunc Tide%d(at int) int {\n\treturn at + %d\n}\n", i, i)
	}
	page := `[1] link "About us"  [url: https://pier.example/about]` + "\n"
	for i := range 60 {
		page += fmt.Sprintf("[%d] StaticText \"Ferry %d leaves the pier at noon and comes back before the evening.\"\n", i+2, i)
	}
	for name, c := range map[string]struct{ tool, args, content, want, not string }{
		"imports of Go":      {"Read", `{"file_path":"/src/tide.go"}`, goFile, "Imports: 5 modules", ""},
		"more than was left": {"Bash", `{"command":"show log | sed -n '1,20p'"}`, long, "Output: 40 lines", "first"},
		"as many as asked":   {"Bash", `{"command":"show log | sed -n '1,40p'"}`, long, "Output: first 40 lines", ""},
		"a page's address":   {"web_browser_go", `{"url":"https://pier.example/"}`, page, "URL: https://pier.example/", "About: "},
		"a call's address":   {"probe", `{"url":"https://pier.example/"}`, long, "https://pier.example/", "About: "},
	} {
		out := ToolOutput(Input{ToolName: c.tool, Arguments: []byte(c.args), Content: c.content, MaxChars: 800})
		head, _, _ := strings.Cut(out.Text, "\n")
		head += " " + strings.Join(out.Tool.KeyFacts, " | ")
		if !strings.Contains(head, c.want) || c.not != "" && strings.Contains(head, c.not) {
			t.Errorf("%s: %s, want %q and not %q", name, head, c.want, c.not)
		}
	}
}
