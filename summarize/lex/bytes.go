package lex

import "strings"

// WordByte holds the bytes of identifiers: ASCII letters, digits and the underscore.
var WordByte = func() (t [256]bool) {
	for c := range t {
		t[c] = c == '_' || IsDigit(byte(c)) || IsLower(byte(c)) || IsUpper(byte(c))
	}
	return t
}()

// IsDigit matches ASCII digits.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsLower matches ASCII letters in lower case.
func IsLower(c byte) bool { return c >= 'a' && c <= 'z' }

// IsUpper matches ASCII letters in upper case.
func IsUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// CodeLike reports whether a line looks like a program's, or like data.
func CodeLike(s string) bool {
	return strings.HasSuffix(s, "{") || strings.HasSuffix(s, "}") || strings.HasSuffix(s, ";") || strings.HasPrefix(s, "//") || strings.HasPrefix(s, `"`) ||
		strings.Contains(s, "->") || strings.Contains(s, "::") || strings.Contains(s, "=>")
}

// CutStamp removes an ISO 8601 date and time, with or without brackets, or syslog's, from the beginning of a line.
func CutStamp(line string) string {
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
			if !IsDigit(s[i]) {
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

// cutSyslog removes "Mar  2 10:16:01 ".
func cutSyslog(line string) (rest string, ok bool) {
	const shape = "Mar  2 10:16:01 "
	if len(line) <= len(shape) || !IsUpper(line[0]) || !IsLower(line[1]) || !IsLower(line[2]) || !IsDigit(line[5]) {
		return "", false
	}
	for i := 3; i < len(shape); i++ {
		if c := shape[i]; (c == ' ' || c == ':') && line[i] != c && i != 4 || IsDigit(c) && !IsDigit(line[i]) {
			return "", false
		}
	}
	return line[len(shape):], true
}
