package verdict

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"precis/summarize/lex"
)

// A line reports a failure by its beginning, after at most two words (a file, a time), or by a phrase anywhere in it; a
// line that only mentions errors (0 errors, error.go, onError) does not. The test has the whole rule
// as a regular expression, which took more time than everything else if each line is an error.

// TellsError reports whether a line of a tool's output, or of its summary, says what failed.
func TellsError(line string) bool {
	line = strings.TrimPrefix(line, "• ")
	if line == "" || strings.HasPrefix(line, "0 error") || makeWaits(line) || !errorWords.In(line) {
		return false
	}
	line = behindService(line)
	return isFailure(line) && !measuresError(line) && !sumsNone(line) && !harmless.holds(line)
}

// errorWords are a cheap pretest: every line that reports a failure contains one of them.
var errorWords = lex.NewFinder("rror", "RROR", "FAIL", "fatal", "FATAL", "panic", "xception", "Traceback", "ERR!", "***", "fault", "assertion", "not found", "No such",
	"ermission denied", "cannot find", "undefined ref", "Unhandled", "✗", "✖", "✘", "❌", "(fail)", "not ok", "×", "E ", "CONFLICT (", "DATA RACE", "ailed ", "used by: ", "CRITICAL", "e: file:", "went wrong", "E0", "E1", "F0", "F1")

func isFailure(line string) bool {
	if failsTo(line) {
		return true
	}
	if slices.ContainsFunc(failureFirst, func(begin string) bool { return strings.HasPrefix(line, begin) }) {
		return true
	}
	return startsWith(line, beginsFailure) || holdsFailure(line)
}

// behindService removes the prefix that docker compose puts before each line: "worker-1  | ".
func behindService(line string) string {
	const longestName = 40
	name, rest, ok := strings.Cut(line[:min(len(line), longestName)], " | ")
	if !ok || rest == "" || strings.ContainsAny(strings.TrimRight(name, " "), " \t:") {
		return line
	}
	return strings.TrimSpace(lex.CutStamp(line[len(name)+len(" | "):]))
}

// sumsNone matches a sum without an error: "ERROR SUMMARY: 0 errors from 0 contexts", "✖ 30 problems (0 errors, 30 warnings)".
func sumsNone(line string) bool {
	at := strings.Index(line, "0 errors")
	if at < 0 || at > 0 && lex.WordByte[line[at-1]] {
		return false
	}
	t, ok := TallyOf(line)
	return ok && t.Failed+t.Errors == 0 || strings.Contains(line, "SUMMARY: 0 errors")
}

// failsTo matches "Failed to pull image", "Failed building wheel" and "Failed checks: lint", but no count ("Failed
// requests: 0") and no sentence ("Failed builds are kept").
func failsTo(line string) bool {
	rest, ok := strings.CutPrefix(line, "Failed ")
	if !ok || strings.HasPrefix(rest, "over ") {
		return false
	}
	if strings.HasPrefix(rest, "to ") {
		return true
	}
	word := len(rest) - len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	if word == 0 {
		return false
	}
	if at := strings.LastIndex(rest, ": "); at >= 0 {
		return !saysNone(rest[at+1:]) && !isMeasured(rest[at+1:])
	}
	return strings.HasSuffix(rest[:word], "ing") && strings.HasPrefix(rest[word:], " ")
}

// makeWaits matches "make: *** Waiting for unfinished jobs....", whose last bytes are the same in all languages.
func makeWaits(line string) bool {
	return (strings.HasSuffix(line, "...") || strings.HasSuffix(line, "…")) && strings.Contains(line, "make") && strings.Contains(line, ": *** ")
}

// measuresError matches statistics: "Residual standard error: 14.21". Only measures may follow:
// "training error: 0.12, test error: 0.15".
func measuresError(line string) bool {
	if !strings.Contains(line, "error: ") || beginsFailure(line) {
		return false
	}
	measured := false
	for part := range strings.SplitSeq(line, ", ") {
		before, value, ok := strings.Cut(part, "error: ")
		switch {
		case ok && (!namesMeasure(before) || !isMeasured(withoutFreedom(value))):
			return false
		case ok:
			measured = true
		case measured && !isMeasured(part[strings.LastIndexByte(part, ' ')+1:]): // "loss: 0.2"
			return false
		}
	}
	return measured
}

// namesMeasure recognizes an error measure by the word before it.
func namesMeasure(before string) bool {
	before = strings.TrimSpace(before)
	switch strings.ToLower(before[strings.LastIndexByte(before, ' ')+1:]) {
	case "standard", "squared", "square", "absolute", "percentage", "relative", "mean", "rounding", "prediction", "test", "training", "validation":
		return true
	}
	return false
}

// withoutFreedom removes what R appends to a measure: "14.21 on 996 degrees of freedom".
func withoutFreedom(value string) string {
	value = strings.TrimSuffix(value, " degrees of freedom")
	return strings.Replace(value, " on ", " ", 1)
}

// startsWith tests a line, and what follows its first and its second word. Dashes between a log's columns are not words.
func startsWith(line string, begins func(string) bool) bool {
	rest, ok := line, true
	for n := 0; ok && n < 3; n++ {
		for strings.HasPrefix(rest, "- ") {
			rest = rest[2:]
		}
		if begins(rest) {
			return true
		}
		rest, ok = behindField(rest)
	}
	return false
}

const spaces = " \t\n\f\r"

// behindField returns what follows the first word of a line and one space, if the word has at most 60
// characters.
func behindField(line string) (rest string, ok bool) {
	end := strings.IndexAny(line, spaces)
	if end < 0 || utf8.RuneCountInString(line[:end]) > 60 {
		return "", false
	}
	return line[end+1:], true
}

var failureBegins = []string{
	"panic:", "fatal:", "FATAL", "--- FAIL", "Error:", "error:", "error[", "Traceback (most", "npm ERR!", "npm error",
	"undefined reference", "Segmentation fault", "AssertionError", "Unhandled", "✗", "✖",
	"(fail) ", "not ok ", "✘", "[ERROR]", "[error]", "##[error]", "[FATAL]", "[fatal]", "[CRITICAL]", "[crit]",
}

// failureFirst report a failure only at the beginning of a line: code mentions them too.
var failureFirst = []string{
	"failed to ", "Error in ", "Error using ", "Error Message:", "Exception in thread ", "Caused by: ", "Failure/Error:", "CONFLICT (", "* What went wrong",
	"WARNING: DATA RACE", "e: file:", "❌ ",
}

// failureBy are failureBegins by their first byte.
var failureBy = func() (t [256][]string) {
	for _, begin := range failureBegins {
		t[begin[0]] = append(t[begin[0]], begin)
	}
	return t
}()

var failureVerdicts = []string{"FAIL", "FAILED", "FAILURE", "ERROR", "CRITICAL"}

func beginsFailure(line string) bool {
	if line == "" {
		return false
	}
	for _, begin := range failureBy[line[0]] {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	line = behindProcess(line)
	for _, verdict := range failureVerdicts {
		if rest, ok := strings.CutPrefix(line, verdict); ok && (rest == "" || !lex.WordByte[rest[0]]) {
			return !countsNone(verdict, rest)
		}
	}
	if rest, ok := strings.CutPrefix(line, "error TS"); ok && rest != "" && lex.IsDigit(rest[0]) {
		return true
	}
	if rest, ok := strings.CutPrefix(line, "×"); ok && rest != "" && strings.IndexByte(spaces, rest[0]) >= 0 {
		return true
	}
	return marksFailure(line) || logsFailure(line) || makeFails(line) || namesError(line)
}

// countsNone matches what follows a verdict that is only a count: "FAIL: 0", "CRITICAL: 0, HIGH: 3".
func countsNone(verdict, rest string) bool {
	count, others, _ := strings.Cut(strings.TrimLeft(rest, " \t:=|"), ", ")
	if saysNone(count) {
		return others == "" || isMeasured(others[strings.LastIndexByte(others, ' ')+1:])
	}
	return verdict == "CRITICAL" && isMeasured(strings.Trim(count, "| ")) && (others == "" || isMeasured(others[strings.LastIndexByte(others, ' ')+1:]))
}

// behindProcess removes the prefix of sanitizers: "==4211==ERROR: AddressSanitizer".
func behindProcess(line string) string {
	if rest, ok := strings.CutPrefix(line, "=="); ok {
		if message, ok := strings.CutPrefix(strings.TrimLeft(rest, "0123456789"), "=="); ok {
			return message
		}
	}
	return line
}

// marksFailure matches pytest's lines: "E   assert 1 == 2".
func marksFailure(line string) bool {
	rest, ok := strings.CutPrefix(line, "E")
	message := strings.TrimLeft(rest, spaces)
	columns := len(rest) - len(message)
	return ok && columns >= 1 && columns <= 8 && message != ""
}

// makeFails matches "make: *** " and "make[2]: *** ".
func makeFails(line string) bool {
	rest, ok := strings.CutPrefix(line, "make")
	if inner, nested := strings.CutPrefix(rest, "["); nested {
		level := strings.TrimLeft(inner, "0123456789")
		rest, nested = strings.CutPrefix(level, "]")
		ok = ok && nested && len(level) < len(inner)
	}
	return ok && strings.HasPrefix(rest, ": ***")
}

// logsFailure matches the log lines of Kubernetes programs: "E0302 10:12:01.123456 1 file.go:12] message".
func logsFailure(line string) bool {
	const head = "E0302 10:"
	return len(line) > len(head) && (line[0] == 'E' || line[0] == 'F') && strings.Trim(line[1:5], "0123456789") == "" &&
		line[5] == ' ' && lex.IsDigit(line[6]) && lex.IsDigit(line[7]) && line[8] == ':'
}

// namesError matches "TypeError: x", "java.io.IOException: x" and a "KeyError" alone.
func namesError(line string) bool {
	end, base := 0, 0
	for ; end < len(line) && (lex.WordByte[line[end]] || line[end] == '.' || line[end] == '$'); end++ {
		if !lex.WordByte[line[end]] {
			base = end + 1
		}
	}
	if base >= end || !lex.IsUpper(line[base]) || end < len(line) && line[end] != ':' {
		return false
	}
	name := line[base+1 : end]
	return strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception")
}

var failureTold = []string{
	"command not found", "No such file or directory", "Permission denied", "permission denied", "cannot find module", "cannot find package",
	"ModuleNotFoundError",
}

// holdsFailure searches anywhere in a line.
func holdsFailure(line string) bool {
	if slices.ContainsFunc(failureTold, func(told string) bool { return strings.Contains(line, told) }) {
		return true
	}
	for at := strings.Index(line, "panicked at "); at >= 0; at = next(line, "panicked at ", at) {
		if at == 0 || !lex.WordByte[line[at-1]] {
			return true
		}
	}
	return strings.HasSuffix(line, "... FAILED") || strings.HasSuffix(line, "[FAIL]") || assertionFails(line) || statesError(line)
}

// next returns the next occurrence of a word after byte at, or -1.
func next(line, word string, at int) int {
	if i := strings.Index(line[at+1:], word); i >= 0 {
		return at + 1 + i
	}
	return -1
}

// assertionFails matches Rust's "assertion `left == right` failed".
func assertionFails(line string) bool {
	said, ok := strings.CutPrefix(line, "assertion ")
	if !ok {
		return false
	}
	for at := strings.Index(said, " failed"); at >= 0; at = next(said, " failed", at) {
		if n := utf8.RuneCountInString(said[:at]); n >= 1 && n <= 80 && strings.IndexByte(said[:at], '\n') < 0 {
			return true
		}
	}
	return false
}

// statesError matches what compilers print after a place: ": error:", ": fatal error C1083:".
func statesError(line string) bool {
	for _, state := range []string{": error", ": fatal error"} {
		for at := strings.Index(line, state); at >= 0; at = next(line, state, at) {
			rest := line[at+len(state):]
			if code, ok := strings.CutPrefix(rest, " "); ok {
				digits := strings.TrimLeft(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
				rest = strings.TrimLeft(digits, "0123456789")
				if len(digits) == len(code) || len(rest) == len(digits) {
					continue
				}
			}
			if strings.HasPrefix(rest, ":") {
				return true
			}
		}
	}
	return false
}

// isMeasured matches one or several numbers: "0", "0,03 %", "1.2e-05", "12 (2.4%)", "0/12".
func isMeasured(s string) bool {
	const longestMeasure = 100
	s = strings.TrimSpace(s)
	return s != "" && len(s) <= longestMeasure && (lex.IsDigit(s[0]) || len(s) > 1 && s[0] == '-' && lex.IsDigit(s[1])) && strings.Trim(s, "0123456789.,:%+-/()eE ") == ""
}

var noneWords = []string{"none", "nothing", "nil", "null", "undefined", "false", "n/a", "zero", "0", "0%", "{}", "[]"}

// saysNone reports whether a line means only "none".
func saysNone(s string) bool {
	const longestNone = 40
	if len(s) > longestNone {
		return false
	}
	s = strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("()<>|.!-\"'`", r) })
	return s != "" && slices.Contains(noneWords, strings.ToLower(s))
}
