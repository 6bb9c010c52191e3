package outline

import (
	"strings"

	"precis/summarize/lex"
)

// Conditions reports whether a line of code begins a block that is not always run, or more than once: a condition, a loop, a case.
func Conditions(line string) bool {
	line = strings.TrimLeft(line, "} ")
	word := firstWord(line)
	switch word {
	case "if", "else", "elif", "elsif", "elseif", "for", "foreach", "while", "until", "unless", "switch", "case", "match", "when", "catch", "except", "rescue", "select", "do", "loop", "try", "finally", "with":
		return true
	case "default", "ensure":
		return strings.HasSuffix(line, ":") || line == word
	}
	return false
}

// Controls reports whether a line says on what code goes on, and where: a condition, a loop, a return, an error that is raised. `if err != nil {`,
// `return nil` and `} else {` say nothing of what their code is about.
func Controls(line string) bool {
	const least = 10 // bytes behind the word
	said := strings.TrimRight(line, " {(:;")
	switch firstWord(strings.TrimLeft(line, "} ")) {
	case "else":
		return strings.Contains(line, "else if ") && len(said) > 2*least
	case "catch", "try", "do", "finally", "default", "ensure", "except", "rescue", "loop":
		return false
	case "return", "throw", "raise", "yield", "goto", "defer":
		return len(said) > least+len("return") // with a value
	}
	return Conditions(line) && len(said) >= least && !strings.Contains(line, "err != nil {")
}

// firstWord returns the letters with which a line begins, if the word ends there: `if(`, `else:`, but neither `form` nor `with_x`, `if_`, `case=`.
func firstWord(line string) string {
	end := 0
	for end < len(line) && lex.IsLower(line[end]) {
		end++
	}
	if end < len(line) && strings.IndexByte(" (:;{", line[end]) < 0 {
		return ""
	}
	return line[:end]
}
