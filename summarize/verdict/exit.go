package verdict

import (
	"regexp"
	"strings"
)

// harnessExit is a line of a harness around an output. A success is believed from such a line only: any program can
// print "exit: 0".
var harnessExit = regexp.MustCompile(`^(?:Error: )?\W{0,3}(?:Exit [Cc]ode:?|exit code:|exit_code[:=]|Process exited with code|(?:The )?[Cc]ommand (?:completed|exited|finished|failed|returned) with (?:exit )?(?:code|status):?|exited with exit code|exited with code|returncode>|Return code:|<exit_code>)\s*(-?\d{1,5})\b.{0,16}$`)

// anyExit is an exit code in other words. A code above 0 is believed among the first and last lines: who would print it
// for a success.
var anyExit = regexp.MustCompile(`(?i)(?:\bexit(?:ed)?(?: with)?[ _]?(?:code|status)?[:= ]\s*|\bexit (?:code|status) |exited with (?:code|status) |returned (?:a )?non-zero (?:exit status|code):? )(-?\d{1,5})\b`)

// exit finds the exit code: the event's, else the harness's, else one above 0 that the output states at an end.
func (s *scan) exit() (o Outcome) {
	if s.call.ExitCode != nil {
		return Outcome{Exit: *s.call.ExitCode, ExitKnown: true}
	}
	if s.call.Kind == Look || s.call.Kind == Report {
		return o
	}
	const ends = 4
	echoes := strings.Contains(s.call.Command, "$?") || strings.Contains(strings.ToLower(s.call.Command), "exit")
	for i, line := range s.lines {
		if i >= ends && i < len(s.lines)-ends || len(line) > 200 || !strings.ContainsAny(line, "eER") || hasFacts(line) {
			continue
		}
		if m := harnessExit.FindStringSubmatch(line); m != nil && (!echoes || i == 0 || signed(m[1]) != 0) {
			return Outcome{Exit: signed(m[1]), ExitKnown: true}
		}
		if m := anyExit.FindStringSubmatch(line); m != nil && signed(m[1]) != 0 {
			return Outcome{Exit: signed(m[1]), ExitKnown: true}
		}
	}
	return o
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
