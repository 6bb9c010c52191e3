package ledger

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"precis/events"
	"precis/summarize/lex"
)

// A text is never longer than requested, valid UTF-8, and deterministic.
func TestRenderHoldsItsLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := slices.Concat(spans().Draw(t, "spans")...)
		limit := rapid.IntRange(0, 3000).Draw(t, "limit")
		prose := rapid.SampledFrom([]string{"", "The parser was fixed; tests pass. ", strings.Repeat("Ünd so weiter. ", 300)}).Draw(t, "prose")
		l := unguarded(messages)
		text := render("--- Title ---", l, prose, limit)
		if lex.Runes(text) > limit || !utf8.ValidString(text) {
			t.Fatalf("%d characters of %d: %q", lex.Runes(text), limit, text)
		}
		if render("--- Title ---", Collect(messages), prose, limit) != text {
			t.Fatal("not the same text")
		}
	})
}

// A leaf can be computed from any bytes of a tool output.
func FuzzLeaf(f *testing.F) {
	f.Add("plain", `{"file_path":"a.go","content":"x"}`)
	f.Add("\x1b[31merror:\x00 é"+strings.Repeat("A", 5000), `"rm -rf 'x"`)
	f.Add("a.b.c/d:e-f_g 1.2.3", `{"command":["bash","-lc","cat <<EOF > x.md\nhi\nEOF"]}`)
	f.Fuzz(func(t *testing.T, output, args string) {
		if !utf8.ValidString(output) || !jsontext.Value(args).IsValid() {
			t.Skip()
		}
		messages := []Message{
			{Ordinal: 1, Message: &events.Message{MessageID: "1", Role: events.RoleAssistant, Content: events.TextContent(output), ToolCalls: []events.ToolCall{{ID: "c", Name: "edit", Arguments: jsontext.Value(args)}}}},
			{Ordinal: 2, Message: &events.Message{MessageID: "2", Role: events.RoleTool, ToolCallID: "c", ToolName: "edit", Content: events.TextContent(output)}},
		}
		text := render("", unguarded(messages).Trim(), "", 500)
		if lex.Runes(text) > 500 || !utf8.ValidString(text) {
			t.Fatalf("%d characters: %q", lex.Runes(text), text)
		}
	})
}

// The complete text of a small thread, as people read it.
func TestRenderReads(t *testing.T) {
	messages := script(`
		user: Make the parser accept tabs. Never edit generated files.
		assistant: I'll look at parse_line first.
		call Read {"file_path":"/w/src/parser.go"}
		ok: func parse_line(s string) (Token, error) { return scanToken(s, ' ') }
		call Edit {"file_path":"/w/src/parser.go","old_string":"scanToken(s, ' ')","new_string":"scanToken(s, isBlank)"}
		ok: done
		call Write {"file_path":"/w/src/parser_test.go","content":"func TestTabs(t *testing.T) {}"}
		ok: done
		call bash {"command":"go test ./..."}
		fail: Exit code 1\nparser.go:7: undefined: isBlank
		call TodoWrite {"todos":[{"content":"define isBlank","status":"in_progress"},{"content":"read","status":"completed"}]}
		ok: saved`)
	want := `
--- Summarized Context (12 items) ---
Goal: Make the parser accept tabs. Never edit generated files.
Instructions that hold: Never edit generated files.
State:
- go test ./... → failed
- to do: define isBlank (in progress) (1 done)
Files in /w/src/: parser_test.go (TestTabs), parser.go
Errors: test: parser.go:7: undefined: isBlank
Next:
- go on with: define isBlank
- done at last: edited parser.go, parser_test.go; ran go test ./... → failed
- said before that: I'll look at parse_line first.`
	if got := Collect(messages).Trim().Text(2000); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s", got)
	}
}

// Without files and outputs, the user's words get the room of these sections.
func TestRenderOfTalkAlone(t *testing.T) {
	messages := script(`
		user: I'm moving our bakery's order system off spreadsheets. Never email customers on Sundays.
		assistant: Understood. Which fields does the order sheet have today?
		user: Name, phone, cake type, pickup date, deposit. Deposits are always 30 percent.
		assistant: I suggest one table for orders and one for payments. Shall I draft it?
		user: Yes, but keep the phone numbers out of every export. Legal insists.
		assistant: Draft ready.
		user: Jonas will approve anything above 500 euros, nobody else.
		assistant: Noted.
		user: Now write the announcement for the summer menu.`)
	text := Render(Collect(messages), "", 2000)
	for _, said := range []string{"Never email customers on Sundays.", "always 30 percent", "keep the phone numbers out of every export", "Jonas will approve anything above 500 euros", "the announcement for the summer menu"} {
		if !strings.Contains(text, said) {
			t.Errorf("%q is not in\n%s", said, text)
		}
	}
}

// In a long conversation, the first request is called that: what is to be done now stands among the requests.
func TestRenderOfALongTalk(t *testing.T) {
	lines := "user: Read the theme of the editor in full, please."
	for n := range 6 {
		lines += fmt.Sprintf("\nuser: Now change the colour number %d of the dark theme.", n)
	}
	if text, want := Collect(script(lines)).Text(1500), "\nGoal: (first of 7 or more requests) Read the theme of the editor in full, please.\n"; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
}

// The compactions of small threads as docs/compactions.md shows them, and one where room is short: an agent that writes code,
// one that looks for a cause, one that serves a customer. PRECIS_LEDGER_UPDATE=1 writes them.
func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name  string
		chars int
	}{{"bakery", 800}, {"bakery", 2000}, {"harbour", 2000}, {"ferry", 2000}} {
		lines, err := os.ReadFile("testdata/" + tt.name + ".script")
		if err != nil {
			t.Fatal(err)
		}
		path, got := fmt.Sprintf("testdata/%s.%d.txt", tt.name, tt.chars), Collect(script(string(lines))).Trim().Text(tt.chars)+"\n"
		if os.Getenv("PRECIS_LEDGER_UPDATE") != "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%s, %v; got\n%s", path, err, got)
		}
	}
}
