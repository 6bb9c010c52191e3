package ledger

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// outcome is the result of a call.
type outcome struct {
	known   bool // the span contains a result
	refused bool // by the user
	failed  bool
	error   string // what a failed one reports
}

// Bounds of what is kept of a run, in code points.
const (
	maxLine  = 120
	maxError = 240
)

var (
	// exitCode is the exit code that harnesses write at the beginning or the end of an output.
	exitCode = regexp.MustCompile(`(?i)\bexit(?:ed)?(?: with)?(?: code| status)?\W{1,3}(-?\d+)`)
	// failing begins a line that reports a failure, of any tool.
	failing = regexp.MustCompile(`^\W{0,3}(?:Traceback|panic:|fatal\b|[Ee]rror\b|ERROR\b|FAIL|--- FAIL|[A-Za-z.]*(?:Error|Exception)\b)|\b(?:error(?:\[\w+\])?:|[Ee]rror:)`)
	// complaint is a line with the reason of a failure.
	complaint = regexp.MustCompile(`(?i)error|exception|fail|fatal|panic|not found|no such|denied|cannot|can't|undefined|invalid|unexpected|missing|unable|refused|timed? ?out|[✗✘×]`)
	// placed begins with a file and a line, and a message follows.
	placed = regexp.MustCompile(`^\W{0,6}(?:[\w.@-]*/)*[\w.@-]+\.\w{1,8}[:(]\d+\S*\s+\S+ \S`)
	// summing is a line of totals, or one that only repeats that something failed.
	summing = regexp.MustCompile(`(?i)^\W*(?:\d+ (?:tests? |passed|pass\b)|0 (?:errors?|fail)|(?:make|npm|error|fail(?:ed|ure)?s?|exit|script)\W*(?:$|\[?\d|err!|command|exit|script))|✓|\(pass\)`)
	// wrapper is a line that a harness puts before an output.
	wrapper = regexp.MustCompile(`^(?:Chunk ID|Wall time|Process (?:exited|running)|Original token count|Output|Total output lines|Exit code|Command|Stdout|Stderr)\b[^:]{0,40}:`)
	// escapes are terminal controls and markup that tools wrap around their output.
	escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|</?(?:tool_use_error|system-reminder|error|output|stdout|stderr)>")
)

// outcomeOf derives a call's outcome from its result.
func outcomeOf(m Message, _ string) outcome {
	if m.Message == nil {
		return outcome{}
	}
	text := m.Content.Text()
	o := outcome{known: true, refused: refusedIn(text), failed: failed(m, text)}
	if o.failed {
		o.error = problem(text)
	}
	return o
}

func failed(m Message, text string) bool {
	if m.IsError != nil && *m.IsError {
		return true
	}
	if m.ExitCode != nil {
		return *m.ExitCode != 0
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return statedExit(text) > 0 || m.IsError == nil && failing.MatchString(first)
}

// statedExit returns the exit code in the first or last line of an output; 0 if there is none.
func statedExit(text string) int {
	text = strings.TrimSpace(text)
	first, _, _ := strings.Cut(text, "\n")
	for _, line := range []string{first, text[strings.LastIndexByte(text, '\n')+1:]} {
		if m := exitCode.FindStringSubmatch(line); m != nil && len(line) <= 80 {
			n, _ := strconv.Atoi(m[1])
			return n
		}
	}
	return 0
}

// maxScan bounds the part of an output that is searched, in bytes from either end.
const maxScan = 64 << 10

// problem returns the lines of a failed output that say most about the failure: a place in a file with a message, then
// other complaints, and else the first line.
func problem(text string) string {
	var best [3][]string
	for line := range strings.SplitSeq(text[:min(len(text), maxScan)], "\n") {
		line = oneLine(escapes.ReplaceAllString(line[:min(len(line), 2000)], ""))
		if line == "" || summing.MatchString(line) || wrapper.MatchString(line) || exitCode.MatchString(line) && len(line) < 40 {
			continue
		}
		class := 2
		switch {
		case placed.MatchString(line):
			class = 0
		case complaint.MatchString(line):
			class = 1
		}
		if len(best[class]) < 2 {
			best[class] = append(best[class], clip(line, maxLine))
		}
	}
	lines := slices.Concat(best[0], best[1], best[2])
	return strings.ToValidUTF8(clip(strings.Join(lines[:min(len(lines), 2)], "; "), maxError), "")
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
var runners = regexp.MustCompile(`^(?:\S*/)?(?:go|cargo|npm|pnpm|yarn|bunx?|npx|deno|python3?|node|mvnw?|gradlew?|make|cmake|ninja|mise|just|task|tox|nox|jest|vitest|mocha|rspec|dotnet|ruff|eslint|biome|mypy|pyright|golangci-lint|tsc|javac?|ctest|swift|mix|phpunit|bundle|rake|pytest|uv|poetry|hatch|flutter|dart|rails|composer|sbt|bazel|prettier|rustc|zig|nx|turbo|\S*tests?(?:\.sh)?)$`)

// kindOf returns what a command line runs: "test", "lint", "build", or nothing.
func kindOf(line string) string {
	for _, words := range simpleCommands(line) {
		for len(words) > 1 && (strings.Contains(words[0], "=") || words[0] == "time" || words[0] == "env" || words[0] == "sudo" || words[0] == "timeout") {
			if words[0] == "timeout" {
				words = words[1:]
			}
			words = words[1:]
		}
		if len(words) == 0 || !runners.MatchString(words[0]) {
			continue
		}
		head := strings.Join(words[:min(len(words), 5)], " ")
		for _, k := range kinds {
			if k.words.MatchString(head) {
				return k.name
			}
		}
	}
	return ""
}

// run records a run without its working directory, so that runs of the same command are joined.
func (c *collector) run(at uint64, line string, end outcome) {
	line = changeDir.ReplaceAllString(line, "")
	head, rest, more := strings.Cut(strings.TrimSpace(line), "\n")
	head = clip(oneLine(head), maxLine)
	if more && rest != "" {
		head = strings.TrimSuffix(head, "…") + "…"
	}
	if head == "" || end.refused {
		return
	}
	r := Run{Line: head, Kind: kindOf(line), Runs: 1, Bad: end.failed, Open: !end.known, Error: end.error, First: at, Last: at}
	switch {
	case end.failed:
		r.Failed = at
	case end.known:
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
func (c *collector) background(at uint64, args arguments, tool, text string) {
	head := text[:min(len(text), 600)]
	var m []string
	if strings.Contains(head, "unning") {
		m = started.FindStringSubmatch(head)
	}
	if m != nil {
		if line := args.commandLine(tool); line != "" {
			c.task(Task{ID: processID + m[1], Title: clip(oneLine(changeDir.ReplaceAllString(line, "")), 80), Status: "running", At: at})
		}
		return
	}
	if id := args.number(processNames...); id != "" && ended.MatchString(head) {
		c.task(Task{ID: processID + id, Status: "done", At: at})
	}
}

// processID begins the id of a process among the tasks.
const processID = "process "

func (t Task) process() bool { return strings.HasPrefix(t.ID, processID) }
