package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"precis/summarize/lex"
	"precis/summarize/shell"
	"precis/summarize/verdict"
)

// outcome is the result of a call.
type outcome struct {
	refused bool   // by the user
	end     string // as in a Run
	error   string // what a failed one reports
	digest  uint64 // of the result; 0: none
	clean   bool   // the end is unknown, and the output tells no error
	absent  bool   // what was to be read does not exist
	created bool   // an editor says that the file is a new one
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
	// summing is a line of totals, or one that only repeats that something failed, or tells of a test that did not.
	summing = regexp.MustCompile(`(?i)^\W*(?:(?:ran )?\d+ (?:tests? |passed|failed|(?:pass|fail)\b)|0 (?:errors?|fail)|(?:make|npm|error|fail(?:ed|ure)?s?|exit|script)\W*(?:$|\[?\d|err!|command|exit|script|task failed))|✓|\(pass\)|^[.FEsxX]{1,200}(?: +\[ *\d+%\])?$|^(?:=== (?:RUN|PAUSE|CONT|NAME)|\s*--- (?:PASS|SKIP)|ok\s|PASS\b)`)
	// failingTest is how runners mark a test that failed.
	failingTest = regexp.MustCompile(`^(?:--- FAIL: |FAILED \S+::|\(fail\) |[✗✘✕×] \S|not ok \d|● \S|(?:FAIL|ERROR): \w+ \(|\[ERROR\] +\w+\.\w+:\d+ \S|\w[\w.$]* > .+ FAILED$|test \S+ \.\.\. FAILED)`)
	// numberedTest is how others list them below a heading.
	numberedTest = regexp.MustCompile(`^\d+\) \w+ \S`)
	// taskPrefix is what task runners put before each line of a task.
	taskPrefix = regexp.MustCompile(`^\[[a-z][\w:.-]*\] `)
	taskLines  = regexp.MustCompile(`(?m)` + taskPrefix.String())
	// wrapper is a line that a harness puts before an output.
	wrapper = regexp.MustCompile(`^(?:Chunk ID|Wall time|Process (?:exited|running)|Original token count|Output|Total output lines|Command|Stdout|Stderr)\b[^:]{0,40}:|^Exit code:? \d+$|^Process (?:exited|running)\b|^<[\w/-]+>$|^<cwd>|^npm (?:error|ERR!) A complete log|^npm notice|^(?:Error|Signal|Background PIDs): \(none\)$|^(?:Directory|Exit Code|Process Group PGID): \S+$`)
	// labelled is what a harness puts in front of the first line of an output.
	labelled = regexp.MustCompile(`^(?:Output|Stdout|Stderr): `)
	// escapes are terminal controls and markup that tools wrap around their output.
	escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|</?(?:tool_use_error|error|output|stdout|stderr)>")
)

// outcomeOf derives a call's outcome from its result.
func outcomeOf(m Message, kind verdict.Kind, line string) (o outcome) {
	if m.Message == nil {
		return o
	}
	text := escapes.ReplaceAllString(m.Content.Text(), "")
	if o.refused = refusedIn(text); o.refused || kind == verdict.Run && (stopped(text) || started.MatchString(text[:min(len(text), 600)])) {
		return o
	}
	call := verdict.Call{Kind: kind, Command: line, IsError: m.IsError, ExitCode: m.ExitCode, Text: text}
	found := verdict.Of(call)
	if kind == verdict.Run && found.Verdict == verdict.Unknown && taskLines.MatchString(text) { // "[lint:go] 0 issues."
		call.Text = taskLines.ReplaceAllString(text, "")
		found = verdict.Of(call)
	}
	if found.Verdict == verdict.Partial && lex.CutStamp(found.Line) != found.Line { // a line of a log beside an end that was good: tests of failures print such
		if m.IsError == nil || !endsWell.MatchString(text) {
			return o
		}
		found = verdict.Outcome{Verdict: verdict.Success}
	}
	silent := false
	if kind == verdict.Run {
		found, silent = looked(found, line, text)
		if found.Verdict == verdict.Success && noTests(text) || found.Verdict == verdict.Failure && strings.Contains(line, "git commit") && nothingToDo.MatchString(text) && !ofGit.MatchString(text) {
			return o
		}
	}
	if o.end = ends[found.Verdict]; o.failed() {
		o.error = problem(text, found.Line)
		if o.error == "" && kind == verdict.Run && found.ExitKnown {
			o.error = exitOf(found.Exit, line, text)
		}
	}
	o.absent = kind == verdict.Look && absent.MatchString(text[:min(len(text), 400)])
	o.created = kind == verdict.Edit && madeNew.MatchString(text[:min(len(text), 200)])
	o.clean = o.end == "" && (silent || strings.TrimSpace(text) != "" && !complaint.MatchString(head(text, maxScan)))
	return o
}

// misused begins how programs say that they were called with what they do not know.
var misused = regexp.MustCompile(`(?i)^(?:(?:unknown|unrecogni[sz]ed|unsupported)\b|usage:)`)

// exitOf tells of a run that failed without a word about it how it ended. A 1 of a command that prints nothing is an answer.
func exitOf(code int, line, text string) string {
	lines := outputOf(text, nil)
	switch {
	case code == 0, code == 1 && kindOf(shell.Steps(line)) == "" && len(lines) == 0:
		return ""
	case len(lines) > 0 && misused.MatchString(lines[0]):
		return lex.Clip(oneLine(lines[0]), maxLine)
	case code == 124:
		return "timed out (exit 124)"
	}
	return fmt.Sprintf("exit %d", code)
}

// endsWell is the last line of tests that passed.
var endsWell = regexp.MustCompile(`(?:^|\n)(?:ok\s+\S+\s+[\d.]+s|PASS|test result: ok\b[^\n]*|=* ?\d+ passed in [^\n]*)\s*$`)

// absent begins what tools say of a path that does not exist.
var absent = regexp.MustCompile(`(?i)\A\W*(?:error\b\W*)?(?:(?:(?:the|this) )?(?:specified |requested |given )?(?:path|file|directory|folder)\b[^\n]{0,260}?\b(?:does not exist|doesn['’]t exist|(?:was |is )?not found|could not be found)\b[^\n]{0,200}\s*\z|(?:ENOENT|no such file or directory)\b)`)

// madeNew is how editors say that a file did not exist before.
var madeNew = regexp.MustCompile(`(?i)\bfile created\b|\bcreated (?:successfully|new file|and wrote|a new file)|\bnew file\b`)

// stopped reports whether a harness says that the run was ended before it came to a result.
func stopped(text string) bool {
	const longest = 160
	first, last := "", ""
	for l := range strings.SplitSeq(text[:min(len(text), 2*longest)], "\n") {
		if l = strings.TrimSpace(l); l != "" && !exitLine.MatchString(l) {
			first = l
			break
		}
	}
	for _, l := range slices.Backward(strings.Split(text[max(0, len(text)-4*longest):], "\n")) {
		if l = strings.TrimSpace(l); l != "" && !wrapper.MatchString(l) {
			last = l
			break
		}
	}
	return len(first) < longest && interrupted.MatchString(first) || len(last) < longest && interrupted.MatchString(last)
}

// exitLine is a harness's own first line.
var exitLine = regexp.MustCompile(`(?i)^exit code:? \d+$`)

// nothingToDo is how git says at the end that a commit would be empty: nothing failed.
var nothingToDo = regexp.MustCompile(`(?:^|\n)(?:nothing to commit|nothing added to commit|no changes added to commit)[^\n]*\s*$`)

// nothingMade is how git says so anywhere, also in front of what the line prints next.
var nothingMade = regexp.MustCompile(`(?m)^(?:nothing to commit|nothing added to commit|no changes added to commit)`)

var (
	// noneRan is how runners say that they found no test to run, and someRan how they count tests that passed.
	noneRan = regexp.MustCompile(`(?m)\[no tests to run\]$|^=* ?no tests (?:ran|found|collected)|^No tests? (?:files? )?(?:found|were executed|matched)|^(?:ran|running) 0 tests\b|^\s*0 passing\b|\b0 tests? (?:found|collected|executed)`)
	someRan = regexp.MustCompile(`(?mi)^(?:--- PASS|ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?:\s+coverage.*)?$)|[1-9]\d* (?:tests? )?(?:passed|passing|pass\b|succeeded)|^(?:ran |tests run: )[1-9]`)
)

// noTests reports whether a run of tests that went well had none to run.
func noTests(text string) bool {
	text = head(text, maxScan)
	return noneRan.MatchString(text) && !someRan.MatchString(text)
}

// quiet are programs that print nothing if they find nothing wrong.
var quiet = regexp.MustCompile(`(?:^|[;&]\s*|\b(?:npx|bunx|yarn|pnpm exec)\s+)(?:tsc|tsgo|go (?:build|vet)|go test(?: -[\w=./,]+)* -c\b|gofmt|javac|rustc|gcc|g\+\+|clang|eslint|pyflakes|flake8|shellcheck)\b[^|;&]*2>&1\s*\|\s*(?:head|tail|cat)\b[^|;&]*$`)

// search is the end of a line that shows only what it finds of errors in the output of a run.
type search struct {
	counts bool     // how many
	both   bool     // what it seeks may be of a success as well
	echoes []string // what the line prints itself behind it
}

var (
	ofErrors  = regexp.MustCompile(`(?i)error|fail|panic|\bTS\d|warning`)
	ofSuccess = regexp.MustCompile(`(?i)\b(?:ok|pass(?:ed|ing)?|success\w*|pass|done|built|finished|warning|tests?)\b`)
)

// searchOf reads what a line seeks in the output of its last run.
func searchOf(line string) (s search, ok bool) {
	if !strings.Contains(line, "|") || !strings.Contains(line, "grep") && !strings.Contains(line, "rg ") {
		return s, false
	}
	steps := shell.Steps(line)
	for len(steps) > 0 {
		name, operands := steps[len(steps)-1].Program()
		if op := steps[len(steps)-1].Op; op == "|" || op == "" || name != "echo" && name != "true" {
			break
		}
		s.echoes = append(s.echoes, strings.Join(operands, " "))
		steps = steps[:len(steps)-1]
	}
	at := len(steps) - 1
	for ; at > 0 && steps[at].Op == "|"; at-- {
		name, operands := steps[at].Program()
		switch name {
		case "head", "tail", "cat", "sort", "uniq":
			continue
		case "wc":
			s.counts = true
			continue
		case "grep", "egrep", "rg":
		default:
			return s, false
		}
		pattern := ""
		for _, w := range operands {
			if short := strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--"); short && strings.ContainsAny(w, "vqL") || w == "--invert-match" || w == "--quiet" {
				return s, false
			} else if short && strings.Contains(w, "c") || w == "--count" {
				s.counts = true
			}
			if pattern == "" && !strings.HasPrefix(w, "-") {
				pattern = w
			}
		}
		s.both = ofSuccess.MatchString(pattern)
		kind := kindOf(steps[at-1 : at])
		return s, ofErrors.MatchString(pattern) && kind != "look" && (kind != "" || strings.Contains(line, "2>&1"))
	}
	return s, false
}

// looked corrects the outcome of a run of which the line shows only the errors, or which prints nothing if there are none. That a search
// found none proves nothing: the run may have ended before there was any, or may word its errors in another way. It is silent.
func looked(found verdict.Outcome, line, text string) (outcome verdict.Outcome, silent bool) {
	s, sought := searchOf(line)
	if !sought {
		if found.Verdict == verdict.Unknown && saidNothing(line, text) {
			found.Verdict = verdict.Success
		}
		return found, false
	}
	lines := outputOf(text, s.echoes)
	exit, told := 0, false
	for l := range strings.SplitSeq(text[:min(len(text), 400)], "\n") {
		if l = strings.TrimSpace(l); exitLine.MatchString(l) {
			exit, told = lex.Atoi(l[strings.LastIndexByte(l, ' ')+1:]), true
		}
	}
	none := len(lines) == 0 || s.counts && len(lines) == 1 && lines[0] == "0"
	tells := slices.ContainsFunc(lines, func(l string) bool {
		return !verdict.NamesPassed(l) && !summing.MatchString(l) && (verdict.TellsError(l) || placed.MatchString(l) && !strings.Contains(strings.ToLower(l), "warn"))
	})
	switch {
	case none && found.Verdict != verdict.Success && found.Verdict != verdict.Partial && (found.Verdict == verdict.Unknown || !told || exit == 1) && !strings.Contains(line, "pipefail"):
		return verdict.Outcome{}, !s.both // the exit is grep's own answer
	case s.counts && len(lines) == 1 && strings.Trim(lines[0], "0123456789") == "" && !s.both:
		found = verdict.Outcome{Verdict: verdict.Failure}
	case tells && found.Verdict == verdict.Unknown:
		found.Verdict = verdict.Failure
	}
	return found, false
}

// saidNothing reports whether a line runs a program that prints nothing if it finds nothing wrong, by itself or by a script that is
// named in the output, and nothing else was printed.
func saidNothing(line, text string) bool {
	lines := outputOf(text, nil)
	if len(lines) == 0 {
		return quiet.MatchString(changeDir.ReplaceAllString(line, ""))
	}
	last := lines[len(lines)-1]
	echoes := func(l string) bool { return verdict.EchoesCommand(l) || l == last && strings.HasPrefix(l, "> ") }
	return !slices.ContainsFunc(lines, func(l string) bool { return !echoes(l) }) && quietEcho.MatchString(last)
}

// quietEcho is such a program as a runner of scripts prints it.
var quietEcho = regexp.MustCompile(`^(?:> |\$ )(?:tsc|tsgo|go (?:build|vet)|javac|rustc|eslint|pyflakes|flake8|shellcheck)\b[^|;&]*$`)

// outputOf returns the lines of an output, without a harness's and those that the command line echoes.
func outputOf(text string, echoes []string) (lines []string) {
	for l := range strings.SplitSeq(head(text, maxScan), "\n") {
		if l = strings.TrimSpace(l); l != "" && !wrapper.MatchString(l) && !noOutput.MatchString(l) && !slices.Contains(echoes, l) {
			lines = append(lines, l)
		}
	}
	return lines
}

// noOutput is what harnesses put in place of an empty output.
var noOutput = regexp.MustCompile(`(?i)^\W*(?:no output|empty|(?:tool|command|bash) (?:ran|completed|executed)[^\n]{0,60}(?:no|without(?: any)?) output)\W*[^\n]{0,20}$`)

// maxScan bounds the part of an output that is searched, in bytes from either end.
const maxScan = 64 << 10

// told is a line of an output, without colours and prefixes.
type told struct {
	text  string
	inner bool // it is set in
	class int  // 0: a place and its message; 1: tells an error; 2: mentions one; 3: anything else
}

// problem returns the lines of a failed output that say most about the failure: the first test that failed and why, or else
// places in files with their messages, what the verdict was taken from, other complaints, the first line.
func problem(text, decisive string) string {
	var lines []told
	failing, named, file := -1, false, ""
	numbers := strings.Contains(text, "Failures:\n") || strings.Contains(text, " failing\n")
	for raw := range strings.SplitSeq(text[:min(len(text), maxScan)], "\n") {
		line := said(raw)
		if named && strings.HasPrefix(raw, "> ") {
			line = "" // the command of the script that is named above it
		}
		named = verdict.EchoesCommand(strings.TrimSpace(raw))
		if m := ruledFile.FindStringSubmatch(raw); m != nil {
			file = m[1]
		} else if file != "" && strings.HasPrefix(line, "×") {
			line, file = file+": "+line, ""
		}
		if line == "" {
			continue
		}
		if failing < 0 && (failingTest.MatchString(line) || numbers && numberedTest.MatchString(line)) {
			failing = len(lines)
		}
		class := 3
		switch {
		case placed.MatchString(line):
			class = 0
		case verdict.TellsError(line):
			class = 1
		case complaint.MatchString(line):
			class = 2
		}
		lines = append(lines, told{line, strings.HasPrefix(raw, " ") || strings.HasPrefix(raw, "\t"), class})
	}
	var best []string
	add := func(line string) {
		same := func(b string) bool { // a line, and what is left of it where it was cut
			b = strings.TrimSuffix(b, "…")
			return strings.HasPrefix(line, b) || strings.HasPrefix(b, line)
		}
		if line != "" && len(best) < 2 && !slices.ContainsFunc(best, same) {
			best = append(best, lex.Clip(line, maxLine))
		}
	}
	if failing >= 0 {
		add(lines[failing].text)
		add(whyFailed(lines, failing))
	}
	for class := range 4 {
		if line := said(decisive); class == 1 && (complaint.MatchString(line) || verdict.TellsError(line)) {
			add(line)
		}
		if class == 3 && len(lines) > 3 {
			break // one of many lines says nothing
		}
		for _, l := range lines {
			if l.class == class {
				add(l.text)
			}
		}
	}
	return strings.ToValidUTF8(lex.Clip(strings.Join(best, "; "), maxError), "")
}

// ruledFile is a file with a rule behind it, as linters put it above what they find there.
var ruledFile = regexp.MustCompile(`^\s*((?:[\w.@-]*/)*[\w.@-]+\.\w{1,8})(?::\d+)*(?: [\w/]+)? [━─]{3,}`)

// leaders lead from a name to its result.
var leaders = regexp.MustCompile(`\.{6,}`)

// said returns what a line of an output says, or nothing if it says nothing of its own.
func said(raw string) string {
	line := taskPrefix.ReplaceAllString(oneLine(labelled.ReplaceAllString(raw[:min(len(raw), 2000)], "")), "")
	if verdict.EchoesCommand(line) {
		return ""
	}
	line = leaders.ReplaceAllString(line, "…")
	if !strings.ContainsFunc(line, unicode.IsLetter) || summing.MatchString(line) || wrapper.MatchString(line) {
		return ""
	}
	return line
}

// whyFailed returns the line that says why a test failed: set in below its name, or the last one above it, or else the first
// one below.
func whyFailed(lines []told, at int) string {
	const above, below = 40, 12
	tells := func(l told) bool { return l.class < 2 && !failingTest.MatchString(l.text) }
	if at+1 < len(lines) && lines[at+1].inner && tells(lines[at+1]) {
		return lines[at+1].text
	}
	for i := at - 1; i >= max(0, at-above); i-- {
		if tells(lines[i]) {
			return lines[i].text
		}
	}
	for _, l := range lines[at+1 : min(len(lines), at+1+below)] {
		if tells(l) {
			return l.text
		}
	}
	return ""
}

// kinds are the words in a command that make it a run of tests, of a linter or of a build, in this order.
var kinds = []struct {
	name   string
	words  *regexp.Regexp // in a command
	claims *regexp.Regexp // in what the assistant says of it
}{
	{"test", regexp.MustCompile(`(?:\b|_)(?:tests?|pytest|unittest|doctest|jest|vitest|mocha|rspec|phpunit|ctest|tox|spec)(?:\b|_)`), regexp.MustCompile(`(?i)\b(?:tests?|suites?|specs?)\b`)},
	{"lint", regexp.MustCompile(`\b(?:lint|\w+-lint|eslint|ruff|mypy|pyright|biome|clippy|fmt|format|prettier|typecheck|check|vet)\b`), regexp.MustCompile(`(?i)\b(?:\w*lint\w*|types?|typecheck|ruff|mypy|clippy|biome)\b`)},
	{"build", regexp.MustCompile(`\b(?:build|tsc|tsgo|compile|javac|make|cmake|gradlew?|mvnw?)\b|^(?:go|cargo) install\b`), regexp.MustCompile(`(?i)\b(?:build\w*|compil\w+|code|project|types?)\b`)},
}

// linter is a program that lints, whatever its operands are called.
var linter = regexp.MustCompile(`lint|^(?:ruff|mypy|pyright|biome|prettier)$`)

// runners are programs that run what their arguments name.
var runners = regexp.MustCompile(`^(?:go|cargo|npm|pnpm|yarn|bunx?|npx|deno|python3?|node|mvnw?|gradlew?|make|cmake|ninja|mise|just|task|tox|nox|jest|vitest|mocha|rspec|dotnet|ruff|eslint|biome|mypy|pyright|golangci-lint|tsc|tsgo|javac?|ctest|swift|mix|phpunit|bundle|rake|pytest|uv|poetry|hatch|flutter|dart|rails|composer|sbt|bazel|prettier|rustc|zig|nx|turbo|\S+tests?(?:\.sh)?|tests?\.sh)$`)

// kindOf returns what a command line runs: "test", "lint", "build" or several of them joined by +; "look" if it only
// shows something; or nothing.
func kindOf(steps []shell.Step) string {
	var found []string
	for _, s := range steps {
		name, operands := within(s.Program())
		if !runners.MatchString(name) {
			continue
		}
		head := name
		for _, w := range operands[:min(len(operands), 4)] {
			if len(w) < 60 && !strings.ContainsAny(w, " \n(") { // no program text
				head += " " + w
			}
		}
		if formats(name, operands) {
			continue
		}
		own := name
		if strings.HasPrefix(name, "make") || strings.HasPrefix(name, "cmake") || strings.HasPrefix(name, "gradle") || strings.HasPrefix(name, "mvn") {
			own = "" // what they build says more
		}
		verb := shell.Verb(operands)
		if pathLike(verb) || len(verb) >= 60 || strings.ContainsAny(verb, " \n(") {
			verb = "" // a path or the text of a program may name anything
		}
		for _, words := range []string{own, verb, head} {
			if kind := wordsOf(words, name); kind != "" {
				found = append(found, kind)
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

// around are programs that run another one elsewhere: in a container, on a host, in an environment.
var around = setOf("docker docker-compose podman kubectl ssh nix nix-shell direnv devbox dotenv doppler conda coverage")

// within returns the program that runs in a container or the like, if the operands name one that is known, or else the one around it.
func within(name string, operands []string) (string, []string) {
	if !around[name] {
		return name, operands
	}
	for i, w := range operands[:min(len(operands), 12)] {
		if i > 0 && runners.MatchString(w) && !strings.HasPrefix(w, "-") && !(w == "run" || w == "test" || w == "task") {
			return w, operands[i+1:]
		}
	}
	return name, operands
}

// wordsOf returns the kind that words of a command tell, of a program that may be a linter.
func wordsOf(words, name string) string {
	for _, k := range kinds {
		if k.words.MatchString(words) && (k.name == "lint" || !linter.MatchString(name)) {
			return k.name
		}
	}
	return ""
}

// formats reports whether a program rewrites files as they should look: that it did says nothing of what a linter finds.
func formats(name string, operands []string) bool {
	named := name == "prettier" || name == "black" || name == "gofmt"
	for _, w := range operands {
		switch {
		case strings.HasPrefix(w, "--check") || w == "-c" || w == "-l" || w == "--list-different" || w == "--diff" || w == "-d" || w == "--dry-run" || w == "lint" || w == "check":
			return false
		case w == "fmt" || w == "format" || strings.HasPrefix(w, "format:") || strings.HasPrefix(w, "fmt:") || w == "prettier":
			named = !strings.Contains(w, "check")
		}
	}
	return named
}

// cutters shorten the output of a pipeline.
var cutters = setOf("tail head grep egrep rg cat tee sed awk sort uniq wc")

// uncut returns a line without what cuts the output of its last pipeline short, and without what it only prints behind it.
func uncut(line string) string {
	pipes, quote, depth := []int(nil), byte(0), 0
	ends := 0 // of what stands before the last command that only prints
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth > 0:
		case c == '|' && strings.HasPrefix(line[i:], "||") || c == '&' && strings.HasPrefix(line[i:], "&&") || c == ';':
			rest := strings.TrimLeft(line[i:], "|&; ")
			if word, _, _ := strings.Cut(rest, " "); i > 0 && (word == "echo" || word == "true" || word == "printf") {
				if ends == 0 {
					ends = i
				}
			} else {
				pipes, ends = nil, 0
			}
			i += len(line[i:]) - len(strings.TrimLeft(line[i:], "|&;")) - 1
		case c == '|' && ends == 0:
			pipes = append(pipes, i)
		}
	}
	if ends > 0 {
		line = line[:ends]
	}
	for i := len(pipes) - 1; i >= 0; i-- {
		if words := strings.Fields(line[pipes[i]+1:]); len(words) == 0 || !cutters[words[0]] {
			break
		}
		line = line[:pipes[i]]
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "2>&1"))
}

// remarks are the comments above a command.
var remarks = regexp.MustCompile(`^(?:#[^\n]*\n\s*)+`)

// run records a run apart from its working directory and without what shortens its output, so that runs of the same command in the
// same directory are joined. That a command which is no run of tests, linter or build failed in part is a guess from its words.
func (c *collector) run(at uint64, line, dir, kind string, end outcome) {
	line = changeDir.ReplaceAllString(line, "")
	head, rest, more := strings.Cut(remarks.ReplaceAllString(strings.TrimSpace(line), ""), "\n")
	if short := uncut(head); short != "" && kind != "look" && kind != "call" {
		head = short
	}
	if head = oneLine(head); kind == "" {
		head = shortened(head, maxLine)
	}
	head = strings.ToValidUTF8(lex.Clip(head, maxLine), "")
	if more && rest != "" {
		head = strings.TrimSuffix(head, "…") + "…"
	}
	if head == "" || end.refused {
		return
	}
	r := Run{Line: head, Dir: dir, Kind: kind, Runs: 1, End: end.end, Error: end.error, First: at, Last: at, Result: end.digest, Same: 1}
	if r.other() && end.end == ends[verdict.Partial] {
		r.End, r.Error = "", ""
	}
	switch r.End {
	case "":
		if end.clean {
			r.Clean = at
		}
	case ends[verdict.Success]:
		r.Good, r.Ended = at, at
	default:
		r.Failed, r.Ended = at, at
	}
	put(&c.runs, r.name(), r, (*Run).join)
}

// name tells runs apart.
func (r *Run) name() string { return r.Line + "\n" + r.Dir }

// interrupted is how harnesses report a run that was ended before it came to a result.
var interrupted = regexp.MustCompile(`(?i)\b(?:command|run|operation|request|execution|process|tool call) (?:was |has been )?(?:aborted|interrupted|cancelled|canceled)\b|\b(?:aborted|interrupted|cancelled|canceled) by (?:the )?user\b`)

// other reports whether a run is neither one of tests, of a linter or of a build nor only a look.
func (r Run) other() bool { return r.Kind == "" || r.Kind == "call" }

var (
	// committed is how git and some agents report a commit.
	committed = regexp.MustCompile(`(?m)^\[([\w./-]+)(?: \([\w -]+\))? ([0-9a-f]{7,40})\] (\S.*)$|^Commit ([0-9a-f]{7,40}) (\S.*)$`)
	// scratch is how git reports a repository in a directory for temporary files, made to try something.
	scratch = regexp.MustCompile(`(?m)^Initialized empty Git repository in /(?:private/)?(?:tmp|var/folders)/`)
	// pushed is how git reports a branch that it pushed; opened is how tools report a pull request.
	pushed = regexp.MustCompile(`(?m)^ *[*+ ] +(?:[0-9a-f]{7,}\.\.\.?([0-9a-f]{7,})|\[new branch\]) +\S+ -> (\S+)`)
	// gone is how git reports that a push deleted a branch on a remote, or that a branch was deleted here.
	gone   = regexp.MustCompile(`(?m)^ *- +\[deleted\] +(\S+)$|^Deleted branch (\S+) \(was ([0-9a-f]{7,40})\)`)
	opened = regexp.MustCompile(`(?m)^(https?://\S+/(?:pull|merge_requests)/\d+)\s*$`)
	// branched is how a command makes a branch, or changes to one.
	branched = regexp.MustCompile(`\bgit (?:checkout -[bB]|switch -[cC]|worktree add (?:\S+ )?-b) +([\w./-]+)`)
)

// ofGit is what git itself reports of an operation that stopped.
var ofGit = regexp.MustCompile(`(?i)local changes (?:to the following files )?would be overwritten|could not apply|CONFLICT \(|[Nn]ot possible to fast-forward|cannot (?:rebase|pull|merge)|fix conflicts|merge failed|unmerged|not fully merged|no stash entries`)

// git records the commits and branches that a result reports; of a line that failed, those before what did.
func (c *collector) git(at uint64, line, text string, failed bool) {
	if !failed {
		c.quietCommit(at, line, text)
		for _, m := range branched.FindAllStringSubmatch(line, 4) {
			c.note(&c.branches, m[1], 0, at)
		}
	}
	if line != "" && !strings.Contains(line, "git") && !strings.Contains(line, "gh ") && !strings.Contains(line, "glab ") || len(text) > maxScan {
		return
	}
	if line != "" {
		c.onBranch(at, line, text)
	}
	if strings.Contains(line, "git push") {
		for _, m := range pushed.FindAllStringSubmatch(text, 4) {
			text := "pushed " + m[2]
			if m[1] != "" {
				text += " (" + m[1][:7] + ")"
			}
			c.note(&c.commits, text, 0, at)
		}
	}
	for _, m := range gone.FindAllStringSubmatch(text, 4) {
		switch {
		case m[2] != "" && strings.Contains(line, "git branch"):
			c.note(&c.events, m[2]+" (local, was "+m[3][:7]+")", removed, at)
		case m[1] != "" && strings.Contains(line, "git push"):
			c.note(&c.events, m[1]+" on the remote", removed, at)
		}
	}
	if m := opened.FindStringSubmatch(text); m != nil && (strings.Contains(line, "pr create") || strings.Contains(line, "mr create")) {
		text := "opened " + m[1]
		if drafts.MatchString(line) {
			text += asDraft
		}
		c.note(&c.commits, text, 0, at)
	}
	if m := madeReady.FindStringSubmatch(line); !failed && m != nil && !strings.Contains(line, "--undo") {
		c.note(&c.events, strings.TrimSpace("gh pr ready "+m[1]), ready, at)
	}
	if !strings.HasPrefix(text, "[") && !strings.Contains(text, "\n[") && !strings.Contains(text, "Commit ") {
		return
	}
	if scratch.MatchString(text) {
		return
	}
	for _, m := range committed.FindAllStringSubmatch(text, 8) {
		hash, subject := m[2]+m[4], m[3]+m[5]
		if m[1] != "" && m[1] != "detached" {
			c.note(&c.branches, m[1], 0, at)
		}
		c.note(&c.commits, hash[:7]+" "+lex.Clip(oneLine(subject), 80), 0, at)
	}
	c.ends(at, text)
}

// drafts is in a command that opens a pull request as a draft; madeReady in one that makes one ready, with its number where it is named.
var (
	drafts    = regexp.MustCompile(`--draft(?:=true)?(?:\s|$)`)
	madeReady = regexp.MustCompile(`\bgh pr ready\b(?:\s+(?:https?://\S+/)?(\d+))?`)
)

// asDraft stands behind a pull request that was opened as one.
const asDraft = " (draft)"

// logged is a commit in the output of git log --oneline.
var logged = regexp.MustCompile(`(?m)^([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(\S.*)$`)

// quietCommit records a commit that git doesn't report, by the log that the same line shows, or by its message.
func (c *collector) quietCommit(at uint64, line, text string) {
	if !strings.Contains(line, "commit") || len(text) > maxScan || committed.MatchString(text) || scratch.MatchString(text) || nothingMade.MatchString(text) {
		return
	}
	made, quiet, subject := false, false, ""
	for _, s := range shell.Steps(line) {
		name, rest := s.Program()
		verb, args := shell.CutVerb(rest)
		switch {
		case name != "git":
		case verb == "commit":
			made, subject = !slices.Contains(args, "--dry-run"), ""
			for i, w := range args {
				short := strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--")
				quiet = quiet || w == "--quiet" || short && strings.Contains(w, "q")
				if (w == "--message" || short && strings.HasSuffix(w, "m")) && i+1 < len(args) && subject == "" {
					subject, _, _ = strings.Cut(args[i+1], "\n")
				}
			}
		case verb == "log" && made && slices.Contains(args, "--oneline"):
			if m := logged.FindStringSubmatch(text); m != nil {
				c.note(&c.commits, m[1][:7]+" "+lex.Clip(oneLine(m[2]), 80), 0, at)
				return
			}
		}
	}
	if made && quiet && subject != "" && !strings.ContainsAny(subject, "$`") {
		c.note(&c.commits, "“"+lex.Clip(oneLine(subject), 80)+"”", 0, at) // its hash is not shown
	}
}

var (
	started = regexp.MustCompile(`(?i)\b(?:running in (?:the )?background|moved to (?:the )?background|(?:process|command|shell) (?:is )?running)\b[^\n]{0,20}?\s{0,3}[^\n]{0,20}?\b(?:id|session)[:= ]+(?:id[:= ]+)?([\w-]+)`)
	ended   = regexp.MustCompile(`(?i)\b(?:exited|completed|killed|terminated|stopped|finished|not found|no longer|exit code|no shell)\b|\bstatus\b\W{1,3}(?:failed|error)\b`)
	// killing is the name of a tool that ends a process, and killed how its end by one is reported: it says nothing of what
	// the process would have come to.
	killing = regexp.MustCompile(`(?i)kill|stop|terminate|cancel`)
	killed  = regexp.MustCompile(`(?i)^\W*(?:successfully )?(?:killed|terminated|stopped)\b|\bstatus\b\W{1,3}(?:killed|terminated|stopped)\b`)
)

// processNames are the arguments that name a process in the background.
var processNames = []string{"bash_id", "shell_id", "task_id", "session_id", "process_id", "job_id", "pid"}

// background records a process that a command left running, and that it ended.
func (c *collector) background(m Message, args arguments, tool, text string) {
	head := text[:min(len(text), 600)]
	if strings.Contains(head, "unning") || strings.Contains(head, "background") {
		if found, line := started.FindStringSubmatch(head), args.commandLine(tool); found != nil {
			if line != "" {
				c.processes[found[1]] = line
				c.task(Task{ID: processID + found[1], Title: lex.Clip(oneLine(changeDir.ReplaceAllString(line, "")), 80), Status: "running", At: m.Ordinal})
			}
			return
		}
	}
	id := args.number(processNames...)
	if id == "" || !ended.MatchString(head) {
		return
	}
	c.task(Task{ID: processID + id, Status: "done", At: m.Ordinal})
	if line := c.processes[id]; line != "" && !killing.MatchString(tool) && !killed.MatchString(head) { // what it printed at last decides how it ended
		c.run(m.Ordinal, line, c.workDir(line, arguments{}), kindOf(shell.Steps(line)), outcomeOf(m, verdict.Run, line))
	}
}

// processID begins the id of a process among the tasks.
const processID = "process "

func (t Task) process() bool { return strings.HasPrefix(t.ID, processID) }
