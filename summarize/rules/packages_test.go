package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPackages: Go's test runner does not count its packages; the line of facts does, if all of them are in the output, and never beside a mark that
// says otherwise.
func TestPackages(t *testing.T) {
	passed := "ok  \tacme/api\t0.412s\nok  \tacme/auth\t(cached)\n?   \tacme/cmd\t[no test files]\nok  \tacme/store\t1.2s\tcoverage: 61.0% of statements\n"
	failed := passed + "--- FAIL: TestTide (0.01s)\n    tide_test.go:12: got 3, want 4\nFAIL\nFAIL\tacme/tide\t0.01s\nFAIL\tacme/quay [build failed]\nFAIL\n"
	zero, one := 0, 1
	for _, c := range []struct {
		command, content string
		exit             *int
		want             string
	}{
		{"go test ./...", passed, &zero, "Packages: 3 ok, 1 untested"},
		{"go test ./... 2>&1 | tee out.txt", passed, &zero, "Packages: 3 ok, 1 untested"},
		{"go test ./...", failed, &one, "Packages: 2 failed, 3 ok, 1 untested"},
		{"go test ./... | tail -20", passed, &zero, ""},
		{"go test ./... 2>&1 | grep -v coverage", passed, &zero, ""},
		{"go test ./... && go test -race ./...", passed + passed, &zero, ""}, // twice
		{"go test ./api ./auth", "ok  \tacme/api\t0.412s\nok  \tacme/auth\t(cached)\n", &zero, ""},
		{"gh run view 12 --log", failed, &zero, ""}, // the reading succeeded
	} {
		args := fmt.Appendf(nil, `{"command":%q}`, c.command)
		got := ToolOutput(Input{ToolName: "bash", Arguments: args, Content: c.content, ExitCode: c.exit, MaxChars: 800}).Tool.KeyFacts
		at := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "Packages: ") })
		if c.want == "" && at >= 0 || c.want != "" && (at < 0 || got[at] != c.want) {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
}

// TestChangedFilesByLines: of many changed files those are shown of which most changed; the others have how much did.
func TestChangedFilesByLines(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		n := 1 + i%7
		if i == 20 || i == 31 {
			n = 100 + i
		}
		fmt.Fprintf(&b, " internal/harbour%02d/service_%02d.go | %3d ++%s\n", i, i, n, strings.Repeat("-", n%9))
	}
	b.WriteString(" 40 files changed, 300 insertions(+), 51 deletions(-)\n")
	in := Input{MessageID: "m", ToolName: "bash", Arguments: []byte(`{"command":"git diff --stat"}`), Content: b.String(), MaxChars: 800}
	checkOutput(t, in)
	text := ToolOutput(in).Text
	for _, want := range []string{"internal/harbour20/service_20.go | 120\n", "internal/harbour31/service_31.go | 131\n", "40 files changed", "service_27.go 7"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
