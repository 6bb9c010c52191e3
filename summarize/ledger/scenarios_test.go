package ledger

import (
	"strings"
	"testing"
)

// What a compaction must and must not say of the state of the work, in the formats of several agents.
func TestScenarios(t *testing.T) {
	const ask = "user: Make the ferry's bookings survive a restart, please.\n"
	const edit = `call Edit {"file_path":"/w/quay/book.go","old_string":"a","new_string":"x"}` + "\nok: done\n"
	// Claude Code's, Codex' two, OpenHands' and Gemini CLI's way to run a line; ok, fail and out follow them.
	claude := func(line string) string { return `call Bash {"command":"` + line + `","description":"Run it"}` + "\n" }
	codex := func(line, code, output string) string {
		return `call shell {"command":["bash","-lc","` + line + `"],"workdir":"/w"}` + "\nout: " + `{"output":"` + strings.ReplaceAll(output, `\n`, `\u000a`) + `","metadata":{"exit_code":` + code + `,"duration_seconds":1.2}}` + "\n"
	}
	exec := func(line, end, output string) string {
		return `call exec_command {"cmd":"` + line + `","workdir":"/w"}` + "\nout: " + `Chunk ID: 3f2a\nWall time: 1.2 seconds\n` + end + `\nOutput:\n` + output + "\n"
	}
	hands := func(line, code, output string) string {
		return `call execute_bash {"command":"` + line + `","is_input":"false"}` + "\nout: " + output + `\n[The command completed with exit code ` + code + `.]\n[Current working directory: /workspace]\n[Python interpreter: /usr/bin/python]\n[Command finished with exit code ` + code + "]\n"
	}
	gemini := func(line, code, output string) string {
		return `call run_shell_command {"command":"` + line + `","description":"Run it"}` + "\nout: " + `Command: ` + line + `\nDirectory: (root)\nOutput: ` + output + `\nError: (none)\nExit Code: ` + code + `\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 4711` + "\n"
	}
	for _, tt := range []struct {
		name, script string
		want, not    []string
	}{
		// The end of a run that is only looked at through another tool.
		{"a search for errors that found some", ask + claude("bun run build") + `fail: Exit code 1\nsrc/tree.tsx(87,21): error TS2322: Type 'string' is not assignable to type 'Node'.` + "\n" + edit + claude("bun run build 2>&1 | grep -i error | head -5") + `ok: src/tree.tsx(87,21): error TS2322: Type 'string' is not assignable to type 'Node'.` + "\n",
			[]string{"TS2322", "→ failed"}, []string{"no error shown", "→ passed", "fixed"}},
		{"a search for errors that found none", ask + claude("bun run build") + `fail: Exit code 1\nsrc/tree.tsx(87,21): error TS2322: Type 'string' is not assignable to type 'Node'.` + "\n" + edit + claude("bun run build 2>&1 | grep -i error | head -5") + "ok: \n",
			nil, []string{"Errors: build", "→ failed"}},
		{"a search by an extended pattern", ask + claude("npx tsc --noEmit 2>&1 | grep -E '(error|warning)' | head -20") + `ok: web/app.ts(3,1): error TS2304: Cannot find name 'berth'.` + "\n", []string{"→ failed", "TS2304"}, []string{"→ passed"}},
		{"a count of errors", ask + claude("npx tsc --noEmit 2>&1 | grep -c 'error TS'") + "ok: 3\n", nil, []string{"→ passed"}},
		{"a count of no errors", ask + claude("npx tsc --noEmit 2>&1 | grep -c 'error TS'") + "fail: Exit code 1\\n0\n", nil, []string{"→ failed", "Errors:"}},
		{"no failed test found", ask + claude("go test ./... 2>&1 | grep FAIL") + "fail: Exit code 1\n", nil, []string{"→ failed", "Errors:"}},
		{"failed tests found", ask + claude("go test ./... 2>&1 | grep -E '^(---|FAIL)'") + `ok: --- FAIL: TestBerth (0.01s)\nFAIL\tferry/quay\t0.02s` + "\n", []string{"→ failed", "TestBerth"}, nil},
		{"a search in an old log is no run", ask + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\n" + claude("grep -n 'FAIL' old/test.log") + `ok: 3:--- FAIL: TestTide (0.01s)` + "\n", []string{"go test ./... → passed"}, []string{"→ failed", "TestTide"}},
		{"clean, then not", ask + claude("cargo build") + `fail: Exit code 101\nerror[E0382]: borrow of moved value: log\n --> src/quay.rs:14:5\nerror: could not compile ferry` + "\n" + edit + claude("cargo build 2>&1 | tail -2") + `out:     Compiling ferry v0.1.0` + "\n" + edit + claude("cargo build 2>&1 | tail -3") + `out:  --> src/quay.rs:19:9\nerror[E0599]: no method named sync found` + "\n",
			[]string{"cargo build → failed"}, []string{"no error", "→ passed"}},
		{"failed, failed, clean", ask + claude("cargo build") + `fail: Exit code 101\nerror[E0382]: borrow of moved value: log\n --> src/quay.rs:14:5\nerror: could not compile ferry` + "\n" + edit + claude("cargo build 2>&1 | tail -2") + `out:     Finished dev [unoptimized] target(s) in 0.4s` + "\n", []string{"→ passed"}, []string{"Errors: build", "→ failed"}},

		// Runners that print what they run.
		{"a task runner's echo behind the result", ask + claude("mise run fmt && go test ./... 2>&1 | tail -5") + `ok: ok  \tferry/quay\t5.461s\n[fmt] $ gofmt -s -w .` + "\n", []string{"→ passed"}, []string{"unknown", "lint"}},
		{"an echo with a word of failure", ask + claude("npm run lint") + `ok: > ferry@1.0.0 lint\n> eslint . --max-warnings 0 || (echo lint failed with errors; exit 1)` + "\n", []string{"npm run lint → passed"}, []string{"→ failed", "Errors"}},
		{"an echo of make with a word of failure", ask + `call bash {"command":"make check"}` + "\nout: " + `ruff check . || { echo 'error: ruff failed'; exit 1; }\nAll checks passed!` + "\n", []string{"make check → passed"}, []string{"→ failed", "Errors"}},
		{"an echo with a word of success", ask + `call bash {"command":"npm test 2>&1 | tail -4"}` + "\nout: " + `> ferry@1.0.0 test\n> jest --passWithNoTests && echo all tests passed` + "\n", nil, []string{"→ passed"}},
		{"the failure below an echo", ask + claude("npm test") + `fail: Exit code 1\n> ferry@1.0.0 test\n> vitest run\n\n ✗ quay/book.test.ts > keeps bookings 3ms\n   AssertionError: expected 1 to be 2\n Test Files  1 failed (1)\n      Tests  1 failed | 4 passed (5)` + "\n", []string{"npm test → failed", "keeps bookings"}, []string{"Errors: test: > ", "ferry@1.0.0"}},
		{"make says which target", ask + claude("make test") + `fail: Exit code 2\npython -m pytest -q\nF.\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed, 1 passed in 0.10s\nmake: *** [Makefile:7: test] Error 1` + "\n", []string{"make test → failed", "test_berth"}, []string{"Errors: test: python"}},

		// Ends that are no verdict.
		{"aborted by the user", ask + `call bash {"command":"npm test"}` + "\nfail: " + `> ferry@1.0.0 test\n> vitest run\n RUN v1.2\nerror: slow start of the worker\nError: still waiting for the worker\n\nCommand aborted` + "\n", nil, []string{"→ failed", "→ passed", "Errors: test"}},
		{"interrupted by the user", ask + claude("npm test") + "fail: [Request interrupted by user for tool use]\n", nil, []string{"→ failed", "→ passed", "Errors"}},
		{"timed out", ask + claude("npm test") + "fail: Command timed out after 2m 0.0s\\n> vitest run\\n ✓ quay/book.test.ts (3 tests)\n", nil, []string{"→ passed"}},
		{"a bound of time", ask + gemini("timeout 60 pytest -q; echo exit $?", "0", `.....\nexit 124`), nil, []string{"→ passed"}},
		{"still running", ask + exec("cargo test", "Process running with session ID 4711", `    Compiling ferry v0.1.0\nwarning: unused variable: log`), nil, []string{"→ passed", "→ failed"}},
		{"still running, then ended", ask + exec("cargo test", "Process running with session ID 4711", `    Compiling ferry v0.1.0`) + `call write_stdin {"session_id":4711,"chars":""}` + "\nout: " + `Chunk ID: 9\nWall time: 5.0 seconds\nProcess exited with code 101\nOutput:\ntest quay::berth ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored` + "\n", []string{"→ failed"}, []string{"→ passed"}},
		{"no test was run", ask + claude("go test ./...") + `fail: Exit code 1\n--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s` + "\n" + edit + claude("go test ./quay -run TestBert$") + `ok: testing: warning: no tests to run\nok  \tferry/quay\t0.02s [no tests to run]` + "\n", []string{"TestBerth"}, []string{"fixed"}},
		{"pytest found no test", ask + hands("pytest tests/test_quay.py", "4", `ERROR: file or directory not found: tests/test_quay.py\n\nno tests ran in 0.01s`), nil, []string{"→ passed"}},

		// Verdicts in each agent's form.
		{"openhands fails, then passes", ask + hands("pytest -q", "1", `F.\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed, 1 passed in 0.10s`) + `call str_replace_editor {"command":"str_replace","path":"/workspace/quay.py","old_str":"1","new_str":"2"}` + "\nout: The file /workspace/quay.py has been edited.\n" + hands("pytest -q", "0", `..\n2 passed in 0.10s`), []string{"pytest -q → passed"}, []string{"→ failed", "Errors: test"}},
		{"openhands passes a part", ask + hands("pytest -q", "1", `F.F\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\nFAILED tests/test_pier.py::test_rope - KeyError: 'rope'\n2 failed, 1 passed in 0.10s`) + `call str_replace_editor {"command":"str_replace","path":"/workspace/quay.py","old_str":"1","new_str":"2"}` + "\nout: The file /workspace/quay.py has been edited.\n" + hands("pytest -q tests/test_quay.py", "0", `.\n1 passed in 0.10s`), []string{"test_rope"}, []string{"fixed in quay.py: FAILED tests/test_quay.py::test_berth - assert 1 == 2; FAILED tests/test_pier"}},
		{"openhands with expected failures", ask + hands("pytest -q", "0", `x..s\n2 passed, 1 skipped, 1 xfailed in 0.10s`), []string{"pytest -q → passed"}, []string{"→ failed", "Errors"}},
		{"gemini fails", ask + gemini("go test ./...", "1", `--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s\nFAIL`), []string{"go test ./... → failed", "TestBerth"}, []string{"→ passed"}},
		{"gemini passes", ask + gemini("go test ./...", "0", `ok  \tferry/quay\t0.02s`), []string{"go test ./... → passed"}, []string{"→ failed", "Errors"}},
		{"codex fails, then passes", ask + codex("cargo test", "101", `test quay::berth ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored`) + codex("apply_patch <<'EOF'\\n*** Begin Patch\\n*** Update File: src/quay.rs\\n@@\\n-a\\n+b\\n*** End Patch\\nEOF", "0", `Success. Updated the following files:\nM src/quay.rs`) + codex("cargo test", "0", `test quay::berth ... ok\ntest result: ok. 4 passed; 0 failed; 0 ignored`), []string{"cargo test → passed", "quay.rs"}, []string{"→ failed", "Errors: test"}},
		{"codex, tests named after errors", ask + exec("cargo test", "Process exited with code 0", `test errors::failed_write_is_error ... ok\ntest panics::reports_failed_lock ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored`), []string{"cargo test → passed"}, []string{"→ failed", "Errors"}},
		{"maven fails, one class passes", ask + claude("mvn test") + `fail: Exit code 1\n[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0\n[ERROR]   QuayTest.keepsBerth:14 expected: <2> but was: <1>\n[INFO] BUILD FAILURE` + "\n" + `call Edit {"file_path":"/w/src/main/java/Quay.java","old_string":"1","new_string":"2"}` + "\nok: done\n" + claude("mvn -q -Dtest=PierTest test") + `ok: [INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS` + "\n", []string{"keepsBerth"}, []string{"mvn test → passed", "fixed"}},
		{"gradle warns", ask + claude("./gradlew test") + `ok: > Task :compileJava\n/w/src/Quay.java:7: warning: [deprecation] stop() in Thread has been deprecated\n1 warning\n> Task :test\n\nBUILD SUCCESSFUL in 4s\n4 actionable tasks: 4 executed` + "\n", []string{"./gradlew test → passed"}, []string{"→ failed", "Errors"}},
		{"warnings of a linter", ask + claude("npx eslint .") + `ok: /w/web/app.ts\n  3:7  warning  'berth' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (0 errors, 1 warning)` + "\n", []string{"npx eslint . → passed"}, []string{"→ failed"}},
		{"clippy warns", ask + codex("cargo clippy", "0", `warning: unused variable: log\n --> src/quay.rs:3:9\nwarning: ferry (lib) generated 1 warning\n    Finished dev [unoptimized] target(s) in 0.40s`), []string{"cargo clippy → passed"}, []string{"→ failed"}},
		{"failures that || true hides", ask + claude("pytest -q || true") + `ok: F.\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed, 1 passed in 0.10s` + "\n", []string{"→ failed", "test_berth"}, []string{"→ passed"}},
		{"an exit that is printed", ask + claude("python -m unittest 2>&1 | tail -3; echo EXIT=${PIPESTATUS[0]}") + `ok: Ran 3 tests in 0.001s\n\nFAILED (failures=1)\nEXIT=1` + "\n", []string{"→ failed"}, []string{"→ passed"}},
		{"build passes, test fails", ask + claude("go build ./... && go test ./...") + `fail: Exit code 1\n--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s\nFAIL` + "\n", []string{"TestBerth"}, []string{"go build ./... → failed", "Errors: build", "build+test: --- FAIL"}},
		{"compiled by a test that passed", ask + claude("go build ./...") + `fail: Exit code 1\nquay/book.go:7:2: undefined: berth` + "\n" + edit + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\n", []string{"go test ./... → passed"}, []string{"Errors: build: quay"}},

		// Which of several runs mends which.
		{"two directories", ask + claude("cd web && npm test") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + edit + claude("cd api && npm test") + `ok:  ✓ log.test.ts (3 tests)\n Tests  3 passed (3)` + "\n", []string{"shows the berth"}, []string{"fixed"}},
		{"two packages of a scope", ask + claude("pnpm --filter @ferry/web test") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + edit + claude("pnpm --filter @ferry/api test") + `ok:  ✓ log.test.ts (3 tests)\n Tests  3 passed (3)` + "\n", []string{"shows the berth"}, []string{"fixed"}},
		{"two workspaces", ask + claude("npm test -w @ferry/web") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + edit + claude("npm test -w @ferry/api") + `ok:  ✓ log.test.ts (3 tests)\n Tests  3 passed (3)` + "\n", []string{"shows the berth"}, []string{"fixed"}},
		{"one workspace, again", ask + claude("npm test -w @ferry/web") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + edit + claude("npm test -w @ferry/web") + `ok:  ✓ berth.test.ts (3 tests)\n Tests  3 passed (3)` + "\n", []string{"→ passed"}, []string{"Errors: test"}},
		{"a package of a scope is no path", ask + claude("npm view @ferry/core@4.41.0-next.1 version") + `fail: npm error code E404\nnpm error 404 No match found for version 4.41.0-next.1` + "\n", []string{"@ferry/core@4.41.0-next.1"}, []string{" core@4.41"}},
		{"a part passes, another fails", ask + claude("go test ./quay") + "ok: ok  \tferry/quay\t0.02s\n" + claude("go test ./...") + `fail: Exit code 1\nok  \tferry/quay\t0.02s\n--- FAIL: TestRope (0.01s)\n    rope_test.go:7: got 1, want 2\nFAIL\tferry/pier\t0.02s` + "\n", []string{"go test ./... → failed", "TestRope"}, nil},
		{"the base was no better", ask + edit + claude("git stash && npm test; git stash pop") + `out:  ✗ tide.test.ts > shows the tide\n Tests  1 failed (1)\nDropped refs/stash@{0} (3f2a1b4)` + "\n" + claude("npm test") + `ok:  Tests  3 passed (3)` + "\n", []string{"npm test → passed"}, []string{"Errors: test", "discarded"}},
		{"fixed by the linter itself", ask + claude("ruff check .") + `fail: Exit code 1\nquay/book.py:3:1: F401 os imported but unused\nFound 1 error.` + "\n" + claude("ruff check . --fix") + `ok: Found 1 error (1 fixed, 0 remaining).` + "\n", nil, []string{"Errors: lint: quay", "→ failed"}},
		{"other tests of one file", ask + hands("pytest tests/test_quay.py::test_berth", "1", `FAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed in 0.10s`) + hands("pytest tests/test_quay.py::test_rope", "0", `1 passed in 0.10s`), []string{"test_berth - assert 1 == 2"}, []string{"fixed"}},
		{"a test tool", ask + `call runTests {"files":["/w/book.test.ts"]}` + "\nok: " + `<summary passed=4 failed=1 />\n<testFailure name=\"keeps bookings\" path=\"/w/book.test.ts\">expected 1 to be 2</testFailure>` + "\n", nil, []string{"→ passed"}},
		{"what a sub-agent says of tests", ask + claude("go test ./...") + `fail: Exit code 1\n--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s` + "\n" + `call Task {"description":"Look at the pier","prompt":"Look at the pier"}` + "\nok: All 12 tests pass in the pier. The rope is fine.\nassistant: ok\n", []string{"TestBerth", "go test ./... → failed"}, []string{"fixed"}},

		// Commits, branches, files.
		{"a hook refused the commit", ask + edit + claude("git add -A && git commit -m 'Write a log'") + `fail: Exit code 1\nruff.....................................................................Failed\n- hook id: ruff\n- exit code: 1\n\nquay/book.py:3:1: F401 os imported but unused` + "\n", nil, []string{"commits:", "commit: "}},
		{"nothing to commit", ask + edit + claude("git commit -am 'Write a log'") + `fail: Exit code 1\nOn branch main\nnothing to commit, working tree clean` + "\n", []string{"branch: main"}, []string{"commits:"}},
		{"a quiet commit", ask + edit + claude("git commit -q -am 'Write a log' && git log --oneline -1") + "ok: 1a2b3c4 Write a log\n", []string{"1a2b3c4 Write a log"}, nil},
		{"the bare name of a branch", ask + claude("git branch --show-current") + "ok: log/write\n", []string{"branch: log/write"}, nil},
		{"a branch in a line with other commands", ask + claude("git branch --show-current && git log --oneline -2") + `ok: log/write\n1a2b3c4 Write a log\n9f8e7d6 First` + "\n", []string{"branch: log/write"}, nil},
		{"pushed at the second try", ask + claude("git push origin log/write") + `fail: Exit code 1\n ! [rejected]        log/write -> log/write (non-fast-forward)\nerror: failed to push some refs to 'origin'` + "\n" + claude("git pull --rebase origin log/write && git push origin log/write") + `ok:    1a2b3c4..5d6e7f8  log/write -> log/write` + "\n", []string{"pushed"}, []string{"Errors"}},
		{"deleted and brought back", ask + claude("rm quay/old.go") + "ok: \n" + claude("git checkout -- quay/old.go") + "ok: \n", nil, []string{"(deleted)"}},
		{"deleted on a branch that a reset left", ask + claude("git checkout -b log/tidy") + "ok: Switched to a new branch 'log/tidy'\n" + claude("rm root.txt && git commit -am Tidy") + "ok: [log/tidy 1a2b3c4d] Tidy\n" + claude("git checkout main && git reset --hard origin/main") + "ok: Switched to branch 'main'\\nHEAD is now at 9f8e7d6 First\n", nil, []string{"root.txt (deleted)\n", "root.txt (deleted),"}},
		{"told by git, then thrown away", ask + claude("git status --short") + `ok:  M quay/tide.go` + "\n" + claude("git checkout -- .") + "ok: \n", nil, []string{"tide.go"}},
		{"a directory made anew", ask + claude("rm -rf /w/pack-0.79.6 && mkdir -p /w/pack-0.79.6 && cd /w/pack-0.79.6 && npm pack ferry") + "ok: ferry-0.79.6.tgz\n", nil, []string{"(deleted)"}},
		{"a directory that is read later", ask + claude("rm -rf /w/pack-0.79.6") + "ok: \n" + claude("npm pack ferry --pack-destination /w") + "ok: ferry-0.79.6.tgz\n" + `call Read {"file_path":"/w/pack-0.79.6/package.json"}` + "\nok: {}\n", nil, []string{"pack-0.79.6 (deleted)"}},

		{"cleaned of files that are new", ask + edit + `call Write {"file_path":"/w/quay/try.go","content":"package quay"}` + "\nok: File created successfully at: /w/quay/try.go\n" + claude("git clean -fd") + "ok: Removing quay/try.go\n", []string{"try.go (changes discarded)"}, []string{"book.go (changes"}},
		{"a new file that checkout leaves alone", ask + edit + `call Write {"file_path":"/w/quay/try.go","content":"package quay"}` + "\nok: File created successfully at: /w/quay/try.go\n" + claude("git checkout -- .") + "ok: \n", []string{"book.go (changes discarded)"}, []string{"try.go (changes"}},

		// What was true once, and what is a decision.
		{"what the next call changes", ask + "assistant: The title of berth.3 still says squash-safe, which the plan no longer wants. Let me retitle it.\n" + `call update_issue {"id":"berth.3","title":"merge-safe"}` + "\nok: updated\nassistant: ok\n", nil, []string{"dead ends"}},
		{"the state of a form", "user: Order seven lamps for the pier, please.\n" + "assistant: The current quantity of the order is set to 1. I will change it to 7.\n" + `call browser_type {"args":"'a12', '7'"}` + "\nok: - Title: Order\nassistant: The quantity is now set to 7 in the form, and the price has changed.\n" + `call browser_click {"args":"'a13'"}` + "\nok: - Title: Order\n", nil, []string{"dead ends"}},
		{"a first check", ask + "assistant: I'll first check how the clerk writes the log of the quay.\n" + `call Read {"file_path":"/w/quay/clerk.go"}` + "\nok: x\nassistant: ok\n", nil, []string{"dead ends"}},
		{"a first check with a reason", ask + "assistant: I'll first look at the clerk because the log is written there.\n" + `call Read {"file_path":"/w/quay/clerk.go"}` + "\nok: x\nassistant: ok\n", nil, []string{"dead ends"}},
		{"a check of a guess", ask + "assistant: Let me see whether the problem is the cache of the clerk.\n" + `call Read {"file_path":"/w/quay/clerk.go"}` + "\nok: x\nassistant: ok\n", nil, []string{"dead ends"}},
		{"a guess that is dropped at once", ask + "assistant: The issue is that the terminal sets `TERM=xterm-quay`, so the colour differs.\n" + claude("echo $TERM") + "ok: xterm\nassistant: So the colour must be coming from something else. Let me look at the settings.\n" + `call Read {"file_path":"/w/settings.json"}` + "\nok: x\nassistant: `terminal.minimumContrast` changes the colours of all text.\nuser: omfg that's it\nassistant: Good. I'll write it down.\n" + edit, []string{"terminal.minimumContrast"}, []string{"must be coming from something else"}},
		{"a choice by what it avoids", ask + "assistant: I need to use the Ark TreeView directly (not the styled wrapper) to avoid needing a provider.\n" + edit + "assistant: ok\n", []string{"Ark TreeView directly"}, nil},
		{"a choice against another way", ask + "assistant: I'll keep the log in one file instead of one for each day, since the pilots read it as a whole.\n" + edit + "assistant: ok\n", []string{"keep the log in one file instead of one"}, nil},
		{"a cause that is mended at once", ask + "assistant: The root cause is that the clerk closes the log before the last write. Let me fix it.\n" + edit + "assistant: ok\n", []string{"(found before later edits) The root cause is that the clerk closes"}, nil},
		{"a failure that is mended at once", ask + "assistant: The test still fails because `readBerth` isn't exported. Let me export it.\n" + edit + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\nassistant: ok\n", nil, []string{"dead ends: The test still fails", "- The test still fails"}},
		{"what is still missing, and is written", ask + "assistant: The handler doesn't validate the berth yet, so I'll add a check to it now.\n" + edit + "assistant: ok\n", nil, []string{"dead ends"}},
		{"half a list", ask + "assistant: Two cases:\\n\\n- When the log already exists (`state != nil`), the clerk appends\\n- When it does not, the clerk makes one\nassistant: ok\n", nil, []string{"already exists (`state != nil`), the clerk appends\n"}},
		{"an aider-like turn", ask + "assistant: quay.py\\n```python\\n<<<<<<< SEARCH\\na = 1\\n=======\\na = 2\\n>>>>>>> REPLACE\\n```\nuser: I ran this command:\\n\\npytest -q\\n\\nAnd got this output:\\n\\nF.\\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\\n1 failed, 1 passed in 0.10s\nassistant: The test expects `2` since the tide of March, I'll correct the constant.\n", nil, []string{"→ passed"}},
	} {
		text := Collect(script(tt.script)).Trim().Text(2400)
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", tt.name, want, text)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q is in\n%s", tt.name, not, text)
			}
		}
	}
}
