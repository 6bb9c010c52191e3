package ledger

import (
	"regexp"
	"strconv"
	"strings"
)

// outcome is the result of a call.
type outcome struct {
	known  bool // the span contains a result
	failed bool
	line   string // the most informative line of the output
}

var (
	// exitCode is the exit code that harnesses write at the beginning or the end of an output.
	exitCode = marked(`(?i)(?:exit(?:ed)?(?: with)?(?: code| status)|exit code)\W{0,3}(-?\d+)`, "exit")
	// failing is the beginning of a line that reports a failure, of any tool.
	failing = marked(`^\W{0,3}(?:Traceback|panic:|fatal\b|[Ee]rror\b|ERROR\b|FAIL|--- FAIL|[A-Za-z.]*(?:Error|Exception)\b)|\b(?:error(?:\[\w+\])?:|[Ee]rror:)`,
		"traceback", "panic:", "fatal", "error", "fail", "exception")
	// telling is a line worth quoting for the outcome of a command.
	telling = marked(`(?i)\b(?:\d+ (?:tests? )?(?:passed|failed|failures|errors?)|fail(?:ed|ures?)?|pass(?:ed)?|ok|errors?|success\w*|built|done|committed|warnings?)\b`,
		"fail", "pass", "ok", "error", "success", "built", "done", "committed", "warning")
	// complaint is a line with the reason in a failed output.
	complaint = marked(`(?i)error|exception|fail|fatal|panic|not found|no such|denied|cannot|can't|undefined|invalid|unexpected|missing|unable|refused|timed? ?out`,
		"error", "exception", "fail", "fatal", "panic", "not found", "no such", "denied", "cannot", "can't", "undefined", "invalid",
		"unexpected", "missing", "unable", "refused", "time")
)

// outcomeOf derives a call's outcome from its result.
func outcomeOf(m Message) outcome {
	if m.Message == nil {
		return outcome{}
	}
	text := m.Content.Text()
	o := outcome{known: true, failed: failed(m, text)}
	if o.failed {
		o.line = firstLine(text, complaint)
		return o
	}
	o.line = lastLine(text, telling)
	return o
}

func failed(m Message, text string) bool {
	if m.IsError != nil && *m.IsError {
		return true
	}
	if m.ExitCode != nil {
		return *m.ExitCode != 0
	}
	if m.IsError != nil && !strings.HasPrefix(text, "Exit code") {
		return statedExit(text) > 0
	}
	return statedExit(text) > 0 || failing.MatchString(firstLine(text, nil))
}

// statedExit returns the exit code in the first or last line of an output; 0 if there is none.
func statedExit(text string) int {
	text = strings.TrimSpace(text)
	first, _, _ := strings.Cut(text, "\n")
	last := text[strings.LastIndexByte(text, '\n')+1:]
	for _, line := range []string{first, last} {
		if len(line) > 80 {
			continue
		}
		if m := exitCode.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			return n
		}
	}
	return 0
}

// maxScan bounds the part of an output that is searched for a line, in bytes from either end.
const maxScan = 64 << 10

// firstLine returns the first matching line, else the first that has content.
func firstLine(text string, want *pattern) string {
	fallback := ""
	for line := range strings.SplitSeq(text[:min(len(text), maxScan)], "\n") {
		line = oneLine(plain(line))
		if line == "" || exitCode.MatchString(line) && len(line) < 40 {
			continue
		}
		if want == nil || want.MatchString(line) {
			return line
		}
		if fallback == "" {
			fallback = line
		}
	}
	return fallback
}

// lastLine returns the last matching line; empty if there is none.
func lastLine(text string, want *pattern) string {
	text = text[max(0, len(text)-maxScan):]
	for text != "" {
		i := strings.LastIndexByte(text, '\n')
		line := oneLine(plain(text[i+1:]))
		if want.MatchString(line) {
			return line
		}
		text = text[:max(i, 0)]
	}
	return ""
}

// escapes are terminal controls and markup that tools wrap around their output.
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|</?(?:tool_use_error|system-reminder|error|output|stdout|stderr)>")

// plain strips what is not for people to read.
func plain(line string) string {
	if !strings.ContainsAny(line, "\x1b<") {
		return line
	}
	return escapes.ReplaceAllString(line, "")
}
