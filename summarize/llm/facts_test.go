package llm

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"precis/summarize/lex"
)

func TestFacts(t *testing.T) {
	byRules := `[❌ Bash: Command: go test ./... | Exit: 1 | Output: 310 lines]
--- FAIL: TestOpen (0.01s)
    store_test.go:41: open /var/lib/app/data.db: permission denied
error: build failed in internal/store/open.go
request 7f3d2a91 took 1,204 ms`
	got := Facts(byRules)
	for _, want := range []string{"error: build failed in internal/store/open.go", "/var/lib/app/data.db", "internal/store/open.go", "7f3d2a91", "310"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if got[0] != "Exit: 1" || got[1] != "--- FAIL: TestOpen (0.01s)" {
		t.Errorf("the errors are not first: %q", got)
	}
}

func TestTellsError(t *testing.T) {
	for line, want := range map[string]bool{
		"error: no such file": true, "FAIL: TestOpen": true, "ModuleNotFoundError: x": true, "bash: permission denied": true,
		"exit status 2": true, "Exit: 0": true, "java.io.IOException at": true,
		"make: *** [all] Fehler 2": true, "CRITICAL: 0": false, "CRITICAL: disk full": true,
		"internal/errors.go:12: package errors": false, "preserve_errors: true": false, "the failover works": false, "": false,
	} {
		if tellsError(line) != want {
			t.Errorf("%q: %t", line, !want)
		}
	}
}

func TestWords(t *testing.T) {
	for word, want := range map[string]string{
		"/etc": "path", "main.go": "path", "internal/store/open.go:41": "path", "./bin/run": "path", "a/b/c": "path", "Makefile.txt": "path",
		"https://example.com/a": "path", "t.Run": "name", "sess.ID": "name", "checkpoint_id": "name", "NewStateStore": "name", "7f3d2a91": "name",
		"yes/no": "", "3/4": "", "45.96it/s": "", "**/*.md": "", "the": "", "README": "", "error": "", "......F...sss": "", "i.e": "",
		"1204": "number", "2026-11-20": "number", "1.234": "number", "42": "",
	} {
		got := ""
		switch {
		case isPath(word):
			got = "path"
		case isName(word):
			got = "name"
		case isNumber(word):
			got = "number"
		}
		if got != want {
			t.Errorf("%q is a %q, want %q", word, got, want)
		}
	}
}

func TestWithoutNumber(t *testing.T) {
	for line, want := range map[string]string{
		"12: x": " x", "12|x": "x", "12→.x": ".x", "1 | x": "", "1269:func f()": "func f()", "1288-\treturn": "\treturn", "  7: y": " y", "12:": "",
		"12:30:01 error": "", "2026-11-20 error": "", "12 errors": "", "error: x": "", "": "", "12": "",
	} {
		if got, numbered := withoutNumber(line); numbered != (want != "" || line == "12:") || numbered && got != want {
			t.Errorf("%q became %q (%t)", line, got, numbered)
		}
	}
}

func TestFactsOfAFile(t *testing.T) {
	got := Facts("[✓ Read: File: /app/store.go | Lines: 740]\n120: return fmt.Errorf(\"error: %w\", err)\n[… 738 lines, 31,099 chars omitted; message be169862]")
	if want := []string{"/app/store.go", "fmt.Errorf", "740"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	got = Facts("[✓ Read: File: /app/store.go]\n120|if err == nil {\n panic(\"no error\")\n130→fatal(err)")
	if want := []string{"/app/store.go"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestFactsOfAFailureByFile(t *testing.T) {
	got := Facts("[❌ Bash: Command: mypy src | Exit: 1]\nsrc/m1.py\n3|error: wrong type [arg-type]\n error: unused ignore")
	if want := []string{"Exit: 1", "error: wrong type [arg-type]", "error: unused ignore", "src/m1.py"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestKeepFacts(t *testing.T) {
	fits := func(limit int) func(string) bool { return func(s string) bool { return lex.Runes(s) <= limit } }
	for _, c := range []struct {
		name  string
		limit int
		facts []string
		want  string
	}{
		{"nothing is missing", 99, []string{"tests"}, "The tests fail."},
		{"words", 99, []string{"a/b.go", "tests", "7f3d"}, "The tests fail.\nAlso: a/b.go, 7f3d"},
		{"lines", 99, []string{"error: no space", "a/b.go"}, "The tests fail.\nerror: no space\nAlso: a/b.go"},
		{"what does not fit stays out, what follows may fit", 29, []string{"a/very/long/path.go", "7f3d"}, "The tests fail.\nAlso: 7f3d"},
		{"no room", 15, []string{"7f3d"}, "The tests fail."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := keepFacts("The tests fail.", c.facts, fits(c.limit)); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestKeepFactsStaysWithinItsBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 50, -1).Draw(t, "text")
		facts := rapid.SliceOf(rapid.String()).Draw(t, "facts")
		limit := rapid.IntRange(lex.Runes(text), 120).Draw(t, "limit")
		got := keepFacts(text, facts, func(s string) bool { return lex.Runes(s) <= limit })
		if lex.Runes(got) > limit || !strings.HasPrefix(got, text) {
			t.Fatalf("%q became %q at %d", text, got, limit)
		}
	})
}
