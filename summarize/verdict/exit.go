package verdict

import (
	"regexp"
	"strings"
)

// harnessExit is a line of a harness around an output. A success is believed from such a line only: any program can
// print "exit: 0".
var harnessExit = regexp.MustCompile(`^(?:Error: )?\W{0,3}(?:Exit [Cc]ode:?|exit code:|exit_code[:=]|Process exited with code|(?:The )?[Cc]ommand (?:completed|exited|finished|failed|returned) with (?:exit )?(?:code|status):?|[Cc]ommand ".*" failed with exit code|exited with exit code|exited with code|returncode>|Return code:|<exit_code>)\s*(-?\d{1,5})\b.{0,16}$`)

// anyExit is an exit code in other words. A code above 0 is believed in a line that is little more: who would print it for
// a success.
var anyExit = regexp.MustCompile(`(?i)(?:\bexit(?:ed)?(?: with)?[ _]?(?:code|status)?[:= ]\s*|\bexit (?:code|status) |exited with (?:code|status) |returned (?:a )?non-zero (?:exit status|code):? )(-?\d{1,5})\b`)

// exit finds the exit code: the event's, else the harness's, else one above 0 that the program's own output states at an
// end. What is only shown states nothing about the call: a script, a log, an edited text.
func (s *scan) exit() (o Outcome) {
	if s.call.ExitCode != nil {
		return Outcome{Exit: *s.call.ExitCode, ExitKnown: true}
	}
	if s.call.Kind == Look || s.call.Kind == Report {
		return o
	}
	const ends = 4
	printed := strings.Contains(s.call.Command, "$?") || strings.Contains(s.call.Command, "PIPESTATUS")
	echoes := printed || strings.Contains(strings.ToLower(s.call.Command), "exit")
	runs := s.runs()
	n := len(s.lines)
	near := func(i int) bool {
		line := s.lines[i]
		return (i < ends || i >= n-ends) && len(line) <= 200 && strings.ContainsAny(line, "eER") && !hasFacts(line)
	}
	for i, line := range s.lines {
		if !near(i) {
			continue
		}
		if m := harnessExit.FindStringSubmatch(line); m != nil && (!echoes || i == 0 || signed(m[1]) != 0) &&
			(runs || i == 0 || s.call.Kind == Run && (i < ends && s.wrapped() || i == n-1 && strings.IndexByte("[<(", line[0]) >= 0)) {
			return Outcome{Exit: signed(m[1]), ExitKnown: true}
		}
	}
	if !runs || s.onlyAsks() || s.call.IsError != nil && !printed {
		return o
	}
	if code, ok := s.echoed(); ok && code != 0 {
		return Outcome{Exit: code, ExitKnown: true}
	}
	for i, line := range s.lines {
		if !near(i) || NamesPassed(line) {
			continue
		}
		if m := anyExit.FindStringSubmatchIndex(line); m != nil && signed(line[m[2]:m[3]]) != 0 && fewWords(line[:m[0]]+" "+line[m[1]:]) {
			if w := s.words(); !printed && w.sum && w.goodLast {
				continue
			}
			return Outcome{Exit: signed(line[m[2]:m[3]]), ExitKnown: true}
		}
	}
	return o
}

// echoed returns the number that `echo $?` prints last.
func (s *scan) echoed() (int, bool) {
	if len(s.steps) == 0 || len(s.lines) == 0 {
		return 0, false
	}
	name, operands := s.steps[len(s.steps)-1].Program()
	last := s.lines[len(s.lines)-1]
	if name != "echo" || len(operands) != 1 || len(last) > 3 || !isNumber(last) {
		return 0, false
	}
	variable, ok := strings.CutPrefix(operands[0], "$")
	return atoi(last), variable == "?" || ok && strings.Contains(s.call.Command, strings.Trim(variable, "{}")+"=$?")
}

// wrapped reports whether the output begins with lines of a harness.
func (s *scan) wrapped() bool {
	return strings.HasPrefix(s.first(), "Chunk ID:") || strings.HasPrefix(s.first(), "Wall time:") || strings.HasPrefix(s.first(), "Command:")
}

func fewWords(text string) bool {
	const most = 3
	return len(strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !isLetter(byte(r)) })) <= most
}

func signed(text string) int {
	if digits, ok := strings.CutPrefix(text, "-"); ok {
		return -atoi(digits)
	}
	return atoi(text)
}

// hasFacts reports whether a line resembles the first line of one of our summaries.
func hasFacts(line string) bool {
	return strings.Contains(line, "[✓ ") || strings.Contains(line, "[❌ ") || strings.Contains(line, "[⚠ ") || strings.Contains(line, " | ")
}
