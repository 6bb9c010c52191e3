package rules

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// strongError is what isFailure does, as an expression.
var strongError = regexp.MustCompile(`^(?:\S{0,60}\s){0,2}?(?:panic:|fatal:|FATAL|FAIL\b|FAILED\b|--- FAIL|E\s{1,8}\S|ERROR\b|[Ee]rror:|error\[|error TS\d+|[A-Z]\w*(?:Error|Exception)\b(?::|$)|Traceback \(most|npm ERR!|npm error|make(?:\[\d+\])?: \*\*\*|undefined reference|Segmentation fault|AssertionError|Unhandled|✗|✖|×\s)` +
	`|\bpanicked at |^assertion .{1,80} failed|\.\.\. FAILED$|(?:: (?:fatal )?error(?: [A-Z]+\d+)?:)|(?:command not found|No such file or directory|[Pp]ermission denied|cannot find (?:module|package)|ModuleNotFoundError)`)

// failurePieces are what such lines are made of, and what looks like it.
var failurePieces = []string{
	"panic:", "fatal:", "FATAL", "FAIL", "FAILED", "--- FAIL", "E", "ERROR", "Error:", "error:", "error[", "error TS", "Error", "Exception", "Type",
	"Traceback (most", "npm ERR!", "npm error", "make", "[", "12", "]", ": ***", "undefined reference", "Segmentation fault", "AssertionError",
	"Unhandled", "✗", "✖", "×", "panicked at ", "assertion ", " failed", "... FAILED", ": error", ": fatal error", "C", ":", "command not found",
	"No such file or directory", "ermission denied", "P", "p", "cannot find ", "module", "package", "ModuleNotFoundError", "x_y", "é", " ", "  ", "\t",
	"\f", "\n", "        ", strings.Repeat("w", 59), strings.Repeat("漢", 80), "a.go:12:3", "(", "",
	"Fehler", "ERREUR", "ошибка", "错误", "Отказано в доступе", "error fatal",
}

// TestIsFailure holds it to the expression.
func TestIsFailure(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(failurePieces), 0, 8).Draw(t, "pieces"), "")
		want := strongError.MatchString(text)
		if got := isFailure(text); got != want {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
		if want {
			found++
		}
		var told uint8
		for _, w := range errorWords.words {
			if strings.Contains(text, w.text) {
				told |= w.tells
			}
		}
		if got := errorWords.in(text); got != told {
			t.Fatalf("%q has words of errors that tell %b, want %b", text, got, told)
		}
	})
	if found == 0 {
		t.Error("no line told of a failure")
	}
}
