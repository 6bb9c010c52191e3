package ledger

import (
	"slices"
	"strings"
	"testing"
)

// What a text must not say of work that later messages overtook, or that they do not show.
func TestToldOnlyAsFarAsKnown(t *testing.T) {
	const editPier = `call Edit {"file_path":"/w/quay/pier.go","old_string":"a","new_string":"x"}` + "\nok: done\n"
	play(t, []scenario{
		// Errors that passed are mended in the files that they name, if those are known.
		{"an error of a file that nothing mended", askFerry + editPier + claude("git stash push --keep-index && go build ./...") + `fail: Exit code 1\nquay/pier.go:12:3: declared and not used: rope` + "\n" + editFerry + claude("go build ./...") + "ok: \n" + claude("go test ./...") + `ok: ok  \tferry/quay\t0.2s` + "\n",
			[]string{"go test ./... → passed"}, []string{"fixed in book.go"}},
		{"an error mended where it stands", askFerry + editPier + claude("go vet ./...") + `fail: Exit code 1\nquay/pier.go:12:3: declared and not used: rope` + "\n" + editFerry + editPier + claude("go vet ./...") + "ok: \n",
			[]string{"fixed in pier.go: quay/pier.go:12:3"}, nil},
		{"a test mended in what it tests", askFerry + claude("go test ./...") + `fail: Exit code 1\n--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s` + "\n" + editFerry + claude("go test ./...") + `ok: ok  \tferry/quay\t0.2s` + "\n",
			[]string{"fixed in book.go"}, nil},
	})
}

// What is in no commit at the end.
func TestUncommitted(t *testing.T) {
	const editPier = `call Edit {"file_path":"/w/quay/pier.go","old_string":"a","new_string":"x"}` + "\nok: done\n"
	const newRope = `call Write {"file_path":"/w/quay/rope.go","content":"package quay"}` + "\nok: done\n"
	dirty := claude("git status --short") + `ok:  M quay/book.go` + "\n"
	commit := claude("git commit -am 'Write a log'") + `ok: [main 4c1d9e7] Write a log\n 1 file changed, 2 insertions(+)` + "\n"
	play(t, []scenario{
		{"edited after the last commit", askFerry + editFerry + commit + editPier, []string{"edited since the last commit: pier.go"}, nil},
		{"all committed", askFerry + editFerry + editPier + commit, nil, []string{"since the last commit", "uncommitted"}},
		{"the short status", askFerry + editFerry + editPier + claude("git status --short") + `ok:  M quay/book.go\n M quay/pier.go\n?? notes.txt` + "\n", []string{"uncommitted (git status): all that was changed\n"}, []string{"notes.txt"}},
		{"a part of it", askFerry + editFerry + editPier + claude("git status --short") + `ok:  M quay/book.go\n M quay/tide.go` + "\n", []string{"uncommitted (git status): book.go, tide.go\n"}, nil},
		{"a new file, and another edit", askFerry + `call Write {"file_path":"/w/quay/rope.go","content":"package quay"}` + "\nok: done\n" + claude("git status --short --branch") + `ok: ## main...origin/main\n?? quay/rope.go` + "\n" + editPier, []string{"uncommitted (git status): all that was changed"}, nil},
		{"the long status", askFerry + editFerry + claude("git status") + `ok: On branch main\nChanges not staged for commit:\n  (use \"git add <file>...\" to update what will be committed)\n\tmodified:   quay/book.go\n\nUntracked files:\n  (use \"git add <file>...\" to include in what will be committed)\n\tquay/notes/\n\nno changes added to commit` + "\n", []string{"uncommitted (git status): book.go\n"}, []string{"notes"}},
		{"another edit", askFerry + editFerry + commit + claude("git status --short") + `ok:  M quay/tide.go` + "\n" + editPier, []string{"uncommitted (git status): tide.go; edited since: pier.go"}, nil},
		{"clean", askFerry + editFerry + commit + claude("git status") + `ok: On branch main\nnothing to commit, working tree clean` + "\n", []string{"nothing uncommitted (git status)"}, nil},
		{"clean, then edited", askFerry + editFerry + commit + claude("git status --short") + "ok: \n" + editPier, []string{"edited since git status told no change: pier.go"}, nil},
		{"a status before the commit", askFerry + editFerry + claude("git status --short && git add -A && git commit -m 'Write a log'") + `ok:  M quay/book.go\n[main 4c1d9e7] Write a log\n 1 file changed, 2 insertions(+)` + "\n", nil, []string{"uncommitted"}},
		{"a status before the work was thrown away", askFerry + editFerry + claude("git status --short") + `ok:  M quay/book.go` + "\n" + claude("git checkout -- quay/book.go") + "ok: \n", nil, []string{"uncommitted (git status)"}},
		{"a push changes no file", askFerry + editFerry + commit + editPier + claude("git status --short") + `ok:  M quay/pier.go` + "\n" + claude("git push") + `ok: To github.com:ferry/quay\n   1b2c3d4..4c1d9e7  main -> main` + "\n", []string{"uncommitted (git status): pier.go"}, nil},
		{"new files hidden", askFerry + newRope + claude("git status -s -uno") + "ok: \n", nil, []string{"uncommitted"}},
		{"new files hidden, in words", askFerry + newRope + claude("git status --porcelain --untracked-files=no") + "ok: \n", nil, []string{"uncommitted"}},
		{"new files hidden, in two words", askFerry + newRope + claude("git -c status.showUntrackedFiles=no status -s") + "ok: \n", nil, []string{"uncommitted"}},
		{"of a part", askFerry + editFerry + claude("git status -s docs") + "ok: \n", nil, []string{"uncommitted"}},
		{"of a part, behind dashes", askFerry + editFerry + claude("git status -s -- docs/") + "ok: \n", nil, []string{"uncommitted"}},
		{"of another repository", askFerry + editFerry + claude("git -C /other/repo status") + `ok: On branch main\nnothing to commit, working tree clean` + "\n", nil, []string{"uncommitted"}},
		{"of another repository, by its directory", askFerry + editFerry + claude("git --git-dir=/other/.git --work-tree /other status -s") + "ok: \n", nil, []string{"uncommitted"}},
		{"of another repository, by a variable", askFerry + editFerry + claude("GIT_DIR=/other/.git git status -s") + "ok: \n", nil, []string{"uncommitted"}},
		{"with its errors shown", askFerry + editFerry + claude("git status -s -uall 2>&1") + `ok:  M quay/book.go` + "\n", []string{"uncommitted (git status): book.go"}, nil},
		{"committed by a tool", askFerry + editFerry + dirty + `call mcp__git__git_commit {"repo_path":"/w","message":"Write a log"}` + "\nok: Changes committed\n", nil, []string{"uncommitted", "since the last commit"}},
		{"committed by a tool, after another commit", askFerry + commit + editFerry + dirty + `call mcp__git__git_commit {"repo_path":"/w","message":"Write a log"}` + "\nok: Changes committed\n", nil, []string{"uncommitted", "since the last commit"}},
		{"committed by a script", askFerry + editFerry + dirty + claude("./release.sh") + `ok: [main 4c1d9e7] Release\n 1 file changed` + "\n", nil, []string{"uncommitted"}},
		{"put on the stash", askFerry + commit + editFerry + dirty + claude("git stash") + `ok: Saved working directory` + "\n", nil, []string{"uncommitted", "since the last commit"}},
		{"a list of the stash", askFerry + editFerry + dirty + claude("git stash list") + "ok: \n", []string{"uncommitted (git status): book.go"}, nil},
		{"reset", askFerry + editFerry + dirty + claude("git reset -q HEAD") + "ok: \n", nil, []string{"uncommitted"}},
		{"checked out", askFerry + editFerry + dirty + claude("git checkout main") + "ok: \n", nil, []string{"uncommitted"}},
		{"restored", askFerry + editFerry + dirty + claude("git restore quay") + "ok: \n", nil, []string{"uncommitted (git"}},
		{"cleaned", askFerry + editFerry + dirty + claude("git clean -fd") + "ok: \n", nil, []string{"uncommitted (git"}},
		{"pulled", askFerry + editFerry + dirty + claude("git pull") + "ok: \n", nil, []string{"uncommitted"}},
		{"merged", askFerry + editFerry + dirty + claude("git merge pier") + "ok: \n", nil, []string{"uncommitted"}},
		{"rebased", askFerry + editFerry + dirty + claude("git rebase main") + "ok: \n", nil, []string{"uncommitted"}},
		{"told again", askFerry + editFerry + dirty + claude("git stash pop && git status -s") + `ok:  M quay/book.go` + "\n", []string{"uncommitted (git status): book.go"}, nil},
		{"another repository", askFerry + editFerry + `call exec_command {"cmd":"git status --short","workdir":"/other"}` + "\nout: " + ` M tools.go` + "\n", nil, []string{"uncommitted"}},
		{"a part of the status", askFerry + editFerry + claude("git status --short | head -1") + `ok:  M quay/book.go` + "\n", nil, []string{"uncommitted"}},
	})
}

// The user's newest message stands beside a text, and not among its messages: the turn of the one before is over.
func TestNewestRequestElsewhere(t *testing.T) {
	const later = "user: Now give the pier a lamp as well, please.\n"
	list := script(askFerry + editFerry + "assistant: The bookings are written to a log now, and read at the start.\n" +
		"user: And let the ferry's log be read by the harbour master, please.\n" +
		`call Edit {"file_path":"/w/quay/master.go","old_string":"a","new_string":"x"}` + "\nok: done\n" +
		"assistant: The harbour master reads the ferry's log with `quay log`.\n" + later +
		`call Read {"file_path":"/w/quay/lamp.go"}` + "\nok: package quay\n")
	without := slices.DeleteFunc(slices.Clone(list), func(m Message) bool { return strings.Contains(later, m.Content.Text()) && m.Role == "user" })
	if len(without) != len(list)-1 {
		t.Fatal("nothing was left out")
	}
	text := Collect(without).Trim().Text(2400)
	if want := "Requests: And let the ferry's log be read by the harbour master, please. → answered: The harbour master reads the ferry's log with `quay log`.\n"; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
	outage := script(askFerry + "user: And let the ferry's log be read by the harbour master, please.\n" + `call Read {"file_path":"/w/quay/lamp.go"}` + "\nok: package quay\n" + "assistant: Internal Server Error\\n\\nThe server cluster is currently under high load. Please retry after a short wait.\nuser: go on\n" + `call Read {"file_path":"/w/quay/tide.go"}` + "\nok: package quay\n")
	if text = Collect(slices.DeleteFunc(outage, func(m Message) bool { return m.Content.Text() == "go on" })).Trim().Text(2400); strings.Contains(text, "→ replied") {
		t.Errorf("an outage is told as a reply in\n%s", text)
	}
	if text = Collect(list[:len(list)-3]).Trim().Text(2400); strings.Contains(text, "master, please. →") {
		t.Errorf("the newest request is marked in\n%s", text)
	}
}

// What was found is marked with the files that were edited since, if it may be about them.
func TestMarksOfWhatWasFound(t *testing.T) {
	const (
		editPier = `call Edit {"file_path":"/w/quay/pier.go","old_string":"a","new_string":"func moorBoat() {}"}` + "\nok: done\n"
		read     = `call Read {"file_path":"/w/quay/tide.go"}` + "\nok: package quay\n"
		says     = "assistant: "
	)
	play(t, []scenario{
		{"of another file", askFerry + read + says + "The clerk in `tide.go` reads the moon's table at noon.\n" + editFerry + editPier + "assistant: Next I look at the lamps of the quay.\n", []string{"dead ends: The clerk in `tide.go` reads"}, []string{"(found"}},
		{"of one of two", askFerry + editPier + says + "The boat is tied in `pier.go` to 2 of the rings.\n" + editFerry + editPier + "assistant: Next I look at the lamps of the quay.\n", []string{"(found before edits of pier.go) The boat is tied in `pier.go`"}, nil},
		{"of none that is named", askFerry + says + "The clerk of the ferry has two books since 2024.\n" + editFerry + editPier, []string{"(found before edits of book.go, pier.go) The clerk"}, nil},
		{"of each what follows it", askFerry + says + "The clerk of the ferry has two books since 2024.\n" + says + "The quay has 14 rings, of which 3 are loose.\n" + editFerry + says + "The harbour has 2 lamps that burn at noon.\n" + editPier,
			[]string{"- (this and the next 1 found before edits of book.go, pier.go) The clerk", "- The quay has 14", "- (found before edits of pier.go) The harbour has 2"}, nil},
	})
	handed := "user: --- Summarized Context (9 items) ---\\nGoal: Keep the log of the ferry, please.\\nDecisions and dead ends:\\n- (this and the next 1 found before edits of a.go) The clerk of the ferry has two books.\\n- The quay has 14 rings in all.\\n- The lamp burns at noon, because nobody puts it out.\\nNext: go on\\n\\nGo on with it now, please.\n"
	text := Collect(script(handed + read)).Trim().Text(2400)
	for _, want := range []string{"- (this and the next 1 found before edits of a.go) The clerk", "- The quay has 14", "- The lamp burns"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// What a later word or command decided otherwise.
func TestDecidedOtherwise(t *testing.T) {
	proposal := "assistant: I propose to keep the tickets as files, because the tills work offline. The only new thing is a link to them.\n" + `call ask_user {"question":"Shall the tickets be files?","choices":["Yes","No"]}` + "\nok: User responded: "
	const goesOn = "assistant: Then I write it down now.\n" + `call Read {"file_path":"/w/quay/tide.go"}` + "\nok: package quay\n" + "assistant: Next I look at the lamps of the quay.\n"
	play(t, []scenario{
		{"an answer with a wish", askFerry + proposal + "they belong into the book, with a button to print them\n" + goesOn, []string{"Shall the tickets be files?” → “they belong into the book"}, []string{"because the tills", "only new thing"}},
		{"an answer that agrees", askFerry + proposal + "Yes, and quickly\n" + goesOn, []string{"because the tills work offline"}, nil},
		{"staged again", askFerry + editFerry + "assistant: The staged changes of `book.go` don't work on their own, because they share a lock.\n" + claude("git reset HEAD") + "ok: \n" + claude("git add -A") + "ok: \n" + goesOn, nil, []string{"don't work on their own"}},
		{"a list of things to try is confirmed", askFerry + "assistant: You can set `tide.minimumHeight` to 1, or turn `tide.acceleration` off, or draw without `tide.glyphs`.\n" + "user: omg that's it, now it looks the same\n" + goesOn, nil, []string{"The user confirmed"}},
		{"a cause is confirmed", askFerry + "assistant: There are `tide.acceleration` and `tide.glyphs` and `tide.colours`.\\nThe root cause is `tide.minimumHeight`, which is 4.\n" + "user: that's it, now it looks the same\n" + goesOn, []string{"The user confirmed (“that's it”) what was said of `tide.minimumHeight`\n"}, nil},
		{"both kinds of a task passed", askFerry + `call TodoWrite {"todos":[{"content":"Run tests and lint","status":"in_progress"}]}` + "\nok: done\n" + claude("make test") + `ok: ok  \tferry/quay\t0.2s` + "\n" + claude("make lint") + `ok: 0 issues.` + "\n", []string{"Run tests and lint (in progress; passed since: make test, make lint)"}, nil},
	})
}

// A file that was given another path is not deleted.
func TestMovedIsNotDeleted(t *testing.T) {
	const writeRun = `call Write {"file_path":"/w/run.sh","content":"go run ."}` + "\nok: done\n"
	play(t, []scenario{
		{"renamed", askFerry + editFerry + claude("mv /w/quay/book.go /w/quay/ledger.go") + "ok: \n", []string{"book.go (now quay/ledger.go)", "ledger.go"}, []string{"deleted"}},
		{"into a directory without a slash", askFerry + editFerry + claude("mkdir -p old && mv book.go old") + "ok: \n" + editFerry, nil, []string{"book.go (deleted)"}},
		{"to a name without an extension", askFerry + writeRun + claude("mv /w/run.sh /w/bin-run") + "ok: \n", []string{"run.sh (now w/bin-run)"}, []string{"bin-run/run.sh", "/w/bin-run", "deleted"}},
		{"to such a name, in its directory", askFerry + writeRun + claude("cd /w && mv run.sh tool") + "ok: \n", nil, []string{"tool/run.sh", "deleted"}},
		{"to a directory that is known", askFerry + writeRun + editFerry + claude("mv /w/run.sh /w/quay") + "ok: \n", []string{"run.sh (moved)", "quay/run.sh"}, []string{"deleted"}},
		{"with its directory", askFerry + editFerry + claude("mv /w/quay /w/harbour") + "ok: \n", []string{"quay/book.go (moved)", "harbour/book.go"}, []string{"deleted"}},
		{"with its directory, told from within", askFerry + editFerry + claude("cd /w && git mv quay harbour") + "ok: \n", []string{"harbour/book.go"}, []string{"deleted"}},
		{"by a tool", askFerry + editFerry + `call move_file {"source":"/w/quay/book.go","destination":"/w/quay/ledger.go"}` + "\nok: Moved.\n", []string{"book.go (now quay/ledger.go)"}, []string{"deleted"}},
		{"by a patch", askFerry + `call apply_patch {"input":"*** Begin Patch\n*** Update File: quay/book.go\n*** Move to: quay/ledger.go\n@@\n-a\n+b\n*** End Patch"}` + "\nok: Success.\n", []string{"ledger.go", "book.go (now quay/ledger.go)"}, []string{"deleted"}},
		{"moved, then deleted", askFerry + editFerry + claude("mv /w/quay/book.go /w/quay/ledger.go") + "ok: \n" + claude("rm /w/quay/ledger.go") + "ok: \n", []string{"ledger.go (deleted)"}, nil},
		{"in vain", askFerry + editFerry + claude("mv /w/quay/book.go /w/nowhere/ledger.go") + "fail: Exit code 1\\nmv: rename /w/quay/book.go to /w/nowhere/ledger.go: No such file or directory\n", []string{"book.go"}, []string{"now", "deleted", "moved"}},
	})
}

// A file that a command made is not only read.
func TestMadeByCommands(t *testing.T) {
	const read = `call view {"file_path":"/w/quay/models.ts"}` + "\nok: // AUTO-GENERATED\n"
	play(t, []scenario{
		{"generated, then read", askFerry + claude("bun scripts/models.ts") + `ok: Extracting\n📝 TypeScript generado: /w/quay/models.ts\nDone.` + "\n" + read, []string{"written by commands, as they say: quay/models.ts"}, []string{"read: quay/models.ts"}},
		{"read, then generated", askFerry + read + claude("cd /w && make models") + `ok: wrote /w/quay/models.ts` + "\n", []string{"written by commands, as they say: quay/models.ts"}, []string{"read:"}},
		{"deleted and made again", askFerry + `call Write {"file_path":"/w/quay/gen/models.ts","content":"x"}` + "\nok: done\n" + claude("rm -rf /w/quay/gen && bun scripts/models.ts") + `ok: wrote /w/quay/gen/models.ts` + "\n", nil, []string{"gen (deleted)"}},
		{"told of another thing", askFerry + claude("bun scripts/list.ts") + `ok: /w/quay/models.ts: created by the clerk in 2024` + "\n", nil, []string{"written by"}},
		{"nothing generated", askFerry + claude("make report") + `ok: No report was generated: reports/tide.html` + "\n", nil, []string{"written by"}},
		{"what would be", askFerry + claude("make docs") + `ok: Would be written: docs/tide.md\ndry run: wrote docs/rope.md\nwrote docs/knot.md (dry run)` + "\n", nil, []string{"written by"}},
		{"from a source", askFerry + claude("make proto") + `ok: Code generated from proto/tide.proto\nfile is created from tmpl/rope.tmpl\ncreated using tmpl/knot.tmpl` + "\n", nil, []string{"written by"}},
		{"nothing saved", askFerry + claude("make store") + `ok: nothing was saved to store/tide.csv\nFailed: not written to store/rope.csv\nskipped, as already generated: store/knot.csv` + "\n", nil, []string{"written by"}},
		{"as a trial", askFerry + claude("make store && bin/export --dry-run") + `ok: wrote store/tide.csv` + "\n", nil, []string{"written by"}},
		{"only read", askFerry + read, []string{"read: quay/models.ts"}, []string{"written by"}},
		{"what a build puts out", askFerry + claude("npm run build") + `ok: generated dist/quay/models.js\nDone in 2s` + "\n", nil, []string{"written by"}},
		{"edited as well", askFerry + editFerry + claude("bun scripts/book.ts") + `ok: wrote /w/quay/book.go` + "\n", []string{"Files: /w/quay/book.go"}, []string{"written by"}},
		{"a failed one", askFerry + claude("bun scripts/models.ts") + `fail: Exit code 1\nnot written: /w/quay/models.ts` + "\n" + read, []string{"read: quay/models.ts"}, []string{"written by"}},
	})
}

// The newest request of some length is told whole, also if a short answer with what it refers to follows it.
func TestNewestBeforeAnAnswer(t *testing.T) {
	long := "Here is a compact plan for the harbour: " + strings.Repeat("first the quay and then the pier and then the lamps, ", 6) + "and at last the ropes."
	text := Collect(script(askFerry + askMany(30, "Now change the colour of the berth number of the ferry", editFerry) + "user: " + long + "\nassistant: Shall I put it into a new file of its own?\nuser: new file\n" + editFerry)).Trim().Text(2000)
	if want := "\n- " + long[:200]; !strings.Contains(text, want) || !strings.Contains(text, "\n- new file (to: ") {
		t.Errorf("%q is not in\n%s", want, text)
	}
}
