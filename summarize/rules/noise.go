package rules

import (
	"regexp"
	"strings"
)

// isNoise matches progress lines, which are of no use afterwards: test runners' starts, download bars,
// percentages. They are skipped, and counted as omitted.
func isNoise(text string) bool {
	if text == "" || len(text) > 300 {
		return false
	}
	switch text[0] {
	case '=':
		return strings.HasPrefix(text, "=== RUN") || strings.HasPrefix(text, "=== PAUSE") || strings.HasPrefix(text, "=== CONT")
	case 'r':
		if rest, ok := strings.CutPrefix(text, "remote: "); ok {
			return isNoise(rest)
		}
	}
	if beginsFetching[text[0]] {
		for _, begin := range fetching {
			if strings.HasPrefix(text, begin) {
				return true
			}
		}
	}
	if text[0] == 'n' && lifecycle.MatchString(text) || text[0] == '%' && strings.HasPrefix(text, "% Total") || text[0] == 'D' && text == "Dload Upload Total Spent Left Speed" || isDigit(text[0]) && transferred.MatchString(text) {
		return true
	}
	return isBar(text) || strings.IndexByte(text, '%') >= 0 && (isPercentage(text) || isMeter(text))
}

// lifecycle is what npm says below the error of a script, and transferred a row of curl's meter.
var (
	lifecycle   = regexp.MustCompile(`^npm (?:error|ERR!) (?:code|path|workspace|location|command|errno|A complete log|\s*in workspace|\s*at location)\b`)
	transferred = regexp.MustCompile(`^\d+ [\d.]+[kMG]? \d+ [\d.]+[kMG]? \d+ [\d.]+[kMG]? [\d.]+[kMG]? [\d.]+[kMG]? (?:[\d:]+|--:--:--) (?:[\d:]+|--:--:--) (?:[\d:]+|--:--:--) [\d.]+[kMG]?$`)
)

// fetching is what package managers print for every package that they download or build.
var fetching = []string{
	"go: downloading ", "Downloading ", "Downloaded ", "Collecting ", "Requirement already satisfied", "Using cached ", "Compiling ",
	"Fetching ", "Get:", "Unpacking ", "Selecting previously unselected", "Preparing to unpack ", "Processing triggers for ",
}

var beginsFetching = setOf("gDRCUFGSP")

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
	return drawn >= 3 && drawn*4 >= all && !isDiagnostic(text) // a linter draws a line behind its heading
}

// isMeter matches tqdm's lines, " 80%|████ | 640/800 [00:20<00:05, 31.8it/s]", except for the last of each.
func isMeter(text string) bool {
	at := strings.Index(text, "%|")
	return at > 0 && isDigit(text[at-1]) && !strings.HasSuffix(text[:at], "100") && (strings.Contains(text, "it/s") || strings.Contains(text, "s/it") || strings.Contains(text, "B/s"))
}

// isPercentage matches "Counting objects:  12% (3/25)" and similar: a percentage, with little beside what is counted.
func isPercentage(text string) bool {
	at := strings.IndexByte(text, '%')
	if at <= 0 || !isDigit(text[at-1]) || strings.HasPrefix(text[at:], "100%") || len(text) > 80 {
		return false
	}
	label := strings.TrimRight(text[:at], "0123456789. ")
	return strings.HasSuffix(label, ":") && strings.Count(label, " ") <= 3 && !strings.Contains(strings.ToLower(label), "coverage")
}
