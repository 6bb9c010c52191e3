package ledger

import (
	"fmt"
	"strings"
	"testing"
)

// What is said of the assistant's own list: what the list shows at last, and nothing of an entry of which that isn't known.
func TestTaskListsTold(t *testing.T) {
	const (
		added = `call TaskCreate {"subject":"Write the log of the berths"}` + "\nok: Task #1 created successfully: Write the log of the berths\n" +
			`call TaskCreate {"subject":"Paint the pier"}` + "\nok: Task #2 created successfully: Paint the pier\n" +
			`call TaskCreate {"subject":"Count the ropes"}` + "\nok: Task #3 created successfully: Count the ropes\n"
		list = "call TaskList {}\nok: "
	)
	play(t, []scenario{
		{"a list that shows what others have done", askFerry + added + list + `#1 [completed] Write the log of the berths\n#2 [in_progress] Paint the pier [blocked by #1]\n#4 [pending] Ring the bell` + "\n",
			[]string{"to do: Paint the pier (in progress) (1 done)", "to do: Ring the bell"}, []string{"ropes", "to do: Write", "blocked"}},
		{"updates after a list", askFerry + added + list + `#1 [pending] Write the log of the berths\n#2 [pending] Paint the pier\n#3 [pending] Count the ropes` + "\n" + `call TaskUpdate {"taskId":"2","status":"completed"}` + "\nok: Updated task #2 status\n",
			[]string{"to do: Write the log", "to do: Count the ropes", "(1 done)"}, []string{"Paint the pier"}},
		{"an empty list", askFerry + added + list + "No tasks found\n", nil, []string{"to do", "done"}},
		{"a list that is cut", askFerry + added + list + `#1 [completed] Write the log of the berths\n… [12 more lines]` + "\n", []string{"to do: Paint the pier", "to do: Count", "(1 done)"}, nil},
		{"boxes", askFerry + `call todo_write {"todos":[{"content":"Paint the pier","status":"pending"}]}` + "\nok: done\n" + `call todo_read {}` + "\nok: " + `Todos:\n- [x] Paint the pier\n- [~] Count the ropes\n- [ ] Ring the bell` + "\n",
			[]string{"to do: Count the ropes (in progress) (1 done)", "to do: Ring the bell"}, []string{"to do: Paint"}},
		{"records", askFerry + `call todowrite {"todos":[{"content":"Paint the pier","status":"pending","id":"1"}]}` + "\nok: done\n" + `call todoread {}` + "\nok: " + `[{"content":"Paint the pier","status":"completed","id":"1"},{"content":"Ring the bell","status":"pending","id":"2"}]` + "\n",
			[]string{"to do: Ring the bell (1 done)"}, []string{"to do: Paint"}},
		{"the report of an agent is no list", askFerry + added + `call Task {"description":"Look","prompt":"Look at the pier"}` + "\nok: " + `#1 [completed] Write the log of the berths` + "\n", []string{"to do: Write the log"}, nil},
		{"an update in words that are not known", askFerry + added + `call TaskUpdate {"taskId":"2","progress":1}` + "\nok: Updated task #2\n", []string{"to do: Write the log"}, []string{"to do: Paint"}},
		{"an update of something else", askFerry + added + `call TaskUpdate {"taskId":"2","addBlockedBy":["1"]}` + "\nok: Updated task #2 blockedBy\n", []string{"to do: Paint the pier"}, nil},
		{"an update by the tool's name", askFerry + added + `call complete_task {"task_id":"2"}` + "\nok: ok\n", []string{"(1 done)"}, []string{"to do: Paint"}},
		{"an update that failed", askFerry + added + `call TaskUpdate {"taskId":"2","status":"completed"}` + "\nfail: Error: the list is locked\n", []string{"to do: Paint the pier"}, []string{"done)"}},
		{"the last words name it as done", askFerry + added + "assistant: The pier looks good now.\\n1. Task #2: Painted the pier in white\\n2. The remaining task #3 waits for the ropes.\n", []string{"to do: Write the log", "to do: Count the ropes"}, []string{"to do: Paint"}},
	})
}

// A list that a later span shows replaces what an earlier one had added.
func TestTaskListOfLaterSpan(t *testing.T) {
	all := script(askFerry + `
		call TaskCreate {"subject":"Paint the pier"}
		ok: Task #1 created successfully: Paint the pier
		call TaskCreate {"subject":"Count the ropes"}
		ok: Task #2 created successfully: Count the ropes
		call TaskList {}
		ok: #2 [in_progress] Count the ropes
		call TaskUpdate {"taskId":"2","status":"completed"}
		ok: Updated task #2 status`)
	for _, cut := range []int{5, 7} {
		for _, l := range []Ledger{Merge(Collect(all[:5]), Merge(Collect(all[5:7]), Collect(all[7:]))), Merge(Collect(all[:cut]), Collect(all[cut:])), Merge(Merge(Collect(all[:5]), Collect(all[5:7])), Collect(all[7:]))} {
			if len(l.Tasks) != 1 || l.Tasks[0].ID != "#2" || !l.Tasks[0].done() {
				t.Errorf("cut at %d: %+v", cut, l.Tasks)
			}
		}
	}
}

// A call that the harness never answered, as one that the user aborted, changed nothing as far as is known.
func TestUnansweredCalls(t *testing.T) {
	const aborted = `call Edit {"file_path":"/w/quay/pier.go","old_string":"c","new_string":"d"}` + "\n"
	play(t, []scenario{
		{"edits that were aborted", askFerry + editFerry + aborted + aborted + "user: I have painted the pier myself, now count the ropes of it.\n" + `call Read {"file_path":"/w/quay/rope.go"}` + "\nok: x\nassistant: ok\n", []string{"book.go"}, []string{"pier.go"}},
		{"one of two edits", askFerry + editFerry + strings.ReplaceAll(aborted, "pier", "book") + "user: continue\nassistant: ok\n", []string{"book.go"}, []string{"×2"}},
		{"files of a command line", askFerry + editFerry + claude("rm quay/pier.go && git checkout -- .") + "user: continue\nassistant: ok\n", []string{"book.go"}, []string{"pier.go (deleted)", "discarded"}},
		{"a list that was not set", askFerry + editFerry + `call TodoWrite {"todos":[{"content":"Paint the pier","status":"pending"}]}` + "\nuser: continue\nassistant: ok\n", nil, []string{"to do"}},
		{"one that is not answered yet", askFerry + editFerry + aborted, []string{"pier.go"}, nil},
		{"an agent whose calls have no results", askFerry + aborted + "assistant: ok\n", []string{"pier.go"}, nil},
	})
}

// Files that git tells as deleted or renamed are no longer there under their names, and one whose edits were taken back is as it was.
func TestFilesGone(t *testing.T) {
	const (
		edit  = `call Edit {"file_path":"/w/quay/%s","old_string":"a","new_string":"b"}` + "\nok: done\n"
		turns = `call Edit {"file_path":"/w/quay/flag.json","old_string":"%s","new_string":"%s"}` + "\nok: done\n"
	)
	editOf := func(name string) string { return fmt.Sprintf(edit, name) }
	commit := claude("git commit -m 'Move the pier'") + `ok: [main 1a2b3c4] Move the pier\n 4 files changed, 3 insertions(+)\n rename quay/{pier.go => pier/pier.go} (88%)\n rename quay/rope.go => ropes/knot.go (90%)\n delete mode 100644 quay/tide.go\n delete mode 100644 quay/never_seen.go\n create mode 100644 quay/bell.go` + "\n"
	play(t, []scenario{
		{"told by a commit", askFerry + editFerry + editOf("pier.go") + editOf("rope.go") + editOf("tide.go") + commit, []string{"pier.go (moved)", "rope.go (now ropes/knot.go)", "tide.go (deleted)", "- changed by git or a sub-agent: …/pier/pier.go, ropes/knot.go"}, []string{"never_seen", "tide.go,", "book.go ("}},
		{"changed by others, then moved", askFerry + editFerry + claude("git status --short") + `ok:  M quay/tide.go\n M quay/rope.go` + "\n" + commit, []string{"tide.go (deleted)", "rope.go (now ropes/knot.go)"}, []string{"sub-agent: quay/tide.go", "quay/rope.go"}},
		{"only read, then deleted", askFerry + editFerry + `call Read {"file_path":"/w/quay/tide.go"}` + "\nok: x\n" + commit, []string{"tide.go (deleted)"}, []string{"read:"}},
		{"made anew", askFerry + editOf("tide.go") + commit + `call Write {"file_path":"/w/quay/tide.go","content":"package quay"}` + "\nok: done\n", []string{"tide.go"}, []string{"tide.go (deleted)"}},
		{"brought back by another commit's checkout", askFerry + editOf("tide.go") + claude("git status") + `ok: On branch main\nChanges not staged for commit:\n\tdeleted:    quay/tide.go` + "\n" + claude("git checkout -- quay/tide.go") + "ok: \n", nil, []string{"(deleted)"}},
		{"committed, so that no checkout brings it back", askFerry + editOf("tide.go") + commit + claude("git checkout -- .") + "ok: \n", []string{"tide.go (deleted)"}, nil},
		{"told by git status", askFerry + editOf("tide.go") + editOf("rope.go") + claude("git status --short") + `ok: D  quay/tide.go\nR  quay/rope.go -> ropes/knot.go` + "\n", []string{"tide.go (deleted)", "rope.go (now ropes/knot.go)"}, nil},
		{"many by git mv", askFerry + editOf("tide.go") + editOf("rope.go") + claude("git mv quay/tide.go quay/rope.go ropes") + "ok: \n", []string{"tide.go (moved)", "rope.go (moved)"}, nil},
		{"only from the index", askFerry + editOf("tide.go") + claude("git rm --cached quay/tide.go") + "ok: rm 'quay/tide.go'\n", []string{"tide.go"}, []string{"(deleted)"}},
		{"by a pattern", askFerry + editOf("tide.go") + claude("git rm -r quay/*.go") + `ok: rm 'quay/tide.go'` + "\n", []string{"tide.go (deleted)"}, nil},
		{"edits that were taken back", askFerry + editFerry + fmt.Sprintf(turns, "red", "blue") + fmt.Sprintf(turns, "dark", "light") + fmt.Sprintf(turns, "light", "dark") + fmt.Sprintf(turns, "blue", "red"), []string{"flag.json (put back as it was)"}, []string{"×4"}},
		{"edits of which one stays", askFerry + editFerry + fmt.Sprintf(turns, "red", "blue") + fmt.Sprintf(turns, "dark", "light") + fmt.Sprintf(turns, "blue", "red"), []string{"flag.json ×3"}, []string{"put back"}},
		{"edits beside a command's", askFerry + editFerry + fmt.Sprintf(turns, "red", "blue") + claude("sed -i s/pole/mast/ /w/quay/flag.json") + "ok: \n" + fmt.Sprintf(turns, "blue", "red"), []string{"flag.json ×3"}, []string{"put back"}},
		{"text that was moved in the file", askFerry + editFerry + fmt.Sprintf(turns, `a`, `a\nred`) + fmt.Sprintf(turns, `red\nb`, `b`), []string{"flag.json ×2"}, []string{"put back"}},
		{"a patch and its reverse", askFerry + editFerry + codex("apply_patch <<'EOF'\\n*** Begin Patch\\n*** Update File: src/quay.rs\\n@@\\n-a\\n+b\\n*** End Patch\\nEOF", "0", `Success.`) + codex("apply_patch <<'EOF'\\n*** Begin Patch\\n*** Update File: src/quay.rs\\n@@\\n-b\\n+a\\n*** End Patch\\nEOF", "0", `Success.`), []string{"quay.rs (put back as it was)"}, nil},
	})
}

// An error is named by its command, and by what the command runs only where the line says so itself.
func TestErrorsNamed(t *testing.T) {
	const wrong = `fail: Exit code 2\nsrc/log.ts(104,35): error TS1343: The import.meta meta-property is only allowed in modules` + "\n"
	play(t, []scenario{
		{"a compiler called by hand", askFerry + claude("npx tsc --noEmit src/log.ts") + wrong + claude("npm run build") + "out: > ferry@1.0.0 build\n", []string{"npx tsc --noEmit src/log.ts → failed", "Errors: npx tsc --noEmit src/log.ts"}, []string{"Errors: build"}},
		{"a build", askFerry + claude("npm run build") + wrong, []string{"Errors: build: src/log.ts(104"}, nil},
		{"tests by their runner", askFerry + claude("npx jest") + `fail: Exit code 1\n● berth › is kept\n    expected 1 to be 2\nTests: 1 failed, 1 total` + "\n", []string{"Errors: npx jest: "}, nil},
	})
}

// What the user turned down, took out or cancelled is neither a decision nor what comes next.
func TestTurnedDown(t *testing.T) {
	const said = "assistant: "
	play(t, []scenario{
		{"what is to be kept is taken out", askFerry + said + "The clerk has a parser of its own; the plan should reuse the harbour `berth.Book` instead of deleting the support of berths.\n" + editFerry + "assistant: ok\nuser: i think we can remove berths from the core and use piers which are more general\n" + editFerry + "assistant: ok\n", nil, []string{"should reuse"}},
		{"a fact of what is taken out", askFerry + said + "The root cause is that the clerk reads the berths before it locks the book.\n" + editFerry + "assistant: ok\nuser: i think we can remove berths from the core and use piers which are more general\n" + editFerry + "assistant: ok\n", []string{"reads the berths before"}, nil},
		{"a change of a file that went on", askFerry + said + "The old check of the berths has been moved to `book.go` because the clerk needs it.\n" + editFerry + editFerry + "assistant: ok\n", []string{"has been moved"}, nil},
		{"something else is taken out", askFerry + said + "The clerk has a parser of its own; the plan should reuse the harbour `berth.Book` instead of deleting the support of berths.\n" + editFerry + "assistant: ok\nuser: now remove the lamps from the pier, we do not light it\n" + editFerry + "assistant: ok\n", []string{"should reuse"}, nil},
		{"granted as wrong", askFerry + editFerry + said + "All hooks now call the wrapper script instead of the ferry directly because the pilots toggle it.\nuser: - installs hooks with the wrapper script by default\\n\\nThis should not be changed, only the flag should install it\nassistant: You're absolutely right! Let me fix that. The default uses the ferry directly.\n" + editFerry + "assistant: ok\n", nil, []string{"All hooks now call"}},
		{"granted in another matter", askFerry + editFerry + said + "All hooks now call the wrapper script instead of the ferry directly because the pilots toggle it.\nuser: the lamps of the pier are dark at noon, is that so?\nassistant: You're right, they are. Let me light them.\n" + editFerry + "assistant: ok\n", []string{"All hooks now call"}, nil},
		{"praised as a question", askFerry + editFerry + said + "All hooks now call the wrapper script instead of the ferry directly because the pilots toggle it.\nuser: do the hooks call the wrapper script at night as well?\nassistant: Good question! Yes, they do.\n" + editFerry + "assistant: ok\n", []string{"All hooks now call"}, nil},
		{"what was wrong with a file that was changed since", askFerry + said + "Now I see it. The `book.go` file has an old implementation with ropes instead of using the berths. Let me port it.\n" + editFerry + "assistant: ok\n", nil, []string{"edits) The `book"}},
		{"a choice in a file that is changed for it", askFerry + said + "I'll keep the `book.go` file with ropes instead of berths, which would not hold.\n" + editFerry + "assistant: ok\n", []string{"ropes instead of berths"}, nil},
		{"what is wrong with a file that was not", askFerry + said + "Now I see it. The `clerk.go` file has an old implementation with ropes instead of using the berths.\n" + editFerry + "assistant: ok\n", []string{"old implementation"}, nil},
		{"undone by the user", askFerry + said + "I decided to keep the `berth.Book` in one file rather than in two.\n" + editFerry + "user: you broke that component. i undid your changes, try again and read the whole file\n" + editFerry + "assistant: ok\n", nil, []string{"in one file rather"}},
		{"a plan whose call was cancelled", askFerry + editFerry + said + "I am going to write a test that simulates the ferry without the real harbour.\n" + `call Write {}` + "\nfail: Error: user cancelled assistant tool calling\n", []string{"the user refused a call"}, []string{"simulates the ferry"}},
		{"a plan after a call that was cancelled", askFerry + editFerry + `call Write {"file_path":"/w/x.go","content":"x"}` + "\nfail: Error: user cancelled assistant tool calling\n" + said + "I am going to write a test that drives the ferry in the real harbour.\n" + editFerry, []string{"drives the ferry"}, nil},
		{"an answer about files that were changed since", "user: Does the clerk check the berths of the book, or not at all?\nassistant: The clerk does not import the berths in `book.go`, so the berths are never checked.\nuser: Then let the clerk check them before each booking, please.\n" + editFerry + "assistant: ok\n", []string{"or not at all? → answered"}, []string{"does not import"}},
		{"an answer about files that were not", "user: Does the clerk check the berths of the book, or not at all?\nassistant: The clerk does not import the berths in `clerk.go`, so the berths are never checked.\nuser: Then let the clerk check them before each booking, please.\n" + editFerry + "assistant: ok\n", []string{"→ answered (files were edited later): The clerk does not import"}, nil},
	})
}

// A message that ends in the middle of a word or of a sentence answers nothing.
func TestCutOffAnswer(t *testing.T) {
	const ask = "user: The clerk does not clear the book when the tide changes, look into it please.\nassistant: %s\nuser: i don't understand, does it keep the tide of its creation?\nassistant: %s\n"
	play(t, []scenario{
		{"in a word of code", fmt.Sprintf(ask, "So `book.clear()` is called by the clerk, which should recursively call `cle", "Yes, the clerk keeps the tide of its creation."), nil, []string{"answered: So", "recursively", "→ answered"}},
		{"before the object", fmt.Sprintf(ask, "The clerk clears the book by `book.clear()`, and then the tide of the", "Yes, the clerk keeps the tide of its creation."), nil, []string{"answered: The clerk clears"}},
		{"at last", fmt.Sprintf(ask, "The clerk clears the book by `book.clear()` when the tide changes.", "The clerk keeps the tide, and the `boo"), []string{"answered: The clerk clears"}, []string{"(last words)", "keeps the tide"}},
		{"without a stop", fmt.Sprintf(ask, "The clerk clears the book by `book.clear()` when the tide changes", "Yes, the clerk keeps the tide of its creation"), []string{"answered: The clerk clears", "(last words) Yes"}, nil},
	})
}

// A choice is no decision once files were edited, in which it was followed or not, and what holds under a condition is a guess.
func TestChosenOrConditional(t *testing.T) {
	const (
		chosen = "assistant: I need to use the `Rope` crate directly (not the wrapper of the pier) to avoid a second lock.\n"
		next   = "user: Ring the bell of the harbour twice at noon.\nassistant: The bell rang twice, and the harbour is quiet again at `noon`.\n"
	)
	play(t, []scenario{
		{"a choice, then edits", askFerry + chosen + editFerry + next, nil, []string{"crate"}},
		{"a choice alone", askFerry + chosen + claude("ls quay") + "ok: book.go\n" + next, []string{"crate"}, nil},
		{"what should be seen", askFerry + "assistant: If you count the ropes again, `quay.Ropes` should be nine because the pier was cut.\n" + editFerry + next, nil, []string{"nine"}},
		{"what is kept unless", askFerry + "assistant: I’ll keep the change to the clerk only unless the `berth.Log` has to be cut.\n" + editFerry + "assistant: The bell rang twice, and the harbour is quiet again at `noon`.\n", nil, []string{"berth.Log"}},
		{"what would be done", askFerry + "assistant: Pilots would use `berth.Store` alone, because the clerk reads the log only for the ferries.\n" + editFerry + next, nil, []string{"berth.Store"}},
	})
}

// What was taken out or was to be edited is told whole, at its place.
func TestPlacesTold(t *testing.T) {
	tried := `call Edit {"file_path":"/w/harbour/test/rope.go","old_string":"c","new_string":"d"}` + "\nfail: String to replace not found in file.\n"
	play(t, []scenario{
		{"git rm of a name alone", askFerry + claude("git rm root.txt nested") + `ok: rm 'nested'\nrm 'root.txt'` + "\n", []string{"root.txt (deleted)", "nested (deleted)"}, nil},
		{"git status of a name alone", askFerry + claude("git rm -q root.txt LICENSE && git status --short") + `ok: D  LICENSE\nD  root.txt` + "\n", []string{"root.txt (deleted)", "LICENSE (deleted)"}, nil},
		{"rm of names alone", askFerry + claude("rm -rf -- quay/old.go Makefile dist *.log 2>/dev/null") + "ok: \n", []string{"old.go (deleted)", "Makefile (deleted)"}, []string{"dist", ".log", "null"}},
		{"rm of what a line made", askFerry + claude("mkdir try && cp quay/a.go try/ && rm -r try") + "ok: \n", []string{"try (deleted)"}, []string{"a.go"}},
		{"a directory of what was written", askFerry + editFerry + strings.ReplaceAll(editFerry, "quay/book", "pier/rope") + claude("rm -r /w/pier") + "ok: \n", []string{"book.go", "- pier (deleted)"}, []string{"rope.go"}},
		{"a directory, written again", askFerry + claude("rm -r /w/quay") + "ok: \n" + editFerry, []string{"book.go"}, nil},
		{"an edit that failed elsewhere", askFerry + editFerry + strings.ReplaceAll(editFerry, "book", "pier") + tried, []string{"Files in /w/quay/", "- edits failed: …/test/rope.go"}, nil},
		{"an edit that failed there", askFerry + editFerry + strings.ReplaceAll(editFerry, "book", "pier") + strings.ReplaceAll(tried, "harbour/test", "quay"), []string{"- edits failed: rope.go"}, nil},
		{"an edit that failed below", askFerry + editFerry + strings.ReplaceAll(editFerry, "book", "pier") + strings.ReplaceAll(tried, "harbour", "quay"), []string{"- edits failed: test/rope.go"}, nil},
	})
}
