package clean

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"precis/summarize/lex"
)

// Clean makes a tool's raw bytes readable: valid UTF-8, no terminal controls, and of a line that a
// progress display overwrote (carriage returns) only its final text.
func Clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0x1b) >= 0 || strings.IndexByte(s, '\b') >= 0 {
		s = stripControl(s)
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = overwrite(s)
	}
	return s
}

// stripControl removes ANSI escape sequences (ECMA-48: CSI, OSC, and two-byte ones) and backspaced characters.
func stripControl(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch {
		case s[i] == 0x1b:
			i += escapeLen(s[i:])
		case s[i] == '\b':
			out = dropLastRune(out)
			i++
		default:
			out = append(out, s[i])
			i++
		}
	}
	return string(out)
}

// Uncolored returns a line without the sequences that set colours and weights.
func Uncolored(line string) string {
	if strings.IndexByte(line, 0x1b) < 0 {
		return line
	}
	return colors.ReplaceAllString(line, "")
}

var colors = regexp.MustCompile("\x1b\\[[0-9;:]*[mK]")

func dropLastRune(b []byte) []byte {
	if len(b) == 0 || b[len(b)-1] == '\n' {
		return b
	}
	_, n := utf8.DecodeLastRune(b)
	return b[:len(b)-n]
}

// escapeLen returns the length of the escape sequence at the start of s.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[': // CSI: parameters up to a final byte
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']': // OSC: up to BEL or ST; an unterminated one ends with its line
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b || s[i] == '\n' {
				return i
			}
		}
		return len(s)
	case '(', ')', '*', '+', '#', '%':
		return min(3, len(s)-trailing(s))
	default:
		if s[1] >= 0x40 && s[1] <= 0x7e {
			return 2
		}
		return 1
	}
}

// trailing keeps a three-byte escape from cutting a rune: 0 if its third byte is ASCII.
func trailing(s string) int {
	if len(s) > 2 && s[2] >= utf8.RuneSelf {
		return len(s) - 2
	}
	return 0
}

// overwrite keeps what a terminal would finally show of every line.
func overwrite(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		line, rest, more := strings.Cut(s, "\n")
		line = strings.TrimRight(line, "\r")
		if i := strings.LastIndexByte(line, '\r'); i >= 0 {
			line = line[i+1:]
		}
		b.WriteString(line)
		if more {
			b.WriteByte('\n')
		}
		s = rest
	}
	return b.String()
}

// IsNoise matches progress lines, which are of no use afterwards: test runners' starts, download bars,
// percentages. They are skipped, and counted as omitted.
func IsNoise(text string) bool {
	if text == "" || len(text) > 300 {
		return false
	}
	switch text[0] {
	case '=':
		return strings.HasPrefix(text, "=== RUN") || strings.HasPrefix(text, "=== PAUSE") || strings.HasPrefix(text, "=== CONT")
	case 'r':
		if rest, ok := strings.CutPrefix(text, "remote: "); ok {
			return IsNoise(rest)
		}
	}
	if beginsFetching[text[0]] {
		for _, begin := range fetching {
			if strings.HasPrefix(text, begin) {
				return true
			}
		}
	}
	if text[0] == 'n' && lifecycle.MatchString(text) || text[0] == '%' && strings.HasPrefix(text, "% Total") || text[0] == 'D' && text == "Dload Upload Total Spent Left Speed" || lex.IsDigit(text[0]) && transferred.MatchString(text) {
		return true
	}
	return isBar(text) || strings.IndexByte(text, '%') >= 0 && (isPercentage(text) || isMeter(text))
}

// lifecycle is what npm says below the error of a script, and transferred a row of curl's meter.
var (
	lifecycle   = regexp.MustCompile(`^npm (?:error|ERR!) (?:code (?:\d+|ELIFECYCLE)$|path|workspace|location|command|errno|A complete log|\s*in workspace|\s*at location)\b`)
	transferred = regexp.MustCompile(`^\d+ [\d.]+[kMG]? \d+ [\d.]+[kMG]? \d+ [\d.]+[kMG]? [\d.]+[kMG]? [\d.]+[kMG]? (?:[\d:]+|--:--:--) (?:[\d:]+|--:--:--) (?:[\d:]+|--:--:--) [\d.]+[kMG]?$`)
)

// fetching is what package managers print for every package that they download or build.
var fetching = []string{
	"go: downloading ", "Downloading ", "Downloaded ", "Collecting ", "Requirement already satisfied", "Using cached ", "Compiling ",
	"Fetching ", "Get:", "Unpacking ", "Selecting previously unselected", "Preparing to unpack ", "Processing triggers for ",
}

var beginsFetching = lex.SetOf("gDRCUFGSP")

// isBar matches a line that is half drawing.
func isBar(text string) bool {
	if strings.IndexByte(text, "━"[0]) < 0 { // all of them begin with this byte
		return false
	}
	drawn, all := 0, 0
	for _, r := range text {
		all++
		switch r {
		case '━', '█', '▓', '▒', '░', '╸', '╺', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏':
			drawn++
		}
	}
	return drawn >= 3 && drawn*4 >= all
}

// isMeter matches tqdm's lines, " 80%|████ | 640/800 [00:20<00:05, 31.8it/s]", except for the last of each.
func isMeter(text string) bool {
	at := strings.Index(text, "%|")
	return at > 0 && lex.IsDigit(text[at-1]) && !strings.HasSuffix(text[:at], "100") && (strings.Contains(text, "it/s") || strings.Contains(text, "s/it") || strings.Contains(text, "B/s"))
}

// isPercentage matches "Counting objects:  12% (3/25)" and similar: a percentage, with little beside what is counted.
func isPercentage(text string) bool {
	at := strings.IndexByte(text, '%')
	if at <= 0 || !lex.IsDigit(text[at-1]) || strings.HasPrefix(text[at:], "100%") || len(text) > 80 {
		return false
	}
	label := strings.TrimRight(text[:at], "0123456789. ")
	return strings.HasSuffix(label, ":") && strings.Count(label, " ") <= 3 && !strings.Contains(strings.ToLower(label), "coverage")
}
