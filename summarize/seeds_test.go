package summarize_test

import (
	"strings"
	"testing"

	"precis/internal/config"
	"precis/summarize"
	"precis/summarize/llm"
	"precis/summarize/rules"
)

// The facts from the product's original requirements, as a table: numbers, names, formats and
// test cases. The defaults of policies and providers must stay the same.

func TestSeedThresholds(t *testing.T) {
	p := summarize.Default()
	for name, c := range map[string][2]int{
		"summarize tool outputs over (characters)":         {p.ToolOutput.OverChars, 1500},
		"longest summary (characters)":                     {int(p.ToolOutput.MaxSummaryChars), 800},
		"longest input of a model (characters)":            {p.ToolOutput.MaxInputChars, 50000},
		"longest summary of a short conversation (tokens)": {int(p.Compaction.MaxSummaryTokens.Tokens(10_000)), 500},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %d, want %d", name, c[0], c[1])
		}
	}
	if p.Mode != summarize.ModeRules || !p.ToolOutput.PreserveErrors || p.Compaction.SummarizeSystem {
		t.Errorf("rules by default, errors kept, system messages left alone: %+v", p)
	}
	if p.Context.SummaryHeading != "[Previous Conversation Summary]" {
		t.Errorf("heading %q", p.Context.SummaryHeading)
	}
}

func TestSeedProviders(t *testing.T) {
	c := config.Default()
	for name, want := range map[string][2]string{
		config.ProviderMain:       {config.KindOpenAI, "gpt-4.1-mini"},
		config.ProviderSummarizer: {config.KindAnthropic, "claude-haiku-4-5-20251001"},
	} {
		if p := c.Providers[name]; p.Kind != want[0] || p.Model != want[1] {
			t.Errorf("%s is %s %s, want %v", name, p.Kind, p.Model, want)
		}
	}
	if name, _, ok := (&config.Config{Providers: map[string]config.Provider{"main": {}}}).ProviderFor("summarizer"); !ok || name != "main" {
		t.Errorf("without a summarizer %q serves", name)
	}
}

// seedCategories are the six categories: their tools, the share of the head in a truncation, and the
// subjects of their prompts.
var seedCategories = []struct {
	category rules.Category
	tools    []string
	head     float64
	focus    []string
}{
	{"file_content", []string{"read", "cat"}, 0.7, []string{"built", "number:hash"}},
	{"search_results", []string{"grep", "rg", "search"}, 0.5, []string{"Group them by file", "line numbers"}},
	{"directory_listing", []string{"ls", "find", "fd"}, 0.3, []string{"Group entries by kind", "key files"}},
	{"command_output", []string{"bash", "sh"}, 0.6, []string{"Error messages", "word for word"}},
	{"structured_data", []string{"nix-search", "gh"}, 0.5, []string{"names, versions", "fields"}},
	{"web_content", []string{"web-search", "web-fetch"}, 0.5, []string{"main facts", "word for word"}},
}

func TestSeedCategories(t *testing.T) {
	prompts, err := llm.NewPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range seedCategories {
		for _, tool := range c.tools {
			if got := rules.CategoryOf(tool, nil, "some text\nof two lines"); got != c.category {
				t.Errorf("%s is %s, want %s", tool, got, c.category)
			}
		}
		if got := c.category.HeadRatio(); got != c.head {
			t.Errorf("head of %s is %v, want %v", c.category, got, c.head)
		}
		text := prompts.For("tool_result", string(c.category)).Text
		for _, focus := range c.focus {
			if !strings.Contains(text, focus) {
				t.Errorf("the prompt for %s does not say %q: %s", c.category, focus, text)
			}
		}
	}
}

func TestSeedTruncation(t *testing.T) {
	line := "a line of text that is twenty-nine\n"
	content := strings.Repeat(line, 100)
	for _, c := range seedCategories {
		got := rules.HeadTail(content, c.category, 800, rules.Original("", "m1"))
		head, rest, ok := strings.Cut(got, "[…")
		mark, tail, end := strings.Cut(rest, "]")
		if !ok || !end || !strings.Contains(mark, "chars omitted") || !strings.Contains(mark, "m1") {
			t.Fatalf("%s: no mark in %q", c.category, got)
		}
		share := float64(len(head)) / float64(len(head)+len(tail))
		if share < c.head-0.06 || share > c.head+0.06 {
			t.Errorf("%s keeps %.2f of its room for the head, want %.1f", c.category, share, c.head)
		}
		for _, kept := range strings.Split(strings.Trim(head+tail, "\n"), "\n") {
			if kept != "" && kept+"\n" != line {
				t.Errorf("%s cuts inside a line: %q", c.category, kept)
			}
		}
	}
	for _, r := range rules.HeadTail(strings.Repeat("日本語", 1000), "command_output", 100, rules.Original("", "m1")) {
		if r == '\uFFFD' {
			t.Fatal("a character is cut in two")
		}
	}
}

func TestSeedCases(t *testing.T) {
	exit := 1
	for name, c := range map[string]struct {
		in     rules.Input
		status string
		first  []string // what the first line says
	}{
		"a file's lines": {
			rules.Input{ToolName: "read_file", Arguments: []byte(`{"path":"/app.ts"}`), Content: "line1\nline2\nline3"},
			"success", []string{"File: /app.ts", "Lines: 3"},
		},
		"a file with exports and imports": {
			rules.Input{ToolName: "read_file", Arguments: []byte(`{"path":"/src/hello.ts"}`),
				Content: "export function hello() {}\nexport const world = 42;\nimport { foo } from 'bar';"},
			"success", []string{"File: /src/hello.ts", "Type: TypeScript", "Lines: 3"},
		},
		"a command that failed": {
			rules.Input{ToolName: "execute_bash", Arguments: []byte(`{"command":"npm test"}`),
				Content: "npm test\nError: Module not found\nexit code: 1"},
			"error", []string{"Command: npm test", "Exit: 1"},
		},
		"a command whose event says how it ended": {
			rules.Input{ToolName: "bash", Arguments: []byte(`{"command":"make"}`), Content: "all fine\n", ExitCode: &exit},
			"error", []string{"Command: make", "Exit: 1"},
		},
		"a search": {
			rules.Input{ToolName: "search_files", Arguments: []byte(`{"pattern":"useState"}`),
				Content: "App.tsx:3:import { useState } from 'react'\nHook.ts:9:const [a, b] = useState(1)\n"},
			"success", []string{`Pattern: "useState"`, "Matches: 2", "Files: 2"},
		},
		"a search that finds nothing": {
			rules.Input{ToolName: "grep", Arguments: []byte(`{"pattern":"nowhere"}`), Content: "No matches found"},
			"partial", []string{`Pattern: "nowhere"`, "Matches: 0"},
		},
	} {
		c.in.MaxChars, c.in.PreserveErrors, c.in.IncludeMetadata = 800, true, true
		out := rules.ToolOutput(c.in)
		if out.Tool.Status != c.status || out.Tool.ToolName != c.in.ToolName || len(out.Tool.Metadata) == 0 {
			t.Errorf("%s: %+v", name, out.Tool)
		}
		for _, want := range c.first {
			if !strings.Contains(strings.Join(out.Tool.KeyFacts, " | "), want) {
				t.Errorf("%s: %q is not among %q", name, want, out.Tool.KeyFacts)
			}
		}
	}
}

func TestSeedFormat(t *testing.T) {
	long := strings.Repeat("const one = two + three\n", 100)
	for want, in := range map[string]rules.Input{
		"[✓ read_file: File: /app.ts | ": {ToolName: "read_file", Arguments: []byte(`{"path":"/app.ts"}`), Content: long},
		"[❌ bash: Command: npm test | ":  {ToolName: "bash", Arguments: []byte(`{"command":"npm test"}`), Content: long + "exit code: 1"},
		`[✓ grep: Pattern: "one" | `:     {ToolName: "grep", Arguments: []byte(`{"pattern":"one"}`), Content: strings.Repeat("a.ts:1:const one = 1\n", 100)},
	} {
		in.MaxChars = 800
		first, _, _ := strings.Cut(rules.ToolOutput(in).Text, "\n")
		if !strings.HasPrefix(first, want) || !strings.HasSuffix(first, "]") {
			t.Errorf("first line %q, want %q…", first, want)
		}
	}
}
