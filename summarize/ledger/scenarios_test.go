package ledger

import (
	"strings"
	"testing"
)

// scenario is a small thread, with what its compaction must say and must not.
type scenario struct {
	name, script string
	want, not    []string
}

const (
	askFerry  = "user: Make the ferry's bookings survive a restart, please.\n"
	editFerry = `call Edit {"file_path":"/w/quay/book.go","old_string":"a","new_string":"x"}` + "\nok: done\n"
)

// The ways in which agents run a line: Claude Code's, which ok, fail or out follows; Codex' two, OpenHands' and Gemini CLI's, with their
// outputs.
func claude(line string) string {
	return `call Bash {"command":"` + line + `","description":"Run it"}` + "\n"
}

func codex(line, code, output string) string {
	return `call shell {"command":["bash","-lc","` + line + `"],"workdir":"/w"}` + "\nout: " + `{"output":"` + strings.ReplaceAll(output, `\n`, `\u000a`) + `","metadata":{"exit_code":` + code + `,"duration_seconds":1.2}}` + "\n"
}

func codexExec(line, end, output string) string {
	return `call exec_command {"cmd":"` + line + `","workdir":"/w"}` + "\nout: " + `Chunk ID: 3f2a\nWall time: 1.2 seconds\n` + end + `\nOutput:\n` + output + "\n"
}

func openHands(line, code, output string) string {
	return `call execute_bash {"command":"` + line + `","is_input":"false"}` + "\nout: " + output + `\n[The command completed with exit code ` + code + `.]\n[Current working directory: /workspace]\n[Python interpreter: /usr/bin/python]\n[Command finished with exit code ` + code + "]\n"
}

func gemini(line, code, output string) string {
	return `call run_shell_command {"command":"` + line + `","description":"Run it"}` + "\nout: " + `Command: ` + line + `\nDirectory: (root)\nOutput: ` + output + `\nError: (none)\nExit Code: ` + code + `\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 4711` + "\n"
}

// play holds the compactions of scenarios against what they must say.
func play(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		text := Collect(script(s.script)).Trim().Text(2400)
		for _, want := range s.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", s.name, want, text)
			}
		}
		for _, not := range s.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q is in\n%s", s.name, not, text)
			}
		}
	}
}

// What is said of runs: how they ended, and which of them mends which.
func TestRunsTold(t *testing.T) {
	play(t, []scenario{
		// The end of a run that is only looked at through another tool.
		{"a search for errors that found some", askFerry + claude("bun run build") + `fail: Exit code 1\nsrc/tree.tsx(87,21): error TS2322: Type 'string' is not assignable to type 'Node'.` + "\n" + editFerry + claude("bun run build 2>&1 | grep -i error | head -5") + `ok: src/tree.tsx(87,21): error TS2322: Type 'string' is not assignable to type 'Node'.` + "\n",
			[]string{"TS2322", "→ failed"}, []string{"no error shown", "→ passed", "fixed"}},
		{"a search for errors that found none", askFerry + claude("bun run build") + `fail: Exit code 1\nsrc/tree.tsx(87,21): error TS2322: Type 'string' is not assignable to type 'Node'.` + "\n" + editFerry + claude("bun run build 2>&1 | grep -i error | head -5") + "ok: \n",
			[]string{"bun run build → no error shown (failed before)", "no error shown since: src/tree.tsx"}, []string{"→ passed", "fixed"}},
		{"a search by an extended pattern", askFerry + claude("npx tsc --noEmit 2>&1 | grep -E '(error|warning)' | head -20") + `ok: web/app.ts(3,1): error TS2304: Cannot find name 'berth'.` + "\n", []string{"→ failed", "TS2304"}, []string{"→ passed"}},
		{"a count of errors", askFerry + claude("npx tsc --noEmit 2>&1 | grep -c 'error TS'") + "ok: 3\n", nil, []string{"→ passed"}},
		{"a count of no errors", askFerry + claude("npx tsc --noEmit 2>&1 | grep -c 'error TS'") + "fail: Exit code 1\\n0\n", nil, []string{"→ failed", "Errors:"}},
		{"no failed test found", askFerry + claude("go test ./... 2>&1 | grep FAIL") + "fail: Exit code 1\n", nil, []string{"→ failed", "Errors:"}},
		{"failed tests found", askFerry + claude("go test ./... 2>&1 | grep -E '^(---|FAIL)'") + `ok: --- FAIL: TestBerth (0.01s)\nFAIL\tferry/quay\t0.02s` + "\n", []string{"→ failed", "TestBerth"}, nil},
		{"a search in an old log is no run", askFerry + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\n" + claude("grep -n 'FAIL' old/test.log") + `ok: 3:--- FAIL: TestTide (0.01s)` + "\n", []string{"go test ./... → passed"}, []string{"→ failed", "TestTide"}},
		{"clean, then not", askFerry + claude("cargo build") + `fail: Exit code 101\nerror[E0382]: borrow of moved value: log\n --> src/quay.rs:14:5\nerror: could not compile ferry` + "\n" + editFerry + claude("cargo build 2>&1 | tail -2") + `out:     Compiling ferry v0.1.0` + "\n" + editFerry + claude("cargo build 2>&1 | tail -3") + `out:  --> src/quay.rs:19:9\nerror[E0599]: no method named sync found` + "\n",
			[]string{"cargo build → failed"}, []string{"no error", "→ passed"}},
		{"failed, failed, clean", askFerry + claude("cargo build") + `fail: Exit code 101\nerror[E0382]: borrow of moved value: log\n --> src/quay.rs:14:5\nerror: could not compile ferry` + "\n" + editFerry + claude("cargo build 2>&1 | tail -2") + `out:     Finished dev [unoptimized] target(s) in 0.4s` + "\n", []string{"→ passed"}, []string{"Errors: build", "→ failed"}},

		// Runners that print what they run.
		{"a task runner's echo behind the result", askFerry + claude("mise run fmt && go test ./... 2>&1 | tail -5") + `ok: ok  \tferry/quay\t5.461s\n[fmt] $ gofmt -s -w .` + "\n", []string{"→ passed"}, []string{"unknown", "lint"}},
		{"an echo with a word of failure", askFerry + claude("npm run lint") + `ok: > ferry@1.0.0 lint\n> eslint . --max-warnings 0 || (echo lint failed with errors; exit 1)` + "\n", []string{"npm run lint → passed"}, []string{"→ failed", "Errors"}},
		{"an echo of make with a word of failure", askFerry + `call bash {"command":"make check"}` + "\nout: " + `ruff check . || { echo 'error: ruff failed'; exit 1; }\nAll checks passed!` + "\n", []string{"make check → passed"}, []string{"→ failed", "Errors"}},
		{"an echo with a word of success", askFerry + `call bash {"command":"npm test 2>&1 | tail -4"}` + "\nout: " + `> ferry@1.0.0 test\n> jest --passWithNoTests && echo all tests passed` + "\n", nil, []string{"→ passed"}},
		{"the failure below an echo", askFerry + claude("npm test") + `fail: Exit code 1\n> ferry@1.0.0 test\n> vitest run\n\n ✗ quay/book.test.ts > keeps bookings 3ms\n   AssertionError: expected 1 to be 2\n Test Files  1 failed (1)\n      Tests  1 failed | 4 passed (5)` + "\n", []string{"npm test → failed", "keeps bookings"}, []string{"Errors: test: > ", "ferry@1.0.0"}},
		{"make says which target", askFerry + claude("make test") + `fail: Exit code 2\npython -m pytest -q\nF.\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed, 1 passed in 0.10s\nmake: *** [Makefile:7: test] Error 1` + "\n", []string{"make test → failed", "test_berth"}, []string{"Errors: test: python"}},

		// Ends that are no verdict.
		{"aborted by the user", askFerry + `call bash {"command":"npm test"}` + "\nfail: " + `> ferry@1.0.0 test\n> vitest run\n RUN v1.2\nerror: slow start of the worker\nError: still waiting for the worker\n\nCommand aborted` + "\n", nil, []string{"→ failed", "→ passed", "Errors: test"}},
		{"interrupted by the user", askFerry + claude("npm test") + "fail: [Request interrupted by user for tool use]\n", nil, []string{"→ failed", "→ passed", "Errors"}},
		{"timed out", askFerry + claude("npm test") + "fail: Command timed out after 2m 0.0s\\n> vitest run\\n ✓ quay/book.test.ts (3 tests)\n", nil, []string{"→ passed"}},
		{"a sum behind a task's name", askFerry + claude("mise run lint 2>&1 | tail -10") + `ok: [lint:gofmt] $ mise-tasks/lint/gofmt\n[lint:gofmt] Finished in 226.9ms\n[lint:go] 0 issues.\n[lint:go] Finished in 4.52s\n[lint] Finished in 5.0ms\nFinished in 4.53s` + "\n", []string{"mise run lint → passed"}, nil},
		{"a task that failed behind a sum", askFerry + claude("mise run lint 2>&1 | tail -10") + `ok: [lint:go] 0 issues.\n[lint:go] Finished in 4.52s\n[lint:shellcheck] In run.sh line 3:\n[lint:shellcheck] ERROR task failed` + "\n", nil, []string{"→ passed"}},
		{"another program later, of which nothing is known", askFerry + claude("go vet ./...") + "ok: \n" + claude("mise run lint 2>&1 | head -2") + `out: [lint:go] Checking\n[lint:go] Still checking` + "\n", []string{"go vet ./... → passed"}, []string{"run again later"}},
		{"moved to the background", askFerry + `call bash {"command":"bun test 2>&1 | head -150"}` + "\nout: " + `Command is taking longer than expected and has been moved to background.\n\nBackground shell ID: 009\n\nUse job_output tool to view output or job_kill to terminate.` + "\n", []string{"running: bun test"}, []string{"→", "Errors"}},
		{"moved to the background, and looked at", askFerry + `call bash {"command":"bun test"}` + "\nout: " + `Command is taking longer than expected and has been moved to background.\n\nBackground shell ID: 009` + "\n" + `call job_output {"shell_id":"009"}` + "\nout: " + `(pass) quay > keeps [1ms]\n 1 pass\n 0 fail\nExit code 0` + "\n", []string{"bun test → passed"}, []string{"running:"}},
		{"a script of a program that is silent", askFerry + claude("bun run typecheck 2>&1 | tail -10") + "ok: $ tsc --noEmit\n", []string{"bun run typecheck → passed"}, nil},
		{"a script of a program that is not silent", askFerry + claude("bun run typecheck 2>&1 | tail -10") + "ok: $ jest --ci\n", nil, []string{"→ passed"}},
		{"a build of tests", askFerry + claude("go build -tags e2e ./quay/e2e_test/...") + `fail: Exit code 1\nquay/e2e_test/env.go:4:26: undefined: berth` + "\n", []string{"Errors: build: quay/e2e_test"}, nil},
		{"types of tests", askFerry + claude("npx tsc --noEmit -p tests/tsconfig.json") + "ok: \n" + claude("mypy tests/") + "ok: Success: no issues found in 3 source files\n", []string{"- mypy tests/ → passed", "- npx tsc"}, nil},
		{"an error and its cut self", askFerry + claude("npx tsgo -p tsconfig.json 2>&1 | grep -E 'error' | head -10") + `ok: src/theme/theme.ts(443,3): error TS2353: Object literal may only specify known properties, and linkUrl does not exist in type Theme of the module.` + "\n", []string{"TS2353"}, []string{"; src/theme"}},
		{"tests that log errors", askFerry + claude("go test ./quay -v") + `ok: === RUN   TestBerth\n2026/01/20 16:02:36 ERROR no such berth\n--- PASS: TestBerth (0.1s)\nPASS\nok  \tferry/quay\t0.2s` + "\n", []string{"go test ./quay -v → passed"}, []string{"Errors"}},
		{"a bound of time", askFerry + gemini("timeout 60 pytest -q; echo exit $?", "0", `.....\nexit 124`), nil, []string{"→ passed"}},
		{"still running", askFerry + codexExec("cargo test", "Process running with session ID 4711", `    Compiling ferry v0.1.0\nwarning: unused variable: log`), nil, []string{"→ passed", "→ failed"}},
		{"still running, then ended", askFerry + codexExec("cargo test", "Process running with session ID 4711", `    Compiling ferry v0.1.0`) + `call write_stdin {"session_id":4711,"chars":""}` + "\nout: " + `Chunk ID: 9\nWall time: 5.0 seconds\nProcess exited with code 101\nOutput:\ntest quay::berth ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored` + "\n", []string{"→ failed"}, []string{"→ passed"}},
		{"no test was run", askFerry + claude("go test ./...") + `fail: Exit code 1\n--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s` + "\n" + editFerry + claude("go test ./quay -run TestBert$") + `ok: testing: warning: no tests to run\nok  \tferry/quay\t0.02s [no tests to run]` + "\n", []string{"TestBerth"}, []string{"fixed"}},
		{"pytest found no test", askFerry + openHands("pytest tests/test_quay.py", "4", `ERROR: file or directory not found: tests/test_quay.py\n\nno tests ran in 0.01s`), nil, []string{"→ passed"}},

		// Verdicts in each agent's form.
		{"openhands fails, then passes", askFerry + openHands("pytest -q", "1", `F.\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed, 1 passed in 0.10s`) + `call str_replace_editor {"command":"str_replace","path":"/workspace/quay.py","old_str":"1","new_str":"2"}` + "\nout: The file /workspace/quay.py has been edited.\n" + openHands("pytest -q", "0", `..\n2 passed in 0.10s`), []string{"pytest -q → passed"}, []string{"→ failed", "Errors: test"}},
		{"openhands passes a part", askFerry + openHands("pytest -q", "1", `F.F\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\nFAILED tests/test_pier.py::test_rope - KeyError: 'rope'\n2 failed, 1 passed in 0.10s`) + `call str_replace_editor {"command":"str_replace","path":"/workspace/quay.py","old_str":"1","new_str":"2"}` + "\nout: The file /workspace/quay.py has been edited.\n" + openHands("pytest -q tests/test_quay.py", "0", `.\n1 passed in 0.10s`), []string{"test_rope"}, []string{"fixed in quay.py: FAILED tests/test_quay.py::test_berth - assert 1 == 2; FAILED tests/test_pier"}},
		{"openhands with expected failures", askFerry + openHands("pytest -q", "0", `x..s\n2 passed, 1 skipped, 1 xfailed in 0.10s`), []string{"pytest -q → passed"}, []string{"→ failed", "Errors"}},
		{"gemini fails", askFerry + gemini("go test ./...", "1", `--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s\nFAIL`), []string{"go test ./... → failed", "TestBerth"}, []string{"→ passed"}},
		{"gemini passes", askFerry + gemini("go test ./...", "0", `ok  \tferry/quay\t0.02s`), []string{"go test ./... → passed"}, []string{"→ failed", "Errors"}},
		{"codex fails, then passes", askFerry + codex("cargo test", "101", `test quay::berth ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored`) + codex("apply_patch <<'EOF'\\n*** Begin Patch\\n*** Update File: src/quay.rs\\n@@\\n-a\\n+b\\n*** End Patch\\nEOF", "0", `Success. Updated the following files:\nM src/quay.rs`) + codex("cargo test", "0", `test quay::berth ... ok\ntest result: ok. 4 passed; 0 failed; 0 ignored`), []string{"cargo test → passed", "quay.rs"}, []string{"→ failed", "Errors: test"}},
		{"codex, tests named after errors", askFerry + codexExec("cargo test", "Process exited with code 0", `test errors::failed_write_is_error ... ok\ntest panics::reports_failed_lock ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored`), []string{"cargo test → passed"}, []string{"→ failed", "Errors"}},
		{"maven fails, one class passes", askFerry + claude("mvn test") + `fail: Exit code 1\n[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0\n[ERROR]   QuayTest.keepsBerth:14 expected: <2> but was: <1>\n[INFO] BUILD FAILURE` + "\n" + `call Edit {"file_path":"/w/src/main/java/Quay.java","old_string":"1","new_string":"2"}` + "\nok: done\n" + claude("mvn -q -Dtest=PierTest test") + `ok: [INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS` + "\n", []string{"keepsBerth"}, []string{"mvn test → passed", "fixed"}},
		{"gradle warns", askFerry + claude("./gradlew test") + `ok: > Task :compileJava\n/w/src/Quay.java:7: warning: [deprecation] stop() in Thread has been deprecated\n1 warning\n> Task :test\n\nBUILD SUCCESSFUL in 4s\n4 actionable tasks: 4 executed` + "\n", []string{"./gradlew test → passed"}, []string{"→ failed", "Errors"}},
		{"warnings of a linter", askFerry + claude("npx eslint .") + `ok: /w/web/app.ts\n  3:7  warning  'berth' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (0 errors, 1 warning)` + "\n", []string{"npx eslint . → passed"}, []string{"→ failed"}},
		{"clippy warns", askFerry + codex("cargo clippy", "0", `warning: unused variable: log\n --> src/quay.rs:3:9\nwarning: ferry (lib) generated 1 warning\n    Finished dev [unoptimized] target(s) in 0.40s`), []string{"cargo clippy → passed"}, []string{"→ failed"}},
		{"failures that || true hides", askFerry + claude("pytest -q || true") + `ok: F.\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed, 1 passed in 0.10s` + "\n", []string{"→ failed", "test_berth"}, []string{"→ passed"}},
		{"an exit that is printed", askFerry + claude("python -m unittest 2>&1 | tail -3; echo EXIT=${PIPESTATUS[0]}") + `ok: Ran 3 tests in 0.001s\n\nFAILED (failures=1)\nEXIT=1` + "\n", []string{"→ failed"}, []string{"→ passed"}},
		{"build passes, test fails", askFerry + claude("go build ./... && go test ./...") + `fail: Exit code 1\n--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s\nFAIL` + "\n", []string{"TestBerth"}, []string{"go build ./... → failed", "Errors: build", "build+test: --- FAIL"}},
		{"compiled by a test that passed", askFerry + claude("go build ./...") + `fail: Exit code 1\nquay/book.go:7:2: undefined: berth` + "\n" + editFerry + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\n", []string{"go test ./... → passed"}, []string{"Errors: build: quay"}},

		// Which of several runs mends which.
		{"two directories", askFerry + claude("cd web && npm test") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + editFerry + claude("cd api && npm test") + `ok:  ✓ log.test.ts (3 tests)\n Tests  3 passed (3)` + "\n", []string{"shows the berth"}, []string{"fixed"}},
		{"two packages of a scope", askFerry + claude("pnpm --filter @ferry/web test") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + editFerry + claude("pnpm --filter @ferry/api test") + `ok:  ✓ log.test.ts (3 tests)\n Tests  3 passed (3)` + "\n", []string{"shows the berth"}, []string{"fixed"}},
		{"two workspaces", askFerry + claude("npm test -w @ferry/web") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + editFerry + claude("npm test -w @ferry/api") + `ok:  ✓ log.test.ts (3 tests)\n Tests  3 passed (3)` + "\n", []string{"shows the berth"}, []string{"fixed"}},
		{"one workspace, again", askFerry + claude("npm test -w @ferry/web") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + editFerry + claude("npm test -w @ferry/web") + `ok:  ✓ berth.test.ts (3 tests)\n Tests  3 passed (3)` + "\n", []string{"→ passed"}, []string{"Errors: test"}},
		{"a package of a scope is no path", askFerry + claude("npm view @ferry/core@4.41.0-next.1 version") + `fail: npm error code E404\nnpm error 404 No match found for version 4.41.0-next.1` + "\n", []string{"@ferry/core@4.41.0-next.1"}, []string{" core@4.41"}},
		{"a part passes, another fails", askFerry + claude("go test ./quay") + "ok: ok  \tferry/quay\t0.02s\n" + claude("go test ./...") + `fail: Exit code 1\nok  \tferry/quay\t0.02s\n--- FAIL: TestRope (0.01s)\n    rope_test.go:7: got 1, want 2\nFAIL\tferry/pier\t0.02s` + "\n", []string{"go test ./... → failed", "TestRope"}, nil},
		{"the base was no better", askFerry + editFerry + claude("git stash && npm test; git stash pop") + `out:  ✗ tide.test.ts > shows the tide\n Tests  1 failed (1)\nDropped refs/stash@{0} (3f2a1b4)` + "\n" + claude("npm test") + `ok:  Tests  3 passed (3)` + "\n", []string{"npm test → passed"}, []string{"Errors: test", "discarded"}},
		{"fixed by the linter itself", askFerry + claude("ruff check .") + `fail: Exit code 1\nquay/book.py:3:1: F401 os imported but unused\nFound 1 error.` + "\n" + claude("ruff check . --fix") + `ok: Found 1 error (1 fixed, 0 remaining).` + "\n", nil, []string{"Errors:", "→ failed"}},
		{"other tests of one file", askFerry + openHands("pytest tests/test_quay.py::test_berth", "1", `FAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed in 0.10s`) + openHands("pytest tests/test_quay.py::test_rope", "0", `1 passed in 0.10s`), []string{"test_berth - assert 1 == 2"}, []string{"fixed"}},
		{"a script may run the compiler", askFerry + claude("npx tsgo -p tsconfig.build.json") + `fail: Exit code 1\nsrc/quay.ts(7,2): error TS2304: Cannot find name 'berth'.` + "\n" + editFerry + claude("npm run build") + `out: > ferry@1.0.0 build\n> node scripts/make.js\n\n42 modules written` + "\n", []string{"→ failed; npm run build later: no error shown", "Errors: build, npm run build later: no error shown: src/quay.ts"}, []string{"edits since"}},
		{"a script that passed may", askFerry + claude("npx tsgo -p tsconfig.build.json") + `fail: Exit code 1\nsrc/quay.ts(7,2): error TS2304: Cannot find name 'berth'.` + "\n" + editFerry + claude("npm run build") + `ok: > ferry@1.0.0 build\n> vite build\n\n✓ built in 1.20s` + "\n", []string{"npm run build → passed", "npm run build later: passed: src/quay.ts"}, []string{"edits since"}},
		{"a script elsewhere may not", askFerry + claude("npx tsgo") + `fail: Exit code 1\nsrc/quay.ts(7,2): error TS2304: Cannot find name 'berth'.` + "\n" + editFerry + claude("cd web && npm run build") + `out: > ferry@1.0.0 build\n> node scripts/make.js\n\n42 modules written` + "\n", []string{"Errors: npx tsgo: src/quay.ts"}, []string{"later: no error"}},
		{"a script that fails later", askFerry + claude("npx tsgo") + `fail: Exit code 1\nsrc/quay.ts(7,2): error TS2304: Cannot find name 'berth'.` + "\n" + editFerry + claude("npm run build") + `fail: Exit code 1\nsrc/pier.ts(9,2): error TS2304: Cannot find name 'rope'.` + "\n", []string{"src/pier.ts(9,2)"}, []string{"later:"}},
		{"clean of something is no verdict", askFerry + claude("npx tsgo") + `fail: Exit code 1\nsrc/quay.ts(7,2): error TS2304: Cannot find name 'berth'.` + "\n" + "assistant: The code is now clean without the workarounds of the timer.\nuser: go on\nassistant: ok\n", []string{"Errors: npx tsgo: src/quay.ts"}, []string{"before “The code"}},
		{"a run that is cut off in time", askFerry + claude("timeout 30 bun pier/all.ts 2>&1") + `fail: Begin with the pier\nBerth 1\nBerth 2\nBerth 3\nBerth 4\n\nexit status 124\nExit code 124` + "\n", []string{"bun pier/all.ts: timed out (exit 124)"}, nil},
		{"a run that ends without a word", askFerry + codexExec("bun pier/all.ts", "Process exited with code 3", `Berth 1\nBerth 2\nBerth 3\nBerth 4`), []string{"bun pier/all.ts: exit 3"}, nil},
		{"a test that ends without a word", askFerry + codexExec("npm test", "Process exited with code 1", `Berth 1\nBerth 2\nBerth 3\nBerth 4`), []string{"npm test → failed", "Errors: test: exit 1"}, nil},
		{"nothing as an answer", askFerry + codexExec("./pier/has berth", "Process exited with code 1", ""), nil, []string{"exit 1"}},
		{"a whole suite, and a part of another", askFerry + claude("mise run test:integration") + `ok: ok  \tferry/quay\t22.3s` + "\n" + claude("mise run test -- -run Berth") + `ok: ok  \tferry/pier\t0.02s` + "\n", []string{"- mise run test -- -run Berth → passed\n", "- mise run test:integration → passed"}, nil},
		{"a formatter that names the file above", askFerry + claude("npm run lint") + `fail: Exit code 1\n$ biome check .\n./quay/book.ts format ━━━━━━━━━━\n\n  × Formatter would have printed the following content:\n\n     8 │ - a\n\nFound 1 error.` + "\n", []string{"quay/book.ts: × Formatter would have printed"}, nil},
		{"a linter that mends, and one that looks", askFerry + claude("npm run lint:fix") + `fail: Exit code 1\nquay/book.ts:3:1: unused import of berth` + "\n" + editFerry + claude("npm run lint") + "ok: Checked 12 files in 9ms. No fixes applied.\n", []string{"npm run lint → passed"}, []string{"lint:fix → failed", "Errors: npm"}},
		{"a call that is not known", askFerry + codexExec("gh run view 7 --json berth", "Process exited with code 1", `Unknown JSON field: berth\nAvailable fields:\n  lamp\n  tide\n  wood`), []string{"--json berth: Unknown JSON field: berth"}, []string{"exit 1"}},
		{"a line of two, passed one by one", askFerry + claude("npm run test && npm run lint") + `fail: Exit code 1\nquay/book.ts:3:1: unused import of berth` + "\n" + editFerry + claude("npm run test") + `ok:  Tests  3 passed (3)` + "\n" + claude("npm run lint") + "ok: \n", nil, []string{"Errors: lint", "Errors: npm", "edits since"}},
		{"a line of two, of which one passed", askFerry + claude("npm run test && npm run lint") + `fail: Exit code 1\nquay/book.ts:3:1: unused import of berth` + "\n" + editFerry + claude("npm run test") + `ok:  Tests  3 passed (3)` + "\n", []string{"unused import of berth"}, []string{"fixed"}},
		{"suites of two languages", askFerry + claude("go test ./...") + `ok: ok  \tferry/quay\t2.3s` + "\n" + editFerry + claude("cd web && npm test") + `ok:  Tests  3 passed (3)` + "\n", []string{"npm test → passed"}, nil},
		{"a test tool", askFerry + `call runTests {"files":["/w/book.test.ts"]}` + "\nok: " + `<summary passed=4 failed=1 />\n<testFailure name=\"keeps bookings\" path=\"/w/book.test.ts\">expected 1 to be 2</testFailure>` + "\n", nil, []string{"→ passed"}},
		{"what a sub-agent says of tests", askFerry + claude("go test ./...") + `fail: Exit code 1\n--- FAIL: TestBerth (0.01s)\n    book_test.go:7: got 1, want 2\nFAIL\tferry/quay\t0.02s` + "\n" + `call Task {"description":"Look at the pier","prompt":"Look at the pier"}` + "\nok: All 12 tests pass in the pier. The rope is fine.\nassistant: ok\n", []string{"TestBerth", "go test ./... → failed"}, []string{"fixed"}},
	})
}

// The same, in further forms of tools, harnesses and languages.
func TestRunsToldElsewhere(t *testing.T) {
	play(t, []scenario{
		{"coverage is too low", askFerry + openHands("pytest --cov", "1", `..\nFAIL Required test coverage of 80% not reached. Total coverage: 61.00%\n2 passed in 0.10s`), []string{"→ failed", "coverage"}, []string{"→ passed"}},
		{"mypy fails then passes", askFerry + openHands("mypy src/", "1", `src/quay.py:3: error: Incompatible types in assignment\nFound 1 error in 1 file (checked 3 source files)`) + `call str_replace_editor {"command":"str_replace","path":"/workspace/src/quay.py","old_str":"1","new_str":"2"}` + "\nout: The file /workspace/src/quay.py has been edited.\n" + openHands("mypy src/", "0", `Success: no issues found in 3 source files`), []string{"→ passed", "fixed in quay.py"}, []string{"→ failed"}},
		{"gradle fails", askFerry + gemini("./gradlew test", "1", `> Task :compileJava UP-TO-DATE\n> Task :test FAILED\n\nQuayTest > keepsBerth() FAILED\n    org.opentest4j.AssertionFailedError at QuayTest.java:14\n\n3 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.`), []string{"./gradlew test → failed", "keepsBerth"}, []string{"Errors: test: > Task"}},
		{"maven passes with warnings", askFerry + claude("mvn -q verify") + `ok: [WARNING] Using platform encoding\n[ERROR] log of a test that expects it\n[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS` + "\n", []string{"→ passed"}, []string{"→ failed", "Errors"}},
		{"a race", askFerry + claude("go test -race ./...") + `fail: Exit code 1\n==================\nWARNING: DATA RACE\nWrite at 0x00c by goroutine 7:\n  ferry/quay.(*Log).Add()\n      /w/quay/log.go:31 +0x44\n--- FAIL: TestAdd (0.02s)\n    testing.go:1490: race detected during execution of test\nFAIL\tferry/quay\t0.05s` + "\n", []string{"TestAdd"}, nil},
		{"a branch that could not be made, codex", askFerry + codex("git checkout -b log/write", "128", `fatal: a branch named 'log/write' already exists`), nil, []string{"branch: log/write"}},
		{"a commit that failed, codex", askFerry + codex("git commit -q -m 'Write a log'", "1", `error: gpg failed to sign the data`), nil, []string{"Write a log\n", "commits"}},
		{"a push refused, codex", askFerry + codex("git push -u origin log/write", "1", ` ! [remote rejected] log/write -> log/write (protected branch hook declined)\nerror: failed to push some refs`), nil, []string{"; pushed", "State: pushed"}},
		{"a commit, codex", askFerry + codex("git add -A && git commit -m 'Write a log'", "0", `[log/write 1a2b3c4] Write a log\n 1 file changed`), []string{"1a2b3c4 Write a log", "branch: log/write"}, nil},
		{"an edit in vain", askFerry + `call Edit {"file_path":"/w/quay/book.go","old_string":"a","new_string":"x"}` + "\nfail: <tool_use_error>String to replace not found in file.</tool_use_error>\n", []string{"edits failed"}, []string{"Files: /w/quay/book.go"}},
		{"a patch in vain, codex", askFerry + codex("apply_patch <<'EOF'\\n*** Begin Patch\\n*** Update File: src/quay.rs\\n@@\\n-a\\n+b\\n*** End Patch\\nEOF", "1", `apply_patch verification failed: Failed to find expected lines in src/quay.rs`), nil, []string{"Files: src/quay.rs"}},
		{"a time limit, codex", askFerry + codex("cargo test", "124", `command timed out after 10000 milliseconds\n    Compiling ferry v0.1.0`), nil, []string{"→ passed"}},
		{"denied, codex", askFerry + `call shell {"command":["bash","-lc","cargo test"]}` + "\nout: exec command rejected by user\n", nil, []string{"→ failed", "→ passed"}},
		{"denied, gemini", askFerry + `call run_shell_command {"command":"npm test"}` + "\nfail: [Operation Cancelled] Reason: User denied execution.\n", nil, []string{"→ failed", "→ passed"}},
		{"cancelled, gemini", askFerry + `call run_shell_command {"command":"npm test"}` + "\nout: Command was cancelled by user before it could complete. Below is the output before it was cancelled:\\n> vitest run\\n ✗ slow one\n", nil, []string{"→ failed", "→ passed", "Errors"}},
		{"denied, cline", askFerry + `call execute_command {"command":"npm test"}` + "\nout: The user denied this operation.\n", nil, []string{"→ failed", "→ passed"}},
		{"tests that were never run", askFerry + editFerry + "assistant: I wrote the log. All tests should pass now and the build is clean.\n", nil, []string{"→ passed"}},
		{"claimed, with a failed run", askFerry + claude("npm test") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + editFerry + "assistant: All tests pass now, and the berth is shown.\n", []string{"npm test → failed", "shows the berth"}, []string{"→ passed", "fixed in"}},
		{"background, ended well", askFerry + `call Bash {"command":"npm test","run_in_background":true}` + "\nok: Command running in background with ID: b1f2\n" + `call BashOutput {"bash_id":"b1f2"}` + "\nok: <status>completed</status>\\n<exit_code>0</exit_code>\\n<stdout>\\n Tests  3 passed (3)\\n</stdout>\n", []string{"npm test → passed"}, []string{"running:"}},
		{"background, ended badly", askFerry + `call Bash {"command":"npm test","run_in_background":true}` + "\nok: Command running in background with ID: b1f2\n" + `call BashOutput {"bash_id":"b1f2"}` + "\nok: <status>failed</status>\\n<exit_code>1</exit_code>\\n<stdout>\\n ✗ berth.test.ts > shows the berth\\n Tests  1 failed (1)\\n</stdout>\n", []string{"npm test → failed"}, []string{"running:"}},
		{"a conflict, resolved", askFerry + claude("git merge main") + `fail: Exit code 1\nCONFLICT (content): Merge conflict in a.go\nAutomatic merge failed; fix conflicts and then commit the result.` + "\n" + editFerry + claude("git add a.go && git commit --no-edit") + "ok: [log/write 1a2b3c4] Merge branch 'main' into log/write\n", []string{"1a2b3c4"}, []string{"Errors"}},
		{"an installation, at the second try", askFerry + claude("npm ci") + `fail: Exit code 1\nnpm error code ECONNRESET\nnpm error network aborted` + "\n" + claude("npm ci --prefer-offline") + "ok: added 120 packages in 3s\n", nil, []string{"Errors"}},
		{"a notebook", askFerry + `call execute_ipython_cell {"code":"book()"}` + "\nout: Traceback (most recent call last):\\n  File x, line 1\\nNameError: name 'book' is not defined\n" + `call execute_ipython_cell {"code":"import quay; quay.book()"}` + "\nout: 7\n", nil, []string{"→ passed"}},
		{"plan of codex", askFerry + `call update_plan {"plan":[{"step":"Write the log","status":"completed"},{"step":"Run cargo test","status":"in_progress"},{"step":"Update docs","status":"pending"}]}` + "\nout: Plan updated\n", []string{"Run cargo test (in progress)", "Update docs", "1 done"}, []string{"to do: Write the log"}},
		{"todos of gemini, all done", askFerry + `call write_todos {"todos":[{"description":"Write the log","status":"completed"},{"description":"Test it","status":"completed"}]}` + "\nout: Successfully updated the todo list.\n", nil, []string{"to do:"}},
		{"decided, then decided otherwise", askFerry + "assistant: I decided to keep the log in `book.db`, since the pilots read it.\nuser: no, use a plain file instead of book.db\nassistant: Understood, I'll keep the log in a plain file `log.txt`.\n" + editFerry, nil, []string{"I decided to keep the log in `book.db`"}},
		{"a hypothesis, refuted by a test", askFerry + "assistant: The bug is that `openLog` is called twice.\n" + claude("go test ./quay") + "ok: ok  \tferry/quay\t0.1s\nassistant: That's not it: `openLog` is called once. The bug is that `closeLog` comes too early.\n" + editFerry, []string{"closeLog"}, []string{"`openLog` is called twice"}},
		{"eslint by npx and by script", askFerry + claude("npx eslint src/quay.ts") + `fail: Exit code 1\n/w/src/quay.ts\n  3:7  error  'berth' is never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)` + "\n" + editFerry + claude("npx eslint src") + "ok: \n", []string{"→ passed"}, []string{"Errors: lint"}},
		{"make in two directories", askFerry + claude("make -C web test") + `fail: Exit code 2\n--- FAIL: TestWeb (0.1s)\n    web_test.go:3: want 1` + "\n" + editFerry + claude("make -C api test") + "ok: ok  \tapi\t0.1s\n", []string{"TestWeb"}, []string{"fixed"}},
		{"other targets of make", askFerry + claude("make test-web") + `fail: Exit code 2\n--- FAIL: TestWeb (0.1s)\n    web_test.go:3: want 1` + "\n" + editFerry + claude("make test-api") + "ok: ok  \tapi\t0.1s\n", []string{"TestWeb"}, []string{"fixed"}},
		{"other scripts of npm", askFerry + claude("npm run test:unit") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + editFerry + claude("npm run test:e2e") + `ok:  Tests  3 passed (3)` + "\n", []string{"shows the berth"}, []string{"fixed"}},
		{"two scripts that fail", askFerry + claude("npm run test:unit") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + claude("npm run test:e2e") + `fail: Exit code 1\n ✗ e2e.test.ts > boots the quay\n Tests  1 failed (1)` + "\n", []string{"shows the berth", "boots the quay"}, nil},
		{"one file by its line, then the file", askFerry + claude("bundle exec rspec spec/quay_spec.rb:12") + `fail: Exit code 1\nFailures:\n  1) Quay keeps the berth\n     Failure/Error: expect(1).to eq(2)\n1 example, 1 failure` + "\n" + editFerry + claude("bundle exec rspec spec/quay_spec.rb") + `ok: 3 examples, 0 failures` + "\n", []string{"→ passed"}, []string{"Errors: test", "Errors: bundle"}},
		{"the file, then one line of it", askFerry + claude("bundle exec rspec spec/quay_spec.rb") + `fail: Exit code 1\nFailures:\n  1) Quay keeps the berth\n     Failure/Error: expect(1).to eq(2)\n3 examples, 1 failure` + "\n" + editFerry + claude("bundle exec rspec spec/quay_spec.rb:30") + `ok: 1 example, 0 failures` + "\n", []string{"keeps the berth"}, []string{"fixed"}},
		{"the failed ones again", askFerry + openHands("pytest -q", "1", `F.\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed, 1 passed in 0.10s`) + editFerry + openHands("pytest -q --lf", "0", `1 passed in 0.10s`), nil, []string{"Errors: test", "Errors: pytest"}},
		{"cd apart from the run", askFerry + claude("cd /w/web") + "ok: \n" + claude("npm test") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + claude("cd /w/api") + "ok: \n" + claude("npm test") + `ok:  Tests  3 passed (3)` + "\n", []string{"shows the berth"}, []string{"fixed", "Errors: fixed"}},
		{"black is no linter", askFerry + openHands("ruff check src/", "1", `src/quay.py:3:1: F401 os imported but unused\nFound 1 error.`) + openHands("black src/", "0", `reformatted src/quay.py\nAll done!`), []string{"F401"}, []string{"fixed"}},
		{"prettier --check", askFerry + claude("npx prettier --check .") + `fail: Exit code 1\nChecking formatting...\n[warn] src/quay.ts\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.` + "\n" + claude("npx prettier --write .") + "ok: src/quay.ts 30ms\n" + claude("npx prettier --check .") + `ok: Checking formatting...\nAll matched files use Prettier code style!` + "\n", []string{"→ passed"}, []string{"→ failed", "Errors:"}},
		{"an || with words of its own", askFerry + claude("go build ./... 2>&1 | grep -E 'error|undefined' || echo 'BUILD OK'") + "ok: BUILD OK\n", []string{"go build ./... → no error shown"}, []string{"→ failed", "→ passed"}},
		{"a search that shows nothing, of a run that may not have begun", askFerry + claude("npm run check 2>&1 | grep error | head -5") + "ok: (no output)\n", []string{"npm run check → no error shown"}, []string{"→ failed", "→ passed"}},
		{"passed, then only searched", askFerry + claude("npm run check") + `ok: Found 0 errors.\nDone in 2s.\nExit code: 0` + "\n" + editFerry + claude("npm run check 2>&1 | grep -i error") + "ok: \n", nil, []string{"→ failed"}},
		{"an || that hides the error", askFerry + claude("go build ./... 2>&1 | grep -E 'error|undefined' || echo 'BUILD OK'") + `ok: quay/book.go:7:2: undefined: berth` + "\n", []string{"→ failed"}, []string{"→ passed"}},
		{"grep -v of noise", askFerry + claude("npm test 2>&1 | grep -v 'error TS' | tail -2") + "ok: \n", nil, []string{"→ passed"}},
		{"types of errors in names", askFerry + claude("npm test 2>&1 | grep -i error") + `ok:  ✓ quay/errors.test.ts > throws an error when full 3ms` + "\n", nil, []string{"→ failed"}},
		{"the log of a CI job", askFerry + claude("gh run view 7 --log-failed | tail -5") + `ok: test\tRun tests\t--- FAIL: TestBerth (0.01s)\ntest\tRun tests\tFAIL` + "\n", nil, []string{"Errors: test", "→ passed"}},
		{"docker", askFerry + claude("docker compose run --rm app pytest -q") + `fail: Exit code 1\nF.\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\n1 failed, 1 passed in 0.10s` + "\n" + editFerry + claude("docker compose run --rm app pytest -q") + `ok: 2 passed in 0.10s` + "\n", nil, []string{"Errors: docker", "→ failed"}},
		{"environment in front", askFerry + claude("CI=1 npm test") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + editFerry + claude("npm test") + `ok:  Tests  3 passed (3)` + "\n", []string{"→ passed"}, []string{"Errors: CI=1", "Errors: test"}},
		{"truncated by the harness", askFerry + claude("cargo test") + `ok:    Compiling ferry v0.1.0\ntest a ... ok\n\n... [2000 characters truncated] ...\n\ntest quay::berth ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored` + "\n", []string{"→ failed"}, []string{"→ passed"}},
		{"moved by git", askFerry + claude("git mv quay/old.go quay/new.go") + "ok: \n", []string{"new.go"}, nil},
		{"written, then removed", askFerry + `call Write {"file_path":"/w/try.sh","content":"echo"}` + "\nok: File created successfully at: /w/try.sh\n" + claude("bash /w/try.sh; rm /w/try.sh") + "ok: \n", nil, []string{"Files: /w/try.sh\n"}},
		{"passed on a branch that was left", askFerry + claude("go test ./...") + "ok: ok  \tferry/quay\t0.1s\n" + claude("git checkout main") + "ok: Switched to branch 'main'\n", []string{"branch: main"}, nil},
		{"a later part fails", askFerry + claude("npm test") + `ok:  Tests  3 passed (3)` + "\n" + claude("npm test -- berth") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n", []string{"→ failed", "shows the berth"}, nil},
		{"a flaky test", askFerry + claude("npm test") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\n" + claude("npm test") + `ok:  Tests  3 passed (3)` + "\n", []string{"→ passed"}, []string{"fixed in", "Errors: test"}},
		{"tdd", askFerry + "assistant: I write the failing test first.\n" + editFerry + claude("npm test") + `fail: Exit code 1\n ✗ berth.test.ts > shows the berth\n Tests  1 failed (1)` + "\nassistant: Good, it fails as expected. Now the code.\n" + editFerry, []string{"npm test → failed; edited since: book.go"}, nil},
	})
}

// What is said of commits, branches and files.
func TestGitTold(t *testing.T) {
	play(t, []scenario{
		// Commits, branches, files.
		{"a hook refused the commit", askFerry + editFerry + claude("git add -A && git commit -m 'Write a log'") + `fail: Exit code 1\nruff.....................................................................Failed\n- hook id: ruff\n- exit code: 1\n\nquay/book.py:3:1: F401 os imported but unused` + "\n", nil, []string{"commits:", "commit: "}},
		{"nothing to commit", askFerry + editFerry + claude("git commit -am 'Write a log'") + `fail: Exit code 1\nOn branch main\nnothing to commit, working tree clean` + "\n", []string{"branch: main"}, []string{"commits:"}},
		{"a quiet commit", askFerry + editFerry + claude("git commit -q -am 'Write a log' && git log --oneline -1") + "ok: 1a2b3c4 Write a log\n", []string{"1a2b3c4 Write a log"}, nil},
		{"the bare name of a branch", askFerry + claude("git branch --show-current") + "ok: log/write\n", []string{"branch: log/write"}, nil},
		{"a branch in a line with other commands", askFerry + claude("git branch --show-current && git log --oneline -2") + `ok: log/write\n1a2b3c4 Write a log\n9f8e7d6 First` + "\n", []string{"branch: log/write"}, nil},
		{"pushed at the second try", askFerry + claude("git push origin log/write") + `fail: Exit code 1\n ! [rejected]        log/write -> log/write (non-fast-forward)\nerror: failed to push some refs to 'origin'` + "\n" + claude("git pull --rebase origin log/write && git push origin log/write") + `ok:    1a2b3c4..5d6e7f8  log/write -> log/write` + "\n", []string{"pushed"}, []string{"Errors"}},
		{"deleted and brought back", askFerry + claude("rm quay/old.go") + "ok: \n" + claude("git checkout -- quay/old.go") + "ok: \n", nil, []string{"(deleted)"}},
		{"deleted on a branch that a reset left", askFerry + claude("git checkout -b log/tidy") + "ok: Switched to a new branch 'log/tidy'\n" + claude("rm root.txt && git commit -am Tidy") + "ok: [log/tidy 1a2b3c4d] Tidy\n" + claude("git checkout main && git reset --hard origin/main") + "ok: Switched to branch 'main'\\nHEAD is now at 9f8e7d6 First\n", nil, []string{"root.txt (deleted)\n", "root.txt (deleted),"}},
		{"told by git, then thrown away", askFerry + claude("git status --short") + `ok:  M quay/tide.go` + "\n" + claude("git checkout -- .") + "ok: \n", nil, []string{"tide.go"}},
		{"a directory made anew", askFerry + claude("rm -rf /w/pack-0.79.6 && mkdir -p /w/pack-0.79.6 && cd /w/pack-0.79.6 && npm pack ferry") + "ok: ferry-0.79.6.tgz\n", nil, []string{"(deleted)"}},
		{"a directory that is read later", askFerry + claude("rm -rf /w/pack-0.79.6") + "ok: \n" + claude("npm pack ferry --pack-destination /w") + "ok: ferry-0.79.6.tgz\n" + `call Read {"file_path":"/w/pack-0.79.6/package.json"}` + "\nok: {}\n", nil, []string{"pack-0.79.6 (deleted)"}},

		{"cleaned of files that are new", askFerry + editFerry + `call Write {"file_path":"/w/quay/try.go","content":"package quay"}` + "\nok: File created successfully at: /w/quay/try.go\n" + claude("git clean -fd") + "ok: Removing quay/try.go\n", []string{"try.go (changes discarded)"}, []string{"book.go (changes"}},
		{"a new file that checkout leaves alone", askFerry + editFerry + `call Write {"file_path":"/w/quay/try.go","content":"package quay"}` + "\nok: File created successfully at: /w/quay/try.go\n" + claude("git checkout -- .") + "ok: \n", []string{"book.go (changes discarded)"}, []string{"try.go (changes"}},
	})
}

// What is said as a decision or a finding: what still holds, not what was true for a moment.
func TestDecisionsTold(t *testing.T) {
	play(t, []scenario{
		// What was true once, and what is a decision.
		{"what the next call changes", askFerry + "assistant: The title of berth.3 still says squash-safe, which the plan no longer wants. Let me retitle it.\n" + `call update_issue {"id":"berth.3","title":"merge-safe"}` + "\nok: updated\nassistant: ok\n", nil, []string{"dead ends"}},
		{"the state of a form", "user: Order seven lamps for the pier, please.\n" + "assistant: The current quantity of the order is set to 1. I will change it to 7.\n" + `call browser_type {"args":"'a12', '7'"}` + "\nok: - Title: Order\nassistant: The quantity is now set to 7 in the form, and the price has changed.\n" + `call browser_click {"args":"'a13'"}` + "\nok: - Title: Order\n", nil, []string{"dead ends"}},
		{"a first check", askFerry + "assistant: I'll first check how the clerk writes the log of the quay.\n" + `call Read {"file_path":"/w/quay/clerk.go"}` + "\nok: x\nassistant: ok\n", nil, []string{"dead ends"}},
		{"a first check with a reason", askFerry + "assistant: I'll first look at the clerk because the log is written there.\n" + `call Read {"file_path":"/w/quay/clerk.go"}` + "\nok: x\nassistant: ok\n", nil, []string{"dead ends"}},
		{"a check of a guess", askFerry + "assistant: Let me see whether the problem is the cache of the clerk.\n" + `call Read {"file_path":"/w/quay/clerk.go"}` + "\nok: x\nassistant: ok\n", nil, []string{"dead ends"}},
		{"a guess that is dropped at once", askFerry + "assistant: The issue is that the terminal sets `TERM=xterm-quay`, so the colour differs.\n" + claude("echo $TERM") + "ok: xterm\nassistant: So the colour must be coming from something else. Let me look at the settings.\n" + `call Read {"file_path":"/w/settings.json"}` + "\nok: x\nassistant: `terminal.minimumContrast` changes the colours of all text.\nuser: omfg that's it\nassistant: Good. I'll write it down.\n" + editFerry, []string{"terminal.minimumContrast"}, []string{"must be coming from something else"}},
		{"a choice by what it avoids", askFerry + "assistant: I need to use the Ark TreeView directly (not the styled wrapper) to avoid needing a provider.\n" + editFerry + "assistant: ok\n", []string{"Ark TreeView directly"}, nil},
		{"a choice against another way", askFerry + "assistant: I'll keep the log in one file instead of one for each day, since the pilots read it as a whole.\n" + editFerry + "assistant: ok\n", []string{"keep the log in one file instead of one"}, nil},
		{"a cause that is mended at once", askFerry + "assistant: The root cause is that the clerk closes the log before the last write. Let me fix it.\n" + editFerry + "assistant: ok\n", []string{"(found before edits of book.go) The root cause is that the clerk closes"}, nil},
		{"a failure that is mended at once", askFerry + "assistant: The test still fails because `readBerth` isn't exported. Let me export it.\n" + editFerry + claude("go test ./...") + "ok: ok  \tferry/quay\t0.02s\nassistant: ok\n", nil, []string{"dead ends: The test still fails", "- The test still fails"}},
		{"what is still missing, and is written", askFerry + "assistant: The handler doesn't validate the berth yet, so I'll add a check to it now.\n" + editFerry + "assistant: ok\n", nil, []string{"dead ends"}},
		{"half a list", askFerry + "assistant: Two cases:\\n\\n- When the log already exists (`state != nil`), the clerk appends\\n- When it does not, the clerk makes one\nassistant: ok\n", nil, []string{"already exists (`state != nil`), the clerk appends\n"}},
		{"an aider-like turn", askFerry + "assistant: quay.py\\n```python\\n<<<<<<< SEARCH\\na = 1\\n=======\\na = 2\\n>>>>>>> REPLACE\\n```\nuser: I ran this command:\\n\\npytest -q\\n\\nAnd got this output:\\n\\nF.\\nFAILED tests/test_quay.py::test_berth - assert 1 == 2\\n1 failed, 1 passed in 0.10s\nassistant: The test expects `2` since the tide of March, I'll correct the constant.\n", nil, []string{"→ passed"}},
	})
}
