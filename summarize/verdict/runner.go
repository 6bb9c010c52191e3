package verdict

import (
	"regexp"
	"strings"
)

// What test runners, compilers, linters and package managers say last, in lines of their own. Counts ("2 failed, 3
// passed") need no entry: tally.go reads them. An entry begins a line (after spaces), is all of it (`=`) or stands anywhere in it (`~`);
// `…` stands for any text.

// saysFailed: a line that says that the run failed.
var saysFailed = phrases(`
--- FAIL:
=FAIL
FAIL	
FAIL 
~[build failed]
~[setup failed]
go: cannot find main module
go: no such tool
FAILED (
FAILED tests/
FAILED test
=FAILED
FAILED::
ERROR collecting
~congratulations :(
evaluation failed :(
test result: FAILED
error: could not compile
error: test failed
error: aborting due to
error: failed to compile
error: build failed
error: Recipe
error: script "
error: the following command failed
error: the following build command failed
error Command failed with exit code
~Command failed with exit code
~ failed with exit code 
~Session…failed.
~ELIFECYCLE
~ERR_PNPM_
npm ERR!
npm error
lerna ERR!
BUILD FAILED
** BUILD FAILED **
** TEST FAILED **
FAILURE: Build failed
Execution failed for task
[INFO] BUILD FAILURE
[ERROR] BUILD FAILURE
BUILD FAILURE
[ERROR] Failed to execute goal
[ERROR] COMPILATION ERROR
Build FAILED.
Test Run Failed.
Failed!  - Failed:
rails aborted!
> There were failing tests
There were failing tests
~ESLint found too many warnings
! [rejected]
! [remote rejected]
LibMambaUnsatisfiableError:
PackagesNotFoundError:
ResolvePackageNotFound:
An error occurred while installing
upload failed: 
download failed: 
rake aborted!
[error] Total time:
Error (warning 
Job for …failed because
=APPLICATION FAILED TO START
~version solving failed
~dependency failed to start:
Your requirements could not be resolved
KONFLIKT (
Automatischer Merge fehlgeschlagen
Fehler beim Buildvorgang
(error) 
MongoServerError: 
Build fehlgeschlagen
make: ***
scons: ***
task: Failed to run task
ninja: build stopped
ninja: error:
~CMake Error
-- Configuring incomplete, errors occurred
The following tests FAILED:
Errors while running CTest
collect2: error:
clang: error: linker command failed
FAILED: Build did NOT complete successfully
ERROR: Build did NOT complete successfully
ERROR: Build failed
error during build:
Failed to compile.
> Build error occurred
Build failed with
~🚨 Build failed
ERROR: failed to solve:
ERROR: failed to build:
~ERROR: process "/bin/sh
The command '/bin/sh…returned a non-zero code
Error: INSTALLATION FAILED:
Error: UPGRADE FAILED:
│ Error:
╷ Error:
Error from server (
Error response from daemon:
error: failed to push some refs
Automatic merge failed
CONFLICT (
fatal: 
error: Your local changes to the following
error: could not apply
error: patch failed:
Result: FAIL
FAILURES!
ERRORS!
** (Mix)
** (CompileError)
** (exit)
== Compilation error in file
~Some tests failed.
~Some tests did not pass
~Some hooks failed
[doctest] Status: FAILURE!
[  FAILED  ]
not ok 
Execution halted
Segmentation fault
Aborted (core dumped)
=Killed
panic: 
fatal error: 
thread 'main' panicked at
Fatal error: 
PHP Fatal error:
PHP Parse error:
curl: (
ERROR: No matching distribution found
ERROR: Could not find a version
ERROR: Could not install packages
ERROR: Failed building wheel
error: subprocess-exited-with-error
× No solution found
E: Unable to 
E: Malformed 
E: The list of 
E: Some 
E: Type 
E: Conflicting 
E: Held 
E: Release file
E: Package '
E: Sub-process 
E: Failed to fetch
E: Could not 
E: Version '
E: The repository '
E: Unmet dependencies
E: dpkg was interrupted
An error occurred (
ERROR: (
ERROR 1…(
rsync error: 
ssh: connect to host
! LaTeX Error
! Undefined control sequence
- files were modified by this hook
container …is unhealthy
~	fail	
~thresholds on metrics
~MongoNetworkError
~failed to deploy
Status: …ERROR
##[error]
Oh no! …reformatted
~would be reformatted
~Code style issues found
~Code style issues were found
~Imports are incorrectly sorted
husky - …hook exited with code
husky - …script failed (code
error Command "
Node.js v
Failed to load native
NX   Ran target…failed
NX   Running target…failed
~ERROR  run failed:
~ERROR  Command failed
Failed:    …#
Bazel: FAILED
error: process didn't exit successfully
Your lock file does not contain a compatible set
Installation failed, reverting
Oops! Something went wrong! :(
Occurred while linting 
=Conversion failed!
Error opening input file
X Process completed with exit code
X Pull request 
Build '…' errored after
==> Builds finished but no artifacts
Tested …dependencies for known issues, found 
%Error-
%Error: Exiting due to
%Error: …:
~· Failed with errors in
~YN0000: Failed with errors
=NO TESTS RAN
~xiting with code 1
~xiting with status code 1
~computed checksum…did NOT match
Application bundle generation failed
Aborted with …in strict mode!
Warning, treated as error:
⨯ release failed
===> Failures occurred
Execution error (
** (mix)
FATA[
Phase:…Failed
~ | UNREACHABLE! =>
~ | FAILED! =>
tar: Error is not recoverable
tar: Exiting with failure status
docker: Error response from daemon:
denied: requested access
Unable to locate credentials
pull request create failed:
~Push rejected
Code: …DB::Exception
[!] CocoaPods could not
Could not find gem '
{"numFailedTestSuites":…"success":false
{…"Action":"fail"
Error HH
abort: 
`)

// saysBroken: a line in which the runner says that the run as a whole failed, whatever its tests did. No tally of tests that
// passed undoes it.
var saysBroken = phrases(`
~Required test coverage of…not reached
~Coverage failure:
Jest: …threshold
~ERROR: Coverage for…threshold
~SimpleCov failed with exit
~is below the expected minimum coverage
~Code coverage below expected
~Minimum allowed coverage is…got
Test Run Aborted
The active test run was aborted
The active Test Run was aborted
ERROR! Test suite aborted
~error was not a part of any test
~errors were not a part of any test
~unhandled error during the test run
~unhandled errors during the test run
● Test suite failed to run
=error: Test failed
error: test failed
~caused the test runner to fail
~renderer process just crashed
~Renderer process just crashed
~Test Runner unexpectedly exited
~process didn't exit successfully
`)

// sumsBroken are sums of other things than tests, in which the runner says the same.
var sumsBroken = regexp.MustCompile(`^!{3,} .*(?:Interrupt|Exit: |stopping after|rror|crash|fail|abort).* !+$|^(?:Test Suites|Test Files):? +(?:\d+ \w+[,|] *| )*[1-9]\d* failed|^Errors +[1-9]\d* errors?$|^[1-9]\d* (?:uncaught exceptions?|unhandled rejections?)$|threshold .{0,40}satisfied:\s+FAIL$`)

// harmless are lines in the form of an error that are none.
var harmless = phrases(`
ERROR: pip's dependency resolver
System check identified
~(ignored)
`)

// saysPassed: a line that says that the run went well.
var saysPassed = phrases(`
=PASS
ok  	
ok 	
=OK
OK (
test result: ok
Finished ` + "`" + `
Finished dev
Finished release
Finished test
~congratulations :)
All checks passed!
Success: no issues found
~All done! ✨
All matched files use Prettier code style
~no offenses detected
~No fixes applied.
~No lint errors found
~No ESLint warnings or errors
BUILD SUCCESSFUL
Success! The configuration is valid
Der Buildvorgang wurde erfolgreich
[INFO] BUILD SUCCESS
BUILD SUCCESS
** BUILD SUCCEEDED **
** TEST SUCCEEDED **
Build succeeded.
Build succeeded in
Build complete!
Test Run Successful.
Passed!  - Failed:     0
make: Nothing to be done
ninja: no work to do.
-- Build files have been written to
~100% tests passed
INFO: Build completed successfully
✓ built in
✓ Compiled successfully
✔ Compiled successfully
~Compiled successfully
~compiled successfully
✨ Built in
Build completed successfully
Successfully built
Successfully installed
Successfully tagged
STATUS: deployed
Apply complete!
No changes. …infrastructure
Your infrastructure matches
Result: PASS
All tests successful.
~All tests passed
~All specs passed!
~all tests passed
[doctest] Status: SUCCESS!
[  PASSED  ]
No issues found!
~NX   Successfully ran target
Already up to date.
Everything up-to-date
Bundle complete!
found 0 vulnerabilities
✨  Done in
==> Builds finished. The artifacts
~ no vulnerable paths found
~· Done in
~· Done with warnings in
=The configuration is valid.
=Syntax OK
~ syntax OK
~ test is successful
No known vulnerabilities found
No vulnerabilities found.
No broken requirements found.
No errors found!
*** No errors detected
Terraform has been successfully initialized
Application bundle generation complete.
Pod installation complete!
build succeeded
~Job succeeded
~[SUCCESS] Took
~ release succeeded after
advisories ok, bans ok, licenses ok, sources ok
Executing transaction: done
Successfully rebased and updated
Successfully created/updated stack
✓ Built 
✔  Deploy complete!
Destroy complete!
{"numFailedTestSuites":0,…"success":true
`)

// saysDone: of saysPassed the last words of a build, which text that looks like errors in front of them does not outweigh.
var saysDone = phrases(`
BUILD SUCCESSFUL
[INFO] BUILD SUCCESS
BUILD SUCCESS
** BUILD SUCCEEDED **
** TEST SUCCEEDED **
Build succeeded.
Test Run Successful.
Success! The configuration is valid
Successfully installed
`)

// stillRuns: a program that has not ended, so that nothing is decided.
var stillRuns = phrases(`
~Process running with session ID
~Command running in background
~Command is still running
~and has been moved to background
<status>running</status>
~was cancelled by user before it could complete
~was cancelled before it could complete
`)

// stopped: what a harness says last of a program that it ended.
var stopped = phrases(`
Command timed out after
Command was cancelled
Command was interrupted
[Command timed out
`)

// places of compilers that say "error" behind a file and a line.
var compilerError = regexp.MustCompile(`^\s*[^\s:(]+[:(]\d+[:,]\d+\)?:?\s+(?:-\s+)?(?:fatal )?error\b|^\S+\(\d+,\d+\): error |^\S+\(\d+\): (?:fatal )?error |^\S+\(\d+, \d+\) Error: |^\s*\S+\.\w+:\d+: (?:fatal )?(?:error|Error)\b|^(?:error|Error)(?:\[\w+\])?: |^e: file:`)

// mayBeCompilers reports whether a line has what each alternative of compilerError needs.
func mayBeCompilers(line string) bool {
	return strings.Contains(line, "rror") || strings.HasPrefix(line, "e: file:")
}

// placedError is such an error with its file and line.
var placedError = regexp.MustCompile(`^[^\s:(]+[:(]\d+[:,)]`)

// goError is what go build and go vet say below the name of a package.
var goError = regexp.MustCompile(`^\S+\.go:\d+:\d+: `)

// phrase is one entry: parts that follow one another.
type phrase struct {
	parts []string
	whole bool
}

// phraseSet finds the lines that have a phrase: those at a line's beginning by their first byte.
type phraseSet struct {
	by       [256][]phrase
	anywhere []phrase
}

func phrases(text string) *phraseSet {
	s := &phraseSet{}
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		text, anywhere := strings.CutPrefix(line, "~")
		text, whole := strings.CutPrefix(text, "=")
		if whole && strings.HasPrefix(text, "=") { // "==> Builds finished"
			text, whole = "="+text, false
		}
		p := phrase{parts: strings.Split(text, "…"), whole: whole}
		if anywhere {
			s.anywhere = append(s.anywhere, p)
		} else {
			s.by[text[0]] = append(s.by[text[0]], p)
		}
	}
	return s
}

// begins reports whether a line without its indentation begins with a phrase of the set.
func (s *phraseSet) begins(line string) bool {
	if line == "" {
		return false
	}
	for _, p := range s.by[line[0]] {
		if p.whole && line == p.parts[0] || !p.whole && strings.HasPrefix(line, p.parts[0]) && inOrder(line, p.parts) {
			return true
		}
	}
	return false
}

// holds reports whether a line begins with a phrase or has one anywhere.
func (s *phraseSet) holds(line string) bool {
	if s.begins(line) {
		return true
	}
	for _, p := range s.anywhere {
		if inOrder(line, p.parts) {
			return true
		}
	}
	return false
}

func inOrder(line string, parts []string) bool {
	for _, part := range parts {
		at := strings.Index(line, part)
		if at < 0 {
			return false
		}
		line = line[at+len(part):]
	}
	return true
}
