package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestGolden compares the summaries of testdata's outputs with the files; PRECIS_RULES_UPDATE
// rewrites them. A change in them changes Version.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no samples", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, rest, _ := strings.Cut(string(raw), "-- content --\n")
			content, want, ok := strings.Cut(rest, "-- summary --\n")
			if !ok {
				t.Fatal("no summary section")
			}
			in, must := sampleInput(t, head, content)
			checkOutput(t, in)
			out := ToolOutput(in)
			for _, fact := range must {
				if !strings.Contains(out.Text, fact) {
					t.Errorf("no %q in\n%s", fact, out.Text)
				}
			}
			got := fmt.Sprintf("%s\n-- tool --\n%s %s\n%s\n", out.Text, out.Tool.Category, out.Tool.Status, strings.Join(out.Tool.KeyFacts, "\n"))
			if os.Getenv("PRECIS_RULES_UPDATE") != "" {
				if err := os.WriteFile(file, []byte(head+"-- content --\n"+content+"-- summary --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// sampleInput reads a sample's head, and the required content of its summary.
func sampleInput(t *testing.T, head, content string) (in Input, must []string) {
	in = Input{Content: content, PreserveErrors: true, IncludeMetadata: true}
	for _, l := range strings.Split(strings.TrimSpace(head), "\n") {
		key, value, _ := strings.Cut(l, ": ")
		switch key {
		case "tool":
			in.ToolName = value
		case "arguments":
			in.Arguments = []byte(value)
		case "message":
			in.MessageID = value
		case "must":
			must = append(must, value)
		case "max":
			in.MaxChars, _ = strconv.Atoi(value)
		case "exit":
			code, _ := strconv.Atoi(value)
			in.ExitCode = &code
		case "error":
			failed := value == "true"
			in.IsError = &failed
		default:
			t.Fatalf("unknown key %q", key)
		}
	}
	return in, must
}
