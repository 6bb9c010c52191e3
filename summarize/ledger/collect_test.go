package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/summarize/shell"
)

// script builds messages from lines: "user: text", "assistant: text", "call NAME {arguments}", "ok: output",
// "fail: output", "out: output" of a harness that doesn't say how the call ended (of the previous call; \n in an output is
// a line break, \t a tab).
func script(lines string) []Message {
	var list []Message
	var last events.ToolCall
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		line = strings.TrimSpace(line)
		m := events.Message{MessageID: fmt.Sprintf("m%d", len(list)+1)}
		kind, rest, _ := strings.Cut(line, " ")
		if kind != "call" {
			rest = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(rest)
		}
		switch kind {
		case "call":
			name, args, _ := strings.Cut(rest, " ")
			last = events.ToolCall{ID: fmt.Sprintf("c%d", len(list)), Name: name, Arguments: jsontext.Value(args)}
			m.Role, m.ToolCalls = events.RoleAssistant, []events.ToolCall{last}
		case "ok:", "fail:", "out:":
			m.Role, m.ToolCallID, m.ToolName = events.RoleTool, last.ID, last.Name
			if failed := kind == "fail:"; kind != "out:" {
				m.IsError = &failed
			}
			m.Content = events.TextContent(rest)
		default:
			m.Role, m.Content = strings.TrimSuffix(kind, ":"), events.TextContent(rest)
		}
		list = append(list, Message{Ordinal: uint64(len(list) + 1), Message: &m})
	}
	return list
}

// TestFiles covers the file tools of many vendors.
func TestFiles(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"claude code", `
			call Read {"file_path":"/w/a.go"}
			call Edit {"file_path":"/w/a.go","old_string":"x","new_string":"y"}
			call Write {"file_path":"/w/b.go","content":"package b"}
			call NotebookEdit {"notebook_path":"/w/n.ipynb","new_source":"1"}`,
			"/w/a.go read 1 written 1, /w/b.go written 1, /w/n.ipynb written 1"},
		{"editor with commands", `
			call str_replace_editor {"command":"view","path":"/w/a.py"}
			call str_replace_editor {"command":"create","path":"/w/b.py","file_text":"pass"}
			call str_replace_editor {"command":"str_replace","path":"/w/a.py","old_str":"x","new_str":"y"}`,
			"/w/a.py read 1 written 1, /w/b.py written 1 created"},
		{"patches", `
			call apply_patch {"input":"*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** Add File: src/b.ts\n+x\n*** Delete File: src/c.ts\n*** End Patch"}`,
			"src/a.ts written 1, src/b.ts written 1 created, src/c.ts deleted"},
		{"mcp", `call mcp__files__create_file {"path":"docs/x.md","content":"#"}`, "docs/x.md written 1 created"},
		{"arguments as a string", `call edit_file "{\"path\":\"a.c\",\"content\":\"int\"}"`, "a.c written 1"},
		{"shell", `
			call bash {"command":"cat src/in.txt | grep x > out/res.txt && rm -f old.log && mv a.txt b.txt"}
			call bash {"command":"sed -i 's/a/b/' conf/app.yaml; touch new.md"}
			call bash {"command":"cat > gen.py <<'EOF'\nprint(1) > nothing.txt\nEOF\nls"}`,
			"a.txt deleted, b.txt written 1 created, conf/app.yaml written 1, gen.py written 1, new.md written 1 created, old.log deleted, out/res.txt written 1, src/in.txt read 1"},
		{"directories", `
			call bash {"command":"mv tests/a_test.go src/ && rm -rf tests/ && mkdir -p out/"}`,
			"src/a_test.go written 1 created, tests/a_test.go deleted"},
		{"made again", `
			call bash {"command":"rm -rf /srv/agent-0.79.6 && mkdir -p /srv/agent-0.79.6 && npm pack"}
			call bash {"command":"rm -rf /srv/agent-1.2 old/x.y; mkdir -p '/srv/agent-1.2/src'"}
			call bash {"command":"rm -rf lib/queue.d && git clone https://example.org/queue lib/queue.d"}
			call bash {"command":"mkdir -p lib/tmp.d; rm -rf lib/tmp.d; mkdir lib/tmp.data"}
			call bash {"command":"mkdir -p a.b/c; rm -rf a.b; mkdir -p a.b/d; rm -rf a.b/d"}`,
			"a.b/d deleted, lib/tmp.d deleted, old/x.y deleted"},
		{"swe-agent", `
			call open {"command":"open src/x.py 10"}
			call edit {"command":"edit 3:4\nreturn 1\nend_of_edit"}
			call create {"command":"create t.py"}`,
			"src/x.py read 1 written 1, t.py written 1 created"},
		{"no file", `
			call create_issue {"title":"x.go is broken"}
			call Grep {"pattern":"edit","path":"src"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := filesOf(Collect(script(tt.script))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func filesOf(l Ledger) string {
	slices.SortFunc(l.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	var out []string
	for _, f := range l.Files {
		s := f.Path
		for _, n := range []struct {
			what  string
			count int
		}{{"read", f.Read}, {"written", f.Written}} {
			if n.count > 0 {
				s += fmt.Sprintf(" %s %d", n.what, n.count)
			}
		}
		if f.Created {
			s += " created"
		}
		if f.gone() {
			s += " deleted"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestRuns(t *testing.T) {
	l := Collect(script(`
		call bash {"command":"cd /w && go test ./..."}
		fail: Exit code 1\nx_test.go:12: want 3, got 4\nerror: build failed at 12
		call Edit {"file_path":"/w/x.go","old_string":"3","new_string":"4"}
		ok: done
		call bash {"command":"cd /w && go test ./..."}
		ok: compiling\nok  	w	0.1s
		call bash {"command":"cd /w; go test ./... 2>&1 | tail -3"}
		ok: ok  	w	0.1s
		call bash {"command":"make lint"}
		ok: Process exited with code 2
		call bash {"command":"git commit -am x"}
		fail: The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nnot before the review`))
	if len(l.Runs) != 2 {
		t.Fatalf("runs %+v", l.Runs)
	}
	r := l.Runs[0]
	if r.Line != "go test ./..." || r.Kind != "test" || r.Runs != 3 || r.End != "passed" || r.Failed != 1 || r.Good != 5 || !strings.HasPrefix(r.Error, "x_test.go:12: want 3, got 4") {
		t.Errorf("run %+v", r)
	}
	if l.Runs[1].End != "failed" || l.Runs[1].Kind != "lint" {
		t.Errorf("a stated exit code is not seen: %+v", l.Runs[1])
	}
	if len(l.Decisions) != 1 || l.Decisions[0].Text != "Refused by the user: bash git commit -am x: “not before the review”" {
		t.Errorf("decisions %+v", l.Decisions)
	}
	text := l.Text(2000)
	for _, want := range []string{"- go test ./... → passed", "- make lint → failed", "fixed in x.go: x_test.go:12: want 3, got 4; error: build failed at 12"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// An error is open until a run passes that covers what failed; a newer failure of the same run takes its place.
func TestErrors(t *testing.T) {
	const edit = "\ncall Edit {\"file_path\":\"/w/a.go\",\"new_string\":\"1\"}\nok: done\n"
	bash := func(line string) string { return `call bash {"command":"` + line + "\"}\n" }
	for _, tt := range []struct{ name, script, want string }{
		{"the same files pass", bash("bun test a/x.test.ts") + `fail: a/x.test.ts:3: want 1, got 2` + edit + bash("bun test a/x.test.ts b/y.test.ts") + `ok:  2 pass\n 0 fail`,
			"Errors: fixed in a.go: a/x.test.ts:3: want 1, got 2"},
		{"other files pass", bash("bun test a/x.test.ts") + `fail: a/x.test.ts:3: want 1, got 2` + edit + bash("bun test b/y.test.ts") + `ok:  2 pass\n 0 fail`,
			"Errors: bun test a/x.test.ts, edits since: a/x.test.ts:3: want 1, got 2"},
		{"all pass", bash("go test ./x") + `fail: x_test.go:3: want 1, got 2\nFAIL` + edit + bash("go test ./... 2>&1 | tail -3") + "ok: ok  \tw\t0.1s",
			"Errors: fixed in a.go: x_test.go:3: want 1, got 2"},
		{"the end of the next run is not shown", bash("npm run lint") + `fail: a.ts:3:1 error no-undef` + "\n" + bash("npm run lint 2>&1 | tail -1") + `ok: (see above)`,
			"Errors: lint, before the last run, no error shown since: a.ts:3:1 error no-undef"},
		{"another reason now", bash("go vet ./...") + `fail: a.go:3:1: undefined: x` + "\n" + bash("go vet ./... | head -5") + `fail: b.go:9:1: undefined: y`,
			"Errors: go vet ./...: b.go:9:1: undefined: y"},
		{"with and without a wrapper", bash("mytool make test") + `fail: error: unrecognized subcommand 'make'` + "\n" + bash("make test") + "ok: ok  \tw\t0.1s", ""},
		{"the same program, another way", bash("git rebase origin/main") + `fail: CONFLICT (content): Merge conflict in a.go` + "\n" + bash("GIT_EDITOR=true git rebase --continue") + `ok: done`, ""},
		{"its file was deleted", bash("bun test a/x.test.ts") + `fail: a/x.test.ts:3: want 1, got 2` + "\n" + bash("rm a/x.test.ts") + `ok: `, ""},
		{"a test of a failure logs it", bash("go test ./... -v") + `ok: 2026/01/20 16:02:36 ERROR no such till` + "\\n--- PASS: TestTill (0.1s)\\nok  \tw\t0.1s", ""},
		{"a look, a file that is not there", bash("cat nothing.txt") + `fail: cat: nothing.txt: No such file or directory` + "\n" + bash("rm nothing.txt") + `fail: rm: nothing.txt: No such file or directory`, ""},
		{"another machine refuses", bash("gh pr view 7") + `fail: GraphQL: Could not resolve to a PullRequest with the number of 7.`,
			"Errors: gh pr view 7: GraphQL: Could not resolve to a PullRequest with the number of 7."},
	} {
		text := Collect(script(tt.script)).Text(1500)
		got := ""
		if _, after, ok := strings.Cut(text, "\nErrors: "); ok {
			got = "Errors: " + after
		}
		if got != tt.want {
			t.Errorf("%s: %q in\n%s", tt.name, got, text)
		}
	}
}

// What a failed run reports: the test that failed and why, wherever its runner writes it.
func TestProblem(t *testing.T) {
	for text, want := range map[string]string{
		"=== RUN   TestPay\n    pay_test.go:41: order 7 saved\n    pay_test.go:44: want 2, got 1\n--- FAIL: TestPay (0.1s)\nFAIL": "--- FAIL: TestPay (0.1s); pay_test.go:44: want 2, got 1",
		"--- FAIL: TestPay (0.1s)\n    pay_test.go:44: want 2, got 1\n    pay_test.go:45: and more\nFAIL":                         "--- FAIL: TestPay (0.1s); pay_test.go:44: want 2, got 1",
		"error: expect(received).toBe(expected)\n\n(fail) till > opens [2ms]\n\n 0 pass\n 1 fail":                                 "(fail) till > opens [2ms]; error: expect(received).toBe(expected)",
		"FAILED tests/test_till.py::test_open - AssertionError: closed\n1 failed in 0.2s":                                         "FAILED tests/test_till.py::test_open - AssertionError: closed",
		"[lint:go] ERROR task failed\n[lint:go] till.go:3:1: Open returns an error (wrapcheck)\nfunc Open() (Till, error) {":      "till.go:3:1: Open returns an error (wrapcheck); func Open() (Till, error) {",
		"=== RUN   TestOpen/unknown_returns_error\npanic: till is nil":                                                            "panic: till is nil",
	} {
		if got := problem(text, ""); got != want {
			t.Errorf("%q:\n%s", text, got)
		}
	}
}

// A command is a run of tests, of a linter or of a build by the program that it runs, not by words in its arguments.
func TestKinds(t *testing.T) {
	for line, want := range map[string]string{
		"go test ./... 2>&1 | tail -3": "test", "CI=1 npx vitest run": "test", "npm run build": "build", "timeout 60 make -j4": "build",
		"cd /w && cargo clippy": "lint", "./run_tests.sh": "test", "git add test.go && git commit -m test": "", "cat build.log": "look",
		"ls tests; uv run mypy src": "lint", "python3 -m pytest -q": "test", "grep -rn 'go test' .": "look", "git log | head": "look",
		`bun -e "const test = await import('./lint.js')"`: "", "go build ./quay/e2e_test/...": "build", "mise run fmt": "", "docker compose exec app pytest -q": "test",
	} {
		if got := kindOf(shell.Steps(line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestGit(t *testing.T) {
	l := Collect(script(`
		call bash {"command":"git checkout -b fix/tabs && git commit -m 'Accept tabs'"}
		ok: [fix/tabs 1a2b3c4d] Accept tabs\n 1 file changed
		call bash {"command":"cd /tmp && git init tabs && cd tabs && git commit -m 'try it' --allow-empty"}
		ok: Initialized empty Git repository in /private/tmp/tabs/.git/\n[main (root-commit) 5dffb3a] try it
		call bash {"command":"cat log.txt"}
		ok: [main 9999999] Not made here`))
	if len(l.Commits) != 1 || l.Commits[0].Text != "1a2b3c4 Accept tabs" || len(l.Branches) != 1 || l.Branches[0].Text != "fix/tabs" {
		t.Errorf("%+v on %+v", l.Commits, l.Branches)
	}
}

// The branch says whether it was pushed after the last commit, and where its changes are to be merged.
func TestPushed(t *testing.T) {
	commit := `
		call bash {"command":"git commit -am 'Accept tabs'"}
		ok: [fix/tabs 1a2b3c4d] Accept tabs`
	push := `
		call bash {"command":"git push -u origin fix/tabs && gh pr create --fill"}
		ok: To github.com:w/w.git\n * [new branch]      fix/tabs -> fix/tabs\nhttps://github.com/w/w/pull/7`
	for lines, want := range map[string]string{
		commit + push: "- branch: fix/tabs; pushed fix/tabs; opened https://github.com/w/w/pull/7\n- commits: 1a2b3c4 Accept tabs",
		push + commit: "- branch: fix/tabs; opened https://github.com/w/w/pull/7\n- commits: 1a2b3c4 Accept tabs",
		strings.Replace(push, "git push", "git log", 1): "State: opened https://github.com/w/w/pull/7",
	} {
		if text := Collect(script(lines)).Text(2000); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// An agent that writes no files and runs no tests works by its calls.
func TestCalls(t *testing.T) {
	booked := `
		call find_flights {"from":"HAM"}
		ok: [{"flight":"HAT136"}]
		call book {"flight":"HAT136"}
		ok: {"id":"HATHAT"}
		call add_bag {"id":"HATHAT"}
		ok: {"bags":1}`
	if text, want := Collect(script(booked)).Text(1000), "State: called at last: book HAT136; add_bag HATHAT"; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
	if text := Collect(script(booked + "\ncall Write {\"file_path\":\"a.go\",\"content\":\"1\"}\nok: done")).Text(1000); strings.Contains(text, "called") {
		t.Errorf("an agent that writes files:\n%s", text)
	}
}

// A process in the background runs until a later result says that it ended, also in another span.
func TestBackground(t *testing.T) {
	all := script(`
		call Bash {"command":"cd /w && npm run dev","run_in_background":true}
		ok: Command running in background with ID: b1f2
		call Bash {"command":"npm run watch","run_in_background":true}
		ok: Command running in background with ID: b3
		call KillShell {"shell_id":"b1f2"}
		ok: Successfully killed shell: b1f2`)
	for split := 0; split < len(all); split += 2 { // a cut never separates a call from its result
		text := Merge(Collect(all[:split]), Collect(all[split:])).Text(2000)
		if strings.Contains(text, "running: npm run dev") || !strings.Contains(text, "running: npm run watch (process b3)") {
			t.Errorf("split at %d:\n%s", split, text)
		}
	}
}

func TestTasks(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"the last whole list counts", `
			call TodoWrite {"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"pending"}]}
			call TodoWrite {"todos":[{"content":"a","status":"completed"},{"content":"c","status":"pending"}]}`,
			"a completed, c pending"},
		{"plan with steps", `call update_plan {"plan":[{"step":"look","status":"completed"},{"step":"write","status":"in_progress"}]}`,
			"look completed, write in_progress"},
		{"one by one", `
			call TaskCreate {"subject":"fix it","description":"d"}
			ok: Task #7 created successfully
			call TaskUpdate {"taskId":"7","status":"completed"}`, "fix it completed"},
		{"a subagent is no task", `call Task {"description":"look","prompt":"look around"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, task := range Collect(script(tt.script)).Tasks {
				got = append(got, task.Title+" "+task.Status)
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}

// What a harness puts into the user's turns is no request.
func TestRequests(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Fix the parser.", "Fix the parser."},
		{"<system-reminder>never mind\nthis</system-reminder>", ""},
		{"<command-name>/exit</command-name>\n   <command-message>exit</command-message>\n<command-args></command-args>", ""},
		{"Look.\n<environment_details>\nfiles\n</environment_details>\nAnd fix it.", "Look. And fix it."},
		{"[Request interrupted by user for tool use]", ""},
		{"[Image #1] What is wrong here?", "What is wrong here?"},
		{"# AGENTS.md instructions for /w\nBe kind.", ""},
		{"<user_query>\nRename it\n</user_query>", "Rename it"},
		{"<skill>\n<name>x</name>\n</skill>", ""},
		{"Why does List<user_id> fail? The <b>page</b> is empty.", "Why does List<user_id> fail? The <b>page</b> is empty."},
		{"- first this\n- then that", "first this - then that"},
		{"<task-notification>x</task-notification>\nFull transcript available at: /tmp/a.output", ""},
	} {
		var got []string
		for _, r := range Collect(script("user: " + strings.ReplaceAll(tt.text, "\n", `\n`))).Requests {
			got = append(got, r.Text)
		}
		if s := strings.Join(got, "|"); s != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, s, tt.want)
		}
	}
}

func TestInstructions(t *testing.T) {
	for text, want := range map[string]bool{
		"Never touch the generated files.": true, "Ok, and please don't commit yet.": true, "Make sure that both tests pass.": true,
		"You MUST keep the old format.": true, "Don't you think it is slow?": false, "I don't know if it always works.": false,
		"Don't worry about the tests.": false, "Always-on mode is broken here.": false, "if (never) { return always; }": false,
		"Write the message, but don't commit it.": true, "Broken themes must never crash the editor.": true, "No need to rename the branch, keep the old one.": true, "I never want to travel at night.": true, "I never saw the till open.": false,
		"Check the tests that they don't repeat each other.": false, "It fails when they never come back.": false,
	} {
		l := Collect(script("user: Fix it. " + text))
		if got := len(l.Instructions) == 1 && l.Instructions[0].Text == text; got != want {
			t.Errorf("%q: %+v", text, l.Instructions)
		}
	}
}

// What is asked not to be done yet may be done after the next request.
func TestInstructionsOfAStep(t *testing.T) {
	asked := "user: Find the bug. Don't change anything yet. Never touch the till."
	for lines, want := range map[string]string{
		asked: "Instructions that hold:\n- Don't change anything yet.\n- Never touch the till.", asked + "\nuser: Yes, mend it please, on a branch.": "Instructions that hold: Never touch the till.",
	} {
		text := Collect(script(lines)).Text(1000)
		for _, line := range strings.Split(want, "\n") {
			if !strings.Contains(text, line) {
				t.Errorf("%q is not in\n%s", line, text)
			}
		}
	}
}

// Only what the user says is an instruction: harnesses hand an agent the rules of its project by themselves.
func TestInstructionsOfAProject(t *testing.T) {
	rules := `# Guide\n\nThis is a shop.\n- Use tabs, they never fail us here.\n- Do not commit generated files.\n- You MUST run make lint first.`
	for name, lines := range map[string]string{
		"a turn of the harness": "user: # AGENTS.md instructions for /w\\n<INSTRUCTIONS>" + rules + "</INSTRUCTIONS>",
		"a reminder":            "user: <system-reminder>\\nContents of /w/CLAUDE.md (project instructions):\\n" + rules + "\\n</system-reminder>Fix the till.",
		"a file that is read":   `call Read {"file_path":"/w/AGENTS.md"}` + "\nok:   1→" + strings.ReplaceAll(rules, `\n`, `\n  2→`),
	} {
		l := Collect(script(lines + "\nuser: Fix the till. Never touch the receipts."))
		var got []string
		for _, n := range highestFirst(l.Instructions, Note.rank) {
			got = append(got, n.Text)
		}
		want := []string{"Never touch the receipts."}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A result whose call is outside the span is read on its own; one whose call is inside counts once.
func TestResultWithoutItsCall(t *testing.T) {
	lone := script(`
		call Write {"file_path":"a.go","content":"x"}
		ok: done`)[1:]
	lone[0].Arguments = jsontext.Value(`{"file_path":"a.go","content":"x"}`)
	if got := filesOf(Collect(lone)); got != "a.go written 1" {
		t.Errorf("got %q", got)
	}
	whole := script(`
		call Write {"file_path":"a.go","content":"x"}
		ok: done`)
	whole[1].Arguments = whole[0].ToolCalls[0].Arguments
	if got := filesOf(Collect(whole)); got != "a.go written 1" {
		t.Errorf("got %q", got)
	}
}

// Calls of tools that neither run a shell nor work on files are described by their arguments.
func TestOtherCalls(t *testing.T) {
	l := Collect(script(`
		call book_reservation {"user_id":"mia_li_3668","flights":[{"number":"HAT136"}],"bags":2}
		ok: {"reservation_id":"HATHAT"}
		call cancel_reservation {"reservation_id":"8JX2WO"}
		fail: Error: reservation is not found`))
	text := l.Text(1000)
	if len(l.Runs) != 2 || !strings.Contains(text, "cancel_reservation 8JX2WO: Error: reservation is not found") {
		t.Errorf("%+v\n%s", l.Runs, text)
	}
}

func TestDecisions(t *testing.T) {
	l := Collect(script(`
		assistant: I looked at it. I decided to keep the old parser since nobody else reads it. Nothing more to say here today.
		assistant: The **root cause** is a missing lock in the writer!\n` + "```" + `\nx = because(of, it, all, and, more)\n` + "```" + `\nIs that because of the test that fails here?`))
	var got []string
	for _, n := range highestFirst(l.Decisions, Note.rank) {
		got = append(got, n.Text)
	}
	want := []string{"The root cause is a missing lock in the writer!", "I decided to keep the old parser since nobody else reads it."}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// What an agent announces, reports of its progress or says of a moment is no decision; what it answers stands beside the request.
func TestNoDecisions(t *testing.T) {
	call := "\ncall Read {\"file_path\":\"a.go\"}\nok: x"
	for said, want := range map[string]string{
		"Let me check the till because it never opens.":                   "",
		"I'll keep the bounded wait open and look at it later.":           "",
		"Now it uses `openTill` instead of the old function.":             "",
		"It works because `openTill` locks the drawer first.":             "",
		"The changes to `till.go` are still uncommitted on this branch.":  "",
		"All tests pass and the linter is clean now, too.":                "",
		"So instead of the manual check of the drawer, here is:":          "",
		"The till can't be opened twice because `openTill` holds a lock.": "The till can't be opened twice because `openTill` holds a lock.",
		"I'll keep the existing lock and add a counter to the till.":      "I'll keep the existing lock and add a counter to the till.",
		"The fix was switching the drawer from polling to real events.":   "The fix was switching the drawer from polling to real events.",
		"Good question! The drawer opens on the next sale, not at once.":  "",
		"Shall I remove the old counter from the till as well today?":     "",
	} {
		text := Collect(script("assistant: " + said + call + "\nassistant: Let me look at the drawer code next.")).Text(1000)
		got := ""
		if _, after, ok := strings.Cut(text, "Decisions and dead ends: "); ok {
			got, _, _ = strings.Cut(after, "\n")
		}
		if got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
}

// What an agent works on after its last words comes next, by its own list.
func TestNextByTheList(t *testing.T) {
	const list = "\ncall TodoWrite {\"todos\":[{\"content\":\"Lock the till\",\"status\":\"in_progress\"},{\"content\":\"Test it\",\"status\":\"pending\"}]}\nok: saved"
	for lines, want := range map[string]string{
		"assistant: The drawer opens twice per sale." + list:                                   "\nNext:\n- go on with: Lock the till\n- (said before) The drawer opens twice per sale.",
		strings.TrimPrefix(list, "\n") + "\nassistant: Next I look at the drawer of the till.": "\nNext: Next I look at the drawer of the till.",
	} {
		if text := Collect(script(lines)).Text(1000); !strings.HasSuffix(text, want) {
			t.Errorf("%q is not at the end of\n%s", want, text)
		}
	}
}

// The last words of an agent that hands back end with its question.
func TestLastWords(t *testing.T) {
	for said, want := range map[string]string{
		`Done. The till opens once per sale.\n\n## Changes\n- a lock\n\nShall I push it?`:                                                             "Next: (last words) The till opens once per sale. Changes: - a lock Shall I push it?",
		`Which way?\n\n` + strings.Repeat("The till of the shop opens once per sale. ", 60) + `\n1. Commit as is\n2. Go on with ` + "`till.go`" + `?`: " once per sale. 1. Commit as is 2. Go on with `till.go`?",
		`See [till.go](/w/shop/till.go:7) for the lock that I added.`:                                                                                 "Next: (last words) See [till.go] for the lock that I added.",
		`The till opens once per sale. Next I will write its test.`:                                                                                   "Next: The till opens once per sale. Next I will write its test.",
	} {
		if text := Collect(script("assistant: " + said)).Text(1000); !strings.HasSuffix(text, want) {
			t.Errorf("%q:\n%s", said, text)
		}
	}
}

// A file that was only edited in vain is none that was written.
func TestEditsInVain(t *testing.T) {
	text := Collect(script(`
		call Edit {"file_path":"/w/a/tsconfig.json","old_string":"x","new_string":"y"}
		fail: old_string not found in file
		call Edit {"file_path":"/w/a/main.ts","old_string":"x","new_string":"y"}
		fail: old_string not found in file
		call Edit {"file_path":"/w/a/main.ts","old_string":"z","new_string":"y"}
		ok: done`)).Text(1000)
	if want := "Files:\n- /w/a/main.ts\n- edits failed: a/tsconfig.json"; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
}

// A relative spelling is the same file as the one longer path that it ends, and stays apart where it could be two.
func TestSpellings(t *testing.T) {
	l := Collect(script(`
		call Edit {"file_path":"src/a.go","new_string":"1"}
		call Edit {"file_path":"/w/src/a.go","new_string":"2"}
		call Edit {"file_path":"a.go","new_string":"3"}
		call Edit {"file_path":"/w/x/main.go","new_string":"4"}
		call Edit {"file_path":"/w/y/main.go","new_string":"5"}
		call Edit {"file_path":"./main.go","new_string":"6"}`))
	l.Files = together(l.Files)
	want := "/w/src/a.go written 3, /w/x/main.go written 1, /w/y/main.go written 1, main.go written 1"
	if got := filesOf(l); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNames(t *testing.T) {
	var words []string
	eachWord("the ParseHeader of lib/http.go, HTTP 2048 v1.2.3 a1 done. x_test 0123456789abcdef", func(w string) { words = append(words, w) })
	if want := []string{"ParseHeader", "lib/http.go", "HTTP", "x_test"}; !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
}

// TestOutcomesInJSON: how a call ended is read from the text that its result holds in JSON, and from what stands beside it.
func TestOutcomesInJSON(t *testing.T) {
	for _, tt := range []struct{ result, end string }{
		{`"FAIL: test_total (cart.TestCart)"`, "failed"},
		{`{"output":"12 passed in 0.4s","exit_code":0}`, "passed"},
		{`{"output":"","metadata":{"exit_code":2}}`, "failed"},
		{`{"content":[{"type":"text","text":"no such target: check"}],"isError":true}`, "failed"},
		{`{"number":7,"body":"` + strings.Repeat("FAIL: test_total (cart.TestCart) ", 9) + `"}`, ""},
	} {
		list := script("call bash {\"command\":\"make check\"}\nok: " + tt.result)
		list[1].IsError = nil
		l := unguarded(list)
		if len(l.Runs) != 1 || l.Runs[0].End != tt.end {
			t.Errorf("%s: %+v, want %q", tt.result, l.Runs, tt.end)
		}
	}
}
