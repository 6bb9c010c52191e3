package rules

import "strings"

// All lines of a log begin alike: with a job's name, a time, a level. Their common prefix and
// the times say little and cost much; what follows is kept.

// stampedLines is how many lines are searched for a common prefix.
const stampedLines = 40

// logPrefix returns the common prefix of a log's first lines, up to the last border of its columns; empty if
// they share too little, or are too few. Words alone are not columns: in lines that are all alike they are
// the content.
func logPrefix(content string) string {
	shared, lines := "", 0
	for lines < stampedLines && content != "" {
		line, rest, _ := strings.Cut(content, "\n")
		content = rest
		if strings.TrimSpace(line) == "" {
			continue
		}
		if lines == 0 {
			shared = line
		}
		shared = shared[:commonLen(shared, line)]
		lines++
	}
	shared = shared[:columnsEnd(shared)]
	if lines < 8 || len(strings.TrimSpace(shared)) < 8 {
		return ""
	}
	return shared
}

// columnsEnd returns the end of the last tab, or of the last bar or bracket with a space after it.
func columnsEnd(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '\t' || s[i] == ' ' && i > 0 && strings.IndexByte("|]", s[i-1]) >= 0 {
			return i + 1
		}
	}
	return 0
}

func commonLen(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
