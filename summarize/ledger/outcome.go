package ledger

import (
	"regexp"
	"strconv"
	"strings"
)

// outcome is how a call ended.
type outcome struct {
	known  bool // a result stands in the span
	failed bool
	line   string // the line of the output that says most about it
}

var (
	// exitCode as harnesses write it at the beginning or the end of an output.
	exitCode = marked(`(?i)(?:exit(?:ed)?(?: with)?(?: code| status)|exit code)\W{0,3}(-?\d+)`, "exit")
	// failing is how a line begins that reports a failure, whatever the tool.
	failing = marked(`^\W{0,3}(?:Traceback|panic:|fatal\b|[Ee]rror\b|ERROR\b|FAIL|--- FAIL|[A-Za-z.]*(?:Error|Exception)\b)|\b(?:error(?:\[\w+\])?:|[Ee]rror:)`,
		"traceback", "panic:", "fatal", "error", "fail", "exception")
	// telling is a line worth quoting for how a command ended.
	telling = marked(`(?i)\b(?:\d+ (?:tests? )?(?:passed|failed|failures|errors?)|fail(?:ed|ures?)?|pass(?:ed)?|ok|errors?|success\w*|built|done|committed|warnings?)\b`,
		"fail", "pass", "ok", "error", "success", "built", "done", "committed", "warning")
	// complaint is a line in a failed output that says why.
	complaint = marked(`(?i)error|exception|fail|fatal|panic|not found|no such|denied|cannot|can't|undefined|invalid|unexpected|missing|unable|refused|timed? ?out`,
		"error", "exception", "fail", "fatal", "panic", "not found", "no such", "denied", "cannot", "can't", "undefined", "invalid",
		"unexpected", "missing", "unable", "refused", "time")
)

// outcomeOf reads how a call ended from its result.
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

// statedExit is the exit code that the first or last line of an output states; 0 where none does.
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

// maxScan bounds how much of an output is searched for a line, in bytes from either end.
const maxScan = 64 << 10

// firstLine is the first line that matches, else the first that says anything.
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

// lastLine is the last line that matches; empty where none does.
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

// plain strips what a person would not read.
func plain(line string) string {
	if !strings.ContainsAny(line, "\x1b<") {
		return line
	}
	return escapes.ReplaceAllString(line, "")
}
