package ledger

import (
	"strings"
	"testing"
)

// A run is told as older than the edits that may change how it ends, and not for those that can't.
func TestMatters(t *testing.T) {
	for _, tt := range []struct {
		line, kind, path string
		want             bool
	}{
		{"go test ./...", "test", "/w/quay/book.go", true},
		{"go test ./...", "test", "/w/README.md", false},
		{"go test ./docs/...", "test", "/w/docs/quay.md", true},
		{"go test ./...", "test", "/w/.claude/settings.json", false},
		{"go test ./...", "test", "/w/web/app.ts", false},
		{"go test ./...", "test", "/w/web/index.html", true},
		{"go test ./quay/", "test", "/w/pier/rope_test.go", false},
		{"go test ./quay/", "test", "/w/quay/rope_test.go", true},
		{"go test ./quay/", "test", "/w/pier/rope.go", true},
		{"go build ./...", "build", "/w/pier/rope_test.go", false},
		{"go vet ./...", "lint", "/w/pier/rope_test.go", true},
		{"pytest tests/test_quay.py", "test", "/w/tests/test_pier.py", false},
		{"pytest tests/test_quay.py", "test", "/w/tests/conftest.py", true},
		{"pytest -q", "test", "/w/src/quay.rs", false},
		{"cargo test && npm test", "test", "/w/src/quay.ts", true},
		{"npx prettier --check docs/quay.mdx", "lint", "/w/docs/quay.mdx", true},
		{"npx eslint src/quay.ts", "lint", "/w/src/pier.ts", false},
		{"npx tsc --noEmit", "build", "/w/src/pier.ts", true},
		{"npx tsc --noEmit", "build", "/w/quay.py", false},
		{"npm run lint", "lint", "/w/README.md", true},
		{"npm run build", "build", "/w/README.md", false},
		{"npm run build", "build", "/w/content/quay.md", true},
		{"npm test", "test", "/w/run.sh", true},
		{"make docs", "build", "/w/quay.rst", true},
	} {
		v := newView(Ledger{})
		if got := v.matters(Run{Line: tt.line, Kind: tt.kind}, tt.path); got != tt.want {
			t.Errorf("%s, %s: %t", tt.line, tt.path, got)
		}
	}
}

// What is said of edits since something was found or ran, of errors in files that are gone, and of steps that were taken.
func TestWhatIsOver(t *testing.T) {
	const (
		readme = `call Edit {"file_path":"/w/README.md","old_string":"a","new_string":"b"}` + "\nok: done\n"
		fails  = `fail: Exit code 1\nquay/old_rope.go:7:2: undefined: knot`
		build  = "go build ./..."
	)
	write := func(path, text string) string {
		return `call Write {"file_path":"` + path + `","content":"` + text + `"}` + "\nok: done\n"
	}
	answer := "assistant: The clerk of the ferry loses bookings because he writes them into the book at night.\nuser: Then tell the pilots of it in the readme.\n"
	play(t, []scenario{
		{"an answer before notes", "user: Why does the clerk of the ferry lose bookings?\n" + answer + readme + "assistant: ok\n", []string{"→ answered: The clerk"}, []string{"files were edited later", "before later edits"}},
		{"an answer before code", "user: Why does the clerk of the ferry lose bookings?\n" + answer + editFerry + "assistant: ok\n", []string{"→ answered (files were edited later): The clerk"}, nil},
		{"an answer on the notes", "user: Why does the clerk of the ferry lose bookings?\n" + "assistant: The clerk has no line for a berth in README.md, which the ferry prints as it is.\nuser: Then tell the pilots of it.\n" + readme + "assistant: ok\n", nil, []string{"→ answered: The clerk"}},
		{"notes behind a run", askFerry + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\n" + readme, []string{"go test ./... → passed\n"}, []string{"edited since"}},
		{"code and notes behind a run", askFerry + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\n" + editFerry + readme, []string{"→ passed; edited since: book.go\n"}, nil},

		{"an error of a deleted file", askFerry + editFerry + claude(build) + fails + "\n" + claude("rm quay/old_rope.go") + "ok: \n", []string{"go build ./... → failed"}, []string{"Errors"}},
		{"one of two", askFerry + editFerry + claude(build) + fails + `\nquay/book.go:9:1: syntax error: unexpected }` + "\n" + claude("rm quay/old_rope.go") + "ok: \n", []string{"quay/book.go:9:1"}, []string{"old_rope.go:7"}},
		{"an error of a file that was written anew", askFerry + write("/w/quay/old_rope.go", "package quay") + claude(build) + fails + "\n" + write("/w/quay/old_rope.go", "package quay"), []string{"go build ./... → failed; edited since: old_rope.go"}, []string{"Errors"}},
		{"one of a file that was edited", askFerry + claude(build) + fails + "\n" + `call Edit {"file_path":"/w/quay/old_rope.go","old_string":"a","new_string":"b"}` + "\nok: done\n", []string{"Errors: build, old_rope.go edited since: quay/old_rope.go:7:2"}, nil},
		{"one of a file beside the edited", askFerry + claude(build) + fails + "\n" + editFerry, []string{"Errors: build, edits since: quay/old_rope.go:7:2"}, nil},
		{"notes behind an error", askFerry + claude(build) + fails + "\n" + readme, []string{"Errors: build: quay/old_rope.go:7:2"}, []string{"since"}},
		{"a test that was taken out", askFerry + claude("go test ./...") + `fail: --- FAIL: TestRope (0.01s)\n    rope_test.go:4: want 1\nFAIL` + "\n" + `call Edit {"file_path":"/w/quay/rope_test.go","old_string":"func TestRope(t *testing.T) {\n}\n","new_string":""}` + "\nok: done\n", nil, []string{"Errors"}},
		{"a test that was changed", askFerry + claude("go test ./...") + `fail: --- FAIL: TestRope (0.01s)\n    rope_test.go:4: want 1\nFAIL` + "\n" + `call Edit {"file_path":"/w/quay/rope_test.go","old_string":"func TestRope(t *testing.T) {\n}\n","new_string":"func TestRope(t *testing.T) {\n\tt.Log()\n}\n"}` + "\nok: done\n", []string{"Errors: test, rope_test.go edited since: --- FAIL: TestRope"}, nil},

		{"one step", askFerry + "assistant: Now let me write the sync into the log of the clerk.\n" + editFerry, []string{"- said before that: Now let me write"}, []string{"isn't known"}},
		{"steps", askFerry + "assistant: Now let me write the sync into all three logs of the clerk.\n" + editFerry, []string{"isn't known): Now let me write"}, nil},
		{"two steps", askFerry + "assistant: Now let me write the sync into the log of the clerk. Then I will print the berth on each ticket.\n" + editFerry, []string{"isn't known): Now let me write"}, nil},
	})
}

// A remark between calls is no reply to a request, nor is it what was answered; one behind which the user's newest message may stand is.
func TestRemarksBetweenCalls(t *testing.T) {
	ask := "user: Why does the clerk of the ferry lose bookings at night?\n"
	remark := "assistant: The clerk of the ferry writes bookings into the book by hand.\n"
	next := "user: Count the ropes that lie on the pier of the harbour.\nassistant: There are nine.\nuser: And those at sea, please?\nassistant: ok\n"
	look := claude("ls") + "ok: book\n"
	for _, tt := range []struct {
		name, script string
		interrupted  bool
	}{
		{"a reply", ask + remark + next, false},
		{"a remark", ask + remark + look + next, true},
		{"a remark, then a reply", ask + remark + look + remark + next, false},
	} {
		messages := script(tt.script)
		whole := Collect(messages)
		text := whole.Text(2000)
		if got := strings.Contains(text, "at night? → interrupted"); got != tt.interrupted || tt.interrupted == strings.Contains(text, "→ answered: The clerk") {
			t.Errorf("%s:\n%s", tt.name, text)
		}
		for cut := 1; cut < len(messages); cut++ {
			if got := Merge(Collect(messages[:cut]), Collect(messages[cut:])).Text(2000); strings.Contains(got, "at night? → interrupted") != tt.interrupted {
				t.Errorf("%s, cut at %d:\n%s", tt.name, cut, got)
			}
		}
	}
	apart := script(ask + remark + look + next)
	for i := range apart[2:] {
		apart[2+i].Ordinal++
	}
	if text := Collect(apart).Text(2000); strings.Contains(text, "→ interrupted") {
		t.Errorf("with a message between:\n%s", text)
	}
}

// What would follow from something is no guess.
func TestWouldIsNoGuess(t *testing.T) {
	for s, want := range map[string]bool{
		"A second writer would not help because the log has one lock.": false,
		"Dropping the lock would lose bookings of the `ferry`.":        false,
		"It wouldn't hold, since the `quay` has no bell.":              false,
		"I would take the `berth` from the log.":                       true,
		"That would be the better place for the `berth`.":              true,
		"It might lose bookings, which would break the `ferry`.":       true,
	} {
		if guesses(s) != want {
			t.Errorf("%q: %t", s, !want)
		}
	}
}
