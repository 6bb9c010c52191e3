package ledger

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"precis/events"
	"precis/summarize/lex"
	"precis/summarize/shell"
)

// A text that is cut at a bound in bytes is cut between characters, so that the ledger can be stored.
func TestBoundsBetweenCharacters(t *testing.T) {
	for shift := range 4 {
		long := strings.Repeat("x", shift) + strings.Repeat("äöü漢字 ", maxSaid/8)
		list := script("user: x\nassistant: x")
		list[0].Content, list[1].Content = events.TextContent(titleStart+"1 item) ---\nGoal: "+long), events.TextContent("I decided on "+long)
		list = append(list, script(`call bash {"command":"cat > `+long+`.md"}`)...)
		if _, err := unguarded(list).MarshalBinary(); err != nil {
			t.Errorf("shifted by %d: %v", shift, err)
		}
	}
}

func requestsOf(l Ledger) (texts []string) {
	for _, n := range l.Requests {
		texts = append(texts, n.Text)
	}
	return texts
}

// Only a compaction at the beginning of a turn is read as one, and what follows it is the user's.
func TestCompactionInATurn(t *testing.T) {
	data, err := os.ReadFile("testdata/bakery.2000.txt")
	if err != nil {
		t.Fatal(err)
	}
	before := strings.TrimSpace(string(data))
	const asked = "Write the changelog of the bakery, too, please."
	for _, tt := range []struct {
		name, text string
		adopted    bool
		last       string
	}{
		{"at the beginning", before + "\n\n" + asked, true, asked},
		{"quoted", "Why does this text name no tests?\n\n" + before + "\n\n" + asked, false, "Why does this text"},
		{"without a plan", before[:strings.Index(before, "\nNext:")] + "\n\n" + asked, true, asked},
	} {
		list := script("user: x")
		list[0].Content = events.TextContent(tt.text)
		l := unguarded(list)
		all := requestsOf(l)
		if last := all[len(all)-1]; (len(all) > 1) != tt.adopted || !strings.HasPrefix(last, tt.last) {
			t.Errorf("%s: %q", tt.name, all)
		}
		if !tt.adopted && !strings.Contains(all[0], asked) {
			t.Errorf("%s: what follows the quote is lost: %q", tt.name, all)
		}
		if got := newestOf(l.Requests).Text; !strings.HasPrefix(got, tt.last) {
			t.Errorf("%s: the newest is %q", tt.name, got)
		}
	}
}

// What a compaction hands on is bounded as other statements are.
func TestCompactionInATurnIsBounded(t *testing.T) {
	item := func(n int) string {
		return fmt.Sprintf("- Never touch till %d %s (+3 more)\n", n, strings.Repeat("again ", 2000))
	}
	text := titleStart + "9 items) ---\n"
	for _, title := range []string{titleGoal, titleInstructions, titleRequests, titleDecisions} {
		text += title + ":\n"
		for n := range 2 * adopted {
			text += strings.ReplaceAll(item(n), " again again", "")
			if n == 0 {
				text += item(99)
			}
		}
	}
	list := script("user: x")
	list[0].Content = events.TextContent(text)
	l := unguarded(list)
	for most, notes := range map[int][]Note{maxRequest: l.Requests, maxInstruction: l.Instructions, maxDecision: l.Decisions} {
		if len(notes) > adopted || len(notes) == 0 {
			t.Errorf("%d notes", len(notes))
		}
		for _, n := range notes {
			if lex.Runes(n.Text) > most || strings.Contains(n.Text, "more)") {
				t.Errorf("%d characters of %d: %s", lex.Runes(n.Text), most, n.Text)
			}
		}
	}
}

// Entries that were dropped from the ledger are read files, not edits that failed.
func TestOmittedFilesWereRead(t *testing.T) {
	l := Ledger{Messages: 1, Omitted: Counts{Files: 40}}
	for n := range 40 {
		l.Files = append(l.Files, File{Path: fmt.Sprintf("/w/shop/tried-%d.go", n), Tried: 1, Touched: uint64(n + 1)}, File{Path: fmt.Sprintf("/w/shop/read-%d.go", n), Read: 1, Touched: uint64(n + 1)})
	}
	v := newView(l)
	for title, want := range map[string]string{"tried": "(+38 more)", "read": "(+78 more)"} {
		omitted := 0
		if title == "read" {
			omitted = l.Omitted.Files
		}
		lines := v.named("-", 60, omitted, func(f File) bool { return strings.Contains(f.Path, title) })
		if len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("%s: %q", title, lines)
		}
	}
	text := strings.Join(v.fileLines(80), "\n")
	if line, _, _ := strings.Cut(text, "\n"); !strings.HasPrefix(line, "- edits failed:") || strings.Contains(line, "(+7") {
		t.Errorf("%s", text)
	}
}

// A process that was killed neither passed nor failed.
func TestKilledInTheBackground(t *testing.T) {
	for _, end := range []string{
		`call KillShell {"shell_id":"b1f2"}` + "\nok: Successfully killed shell: b1f2",
		`call BashOutput {"bash_id":"b1f2"}` + "\nok: <status>killed</status>",
	} {
		l := unguarded(script(`
			call Bash {"command":"npm test","run_in_background":true}
			ok: Command running in background with ID: b1f2
			` + end))
		if len(l.Runs) != 1 || l.Runs[0].End != "" || l.Runs[0].Good != 0 {
			t.Errorf("%s: %+v", end, l.Runs)
		}
		if len(l.Tasks) != 1 || !l.Tasks[0].done() {
			t.Errorf("%s: %+v", end, l.Tasks)
		}
	}
}

// A task's texts take one line each, whatever a call puts into them.
func TestTasksTakeALine(t *testing.T) {
	long := strings.Repeat(`very\nlong `, 100)
	l := unguarded(script(`
		call TaskUpdate {"taskId":"` + long + `","status":"` + long + `"}
		ok: done
		call TodoWrite {"todos":[{"content":"` + long + `","status":"` + long + `"}]}
		ok: done`))
	if len(l.Tasks) != 2 {
		t.Fatalf("%+v", l.Tasks)
	}
	for _, task := range l.Tasks {
		if all := task.ID + task.Title + task.Status; strings.Contains(all, "\n") || lex.Runes(task.ID) > maxID || lex.Runes(task.Title) > maxTitle || lex.Runes(task.Status) > maxStatus {
			t.Errorf("%+v", task)
		}
	}
}

// TestBriefly: paths are named by their ends, packages with their scopes.
func TestBriefly(t *testing.T) {
	for line, want := range map[string]string{
		"npm view @agentv/core@4.41.0-next.1":  "npm view @agentv/core@4.41.0-next.1",
		"go test summarize/ledger/run_test.go": "go test run_test.go",
	} {
		if got := briefly(line); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// What failed is fixed by a run that covers it: the same program, each of its kinds, each of its files.
func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		failed, passed string
		want           bool
	}{
		{"go test ./x", "go test ./...", true},
		{"go test ./x", "go test ./y", false},
		{"go test ./x ./y", "go test ./x", false},
		{"go test ./x", "go test ./x ./y", true},
		{"go test ./x/y", "go test ./x/...", true},
		{"go test ./...", "go test ./x", false},
		{"go vet ./... && go test ./...", "go vet ./...", false},
		{"go test ./...", "go vet ./... && go test ./...", true},
		{"npm test", "pytest", false},
		{"golangci-lint run ./...", "golangci-lint run ./a", false},
		{"golangci-lint run ./a/...", "golangci-lint run ./...", true},
		{"golangci-lint run ./a", "golangci-lint run ./b", false},
		{"go tool golangci-lint run ./a", "go tool golangci-lint run ./...", true},
		{"make deps && uv run --extra=test", "make deps && uv run --extra=test", true},
		{"npx vitest run", "vitest run", true},
		{"pytest tests/a.py::test_open", "pytest tests/a.py", true},
		{"npm run build", "npm install", false},
		{"npm install", "npm run build", false},
		{"gh pr create --fill", "gh pr list", false},
		{"gh pr create --fill", "gh pr create -t x", true},
		{"kubectl -n prod apply -f a.yaml", "kubectl -n prod get pods", false},
		{"kubectl -n prod apply -f a.yaml", "kubectl -n prod apply -f a.yaml --force", true},
		{"git -C /w push", "git -C /w status", false},
		{"git -C /w push", "git push -u origin main", true},
		{"npm run deploy", "npm run dev", false},
		{"docker compose up", "docker compose down", false},
		{"git commit -m 'one'", "git commit -m 'two'", true},
		{"git rebase origin/main", "GIT_EDITOR=true git rebase --continue", true},
	} {
		run := func(line string) Run { return Run{Line: line, Kind: kindOf(shell.Steps(line))} }
		if got := run(tt.passed).covers(run(tt.failed), scopeOf); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.passed, tt.failed, got)
		}
	}
}
