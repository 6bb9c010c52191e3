package verdict

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// strongError is isFailure as a regular expression.
var strongError = regexp.MustCompile(`^(?:Failed to |failed to |Error (?:in|using) |Error Message:|Exception in thread |Caused by: |Failure/Error:|CONFLICT \(|\* What went wrong|WARNING: DATA RACE|e: file:)|^(?:(?:- )*\S{0,60}\s){0,2}?(?:- )*(?:panic:|fatal:|FATAL|(?:==\d*==)?(?:FAIL\b|FAILED\b|FAILURE\b|CRITICAL\b|ERROR\b)|--- FAIL|E\s{1,8}\S|[EF]\d{4} \d\d:(?s:.)|\[(?:ERROR|error|FATAL|fatal|CRITICAL|crit)\]|##\[error\]|[Ee]rror:|error\[|error TS\d+|(?:[\w.$]*[.$])?[A-Z]\w*(?:Error|Exception)(?::|$)|Traceback \(most|npm ERR!|npm error|make(?:\[\d+\])?: \*\*\*|undefined reference|Segmentation fault|AssertionError|Unhandled|\(fail\) |not ok |✘|✗|✖|×\s)` +
	`|\bpanicked at |^assertion .{1,80} failed|\.\.\. FAILED$|\[FAIL\]$|(?:: (?:fatal )?error(?: [A-Z]+\d+)?:)|(?:command not found|No such file or directory|[Pp]ermission denied|cannot find (?:module|package)|ModuleNotFoundError)`)

// Exceptions because of a count after it, and failures only without one.
var (
	countAlone  = regexp.MustCompile(`CRITICAL([ \t:=|]*-?\d[\d.,:%+\-/()eE ]*\s*)$`)
	failedWhat  = regexp.MustCompile(`^Failed (?:[A-Za-z]+ing |[A-Za-z](?s:.*): )`)
	failedCount = regexp.MustCompile(`^Failed (?s:.*): \s*(?:none|-?\d[\d.,:%+\-/()eE ]*)\s*$`)
)

// failurePieces are the parts of such lines, and similar text.
var failurePieces = []string{
	"panic:", "fatal:", "FATAL", "FAIL", "FAILED", "--- FAIL", "E", "ERROR", "Error:", "error:", "error[", "error TS", "Error", "Exception", "Type",
	"Traceback (most", "npm ERR!", "npm error", "make", "[", "12", "]", ": ***", "undefined reference", "Segmentation fault", "AssertionError",
	"Unhandled", "✗", "✖", "×", "panicked at ", "assertion ", " failed", "... FAILED", ": error", ": fatal error", "C", ":", "command not found",
	"No such file or directory", "ermission denied", "P", "p", "cannot find ", "module", "package", "ModuleNotFoundError", "x_y", "é", " ", "  ", "\t",
	"\f", "\n", "        ", strings.Repeat("w", 59), strings.Repeat("漢", 80), "a.go:12:3", "(", "", "- ", "FAILURE", "CRITICAL", "E0302", " 10:", "12:", " in ", " using ", "Exception in thread ", "Caused by: ", "Failure/Error:", " Message",
	"Failed ", "failed ", "to ", "loading ", "logins", ": ", "none", "==", "WARNING: DATA RACE", "CONFLICT (", "* What went wrong", "[ERROR]", "[error]", "##", "[FATAL]", "[crit]", "e: file:", "java.io.", "$", ".", "[FAIL]",
}

// TestIsFailure compares it with the expression.
func TestIsFailure(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(failurePieces), 0, 8).Draw(t, "pieces"), "")
		want := strongError.MatchString(countAlone.ReplaceAllString(text, "CRITICALx$1")) || failedWhat.MatchString(text) && !failedCount.MatchString(text)
		if got := isFailure(text); got != want {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
		if want {
			found++
		}
	})
	if found == 0 {
		t.Error("no line told of a failure")
	}
}

// TestErrorsOfTools: error lines as tools print them, and lines that are not errors.
func TestErrorsOfTools(t *testing.T) {
	for _, text := range []string{
		`Exception in thread "main" java.lang.IllegalStateException: no rates`, "java.io.FileNotFoundException: rates.csv", "Caused by: a.b.NoSuchKeyException: no key",
		"requests.exceptions.ConnectionError: refused", "[ERROR] Failed to execute goal", "2026/03/02 10:11:01 [error] 3121#3121: *4 connect() failed", "##[error]Process completed with exit code 1.",
		"- app - ERROR - connection refused", "host-7 ledgerd[902]: panic: runtime error", "E0302 10:12:01.123456       1 reflector.go:147] failed to list", "FAILURE: Build failed with an exception.",
		"Error in predict.lm(fit) :", "Error using  *", "Failure/Error: expect(x).to eq(y)", "Failed asserting that two strings are identical.", "  Failed to pull image"[2:],
		"==4211==ERROR: AddressSanitizer: heap-buffer-overflow", "worker-1  | 2026-03-02 10:12:01.731 UTC [77] ERROR:  duplicate key", "WARNING: DATA RACE",
		"Failed building wheel for numpy", "Failed checks: lint", "Failed to bind: 0", "CRITICAL: 3 replicas are down", "CRITICAL - load average: 15.06", "CRITICAL",
		"Error: cannot reach the registry, giving up....", "fatal: waiting for make....", "Error: validation error: 3 fields are missing", "validation error: 404 from server",
		"ERROR: relative error: 5 exceeds limit", "ERROR: relative error: 5", "test error: 0.3, giving up", "test error: 3, error: no such file",
		"CONFLICT (content): Merge conflict in a.go", "e: file:///src/Pricing.kt:48:22 Unresolved reference: x", "Orders.Tests.RoundsHalfUp(amount: 1) [FAIL]", "* What went wrong:",
	} {
		if !TellsError(text) {
			t.Errorf("%q is no error", text)
		}
	}
	for _, text := range []string{
		"Residual standard error: 14.21 on 996 degrees of freedom", "mean squared error: 0.03", "Failed: 0", "[INFO] no errors", "see java.io.FileNotFoundException, which", "E030 colour",
		"Failed requests:        0", "Failed transactions:  0", "CRITICAL: 0", "CRITICAL: 0, HIGH: 3", "| CRITICAL | 0 |", "# FAIL:  0", "# ERROR: 0", "Failed logins: 0", "Failed tests: 0",
		"Failed units: none", "Failed tests: 2 (4.2%)", "Failed builds are kept for 3 days", "Failed over to replica", "Failed over to replica: db-2", "Failed at: 2026-03-02 10:11:12",
		"training error: 0.12, test error: 0.15", "epoch 3, validation error: 1.2e-05, loss: 0.2", "Relative error: -0.4 %", "make[2]: *** Es wird auf noch nicht beendete Prozesse gewartet....",
		"make: *** Attente des tâches non terminées....", "make: *** 未完了のジョブを待っています....", "make: *** Waiting for unfinished jobs....", "resolved conflicts (2)", "F0: fundamental", "==4211== ERRORS of 2", "| error | count |", "+ // Failed to load", "+ // Error in handlers", `return "failed to load"`,
	} {
		if TellsError(text) {
			t.Errorf("%q is an error", text)
		}
	}
}
