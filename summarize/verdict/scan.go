package verdict

import (
	"regexp"
	"strings"

	"precis/summarize/shell"
)

// scan is a call while it is judged.
type scan struct {
	call  Call
	steps []shell.Step
	lines []string // those with content, without indentation
}

// Bounds on the lines that are read for what a runner sums up; between them only the beginnings of lines count.
const (
	headLines, tailLines = 60, 60
	nearLines            = 25 // before the end: a failure there is the last word
	mostLines            = 30000
	longestLine          = 1000 // bytes of a line that are read
)

func newScan(c Call) *scan {
	s := &scan{call: c, steps: shell.Steps(c.Command)}
	n := 0
	for line := range strings.SplitSeq(c.Text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			if n++; n > mostLines {
				break
			}
			s.lines = append(s.lines, line[:min(len(line), longestLine)])
		}
	}
	return s
}

// Programs whose output is others' text, and those that only filter it.
var (
	shows = setOf("cat head tail sed nl bat less more grep egrep fgrep rg ag ack find fd ls tree wc file stat du df which whereis awk cut sort uniq jq yq xxd od strings diff cmp " +
		"env printenv date ps history column tac rev journalctl tmux man help whoami id uname hostname hexdump md5sum sha256sum lsof pgrep netstat ss top free")
	showsVerb = map[string]map[string]bool{
		"git":       setOf("log show diff blame grep ls-files ls-tree branch remote config reflog rev-parse describe shortlog cat-file status"),
		"docker":    setOf("logs ps images inspect"),
		"kubectl":   setOf("logs get describe top explain"),
		"gh":        setOf("run pr issue api repo release search workflow"),
		"npm":       setOf("ls list view outdated explain"),
		"go":        setOf("list env doc version"),
		"systemctl": setOf("status list-units"),
	}
	silent  = setOf("cd export set source . true : echo printf sleep pwd mkdir touch rm cp mv ln chmod chown test [ [[ wait exit fi done esac unset pushd popd trap return tee kill pkill alias shopt for")
	filters = setOf("head tail grep egrep rg sed awk sort uniq wc cut tr tee less more cat jq column nl fold tac xargs")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// Shows reports whether a step only shows what others wrote: a file, a log, a diff.
func Shows(s shell.Step) bool {
	name, operands := s.Program()
	if name == "sed" {
		for _, w := range operands {
			if strings.HasPrefix(w, "-i") || w == "--in-place" {
				return false
			}
		}
	}
	return shows[name] || showsVerb[name][shell.Verb(operands)]
}

// runs reports whether the call runs a program whose own words count. A Run without a known command does.
func (s *scan) runs() bool {
	if s.call.Kind != Run || len(s.steps) == 0 {
		return s.call.Kind == Run
	}
	for _, step := range s.steps {
		name, _ := step.Program()
		switch {
		case silent[name] || name == "", Shows(step), step.Op == "|" && filters[name]:
		default:
			return true
		}
	}
	return false
}

// compares reports whether an exit code of 1 is an answer of the command, and no failure.
func (s *scan) compares() bool {
	if len(s.steps) == 0 {
		return false
	}
	name, operands := s.steps[len(s.steps)-1].Program()
	switch name {
	case "grep", "egrep", "fgrep", "rg", "ag", "ack", "diff", "cmp", "test", "[", "[[", "pgrep", "which":
		return true
	case "git":
		verb := shell.Verb(operands)
		return verb == "diff" || verb == "grep"
	}
	return false
}

// exitProves reports whether the exit code of the line is that of every program in it: no pipe into a filter, no `||`,
// no further command behind a program.
func (s *scan) exitProves() bool {
	strict, ran := false, false
	for _, step := range s.steps {
		name, operands := step.Program()
		if name == "set" {
			options := strings.Join(operands, " ")
			strict = strict || strings.Contains(options, "pipefail") || strings.HasPrefix(options, "-e") && !strings.Contains(s.call.Command, "|")
		}
		if strict {
			continue
		}
		if step.Op == "||" || step.Op == "|" || step.Op == "&" || step.Op == ";" && ran {
			return false
		}
		ran = ran || !silent[name] && !Shows(step)
	}
	return true
}

// words are what the lines of an output say about its end.
type words struct {
	bad, good string // the last failure, the last success
	soft      string // counts of errors or problems, without a word for failed
	compiler  string // the first error with a place
	last      string // an error line among the last
	badNear   bool   // a failure is among the last lines
	goodLast  bool   // a success stands behind every failure
	sum       bool   // a success is a sum of results
	troubled  bool   // a line reports an error
	tests     Tally
}

func (s *scan) words() words {
	w := words{}
	sums, at := 0, 0 // of the runner's lines, and the last of them
	n := len(s.lines)
	for i, line := range s.lines {
		edge := i < headLines || i >= n-tailLines
		bad, good, sum := false, false, false
		if edge {
			t, isTally := TallyOf(line)
			switch {
			case isTally && (t.HasPassed || t.HasFailed):
				bad, good = t.Failed+t.Errors > 0, t.Failed+t.Errors == 0 && (t.Passed > 0 || t.HasFailed)
				if runnersSum(line, t) {
					if !w.tests.join(t, i-at <= 2) {
						sums++
						w.tests = t
					}
					at = i
				}
			case isTally && t.Errors > 0:
				w.soft, bad = line, checkerSums.MatchString(line)
			case isTally:
				good = checkerSums.MatchString(line)
			}
			bad = bad || saysFailed.holds(line)
			sum = sum || good
			good = good || !bad && saysPassed.holds(line)
			if w.compiler == "" && (compilerError.MatchString(line) || i > 0 && strings.HasPrefix(s.lines[i-1], "# ") && goError.MatchString(line)) {
				w.compiler = line
			}
		} else {
			bad = saysFailed.begins(line)
		}
		switch {
		case bad:
			w.bad, w.badNear, w.goodLast = line, i >= n-nearLines, false
		case good:
			w.good, w.goodLast, w.sum = line, true, w.sum || sum
		}
		if (edge || !w.troubled) && TellsError(line) {
			w.troubled = true
			if i >= n-lastLines {
				w.last = line
			}
		}
	}
	if sums != 1 {
		w.tests = Tally{}
	}
	return w
}

// lastLines is how near the end an error line must be to be the reason of it.
const lastLines = 3

// checkerSums are the sums of compilers and linters: with a count above 0 they fail.
var checkerSums = regexp.MustCompile(`(?i)^\W*(?:found )?\d+ (?:errors?|issues?|problems?)\b|^\W*\d+ files? inspected|^\W*\d+ errors?, \d+ warnings?|^Found \d+ error|\d+ error(?:\(s\)|s)?\s*$|compiled with \d+ error`)

// runnersSum reports whether a tally is a test runner's: its counts are those of tests.
func runnersSum(line string, t Tally) bool {
	low := strings.ToLower(line)
	if strings.Contains(low, "test files") || strings.Contains(low, "suites") || strings.Contains(low, "unreachable") {
		return false
	}
	return t.HasPassed || t.HasFailed && countsTests.MatchString(low)
}

var countsTests = regexp.MustCompile(`\btests?\b|examples?,|\bruns,|^\W*\d+ fail(?:ed|ing)?\b\W*$|^\W*fail \d+$`)

// refused matches what a harness answers in place of an output.
func (s *scan) refused() bool {
	if len(s.lines) == 0 {
		return false
	}
	first := s.lines[0]
	for _, begin := range []string{"The user doesn't want to", "User rejected", "User denied", "Permission to use ", "Permission denied by user", "[Request interrupted by user",
		"Tool call was rejected", "The tool call was rejected", "Command timed out", "Error: Command timed out", "Tool execution was cancelled", "<tool_use_error>"} {
		if strings.HasPrefix(first, begin) {
			return true
		}
	}
	return false
}

// unfinished reports whether the program still runs.
func (s *scan) unfinished() bool {
	for i, line := range s.lines {
		if i < 6 && stillRuns.holds(line) {
			return true
		}
	}
	return false
}

// lookVerdict judges what was shown: an error among the first or last lines makes it partial.
func (s *scan) lookVerdict() (Verdict, string) {
	n := len(s.lines)
	if n == 0 {
		return Unknown, ""
	}
	if n == 1 && (TellsError(s.lines[0]) || strings.HasPrefix(s.lines[0], "Error")) {
		return Failure, s.lines[0]
	}
	const ends = 8
	for i, line := range s.lines {
		if (i < ends || i >= n-ends) && missing.MatchString(line) || unmerged(line) {
			return Partial, line
		}
	}
	return Success, ""
}

// missing is what cat, ls, grep and find say about a file that they can't show.
var missing = regexp.MustCompile(`^(?:\w+: )?(?:cannot (?:access|open) |\w+: )?\S.*: (?:No such file or directory|Permission denied|Is a directory)$`)

// unmerged matches what git says of a merge that waits for a person.
func unmerged(line string) bool {
	switch {
	case strings.HasPrefix(line, "both modified:"), strings.HasPrefix(line, "both added:"), strings.HasPrefix(line, "You have unmerged paths"), strings.HasPrefix(line, "Unmerged paths:"),
		strings.HasPrefix(line, "UU "), strings.HasPrefix(line, "AA "):
		return true
	}
	return false
}
