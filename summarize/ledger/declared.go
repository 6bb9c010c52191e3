package ledger

import "strings"

// Words that a line of code begins with when it declares something, in the languages that agents write, and
// those that stand before them. Locals (let, var) are not what a file is known for.
var (
	declaring = map[string]bool{
		"func": true, "function": true, "fn": true, "def": true, "class": true, "type": true, "struct": true,
		"interface": true, "enum": true, "trait": true, "const": true, "record": true, "object": true,
	}
	modifying = map[string]bool{
		"export": true, "default": true, "pub": true, "public": true, "private": true, "protected": true,
		"static": true, "async": true, "abstract": true, "final": true, "override": true,
	}
)

// declared is the name that a line of code declares; empty for none.
func declared(line string) string {
	for {
		word, rest, spaced := strings.Cut(strings.TrimLeft(line, " \t+"), " ")
		switch {
		case spaced && modifying[word]:
			line = rest
		case spaced && declaring[word]:
			return leadingName(rest)
		default:
			return ""
		}
	}
}

// leadingName is the name that s begins with, behind a receiver.
func leadingName(s string) string {
	if strings.HasPrefix(s, "(") {
		_, s, _ = strings.Cut(s, ") ")
	}
	end := 0
	for end < len(s) && wordByte(s[end]) {
		end++
	}
	return s[:end]
}
