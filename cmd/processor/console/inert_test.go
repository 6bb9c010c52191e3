package console

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// hostile has what acts on terminals: escapes of two generations, a title, overrides and marks of direction.
const hostile = "a\x1b[2Jb\x1b]0;title\x07c\u009b31md\u0085e\u202ef\u2066g\u200eh\u200fi\u061cj\x7fk\rl"

// However its bytes are dealt out to writes, no output acts on a terminal, and JSON says what it said.
func TestOutputIsInert(t *testing.T) {
	value := map[string]string{"text": hostile + " grün 漢\n\t"}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(data) + "\n", hostile + "\n", "crlf\r\n" + hostile + "\n", "\xff\x9b\n"} {
		for _, size := range []int{1, 2, 3, 7, len(text)} {
			var out bytes.Buffer
			a := New(strings.NewReader(""), &out, &bytes.Buffer{})
			for rest := []byte(text); len(rest) > 0; {
				n := min(size, len(rest))
				if wrote, err := a.Stdout.Write(rest[:n]); wrote != n || err != nil {
					t.Fatalf("wrote %d of %d: %v", wrote, n, err)
				}
				rest = rest[n:]
			}
			for _, r := range out.String() {
				if r != '\n' && r != '\t' && r != '\r' && isControl(r) {
					t.Errorf("%U of %q in writes of %d is in %q", r, text, size, out.String())
				}
			}
			if got := strings.ReplaceAll(out.String(), "\r\n", ""); strings.Contains(got, "\r") || !utf8.ValidString(got) {
				t.Errorf("%q in writes of %d became %q", text, size, got)
			}
			if text[0] == '{' {
				got := map[string]string{}
				if err := json.Unmarshal(out.Bytes(), &got); err != nil || got["text"] != value["text"] {
					t.Errorf("in writes of %d JSON says %q, want %q (%v)", size, got["text"], value["text"], err)
				}
			}
		}
	}
}

// Nor does what goes to standard error: notes and errors.
func TestNotesAreInert(t *testing.T) {
	for name, tell := range map[string]func(a *App){
		"note":  func(a *App) { a.Note("thread %s", hostile) },
		"error": func(a *App) { a.Report(errors.New(hostile)) },
	} {
		for _, watched := range []bool{false, true} {
			var out bytes.Buffer
			a := New(strings.NewReader(""), &bytes.Buffer{}, &out)
			a.Watched = watched
			tell(a)
			text := out.String()
			for _, r := range text {
				if r != '\n' && isControl(r) {
					t.Errorf("%s: %U is in %q", name, r, text)
				}
			}
			if !strings.Contains(text, "title") {
				t.Errorf("%s: nothing is told: %q", name, text)
			}
		}
	}
}
