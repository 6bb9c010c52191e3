package ledger

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"precis/summarize/shell"
	"precis/summarize/verdict"
)

// outcome is the result of a call.
type outcome struct {
	refused bool   // by the user
	end     string // as in a Run
	error   string // what a failed one reports
}

func (o outcome) failed() bool {
	return o.end == ends[verdict.Failure] || o.end == ends[verdict.Partial]
}

// ends are the names of verdicts.
var ends = map[verdict.Verdict]string{verdict.Success: "passed", verdict.Failure: "failed", verdict.Partial: "failed in part"}

// Bounds of what is kept of a run, in code points.
const (
	maxLine  = 120
	maxError = 240
)

var (
	// complaint is a line with the reason of a failure.
	complaint = regexp.MustCompile(`(?i)error|exception|fail|fatal|panic|not found|no such|denied|cannot|can't|undefined|invalid|unexpected|missing|unable|refused|timed? ?out|[✗✘×]`)
	// placed begins with a file and a line, and a message follows.
	placed = regexp.MustCompile(`^\W{0,6}(?:[\w.@-]*/)*[\w.@-]+\.\w{1,8}[:(]\d+\S*\s+\S+ \S`)
	// summing is a line of totals, or one that only repeats that something failed.
	summing = regexp.MustCompile(`(?i)^\W*(?:\d+ (?:tests? |passed|pass\b)|0 (?:errors?|fail)|(?:make|npm|error|fail(?:ed|ure)?s?|exit|script)\W*(?:$|\[?\d|err!|command|exit|script))|✓|\(pass\)`)
	// wrapper is a line that a harness puts before an output.
	wrapper = regexp.MustCompile(`^(?:Chunk ID|Wall time|Process (?:exited|running)|Original token count|Output|Total output lines|Command|Stdout|Stderr)\b[^:]{0,40}:|^Exit code:? \d+$|^Process (?:exited|running)\b|^<[\w/-]+>$|^<cwd>`)
	// escapes are terminal controls and markup that tools wrap around their output.
	escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|</?(?:tool_use_error|error|output|stdout|stderr)>")
)

// outcomeOf derives a call's outcome from its result.
func outcomeOf(m Message, kind verdict.Kind, line string) (o outcome) {
	if m.Message == nil {
		return o
	}
	text := escapes.ReplaceAllString(m.Content.Text(), "")
	if o.refused = refusedIn(text); o.refused {
		return o
	}
	found := verdict.Of(verdict.Call{Kind: kind, Command: line, IsError: m.IsError, ExitCode: m.ExitCode, Text: text})
	if o.end = ends[found.Verdict]; o.failed() {
		o.error = problem(text, found.Line)
	}
	return o
}

// maxScan bounds the part of an output that is searched, in bytes from either end.
const maxScan = 64 << 10

// problem returns the lines of a failed output that say most about the failure: a place in a file with a message, then
// what the verdict was taken from and other complaints, and else the first line.
func problem(text, decisive string) string {
	var best [3][]string
	for line := range strings.SplitSeq(text[:min(len(text), maxScan)], "\n") {
		line = oneLine(line[:min(len(line), 2000)])
		if !strings.ContainsFunc(line, unicode.IsLetter) || summing.MatchString(line) || wrapper.MatchString(line) {
			continue
		}
		class := 2
		switch {
		case placed.MatchString(line):
			class = 0
		case complaint.MatchString(line) || verdict.TellsError(line):
			class = 1
		}
		if len(best[class]) < 2 && !slices.Contains(best[class], line) {
			best[class] = append(best[class], line)
		}
	}
	if decisive = oneLine(decisive); decisive != "" && !summing.MatchString(decisive) && !wrapper.MatchString(decisive) && !slices.Contains(best[0], decisive) {
		best[1] = append(slices.DeleteFunc(best[1], func(l string) bool { return l == decisive }), decisive)
	}
	lines := slices.Concat(best[0], best[1], best[2])
	lines = lines[:min(len(lines), 2)]
	for i, l := range lines {
		lines[i] = clip(l, maxLine)
	}
	return strings.ToValidUTF8(clip(strings.Join(lines, "; "), maxError), "")
}

// kinds are the words in a command that make it a run of tests, of a linter or of a build, in this order.
var kinds = []struct {
	name  string
	words *regexp.Regexp
}{
	{"test", regexp.MustCompile(`(?:\b|_)(?:tests?|pytest|jest|vitest|mocha|rspec|phpunit|ctest|tox|spec)(?:\b|_)`)},
	{"lint", regexp.MustCompile(`\b(?:lint|\w+-lint|eslint|ruff|mypy|pyright|biome|clippy|fmt|format|prettier|typecheck|check|vet)\b`)},
	{"build", regexp.MustCompile(`\b(?:build|tsc|compile|javac|make|cmake|gradlew?|mvnw?|install)\b`)},
}

// runners are programs that run what their arguments name.
var runners = regexp.MustCompile(`^(?:go|cargo|npm|pnpm|yarn|bunx?|npx|deno|python3?|node|mvnw?|gradlew?|make|cmake|ninja|mise|just|task|tox|nox|jest|vitest|mocha|rspec|dotnet|ruff|eslint|biome|mypy|pyright|golangci-lint|tsc|javac?|ctest|swift|mix|phpunit|bundle|rake|pytest|uv|poetry|hatch|flutter|dart|rails|composer|sbt|bazel|prettier|rustc|zig|nx|turbo|\S+tests?(?:\.sh)?|tests?\.sh)$`)

// kindOf returns what a command line runs: "test", "lint", "build" or several of them joined by +; "look" if it only
// shows something; or nothing.
func kindOf(steps []shell.Step) string {
	var found []string
	for _, s := range steps {
		name, operands := s.Program()
		if !runners.MatchString(name) {
			continue
		}
		head := name
		for _, w := range operands[:min(len(operands), 4)] {
			if len(w) < 60 && !strings.ContainsAny(w, " \n(") { // no program text
				head += " " + w
			}
		}
		for _, k := range kinds {
			if k.words.MatchString(head) {
				found = append(found, k.name)
				break
			}
		}
	}
	if len(found) == 0 && looks(steps) {
		return "look"
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), "+")
}

// run records a run without its working directory, so that runs of the same command are joined.
func (c *collector) run(at uint64, line, kind string, end outcome) {
	line = changeDir.ReplaceAllString(line, "")
	head, rest, more := strings.Cut(strings.TrimSpace(line), "\n")
	head = clip(oneLine(head), maxLine)
	if more && rest != "" {
		head = strings.TrimSuffix(head, "…") + "…"
	}
	if head == "" || end.refused {
		return
	}
	r := Run{Line: head, Kind: kind, Runs: 1, End: end.end, Error: end.error, First: at, Last: at}
	switch {
	case end.failed():
		r.Failed = at
	case end.end != "":
		r.Good = at
	}
	put(&c.runs, head, r, (*Run).join)
}

var (
	// committed is how git and some agents report a commit.
	committed = regexp.MustCompile(`(?m)^\[([\w./-]+)(?: \([\w -]+\))? ([0-9a-f]{7,40})\] (\S.*)$|^Commit ([0-9a-f]{7,40}) (\S.*)$`)
	// branched is how a command makes a branch, or changes to one.
	branched = regexp.MustCompile(`\bgit (?:checkout -[bB]|switch -[cC]|worktree add (?:\S+ )?-b) +([\w./-]+)`)
)

// git records the commits and branches that a result reports.
func (c *collector) git(at uint64, line, text string) {
	for _, m := range branched.FindAllStringSubmatch(line, 4) {
		c.note(&c.branches, m[1], 0, at)
	}
	if line != "" && !strings.Contains(line, "git") || len(text) > maxScan || !strings.HasPrefix(text, "[") && !strings.Contains(text, "\n[") && !strings.Contains(text, "Commit ") {
		return
	}
	for _, m := range committed.FindAllStringSubmatch(text, 8) {
		hash, subject := m[2]+m[4], m[3]+m[5]
		if m[1] != "" && m[1] != "detached" {
			c.note(&c.branches, m[1], 0, at)
		}
		c.note(&c.commits, hash[:7]+" "+clip(oneLine(subject), 80), 0, at)
	}
}

var (
	started = regexp.MustCompile(`(?i)\b(?:running in (?:the )?background|(?:process|command|shell) (?:is )?running)\b[^\n]{0,20}?\b(?:id|session)[:= ]+(?:id[:= ]+)?([\w-]+)`)
	ended   = regexp.MustCompile(`(?i)\b(?:exited|completed|killed|terminated|stopped|finished|not found|no longer|exit code|no shell)\b`)
)

// processNames are the arguments that name a process in the background.
var processNames = []string{"bash_id", "shell_id", "task_id", "session_id", "process_id", "job_id", "pid"}

// background records a process that a command left running, and that it ended.
func (c *collector) background(m Message, args arguments, tool, text string) {
	head := text[:min(len(text), 600)]
	if strings.Contains(head, "unning") {
		if found, line := started.FindStringSubmatch(head), args.commandLine(tool); found != nil {
			if line != "" {
				c.processes[found[1]] = line
				c.task(Task{ID: processID + found[1], Title: clip(oneLine(changeDir.ReplaceAllString(line, "")), 80), Status: "running", At: m.Ordinal})
			}
			return
		}
	}
	id := args.number(processNames...)
	if id == "" || !ended.MatchString(head) {
		return
	}
	c.task(Task{ID: processID + id, Status: "done", At: m.Ordinal})
	if line := c.processes[id]; line != "" { // what it printed at last decides how it ended
		c.run(m.Ordinal, line, kindOf(shell.Steps(line)), outcomeOf(m, verdict.Run, line))
	}
}

// processID begins the id of a process among the tasks.
const processID = "process "

func (t Task) process() bool { return strings.HasPrefix(t.ID, processID) }
