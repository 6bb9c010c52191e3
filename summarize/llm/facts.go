package llm

import (
	"slices"
	"strings"
	"unicode"

	"precis/summarize/lex"
	"precis/summarize/verdict"
)

// Facts reads out of a summary by rules what must not get lost in one by a model, the most important
// first: what tells an error or an exit status, paths, ids and identifiers, numbers. The rules have ranked
// the source already: what they kept is what the agent is likely to need.
func Facts(byRules string) []string {
	var errors, paths, names, numbers []string
	failed, quoted := strings.HasPrefix(byRules, "[❌ "), false
	for _, line := range strings.Split(byRules, "\n") {
		if strings.HasPrefix(line, lex.OmissionMark) {
			continue // what was left out is no fact
		}
		text, numbered := withoutNumber(line)
		quoted = numbered || quoted && strings.HasPrefix(line, " ")
		if !quoted || failed { // a line of a program only speaks of errors
			errors = append(errors, errorsIn(text)...)
		}
		for _, word := range strings.FieldsFunc(text, separatesWords) {
			switch word = strings.TrimLeft(strings.TrimRight(word, ".:!?"), "!&*+:-"); {
			case isPath(word):
				paths = append(paths, word)
			case isName(word):
				names = append(names, word)
			case isNumber(word):
				numbers = append(numbers, word)
			}
		}
	}
	return unique(errors[:min(len(errors), maxErrors)], paths, names, numbers)
}

// withoutNumber takes off the number of a line that is quoted from a file, as the rules (`12|x`, `12→x`) and as readers
// and grep write it (`12: x`, `12:x`, `12- x`), and no part of a time or a date.
func withoutNumber(line string) (text string, numbered bool) {
	rest := strings.TrimLeft(strings.TrimLeft(line, " "), "0123456789")
	if rest == "" || len(rest) == len(strings.TrimLeft(line, " ")) {
		return line, false
	}
	for _, mark := range []string{"|", "→"} {
		if strings.HasPrefix(rest, mark) {
			return rest[len(mark):], true
		}
	}
	next := rest[min(1, len(rest)-1)]
	if rest[0] == ':' && (next < '0' || next > '9') || rest[0] == '-' && (next == ' ' || next == '\t') {
		return rest[1:], true
	}
	return line, false
}

// maxErrors bounds the errors: after the first ones come those that follow from them.
const maxErrors = 4

// errorsIn is the line, or the facts in it where it is a heading such as `[❌ Bash: Command: make | Exit: 2]`.
func errorsIn(line string) []string {
	line = strings.TrimSpace(line)
	parts := []string{line}
	if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") && strings.Contains(line, " | ") {
		parts = strings.Split(strings.TrimSuffix(line, "]"), " | ")[1:]
	}
	return slices.DeleteFunc(parts, func(s string) bool { return !tellsError(s) })
}

// errorWords mark a line as telling what went wrong, in the words of compilers, test runners and shells.
var errorWords = []string{"error", "fail", "failed", "failure", "fatal", "panic", "exception", "traceback", "denied"}

// exitWords go before an exit status.
var exitWords = []string{"exit code", "exit status", "exit:"}

// tellsError asks for these words, and the tools' own ways of saying it.
func tellsError(line string) bool {
	if verdict.TellsError(line) {
		return true
	}
	folded := strings.ToLower(line)
	for _, w := range exitWords {
		if strings.Contains(folded, w) {
			return true
		}
	}
	words := strings.FieldsFunc(line, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(errorWords, strings.ToLower(w)) || strings.HasSuffix(w, "Error") || strings.HasSuffix(w, "Exception")
	})
}

func separatesWords(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"'`()[]{}<>,;|=…", r)
}

func unique(ranked ...[]string) []string {
	seen := map[string]bool{}
	var out []string
	for _, group := range ranked {
		for _, s := range group {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}
