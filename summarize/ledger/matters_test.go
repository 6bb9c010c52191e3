package ledger

import (
	"strconv"
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
		{"go test ./...", "test", "/w/quay/testdata/page.md", true},
		{"go test ./...", "test", "/w/quay/testdata/rope.py", true},
		{"go test ./...", "test", "/w/scripts/moor.sh", true},
		{"go build ./...", "build", "/w/web/dist/app.js", true},
		{"go build ./...", "build", "/w/.env", true},
		{"go test ./...", "test", "/w/Makefile", true},
		{"go test ./...", "test", "/w/quay.sql", true},
		{"go test ../quay/", "test", "/w/quay/rope_test.go", true},
		{"go test harbour.example/ferry/quay", "test", "/w/quay/rope_test.go", true},
		{"pytest -q", "test", "/w/prompts/clerk.md", true},
		{"pytest -q", "test", "/w/.claude/hooks/check.py", true},
		{"pytest tests/test_quay.py", "test", "/w/tests/test_utils.py", true},
		{"npx eslint src/quay.ts", "lint", "/w/eslint.config.js", true},
		{"npx eslint src/quay.ts", "lint", "/w/package.json", true},
		{"ruff check src", "lint", "/w/pyproject.toml", true},
		{"flutter build apk", "build", "/w/android/Quay.kt", true},
		{"python build.py", "build", "/w/src/quay.ts", true},
		{"tox", "test", "/w/src/quay.rs", true},
		{"./gradlew build", "build", "/w/web/quay.ts", true},
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
		{"an answer before notes", "user: Why does the clerk of the ferry lose bookings?\n" + answer + readme + "assistant: ok\n", []string{"→ answered: The clerk"}, []string{"files were edited later", "before edits of"}},
		{"an answer before code", "user: Why does the clerk of the ferry lose bookings?\n" + answer + editFerry + "assistant: ok\n", []string{"→ answered (files were edited later): The clerk"}, nil},
		{"an answer on the notes", "user: Why does the clerk of the ferry lose bookings?\n" + "assistant: The clerk has no line for a berth in README.md, which the ferry prints as it is.\nuser: Then tell the pilots of it.\n" + readme + "assistant: ok\n", nil, []string{"→ answered: The clerk"}},
		{"an answer about notes", "user: Why does the guide of the ferry confuse pilots?\nassistant: The guide of the ferry has no section on how berths are printed.\nuser: Then add one to it, please.\n" + readme + "assistant: ok\n", []string{"→ answered (files were edited later)"}, nil},
		{"notes behind a run", askFerry + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\n" + readme, []string{"go test ./... → passed\n"}, []string{"edited since"}},
		{"code and notes behind a run", askFerry + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\n" + editFerry + readme, []string{"→ passed; edited since: book.go\n"}, nil},

		{"an error of a deleted file", askFerry + editFerry + claude(build) + fails + "\n" + claude("rm quay/old_rope.go") + "ok: \n", []string{"go build ./... → failed"}, []string{"Errors"}},
		{"one of two", askFerry + editFerry + claude(build) + fails + `\nquay/book.go:9:1: syntax error: unexpected }` + "\n" + claude("rm quay/old_rope.go") + "ok: \n", []string{"quay/book.go:9:1"}, []string{"old_rope.go:7"}},
		{"an error of a file that was written anew", askFerry + write("/w/quay/old_rope.go", "package quay") + claude(build) + fails + "\n" + write("/w/quay/old_rope.go", "package quay"), []string{"go build ./... → failed; edited since: old_rope.go"}, []string{"Errors"}},
		{"one of a file that was edited", askFerry + claude(build) + fails + "\n" + `call Edit {"file_path":"/w/quay/old_rope.go","old_string":"a","new_string":"b"}` + "\nok: done\n", []string{"Errors: build, old_rope.go edited since: quay/old_rope.go:7:2"}, nil},
		{"one of a file beside the edited", askFerry + claude(build) + fails + "\n" + editFerry, []string{"Errors: build, edits since: quay/old_rope.go:7:2"}, nil},
		{"notes behind an error", askFerry + claude(build) + fails + "\n" + readme, []string{"Errors: build: quay/old_rope.go:7:2"}, []string{"since"}},
		{"a test that was taken out", askFerry + claude("go test ./...") + `fail: --- FAIL: TestRope (0.01s)\n    rope_test.go:4: want 1\nFAIL` + "\n" + `call Edit {"file_path":"/w/quay/rope_test.go","old_string":"func TestRope(t *testing.T) {\n}\n","new_string":""}` + "\nok: done\n", nil, []string{"Errors"}},
		{"one of two tests that was taken out", askFerry + claude("go test ./...") + `fail: --- FAIL: TestRope (0.01s)\n--- FAIL: TestPier (0.01s)\nFAIL` + "\n" + `call Edit {"file_path":"/w/quay/rope_test.go","old_string":"func TestRope(t *testing.T) {\n}\n","new_string":""}` + "\nok: done\n", []string{"TestPier"}, nil},
		{"an error of a file that was added to", askFerry + claude(build) + fails + "\n" + `call write_file {"path":"/w/quay/old_rope.go","content":"x","append":true}` + "\nok: done\n", []string{"quay/old_rope.go:7:2"}, nil},
		{"one by its mode", askFerry + claude(build) + fails + "\n" + `call write_file {"path":"/w/quay/old_rope.go","content":"x","mode":"a"}` + "\nok: done\n", []string{"quay/old_rope.go:7:2"}, nil},
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
		if got := strings.Contains(text, "at night? → no reply of its own"); got != tt.interrupted || tt.interrupted == strings.Contains(text, "→ answered: The clerk") {
			t.Errorf("%s:\n%s", tt.name, text)
		}
		for cut := 1; cut < len(messages); cut++ {
			if got := Merge(Collect(messages[:cut]), Collect(messages[cut:])).Text(2000); strings.Contains(got, "at night? → no reply of its own") != tt.interrupted {
				t.Errorf("%s, cut at %d:\n%s", tt.name, cut, got)
			}
		}
	}
	apart := script(ask + remark + look + next)
	for i := range apart[2:] {
		apart[2+i].Ordinal++
	}
	if text := Collect(apart).Text(2000); strings.Contains(text, "→ no reply of its own") {
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

// The rules of a project that were shown stand behind the user's own, with the file's name, where there is room.
func TestRulesOfFiles(t *testing.T) {
	const rules = `# Guide\n\nThis is a shop.\n- Do not commit generated files.\n- You MUST run make lint first.\n- Never use them.\n\nWhen you release:\n- Never push a tag by hand.\n`
	for name, lines := range map[string]string{
		"a turn of the harness": "user: # AGENTS.md instructions for /w\\n<INSTRUCTIONS>" + rules + "</INSTRUCTIONS>\\nNever mind.",
		"a reminder":            "user: <system-reminder>\\nContents of /w/AGENTS.md (project instructions):\\n" + rules + "\\n</system-reminder>Never mind the rain, look at it.",
		"a file that is read":   `call Read {"file_path":"/w/AGENTS.md"}` + "\nok:   1→" + strings.ReplaceAll(rules, `\n`, `\n  2→`),
		"one that is shown":     claude("cat AGENTS.md") + "ok: " + rules,
	} {
		messages := script(lines + "\nuser: Fix the till. Never touch the receipts.")
		text, want := Collect(messages).Text(2000), "Instructions that hold:\n- Never touch the receipts.\n- AGENTS.md: You MUST run make lint first.\n- AGENTS.md: Do not commit generated files."
		if !strings.Contains(text, want) || strings.Contains(text, "by hand") || strings.Contains(text, "AGENTS.md: Never") {
			t.Errorf("%s: %q is not in\n%s", name, want, text)
		}
		if text := Collect(messages).Text(100); strings.Contains(text, "AGENTS.md:") {
			t.Errorf("%s: without room\n%s", name, text)
		}
	}
	for line, want := range map[string]string{"cat CLAUDE.md": "CLAUDE.md", "/w/.cursorrules": ".cursorrules", "sed -n '1,9p' docs/AGENTS.md": "AGENTS.md", "echo x > AGENTS.md": "", "/w/MYAGENTS.md": "",
		"curl -s https://quay.example/AGENTS.md": "", "git log -p AGENTS.md": "", "cd web && cat AGENTS.md": "AGENTS.md", "cat /tmp/quay/AGENTS.md": "", "/w/node_modules/quay/AGENTS.md": "", "https://quay.example/AGENTS.md": "",
		"gh api repos/quay/pier/contents/AGENTS.md": "", "cat AGENTS.md | grep -v x": "", "grep -n x AGENTS.md pier.md": ""} {
		path := ""
		if !strings.Contains(line, " ") {
			path, line = line, ""
		}
		if got := rulesFile(path, line); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// What commands printed last is told until the agent says something of it.
func TestPrintedSince(t *testing.T) {
	say := "assistant: I count the ropes on the pier of the harbour, and then those at sea.\n"
	play(t, []scenario{
		{"a short output", askFerry + say + claude("node count.mjs") + `ok: {\n  "ropes": 47\n}` + "\n", []string{"- printed since: node count.mjs → “{ \"ropes\": 47 }”\n- said before that: I count"}, nil},
		{"sums of a long one", askFerry + say + claude("node count.mjs") + "ok: " + strings.Repeat(`a rope of the pier is here\n`, 20) + `Total: 47 ropes` + "\n", []string{"printed since: node count.mjs → “Total: 47 ropes”"}, nil},
		{"a long one", askFerry + say + claude("node count.mjs") + "ok: " + strings.Repeat(`a rope of the pier is here\n`, 20) + "\n", nil, []string{"printed"}},
		{"a number", askFerry + say + claude("wc -l ropes.txt") + "ok: 47 ropes.txt\n", []string{"wc -l ropes.txt → “47 ropes.txt”"}, nil},
		{"said since", askFerry + claude("node count.mjs") + "ok: 47 ropes\n" + say, nil, []string{"printed"}},
		{"one that failed", askFerry + say + claude("node count.mjs") + "fail: Exit code 1\\n47 ropes\n", nil, []string{"printed"}},
		{"tests", askFerry + say + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\n", nil, []string{"printed"}},
	})
}

// What was the matter, or to be done, is over with the turn in which files were changed for it; what was chosen is not.
func TestFindingsOfOldTurns(t *testing.T) {
	const next = "user: Now print the berth of each pilot on his ticket, please.\n"
	say := func(s string) string { return "assistant: " + s + " Let me look.\n" + claude("ls") + "ok: book\n" }
	scenarios := []scenario{
		{"a fault that was mended", askFerry + say("The issue is that the `clerkBook` has no lock.") + editFerry + next, nil, []string{"has no lock"}},
		{"one of this turn", askFerry + say("The issue is that the `clerkBook` has no lock.") + editFerry, []string{"(found before edits of book.go) The issue is that the `clerkBook`"}, nil},
		{"one without an edit", askFerry + say("The issue is that the `clerkBook` has no lock.") + next + editFerry, []string{"(found before edits of book.go) The issue is that the `clerkBook`"}, nil},
		{"what is to be done", askFerry + say("The fix is to lock the `clerkBook` at night.") + editFerry, nil, []string{"The fix is"}},
		{"a choice", askFerry + say("I should leave the `clerkBook` as it is because the pilots read it.") + editFerry, []string{"I should leave"}, nil},
		{"a declaration written again", askFerry + say("The `lockBook` is called twice for each berth.") + `call Edit {"file_path":"/w/quay/book.go","old_string":"func lockBook() {\n}","new_string":"func lockBook() {\n\tlog()\n}"}` + "\nok: done\n", nil, []string{"is called twice"}},
		{"a cause that a later one replaces", askFerry + say("The cause is the `clerkBook` of the harbour, which loses berths.") + next + say("The real cause is that the `clerkBook` of the harbour is copied by pilots."), []string{"The real cause"}, []string{"loses berths"}},
		{"an edit that failed to apply", askFerry + say("The sed command didn't work because the `clerkBook` has tabs.") + editFerry, nil, []string{"sed command"}},
	}
	for i := range scenarios {
		scenarios[i].script += "assistant: Now I count the ropes that lie on the pier.\n"
	}
	play(t, scenarios)
}

// What a file of rules shows, strikes out or says of some case is no rule, nor is one of another project.
func TestNoRules(t *testing.T) {
	shows := func(text string) string { return claude("cat AGENTS.md") + "ok: " + text + "\n" }
	const rule = `- Never push the tags by hand.\n`
	for name, lines := range map[string]string{
		"another repository":     `call get_file_contents {"owner":"x","repo":"y","path":"AGENTS.md"}` + "\nok: " + rule + "\n",
		"a command that failed":  claude("cat AGENTS.md") + "fail: " + rule + "\n",
		"an output in a message": `user: Observation:\nls\nContents of /w/AGENTS.md:\n` + rule + "\n",
		"a part":                 shows(`# Guide\n## When releasing\n` + rule + `### Tags\n` + rule),
		"below a part":           shows(`## When releasing\nNever push the tags by hand.`),
		"an item":                shows(`- When you release:\n  ` + rule + `  ` + rule),
		"a place":                shows(`In old tests:\n\n` + rule),
		"a comment":              shows(`<!--\n` + rule + `-->`),
		"an example":             shows(`<example>\n` + rule + `</example>`),
		"code":                   shows(`So:\n\n    Never push the tags by hand.`),
		"a quote":                shows(`> Never push the tags by hand.`),
		"struck out":             shows(`You MUST ~~push the tags by hand~~.`),
		"lifted":                 shows(`- You no longer need to ALWAYS push the tags by hand.`),
		"a key":                  shows(`- ALWAYS push by hand with ghp_abcdefghijklmnopq in front.`),
	} {
		if text := Collect(script(askFerry + lines)).Trim().Text(2400); strings.Contains(text, "AGENTS.md: Never") || strings.Contains(text, "AGENTS.md: You") || strings.Contains(text, "AGENTS.md: ALWAYS") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	many := ""
	for i := range perFile + 1 {
		many += "- Never touch the rope " + strconv.Itoa(i) + ` of the quay.\n`
	}
	play(t, []scenario{
		{"behind a case", askFerry + shows(`- When you release:\n  - Push it by hand.\n`+rule), []string{"AGENTS.md: Never push the tags by hand."}, nil},
		{"behind a part", askFerry + shows(`## When releasing\nPush.\n## Tags\n`+rule), []string{"AGENTS.md: Never push the tags by hand."}, nil},
		{"capitals behind others", askFerry + shows(many+`- You MUST run make lint first.`), []string{"AGENTS.md: You MUST run make lint first."}, nil},
		{"a file that is edited", askFerry + shows(rule) + `call Edit {"file_path":"/w/AGENTS.md","old_string":"a","new_string":"b"}` + "\nok: done\n", []string{"AGENTS.md (edited since): Never push the tags by hand."}, nil},
		{"a file with keys", askFerry + "assistant: I count the ropes on the pier of the harbour.\n" + claude("cat .env") + `ok: QUAY=a b c\n` + "\n", nil, []string{"printed"}},
		{"a key", askFerry + "assistant: I count the ropes on the pier of the harbour.\n" + claude("node quay.mjs") + `ok: the token: abcdefghi\n` + "\n", nil, []string{"printed"}},
	})
}
