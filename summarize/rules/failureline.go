package rules

import (
	"math/bits"
	"slices"
	"strings"
)

// A line reports a failure by its beginning, after at most two words (a file, a time), or by a phrase anywhere in it; a
// line that only mentions errors (0 errors, error.go, onError) does not. The test has the whole rule
// as a regular expression, which took more time than everything else if each line is an error.

// errorWords are a cheap pretest: every line that reports a failure contains one of them.
var errorWords = newFinder(append([]anchored{
	{"rror", 0, wordHere}, {"RROR", 0, wordHere}, {"FAIL", 0, wordHere}, {"atal", 1, wordHere}, {"FATAL", 0, wordHere}, {"panic", 0, wordHere},
	{"xception", 0, wordHere}, {"Traceback", 0, wordHere}, {"ERR!", 2, wordHere}, {"***", 0, wordHere}, {"fault", 1, wordHere},
	{"assertion", 1, wordHere}, {"not found", 4, wordHere}, {"No such", 0, wordHere}, {"ermission denied", 1, wordHere},
	{"cannot find", 2, wordHere}, {"undefined ref", 3, wordHere}, {"Unhandled", 0, wordHere}, {"✗", 1, wordHere}, {"✖", 1, wordHere},
	{"×", 0, wordHere}, {"E ", 0, wordHere}, {"CONFLICT (", 5, wordHere}, {"DATA RACE", 4, wordHere}, {"ailed ", 1, wordHere}, {"used by: ", 4, wordHere}, {"CRITICAL", 0, wordHere},
	{"e: file:", 0, wordHere}, {"went wrong", 3, wordHere}, {"E0", 0, wordHere}, {"E1", 0, wordHere}, {"F0", 0, wordHere}, {"F1", 0, wordHere},
}, wordsAbroad()...))

// What a line with one of the words may report.
const (
	wordHere      uint8 = 1 << iota // an error in English, subject to isFailure
	wordAbroad                      // one in another language, if isFailureAbroad says so
	messageAbroad                   // one in another language
)

// TellsError reports whether a line of a tool's output, or of its summary, says what failed.
func TellsError(line string) bool { return tellsError(strings.TrimPrefix(line, innerMark)) }

func tellsError(text string) bool {
	if len(text) == 0 || strings.HasPrefix(text, "0 error") || makeWaits(text) {
		return false
	}
	found := errorWords.in(text)
	if found == 0 {
		return false
	}
	text = behindService(text)
	return found&wordHere != 0 && isFailure(text) && !measuresError(text) || found&messageAbroad != 0 || found&wordAbroad != 0 && isFailureAbroad(text)
}

func isFailure(text string) bool {
	if failsTo(text) {
		return true
	}
	if slices.ContainsFunc(failureFirst, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return true
	}
	return startsWith(text, beginsFailure) || holdsFailure(text)
}

// behindService removes the prefix that docker compose puts before each line: "worker-1  | ".
func behindService(text string) string {
	const longestName = 40
	name, rest, ok := strings.Cut(text[:min(len(text), longestName)], " | ")
	if !ok || rest == "" || strings.ContainsAny(strings.TrimRight(name, " "), " \t:") {
		return text
	}
	return strings.TrimSpace(cutStamp(text[len(name)+len(" | "):]))
}

// failsTo matches "Failed to pull image", "Failed building wheel" and "Failed checks: lint", but no count ("Failed
// requests: 0") and no sentence ("Failed builds are kept").
func failsTo(text string) bool {
	rest, ok := strings.CutPrefix(text, "Failed ")
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
func makeWaits(text string) bool {
	return (strings.HasSuffix(text, "...") || strings.HasSuffix(text, "…")) && strings.Contains(text, "make") && strings.Contains(text, ": *** ")
}

// measuresError matches statistics: "Residual standard error: 14.21". Only measures may follow:
// "training error: 0.12, test error: 0.15".
func measuresError(text string) bool {
	if !strings.Contains(text, "error: ") || beginsFailure(text) {
		return false
	}
	measured := false
	for part := range strings.SplitSeq(text, ", ") {
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

// startsWith tests a text, and what follows its first and its second word. Dashes between a log's columns are not words.
func startsWith(text string, begins func(string) bool) bool {
	rest, ok := text, true
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

// behindField returns what follows the first word of a text and one space, if the word has at most 60
// characters.
func behindField(text string) (rest string, ok bool) {
	end := strings.IndexAny(text, spaces)
	if end < 0 || runes(text[:end]) > 60 {
		return "", false
	}
	return text[end+1:], true
}

var failureBegins = []string{
	"panic:", "fatal:", "FATAL", "--- FAIL", "Error:", "error:", "error[", "Traceback (most", "npm ERR!", "npm error",
	"undefined reference", "Segmentation fault", "AssertionError", "Unhandled", "✗", "✖",
	"[ERROR]", "[error]", "##[error]", "[FATAL]", "[fatal]", "[CRITICAL]", "[crit]",
}

// failureFirst report a failure only at the beginning of a line: code mentions them too.
var failureFirst = []string{
	"failed to ", "Error in ", "Error using ", "Error Message:", "Exception in thread ", "Caused by: ", "Failure/Error:", "CONFLICT (", "* What went wrong",
	"WARNING: DATA RACE", "e: file:",
}

// failureBy are failureBegins by their first byte.
var failureBy = func() (t [256][]string) {
	for _, begin := range failureBegins {
		t[begin[0]] = append(t[begin[0]], begin)
	}
	return t
}()

var failureVerdicts = []string{"FAIL", "FAILED", "FAILURE", "ERROR", "CRITICAL"}

func beginsFailure(text string) bool {
	if text == "" {
		return false
	}
	for _, begin := range failureBy[text[0]] {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	text = behindProcess(text)
	for _, verdict := range failureVerdicts {
		if rest, ok := strings.CutPrefix(text, verdict); ok && (rest == "" || !wordByte[rest[0]]) {
			return !countsNone(verdict, rest)
		}
	}
	if rest, ok := strings.CutPrefix(text, "error TS"); ok && rest != "" && isDigit(rest[0]) {
		return true
	}
	if rest, ok := strings.CutPrefix(text, "×"); ok && rest != "" && strings.IndexByte(spaces, rest[0]) >= 0 {
		return true
	}
	return marksFailure(text) || logsFailure(text) || makeFails(text) || namesError(text)
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
func behindProcess(text string) string {
	if rest, ok := strings.CutPrefix(text, "=="); ok {
		if message, ok := strings.CutPrefix(strings.TrimLeft(rest, "0123456789"), "=="); ok {
			return message
		}
	}
	return text
}

// marksFailure matches pytest's lines: "E   assert 1 == 2".
func marksFailure(text string) bool {
	rest, ok := strings.CutPrefix(text, "E")
	message := strings.TrimLeft(rest, spaces)
	columns := len(rest) - len(message)
	return ok && columns >= 1 && columns <= 8 && message != ""
}

// makeFails matches "make: *** " and "make[2]: *** ".
func makeFails(text string) bool {
	rest, ok := strings.CutPrefix(text, "make")
	if inner, nested := strings.CutPrefix(rest, "["); nested {
		level := strings.TrimLeft(inner, "0123456789")
		rest, nested = strings.CutPrefix(level, "]")
		ok = ok && nested && len(level) < len(inner)
	}
	return ok && strings.HasPrefix(rest, ": ***")
}

// logsFailure matches the log lines of Kubernetes programs: "E0302 10:12:01.123456 1 file.go:12] message".
func logsFailure(text string) bool {
	const head = "E0302 10:"
	return len(text) > len(head) && (text[0] == 'E' || text[0] == 'F') && strings.Trim(text[1:5], "0123456789") == "" &&
		text[5] == ' ' && isDigit(text[6]) && isDigit(text[7]) && text[8] == ':'
}

// namesError matches "TypeError: x", "java.io.IOException: x" and a "KeyError" alone.
func namesError(text string) bool {
	end, base := 0, 0
	for ; end < len(text) && (wordByte[text[end]] || text[end] == '.' || text[end] == '$'); end++ {
		if !wordByte[text[end]] {
			base = end + 1
		}
	}
	if base >= end || !isUpper(text[base]) || end < len(text) && text[end] != ':' {
		return false
	}
	name := text[base+1 : end]
	return strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception")
}

var failureTold = []string{
	"command not found", "No such file or directory", "Permission denied", "permission denied", "cannot find module", "cannot find package",
	"ModuleNotFoundError",
}

// holdsFailure searches anywhere in a line.
func holdsFailure(text string) bool {
	if slices.ContainsFunc(failureTold, func(told string) bool { return strings.Contains(text, told) }) {
		return true
	}
	for at := strings.Index(text, "panicked at "); at >= 0; at = next(text, "panicked at ", at) {
		if at == 0 || !wordByte[text[at-1]] {
			return true
		}
	}
	return strings.HasSuffix(text, "... FAILED") || strings.HasSuffix(text, "[FAIL]") || assertionFails(text) || statesError(text)
}

// next returns the next occurrence of a word after byte at, or -1.
func next(text, word string, at int) int {
	if i := strings.Index(text[at+1:], word); i >= 0 {
		return at + 1 + i
	}
	return -1
}

// assertionFails matches Rust's "assertion `left == right` failed".
func assertionFails(text string) bool {
	said, ok := strings.CutPrefix(text, "assertion ")
	if !ok {
		return false
	}
	for at := strings.Index(said, " failed"); at >= 0; at = next(said, " failed", at) {
		if n := runes(said[:at]); n >= 1 && n <= 80 && strings.IndexByte(said[:at], '\n') < 0 {
			return true
		}
	}
	return false
}

// statesError matches what compilers print after a place: ": error:", ": fatal error C1083:".
func statesError(text string) bool {
	for _, state := range []string{": error", ": fatal error"} {
		for at := strings.Index(text, state); at >= 0; at = next(text, state, at) {
			rest := text[at+len(state):]
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

// finder searches for many words at once, each by two of its bytes that are rarely adjacent.
type finder struct {
	words         []anchored
	first, second [256]uint64 // the words that have this byte as the first or the second of the two, by number
}

// finderBits are the bits for words; more of them share theirs.
const finderBits = 64

// anchored is a word, the position of its two bytes, and what it reports.
type anchored struct {
	text  string
	at    int
	tells uint8
}

func newFinder(words []anchored) *finder {
	f := &finder{words: words}
	for i, w := range words {
		f.first[w.text[w.at]] |= 1 << (i % finderBits)
		f.second[w.text[w.at+1]] |= 1 << (i % finderBits)
	}
	return f
}

// in returns everything that the words in a text report.
func (f *finder) in(text string) (tells uint8) {
	for i := 1; i < len(text); i++ {
		for left := f.first[text[i-1]] & f.second[text[i]]; left != 0; left &= left - 1 {
			for n := bits.TrailingZeros64(left); n < len(f.words); n += finderBits {
				w := &f.words[n]
				if from := i - 1 - w.at; from >= 0 && strings.HasPrefix(text[from:], w.text) {
					tells |= w.tells
				}
			}
		}
	}
	return tells
}
