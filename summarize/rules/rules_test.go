package rules

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"precis/events"
	"precis/internal/race"
	"precis/summarize/lex"
	"precis/summarize/rules/words"
)

// TestInvariants: for any bytes and any limit, the text is valid, short enough, no longer than its
// source, and deterministic.
func TestInvariants(t *testing.T) {
	names := rapid.SampledFrom([]string{"read_file", "bash", "Grep", "Glob", "gh", "WebFetch", "edit", "my_tool", ""})
	content := rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.SampledFrom([]rune("ab_ .:/\n{}\"\t→é漢\x1b[")), 0, 3000, -1),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		in := Input{
			MessageID: rapid.String().Draw(t, "id"), ToolName: names.Draw(t, "tool"),
			Content: content.Draw(t, "content"), MaxChars: rapid.IntRange(1, 1000).Draw(t, "max"),
			PreserveErrors: rapid.Bool().Draw(t, "errors"), IncludeMetadata: true,
		}
		checkOutput(t, in)
	})
}

type failer interface {
	Fatalf(format string, args ...any)
}

func checkOutput(t failer, in Input) {
	out := ToolOutput(in)
	if n := lex.Runes(out.Text); n > in.MaxChars || n > lex.Runes(in.Content) {
		t.Fatalf("%d characters of %d, limit %d: %q", n, lex.Runes(in.Content), in.MaxChars, out.Text)
	}
	if !utf8.ValidString(out.Text) {
		t.Fatalf("invalid UTF-8: %q", out.Text)
	}
	if again := ToolOutput(in); again.Text != out.Text {
		t.Fatalf("not the same again: %q, %q", out.Text, again.Text)
	}
	for _, c := range []Category{FileContent, DirectoryListing} {
		cut := HeadTail(in.Content, c, in.MaxChars, Original("", in.MessageID))
		if n := lex.Runes(cut); n > in.MaxChars || n > lex.Runes(in.Content) || !utf8.ValidString(cut) {
			t.Fatalf("head and tail: %d characters of %d, limit %d: %q", n, lex.Runes(in.Content), in.MaxChars, cut)
		}
	}
}

// TestSmallLimits: every limit works, even one into which nothing fits.
func TestSmallLimits(t *testing.T) {
	race.Slow(t)
	texts := worst()
	texts["code"] = source(5000)
	for name, text := range texts {
		text = text[:min(len(text), 5000)]
		for limit := 1; limit < 300; limit++ {
			checkOutput(t, Input{MessageID: "m1", ToolName: "bash", Content: text, MaxChars: limit, PreserveErrors: true})
			if t.Failed() {
				t.Fatal(name, limit)
			}
		}
	}
}

// TestSourceThatFits: a source within the limit is not shortened.
func TestSourceThatFits(t *testing.T) {
	for _, text := range []string{"x", "one line", "a\nb\nc", "漢字"} {
		if got := ToolOutput(Input{ToolName: "bash", Content: text, MaxChars: 100}).Text; got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestErrorsComeFirst: the error text of a failed command is included verbatim, however much other output there is.
func TestErrorsComeFirst(t *testing.T) {
	const cause = "store_test.go:45: connect to postgres_ci: connection refused"
	text := source(20000) + "\n" + cause + "\n--- FAIL: TestStore (0.01s)\n" + source(20000)
	code := 1
	for _, limit := range []int{300, 800, 2000} {
		out := ToolOutput(Input{ToolName: "bash", Content: text, ExitCode: &code, MaxChars: limit, PreserveErrors: true})
		for _, want := range []string{cause, "--- FAIL: TestStore (0.01s)", "❌", "Exit: 1"} {
			if !strings.Contains(out.Text, want) {
				t.Errorf("limit %d: no %q in\n%s", limit, want, out.Text)
			}
		}
	}
}

// TestNewBeforeSeen: new identifiers take precedence over those that the thread has seen.
func TestNewBeforeSeen(t *testing.T) {
	lines := []string{"first := loadAlphaConfig(alphaPath)", "second := loadBetaConfig(betaPath)", "third := loadGammaConfig(gammaPath)"}
	text := strings.Repeat(strings.Repeat("filler words without names ", 3)+"\n", 40) + strings.Join(lines, "\n")
	var seen words.Seen
	seen.Add(lines[0] + lines[1])
	for name, in := range map[string]Input{
		"in earlier texts": {Earlier: []string{lines[0], lines[1]}},
		"in the set":       {Seen: &seen},
	} {
		in.ToolName, in.Content, in.MaxChars = "read", text, 140
		if got := ToolOutput(in).Text; !strings.Contains(got, "loadGammaConfig") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestRelevantRange(t *testing.T) {
	text := source(20000)
	in := Input{ToolName: "read_file", Arguments: []byte(`{"path":"/a.go"}`), Content: text, MaxChars: 800, Relevant: &events.LineRange{Start: 301, End: 320}}
	near, last := 0, 0
	for _, l := range strings.Split(ToolOutput(in).Text, "\n") {
		if n, _, ok := cutNumber(l); ok {
			last = n
		} else if strings.HasPrefix(l, " ") { // the following line
			last++
		}
		if last >= 301 && last <= 320 {
			near++
		}
	}
	if near < 5 {
		t.Errorf("%d lines of the relevant range", near)
	}
}

func FuzzToolOutput(f *testing.F) {
	for name, text := range worst() {
		f.Add(name, `{"command":"x"}`, text[:2000], 100)
	}
	f.Add("read_file", `{"path":"/a.go","offset":3}`, source(3000), 300)
	f.Add("grep", `"{\"pattern\":\"x\"}"`, "a/b.go:12:x_y\na/b.go-13-z\n--\n\xff\xfe", 50)
	f.Add("web", `{`, "<html><head><title>x</title><script>a</script><a href='/b'>c<", 60)
	f.Add("gh", `{}`, `{"a":[1,{"b":"c\ud800"}],"d":`, 70)
	f.Fuzz(func(t *testing.T, tool, args, content string, limit int) {
		checkOutput(t, Input{MessageID: tool, ToolName: tool, Arguments: []byte(args), Content: content, MaxChars: max(1, min(limit, 5000)), PreserveErrors: limit%2 == 0, IncludeMetadata: true, Earlier: []string{args}})
	})
}
