package rules

import "strings"

// A log's lines all begin alike: with a job's name, a time, a level. What is the same in all of them, and
// the times, say little and cost much; what follows is kept.

// stampedLines is how many lines are looked at for what they share.
const stampedLines = 40

// logPrefix is what the first lines of a log begin with, up to the last border of its columns; empty where
// they share too little, or too few lines are there. Words alone are no columns: lines that are all alike
// say with them what they say.
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

// columnsEnd is behind the last tab, or the last bar or bracket with a space behind it.
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

// cutStamp drops an ISO 8601 date and time, in brackets or not, or syslog's, from the beginning of a line.
func cutStamp(line string) string {
	if rest, ok := cutSyslog(line); ok {
		return rest
	}
	s := strings.TrimPrefix(strings.TrimLeft(line, " \t"), "[")
	const shape = "0000-00-00T00:00:00"
	if len(s) <= len(shape) {
		return line
	}
	for i := range len(shape) {
		switch shape[i] {
		case '0':
			if !isDigit(s[i]) {
				return line
			}
		case 'T':
			if s[i] != 'T' && s[i] != ' ' {
				return line
			}
		default:
			if s[i] != shape[i] && s[i] != '/' {
				return line
			}
		}
	}
	s = strings.TrimLeft(s[len(shape):], "0123456789.,Z+:-")
	return strings.TrimPrefix(strings.TrimPrefix(s, "]"), " - ")
}

// cutSyslog drops "Mar  2 10:16:01 ".
func cutSyslog(line string) (rest string, ok bool) {
	const shape = "Mar  2 10:16:01 "
	if len(line) <= len(shape) || !isUpper(line[0]) || !isLower(line[1]) || !isLower(line[2]) || !isDigit(line[5]) {
		return "", false
	}
	for i := 3; i < len(shape); i++ {
		if c := shape[i]; (c == ' ' || c == ':') && line[i] != c && i != 4 || isDigit(c) && !isDigit(line[i]) {
			return "", false
		}
	}
	return line[len(shape):], true
}
