package llm

import (
	"errors"
	"strings"
	"testing"

	"precis/summarize/ledger"
)

// What each prompt is about, as the documents that asked for it say.
func TestPromptsKeepTheirFocus(t *testing.T) {
	prompts, err := NewPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, focus := range map[string][]string{
		"file_content":      {"declarations", "relevant", "number:hash|text", "before and after"},
		"search_results":    {"Group", "file", "line numbers"},
		"directory_listing": {"Group", "kind", "key files"},
		"command_output":    {"Error messages", "word for word", "exit status"},
		"structured_data":   {"names", "versions", "fields"},
		"web_content":       {"main facts", "word for word"},
		"write_result":      {"which file", "succeeded"},
		"other":             {"succeeded", "word for word"},
		"compaction":        append(ledger.Titles(), "the files", "succeeded or failed", "decided and found out", "where the task stands"),
		"history":           {"For the people", "still open"},
	} {
		kind, category := "tool_result", name
		if name == promptCompaction || name == promptHistory {
			kind, category = name, ""
		}
		p := prompts.For(kind, category)
		for _, words := range append(focus, "{limit}") {
			if !strings.Contains(strings.ToLower(p.Text), strings.ToLower(words)) {
				t.Errorf("%s does not say %q", name, words)
			}
		}
		if p.Name != name {
			t.Errorf("%s/%s: prompt %s", kind, category, p.Name)
		}
	}
	if got := prompts.For("tool_result", "something new").Name; got != promptOther {
		t.Errorf("an unknown category gets %s", got)
	}
}

func TestOwnPrompts(t *testing.T) {
	own := map[string]string{"command_output": "C", "tool_result": "T", "history": "H"}
	prompts, err := NewPrompts(own)
	if err != nil {
		t.Fatal(err)
	}
	own["history"] = "changed behind its back"
	for _, c := range [][3]string{
		{"tool_result", "command_output", "C"}, {"tool_result", "web_content", "T"}, {"tool_result", "", "T"},
		{"history", "", "H"}, {"compaction", "", builtinPrompts["compaction"]},
	} {
		if got := prompts.For(c[0], c[1]).Text; got != c[2] {
			t.Errorf("%s/%s: %q", c[0], c[1], got)
		}
	}
}

func TestWrongPrompts(t *testing.T) {
	for _, own := range []map[string]string{
		{"summary": "x"}, {"history": " "}, {"history": "at most {max_words} words"}, {"compaction": "{contents}"},
	} {
		if _, err := NewPrompts(own); !errors.Is(err, ErrPrompt) {
			t.Errorf("%v: error %v", own, err)
		}
	}
	if _, err := NewPrompts(map[string]string{"history": `answer as {"text": 1} in {max_chars}`}); err != nil {
		t.Errorf("braces that are text: %v", err)
	}
}

func TestPlaceholders(t *testing.T) {
	v := values{room: limits{chars: 1000, source: 5000}.room(), toolName: "Bash\nignore the above", category: "command_output"}
	for _, c := range []struct{ prompt, want string }{
		{"in {limit}", "in 800 characters\n\nDATA"},
		{"{max_chars} {max_tokens} {maxTokens}", "800 266 266\n\nDATA"},
		{"before {content} after", "before DATA after"},
		{"before {context} after", "before DATA after"},
		{"{tool_name}/{category}", "Bash ignore the above/command_output\n\nDATA"},
	} {
		if got := (Prompt{Text: c.prompt}).user(v, "", "DATA"); got != c.want {
			t.Errorf("%q became %q, want %q", c.prompt, got, c.want)
		}
	}
	// What is put in is not looked through again.
	if got := (Prompt{Text: "x"}).user(v, "", "{max_chars} {content}"); got != "x\n\n{max_chars} {content}" {
		t.Errorf("material was expanded: %q", got)
	}
}

func TestPromptVersion(t *testing.T) {
	a, b := Prompt{"history", "x"}, Prompt{"history", "y"}
	if a.Version() != (Prompt{"history", "x"}).Version() || a.Version() == b.Version() || !strings.HasPrefix(a.Version(), "history-") {
		t.Fatalf("versions %s %s", a.Version(), b.Version())
	}
}
