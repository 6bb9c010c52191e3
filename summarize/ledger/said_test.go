package ledger

import (
	"strings"
	"testing"
)

// Which statements stand among the decisions, after what they announce was done: whether the call is the message's own or the next
// one's.
func TestStatementsTold(t *testing.T) {
	const edit = `call Edit {"file_path":"/w/quay/book.go","old_string":"a","new_string":"x"}` + "\nok: done\n"
	const read = `call Read {"file_path":"/w/quay/clerk.go"}` + "\nok: x\n"
	bash := func(line, output string) string {
		return `call Bash {"command":"` + line + `"}` + "\nok: " + output + "\n"
	}
	for _, tt := range []struct {
		said, then string
		keep, drop string // a part of it that is told, or is not
	}{
		// What holds, or says why.
		{"I've decided to store bookings in SQLite rather than in a flat file, because the pilots query them.", edit, "SQLite rather than", ""},
		{"The root cause is that `Flush` returns before fsync, so a crash loses the last booking.", edit, "`Flush` returns before fsync", ""},
		{"It turns out that `retry()` swallows the timeout error.", edit, "swallows the timeout", ""},
		{"Using a mutex here doesn't work because `Flush` is called from a signal handler.", edit, "doesn't work because", ""},
		{"We can't use `os.Rename` across devices, so the writer copies the file and then deletes it.", edit, "os.Rename", ""},
		{"I'm leaving `legacy.go` untouched, since the old terminals still import it.", edit, "legacy.go", ""},
		{"Instead of patching each caller I moved the check into `openLog`.", edit, "moved the check", ""},
		{"The API returns 409 when the berth is taken, not 422 as the docs say.", read, "409", ""},
		{"`clerk.go` is generated from `clerk.proto`, so edits must go to the proto file.", read, "generated from", ""},
		{"The flag `--berth` is ignored on Windows.", read, "ignored on Windows", ""},
		{"I won't bump the protocol version: the old clients reject anything above 3.", edit, "won't bump", ""},
		{"We should keep the public signature of `Book` as it is.", edit, "keep the public signature", ""},
		// What is a step, a moment, a guess or a proposal.
		{"I'll start with the reader and then look at `writer.go`.", read, "", "start with"},
		{"First, I'll run the tests to see whether `openLog` is covered.", read, "", "run the tests"},
		{"I'm going to check whether `Flush` is called twice, because that would explain it.", read, "", "explain"},
		{"Let me try another approach instead of polling `book.db`.", read, "", "another approach"},
		{"I need to find where `Flush` is called instead of guessing.", read, "", "guessing"},
		{"The build is running now and `clerk` compiles at the moment.", read, "", "compiles at the moment"},
		{"The test fails with `unexpected EOF`. I'll fix the reader.", edit, "", "unexpected EOF"},
		{"`README.md` doesn't mention the berth yet. Let me add it.", edit, "", "doesn't mention"},
		{"The import of `quay/log` is unused now. I'll remove it.", edit, "", "is unused"},
		{"Line 42 of `book.go` still uses the old name. Updating it.", edit, "", "Line 42"},
		{"There are 3 failing tests left in `book_test.go`.", edit + bash("go test ./...", "ok  \\tferry/quay\\t0.1s"), "", "3 failing"},
		{"You could also use `sync.Pool` if the berths are many.", edit, "", "sync.Pool"},
		{"If you want, I can also add a flag `--dry-run` to the clerk.", edit, "", "dry-run"},
		{"Options:\\n- Use Redis because it is fast\\n- Use SQLite because it is simple", edit, "", "Redis"},
		{"Next steps:\\n1. Deploy `clerk` because staging is old\\n2. Remove the flag", edit, "", "staging"},
		{"The page shows 3 bookings in the table. I'll click the second one.", `call browser_click {"args":"'a13'"}` + "\nok: - Title: Order\n", "", "3 bookings"},
		{"I am now on the page of berth 7 and the button `Book` is disabled.", `call browser_click {"args":"'a13'"}` + "\nok: - Title: Order\n", "", "disabled"},
		{"The working tree has 2 modified files and `clerk.go` is staged.", bash("git commit -am x", "[main 1a2b3c4] x"), "", "modified files"},
		{"I suspect that `Flush` is the problem here.", edit, "", "suspect"},
		{"Maybe the issue is the cache of `clerk`.", edit, "", "cache of"},
		{"Running the suite again because the first run of `clerk` was flaky.", read, "", "Running the suite"},
		{"I'll leave the server running and check `clerk.log` later.", read, "", "server running"},
		{"Now that `openLog` works, I'll move on to the berths.", read, "", "move on"},
		{"I should use the `Grep` tool instead of reading all of it.", read, "", "Grep"},
		{"We need to wait for the build because `clerk` isn't ready.", read, "", "wait for"},
	} {
		for _, own := range []bool{false, true} {
			list := script("user: Make the ferry's bookings survive a restart, please.\nassistant: " + tt.said + "\n" + tt.then + "assistant: Done with that part of it.\n" + read)
			if own {
				list[1].ToolCalls = list[2].ToolCalls
				list = append(list[:2:2], list[3:]...)
			}
			text := Collect(list).Trim().Text(2400)
			_, told, _ := strings.Cut(text, "Decisions and dead ends:")
			for _, next := range []string{"\nState:", "\nFiles"} {
				told, _, _ = strings.Cut(told, next)
			}
			if !strings.Contains(told, tt.keep) || tt.drop != "" && strings.Contains(told, tt.drop) {
				t.Errorf("%s\n%s", tt.said, text)
			}
		}
	}
}

// What is said while a process in the background goes on is of that moment, unless it decides something.
func TestSaidWhileWaiting(t *testing.T) {
	for _, tt := range []struct {
		chars string
		told  bool
	}{{"", false}, {"y", true}} {
		list := script("user: Make the ferry's bookings survive a restart, please.\n" +
			`call exec_command {"cmd":"cargo test","workdir":"/w"}` + "\nout: " + `Chunk ID: 3f2a\nWall time: 1.2 seconds\nProcess running with session ID 4711\nOutput:\n    Compiling ferry` + "\n" +
			"assistant: Still waiting for it. The branch `quay` is apart, so there is no risk to the checkout.\n" +
			`call write_stdin {"session_id":4711,"chars":"` + tt.chars + `"}` + "\nout: " + `Chunk ID: 9\nWall time: 5.0 seconds\nProcess running with session ID 4711\nOutput:\n`)
		list[3].ToolCalls = list[4].ToolCalls
		list = append(list[:4], list[5:]...)
		if got := Collect(list).Decisions; len(got) > 0 != tt.told {
			t.Errorf("with %q: decisions %+v", tt.chars, got)
		}
	}
}
