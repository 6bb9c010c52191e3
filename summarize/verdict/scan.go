package verdict

import (
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/shell"
)

// scan is a call while it is judged.
type scan struct {
	call  Call
	steps []shell.Step // in the order in which they run
	lines []string     // those with content, without indentation
	own   bool         // they begin with the program's, whatever was shown before it
	said  *words       // what the lines say; nil until asked
}

// Bounds on the lines that are read for what a runner sums up; between them only the beginnings of lines count.
const (
	headLines, tailLines = 60, 60
	nearLines            = 25    // before the end: a failure there is the last word
	mostLines            = 15000 // from either end
	longestLine          = 1000  // bytes of a line that are read
)

func newScan(c Call) *scan {
	s := &scan{call: c, steps: shell.Flat(shell.Steps(c.Command))}
	text := c.Text
	for hidden := false; text != "" && len(s.lines) < mostLines; {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		s.lines, hidden = addLine(s.lines, line, hidden)
	}
	var tail []string // backwards
	for text = strings.TrimRight(text, "\n"); text != "" && len(tail) < mostLines; {
		at := strings.LastIndexByte(text, '\n')
		tail = append(tail, text[at+1:])
		text = text[:max(at, 0)]
	}
	hidden := false
	for _, line := range slices.Backward(tail) {
		s.lines, hidden = addLine(s.lines, line, hidden)
	}
	s.cutFront()
	return s
}

// cutFront removes what says nothing of the last run: the words of a watcher's earlier runs, and texts that were shown in
// front of the only program if a package manager names the script that it runs.
func (s *scan) cutFront() {
	if !s.runs() {
		return
	}
	told := s.call.ExitCode == nil && s.exit().ExitKnown || s.refused() || s.unfinished() // by the harness, in the lines in front
	s.said = nil
	if told {
		return
	}
	quoted := s.quotes() == quotedFirst && s.programs() == 1
	for i, line := range slices.Backward(s.lines) {
		names := quoted && banner.MatchString(line)
		if names || runsAgain(line) {
			s.lines, s.own = s.lines[i:], names
			return
		}
	}
}

// banner is what package managers print in front of a script.
var banner = regexp.MustCompile(`^(?:> (?:@[\w.-]+/)?[\w.-]+@\d[\w.-]* [\w:.-]+|yarn run v\d.*)$`)

// commandEcho is a command that a task runner prints in front of its output, with what names it as one, or the script's name.
var commandEcho = regexp.MustCompile(`^(?:\[[\w:./-]+\] )?\$ \S|^task: \[[\w:./-]+\] \S|^\w+: commands\[\d+\]> `)

// EchoesCommand reports whether a line is a command, or the name of a script, that a task runner prints before it runs it: it says
// nothing of how that ends.
func EchoesCommand(line string) bool {
	return line != "" && (strings.IndexByte("[$tp>y", line[0]) >= 0 || strings.Contains(line, ": commands[")) && (commandEcho.MatchString(line) || banner.MatchString(line))
}

// runsAgain matches what watchers print in front of a further run.
func runsAgain(line string) bool {
	const longest = 80
	return strings.HasPrefix(line, "RERUN ") || strings.HasPrefix(line, "[nodemon] restarting due to") ||
		len(line) < longest && strings.Contains(line, "File change detected. Starting incremental")
}

// addLine adds a line with content. A harness's reminder to the model is none of the output; hidden reports whether the
// next line is still one.
func addLine(lines []string, line string, hidden bool) ([]string, bool) {
	line = strings.TrimSpace(line)
	if hidden || strings.HasPrefix(line, "<system-reminder>") {
		return lines, !strings.Contains(line, "</system-reminder>")
	}
	if line != "" {
		lines = append(lines, line[:min(len(line), longestLine)])
	}
	return lines, false
}

// first returns the first line with content.
func (s *scan) first() string {
	if len(s.lines) == 0 {
		return ""
	}
	return s.lines[0]
}

// Programs whose output is others' text, and those that only filter it.
var (
	shows = setOf("cat head tail sed nl bat less more grep egrep fgrep rg ag ack find fd ls tree wc file stat du df which whereis awk cut sort uniq jq yq xxd od strings diff cmp " +
		"env printenv date ps history column tac rev journalctl tmux man help whoami id uname hostname hexdump md5sum sha256sum lsof pgrep netstat ss top free")
	showsVerb = map[string]map[string]bool{
		"git":       setOf("log show diff blame grep ls-files ls-tree branch remote config reflog rev-parse describe shortlog cat-file status"),
		"docker":    setOf("logs ps images inspect config top ls"),
		"kubectl":   setOf("logs get describe top explain"),
		"gh":        setOf("api search view list status diff"),
		"npm":       setOf("ls list view outdated explain"),
		"yarn":      setOf("list why info"),
		"pnpm":      setOf("ls list why outdated"),
		"pip":       setOf("list show freeze"),
		"cargo":     setOf("tree metadata"),
		"helm":      setOf("list ls status get history template"),
		"terraform": setOf("show output state"),
		"apt":       setOf("list show search"),
		"brew":      setOf("list info search"),
		"go":        setOf("list env doc version"),
		"systemctl": setOf("status list-units cat"),
		"heroku":    setOf("logs"),
		"vercel":    setOf("logs"),
		"fly":       setOf("logs"),
		"aws":       setOf("logs"),
	}
	// aliases are programs with the subcommands of another one; groups have theirs behind a noun: docker compose logs.
	aliases = map[string]string{"docker-compose": "docker", "podman": "docker", "nerdctl": "docker", "oc": "kubectl", "k": "kubectl", "pip3": "pip", "flyctl": "fly"}
	groups  = map[string]map[string]bool{"docker": setOf("compose container image volume network"), "gh": setOf("run pr issue repo release workflow")}
	silent  = setOf("cd export set source . true : echo printf sleep pwd mkdir touch rm cp mv ln chmod chown test [ [[ wait exit fi done esac unset pushd popd trap return tee kill pkill alias shopt for")
	filters = setOf("head tail grep egrep rg sed awk sort uniq wc cut tr tee less more cat jq column nl fold tac xargs")
	// fetches print what a server answers.
	fetches = setOf("curl wget http https")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// asksHelp reports whether a step asks a program how it is used.
func asksHelp(s shell.Step) bool {
	_, operands := s.Program()
	return len(operands) > 0 && operands[0] == "help" || slices.Contains(operands, "--help")
}

// Shows reports whether a step only shows what others wrote: a file, a log, a diff.
func Shows(s shell.Step) bool {
	name, operands := s.Program()
	if (name == "sed" || strings.HasSuffix(name, "sum")) && slices.ContainsFunc(operands, func(w string) bool {
		return w == "-c" || w == "--check" || strings.HasPrefix(w, "-i") || w == "--in-place"
	}) {
		return false
	}
	if asksHelp(s) {
		return true
	}
	if inner := executed(s); len(inner) > 0 {
		return !slices.ContainsFunc(inner, func(s shell.Step) bool { return !Shows(s) && !silent[programOf(s)] })
	}
	if inner := shell.Flat([]shell.Step{s}); len(inner) == 1 && len(s.Subs) == 0 {
		if s = inner[0]; name == "find" || name == "xargs" {
			name, operands = s.Program()
		}
	}
	if other, ok := aliases[name]; ok {
		name = other
	}
	verb, rest := shell.CutVerb(operands)
	if groups[name][verb] {
		verb = shell.Verb(rest)
	}
	return shows[name] || showsVerb[name][verb]
}

// runs reports whether the call runs a program whose own words count. A Run without a known command does.
func (s *scan) runs() bool { return s.call.Kind == Run && (len(s.steps) == 0 || s.programs() > 0) }

// programs counts the commands whose own words count.
func (s *scan) programs() (n int) {
	for _, step := range s.steps {
		if ownWords(step) && !fetches[programOf(step)] {
			n++
		}
	}
	return n
}

// ownWords reports whether a step prints what it has to say itself: it is neither silent nor a filter and shows nothing.
func ownWords(step shell.Step) bool {
	name := programOf(step)
	return name != "" && !silent[name] && !Shows(step) && (step.Op != "|" || !filters[name])
}

func programOf(step shell.Step) string {
	name, _ := step.Program()
	return name
}

// has reports whether a step runs a program.
func (s *scan) has(program string) bool {
	return slices.ContainsFunc(s.steps, func(step shell.Step) bool { return programOf(step) == program })
}

// answers reports whether an exit code above 0 is an answer of the command, and no failure.
func (s *scan) answers(code int) bool {
	if len(s.steps) == 0 || code == 0 {
		return false
	}
	at := len(s.steps) - 1
	for at > 0 && printsOnly[programOf(s.steps[at])] { // "grep -q x a.txt; echo $?"
		at--
	}
	name, operands := s.steps[at].Program()
	switch name {
	case "grep", "egrep", "fgrep", "rg", "ag", "ack", "diff", "cmp", "test", "[", "[[", "pgrep", "which":
		return code == 1
	case "git":
		verb := shell.Verb(operands)
		return code == 1 && (verb == "diff" || verb == "grep" || verb == "merge-base")
	case "terraform", "tofu":
		return code == 2 && slices.ContainsFunc(operands, func(w string) bool { return strings.TrimLeft(w, "-") == "detailed-exitcode" })
	}
	return false
}

// reached reports whether the text of an `&& echo …` at the end was printed: all in front of it ended well.
func (s *scan) reached() bool {
	if len(s.steps) == 0 || len(s.lines) == 0 {
		return false
	}
	last := s.steps[len(s.steps)-1]
	name, operands := last.Program()
	return name == "echo" && last.Op == "&&" && strings.Join(operands, " ") == s.lines[len(s.lines)-1]
}

// cutOff reports whether a filter may have left the failures out: `| head -5`, of which 5 lines are there, or `| grep ok`
// where nothing sums up.
func (s *scan) cutOff(sum bool) bool {
	own := false // what flows through the pipe are the words of a program
	for _, step := range s.steps {
		if step.Op != "|" {
			own = ownWords(step)
		}
		name, operands := step.Program()
		text := strings.Join(operands, " ")
		switch {
		case step.Op != "|", !own, strings.HasPrefix(text, "-c"):
		case name == "head", name == "sed":
			most := 10
			if m := firstLines.FindStringSubmatch(text); m != nil {
				most = atoi(m[1] + m[2])
			} else if name == "sed" {
				continue
			}
			if strings.Count(strings.TrimRight(s.call.Text, "\n"), "\n")+1 >= most {
				return true
			}
		case strings.HasSuffix(name, "grep") || name == "rg":
			if low := strings.ToLower(text); !sum && !strings.HasPrefix(low, "-v") && !strings.Contains(low, "fail") && !strings.Contains(low, "err") {
				return true
			}
		}
	}
	return false
}

// firstLines matches how many lines head and sed let through.
var firstLines = regexp.MustCompile(`^(?:-n ?1,(\d+)p|-n? ?(\d+)(?: |$))`)

// exitProves reports whether the exit code of the line is that of every program in it: behind a program stands only
// `&&`, and it is not in a loop or a condition. `set -e` excuses `;`, and `set -o pipefail` excuses `|`.
func (s *scan) exitProves() bool {
	if line := strings.TrimSpace(s.call.Command); strings.HasSuffix(line, "&") && !strings.HasSuffix(line, "&&") {
		return false // it still runs
	}
	stops, pipes, ran := false, false, false
	for _, step := range s.steps {
		name, operands := step.Program()
		if name == "set" {
			for _, w := range operands {
				stops = stops || strings.HasPrefix(w, "-") && strings.Contains(w, "e")
				pipes = pipes || w == "pipefail"
			}
		}
		switch {
		case !ran, step.Op == "&&", step.Op == ";" && stops, step.Op == "|" && pipes:
		default:
			return false
		}
		switch step.Words[0] {
		case "if", "while", "until", "!":
			return false
		case "for":
			ran = true // its last turn decides
		}
		ran = ran || ownWords(step)
	}
	return true
}

var printsOnly = setOf("echo printf")

// What is shown of others' text among the words of the programs.
const (
	nothingQuoted = iota
	quotedFirst   // a program runs behind it
	quotedLast
)

// quotes reports whether a step shows a text that no other step wrote: `cat docs/incident.md && npm test`. What is
// captured or given to a program is not shown.
func (s *scan) quotes() int {
	if s.own {
		return nothingQuoted
	}
	steps, is := shell.Steps(s.call.Command), nothingQuoted
	for i, step := range steps {
		piped := i+1 < len(steps) && steps[i+1].Op == "|" && !filters[programOf(steps[i+1])]
		if step.Op != "|" && !piped && quotesText(step) && !s.wrote(step) {
			is = quotedLast
		} else if is == quotedLast && ownWords(step) {
			is = quotedFirst
		}
	}
	return is
}

var (
	readers    = setOf("cat head tail sed nl bat less more grep egrep fgrep rg ag ack awk jq yq strings diff journalctl")
	readsVerbs = setOf("log show diff blame grep logs")
)

func quotesText(step shell.Step) bool {
	name, operands := step.Program()
	if !Shows(step) || slices.ContainsFunc(step.Words, func(w string) bool { return strings.HasPrefix(w, ">") || strings.HasPrefix(w, "<") }) {
		return false
	}
	verb, rest := shell.CutVerb(operands)
	return readers[name] && len(operands) > 0 || readsVerbs[verb] || readsVerbs[shell.Verb(rest)]
}

// wrote reports whether another step names the file that a step shows: `make > log; tail log`.
func (s *scan) wrote(step shell.Step) bool {
	name, operands := step.Program()
	return readers[name] && slices.ContainsFunc(operands, func(w string) bool { // those of others are verbs and names
		return len(w) > 1 && w[0] != '-' && !isNumber(w) && strings.Count(s.call.Command, w) > 1 || strings.ContainsAny(w, "*?$")
	})
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// queries are programs that print rows of a database, and what they say themselves.
var (
	queries      = setOf("psql mysql mariadb sqlite3 clickhouse clickhouse-client duckdb mongosh mongo bq cqlsh sqlcmd snowsql sqlplus usql pgcli mycli")
	queryMessage = regexp.MustCompile(`^(?:ERROR|FATAL|PANIC):  |^psql:.*(?:ERROR|FATAL|error): |^ERROR \d+ \(|^(?:Error|Parse error|Runtime error)\b.*: |^Code: \d+\. DB::|^Received exception |^\w*Mongo\w*Error|^ORA-\d|^Msg \d+, Level`)
)

// isQuery reports whether a step asks a database: `psql -c …`, `docker exec db psql -c …`.
func isQuery(step shell.Step) bool {
	name, operands := step.Program()
	rest := within(name, operands)
	return queries[name] || len(rest) > 0 && queries[rest[0]]
}

// within returns what a step runs on another host or in a container: `ssh web1 tail app.log`, `docker exec web cat app.log`.
func within(name string, operands []string) []string {
	switch name {
	case "docker", "docker-compose", "podman", "kubectl":
		at := slices.IndexFunc(operands, func(w string) bool { return w == "exec" || w == "run" })
		if at < 0 {
			return nil
		}
		operands = operands[at+1:]
	case "ssh":
	default:
		return nil
	}
	_, rest := shell.CutVerb(operands)
	return rest
}

// executed returns the commands of `ssh web1 '…'` and `docker exec web …`.
func executed(step shell.Step) []shell.Step {
	name, operands := step.Program()
	rest := within(name, operands)
	switch {
	case len(rest) == 0 || slices.Contains(operands[:len(operands)-len(rest)], "run"): // which says more itself
		return nil
	case len(rest) == 1:
		return shell.Flat(shell.Steps(rest[0]))
	}
	return shell.Flat([]shell.Step{{Words: rest}})
}

// examines reports whether a step looks for failures elsewhere, so that those it prints are not its own: `flutter doctor`,
// `git bisect run npm test`; found is the line with its result.
func (s *scan) examines() (reports bool, found string) {
	for _, step := range s.steps {
		name, operands := step.Program()
		switch verb := shell.Verb(operands); {
		case verb == "doctor" && s.words().troubled:
			reports = true
		case name == "git" && verb == "bisect":
			reports = true
			for _, line := range s.lines {
				if strings.HasSuffix(line, " is the first bad commit") {
					found = line
				}
			}
		}
	}
	return reports, found
}

// toldFailed returns the line by which a program that runs the commands says that one of them failed: "FAILED: git commit".
func (s *scan) toldFailed() string {
	for _, line := range s.lines {
		if command, ok := strings.CutPrefix(line, "FAILED: "); ok && command != "" && strings.Contains(s.call.Command, command) {
			return line
		}
	}
	return ""
}

// words are what the lines of an output say about its end.
type words struct {
	bad, good string // the last failure, the last success
	soft      string // counts of errors or problems, without a word for failed
	compiler  string // the first error of a compiler
	placed    bool   // it has a file and a line
	last      string // an error line among the last, behind the last success
	badNear   bool   // a failure is among the last lines
	goodLast  bool   // a success stands behind every failure
	sum       bool   // a success is a sum of results
	behind    int    // lines with content of their own behind the last success
	troubled  bool   // a line reports an error
	broken    string // the last line in which the runner says that the run failed, whatever the tests did
	softLast  bool   // soft stands behind every success
	endsBad   bool   // the last line reports an error
	tests     Tally
}

func (s *scan) words() words {
	if s.said == nil {
		w := s.read()
		s.said = &w
	}
	return *s.said
}

// acknowledged counts the lines "OK", of which only a single one sums up.
func (s *scan) acknowledged() (n int) {
	for _, line := range s.lines {
		if line == "OK" {
			n++
		}
	}
	return n
}

func (s *scan) read() words {
	w := words{}
	runner := sums{}
	n := len(s.lines)
	recap := slices.ContainsFunc(s.lines, func(line string) bool { return strings.HasPrefix(line, "PLAY RECAP ") })
	acknowledged := s.acknowledged()
	others := s.others()
	for i, line := range s.lines {
		if others[i] {
			continue
		}
		edge := i < headLines || i >= n-tailLines
		bad, good, sum := false, false, false
		passed := NamesPassed(line) || endsPassed(line)
		if edge {
			t, isTally := Tally{}, false
			if !passed {
				t, isTally = TallyOf(line)
			}
			switch {
			case repaired(line):
				good = true
			case isTally && (t.HasPassed || t.HasFailed):
				failed := t.Failed+t.Errors > 0
				bad, good = failed, !failed && (t.Passed > 0 || t.HasFailed) && !strings.HasPrefix(line, "Snapshots:") && (!t.weak || t.words <= sumsWords)
				if failed && s.ofData(line, t) {
					bad, w.soft, w.softLast = false, line, true
				}
				runner.add(s.lines, i, t)
			case isTally && t.Errors > 0 && testErrors.MatchString(line):
				bad = true
				runner.add(s.lines, i, t)
			case isTally && t.Errors > 0:
				w.soft, w.softLast, bad = line, true, (checkerSums.MatchString(line) || endsErrors.MatchString(line)) && !s.ofData(line, t)
			case isTally:
				good = checkerSums.MatchString(line) || t.words <= sumsWords && endsErrors.MatchString(line)
			}
			if !passed && (saysBroken.holds(line) || sumsBroken.MatchString(line)) {
				bad, good, w.broken = true, false, line
			}
			bad = bad || !good && !passed && saysFailed.holds(line)
			sum = sum || good || !bad && saysDone.begins(line)
			good = good || !bad && saysPassed.holds(line) && (line != "OK" || acknowledged == 1)
			if w.compiler == "" && mayBeCompilers(line) && compilerError.MatchString(line) {
				w.compiler, w.placed = line, placedError.MatchString(line)
			} else if w.compiler == "" && i > 0 && strings.HasPrefix(s.lines[i-1], "# ") && goError.MatchString(line) {
				w.compiler, w.placed = line, true
			}
		} else {
			runner.addEarlier(s.lines, i, passed)
			bad = !passed && saysFailed.begins(line)
			if !passed && saysBroken.begins(line) {
				bad, w.broken = true, line
			}
		}
		if bad && (isTodo(line) || recap && strings.HasPrefix(line, "fatal: [") || strings.HasPrefix(line, "fatal: [") && i+1 < n && s.lines[i+1] == "...ignoring") {
			bad = false
		}
		switch {
		case bad:
			w.bad, w.badNear, w.goodLast = line, i >= n-nearLines, false
		case good:
			w.good, w.goodLast, w.sum, w.softLast, w.behind, w.last = line, true, w.sum || sum, false, 0, ""
		case !edge, !passed && w.good != "" && !trailer.MatchString(line) && !s.echoes(line):
			w.behind++
		}
		if (edge || !w.troubled) && !passed && !good && !isTodo(line) && (TellsError(line) || i >= n-lastLines && s.complains(line)) {
			w.troubled, w.endsBad = true, i == n-1
			if i >= n-lastLines {
				w.last = line
			}
		}
	}
	if runner.n == 1 {
		w.tests = runner.tests
	}
	return w
}

// runSums begin the lines by which runners sum up all of a run, and nothing less.
var runSums = []string{"Tests:", "Tests  ", "=====", "test result: "}

// sumOf reads such a line, wherever it stands.
func sumOf(line string) (t Tally, ok bool) {
	if line == "" || strings.IndexByte("T=t", line[0]) < 0 || !slices.ContainsFunc(runSums, func(begin string) bool { return strings.HasPrefix(line, begin) }) {
		return t, false
	}
	t, ok = TallyOf(line)
	return t, ok && runnersSum(line, t)
}

// sums are those of a test runner.
type sums struct {
	n, at int // how many there are, and the line of the last
	tests Tally
}

// add takes a tally that is a runner's sum, or goes on with one.
func (c *sums) add(lines []string, i int, t Tally) {
	line := lines[i]
	goesOn := c.n > 0 && i == c.at+1 && !t.HasPassed && !otherThings.MatchString(strings.ToLower(line)) // "PASS: 3/4" above "FAIL: 1/4"
	if !goesOn && !runnersSum(line, t) || strings.HasSuffix(line, ":") {                                // "3 tests failed:" heads their names
		return
	}
	switch {
	case ofProject.MatchString(line) && (c.n == 0 || c.n == 1 && ofProject.MatchString(lines[c.at])): // one of several projects
		c.tests.merge(t)
		c.tests.HasPassed, c.tests.HasFailed, c.n = true, true, 1
	case c.n == 0 || !c.tests.join(t, i-c.at <= sumLines):
		c.n++
		c.tests = t
	}
	c.at = i
}

// addEarlier takes the sum of another run, before the last one.
func (c *sums) addEarlier(lines []string, i int, passed bool) {
	if t, ok := sumOf(lines[i]); ok && !passed {
		c.add(lines, i, t)
	}
}

// asks counts the steps that ask a database.
func (s *scan) asks() (n int) {
	for _, step := range s.steps {
		if ownWords(step) && isQuery(step) {
			n++
		}
	}
	return n
}

// onlyAsks reports whether nothing else runs.
func (s *scan) onlyAsks() bool { n := s.asks(); return n > 0 && n == s.programs() }

// others are the lines that say nothing of the run: what it quotes, rows of a query, texts of several lines.
func (s *scan) others() []bool {
	asks, onlyAsks := s.asks(), s.onlyAsks()
	list, heredoc := make([]bool, len(s.lines)), ""
	for i, line := range s.lines {
		row := onlyAsks && (strings.IndexByte("EFPpRCMO", line[0]) < 0 && !strings.Contains(line, "Mongo") || !queryMessage.MatchString(line))
		if !row && asks > 0 && (strings.Contains(line, " | ") || strings.Contains(line, "│")) {
			_, tally := TallyOf(line) // "2 failed | 40 passed" behind the query
			row = !tally
		}
		switch {
		case strings.IndexByte("[HPSADp", line[0]) >= 0 && quotesOther.MatchString(line) || namesCommit(line) || harmless.holds(line), row, EchoesCommand(line), i > 0 && line[0] == '>' && banner.MatchString(s.lines[i-1]):
			list[i] = true
		case heredoc != "": // the value of an attribute
			list[i] = true
			if line == heredoc {
				heredoc = ""
			}
		case strings.Contains(line, "<<"):
			if m := heredocs.FindStringSubmatch(line); m != nil && slices.Contains(s.lines[i+1:min(len(s.lines), i+mostHeredoc)], m[1]) {
				heredoc = m[1]
			}
		}
	}
	return list
}

// heredocs match the beginning of a text of several lines in a language that has such.
var heredocs = regexp.MustCompile(`<<[-~]?["']?([A-Z_]{2,20})["']?$`)

// mostHeredoc bounds such a text, in lines.
const mostHeredoc = 500

// ofProject matches the sum of one of several projects that a runner tests.
var ofProject = regexp.MustCompile(`^(?:Passed|Failed)!\s+- Failed:`)

// endsPassed matches the line of one test that passed, with the word for it at its end: "fails with error 43 ... ok (43ms)".
func endsPassed(line string) bool {
	return strings.HasSuffix(line, "... ok") || strings.HasSuffix(line, "[✔]") || strings.HasSuffix(line, "ms)") && strings.Contains(line, "... ok (")
}

// quotesOther matches what git prints of a commit: its message is no word of a runner.
var quotesOther = regexp.MustCompile(`^(?:\[[^\]\s]+(?: \([\w-]+\))? [0-9a-f]{7,40}\] |HEAD is now at |Previous HEAD position was |Saved working directory |Applying: |Dropped |pick [0-9a-f])`)

// namesCommit matches a line of git log --oneline.
func namesCommit(line string) bool {
	hash, _, ok := strings.Cut(strings.TrimLeft(line, "*|/\\ "), " ")
	return ok && len(hash) >= 7 && len(hash) <= 40 && strings.Trim(hash, "0123456789abcdef") == "" && strings.ContainsAny(hash, "abcdef") && strings.ContainsAny(hash, "0123456789")
}

// NamesPassed matches the line of one test that passed: its name can be any text.
func NamesPassed(line string) bool {
	for _, mark := range []string{"✓ ", "✔ ", "√ ", "(pass) ", "--- PASS: ", "=== RUN ", "ok "} {
		if rest, ok := strings.CutPrefix(line, mark); ok && (mark != "ok " || rest != "" && lex.IsDigit(rest[0])) {
			return true
		}
	}
	return false
}

// isTodo matches TAP's tests that are expected to fail: "not ok 3 - x # TODO".
func isTodo(line string) bool {
	low := strings.ToLower(line)
	return strings.HasPrefix(low, "not ok ") && (strings.Contains(low, "# todo") || strings.Contains(low, "# skip"))
}

// repaired matches a linter that mended all that it found: "Found 12 errors (12 fixed, 0 remaining).", "3 offenses
// detected, 3 offenses corrected".
func repaired(line string) bool {
	if strings.Contains(line, " fixed, 0 remaining)") {
		return true
	}
	if !strings.Contains(line, " detected, ") {
		return false
	}
	m := corrected.FindStringSubmatch(line)
	return m != nil && m[1] == m[2]
}

var corrected = regexp.MustCompile(`(\d+) offenses? detected, (\d+) offenses? (?:auto)?corrected`)

// lastLines is how near the end an error line must be to be the reason of it.
const lastLines = 3

// trailer matches what runners print behind their sums.
var trailer = regexp.MustCompile(`(?i)^(?:\W|\[info\] |.?\s)*(?:$|(?:total )?time\b|total test time|duration|start at|finished|ran |randomized|elapsed|took|done in|npm notice|see |(?:snapshots|skip(?:ped)?|pending|todo|cancelled|total|revision|output|log|report):? |ok$|\d+ (?:actionable|pending|skipped|todo|cancelled|files? (?:reformatted|left))|(?:destroying|preserving) test|\S+\s+\[no test files\])`)

// runsOthers reports whether several programs run, or one that may run others: a script, a task. Success of the first is
// then none of the last.
func (s *scan) runsOthers() bool {
	if loops.MatchString(s.call.Command) {
		return true
	}
	n := 0
	for _, step := range s.steps {
		if !ownWords(step) {
			continue
		}
		n++
		name, operands := step.Program()
		if n > 1 || tasks[name] || strings.HasPrefix(step.Words[0], "./") && !wrappers[name] || runners[name][shell.Verb(operands)] || isScript(step) {
			return true
		}
	}
	return false
}

// loops matches a command that runs others again and again.
var loops = regexp.MustCompile(`(?:^|[;&|\n(]\s*)(?:for|while|until)\s`)

// isScript reports whether a step interprets a file: `python scripts/load.py`.
func isScript(step shell.Step) bool {
	name, operands := step.Program()
	return interpreters[name] && strings.Contains(shell.Verb(operands), ".")
}

var (
	wrappers     = setOf("gradlew mvnw")
	tasks        = setOf("make gmake just task rake")
	interpreters = setOf("sh bash zsh python python3 node ruby perl php tsx ts-node")
	runners      = map[string]map[string]bool{"dotnet": setOf("run ef"), "cargo": setOf("run"), "npm": setOf("run start"), "docker": setOf("run")}
)

// retries matches what stands between two runs of the same.
var retries = regexp.MustCompile(`(?i)^(?:retrying|retry #?\d|attempt #?\d|re-?running)\b`)

// echoes reports whether a step prints a line.
func (s *scan) echoes(line string) bool {
	return slices.ContainsFunc(s.steps, func(step shell.Step) bool {
		name, operands := step.Program()
		return printsOnly[name] && strings.Join(operands, " ") == line
	})
}

// ofData reports whether a script counts what it worked on, not tests: "100 succeeded, 2 failed". That is no verdict on it.
func (s *scan) ofData(line string, t Tally) bool {
	return !runnersSum(line, t) && !saysFailed.holds(line) && slices.ContainsFunc(s.steps, isScript)
}

// sumLines is how far apart the counts of one sum stand, as "# PASS: 3" and "# FAIL: 1".
const sumLines = 3

// checkerSums are the sums of compilers and linters: with a count above 0 they fail.
var checkerSums = regexp.MustCompile(`(?i)^\W*(?:found )?\d+ (?:errors?|issues?|problems?)\b|^\W*\d+ files? inspected|^\W*\d+ errors?, \d+ warnings?|^Found \d+ error|^(?:svelte-check )?found \d+ (?:errors?|warnings?) and \d+ (?:errors?|warnings?)|compiled with \d+ error`)

// endsErrors is such a sum if a line has little else: "Build finished with 0 errors".
var endsErrors = regexp.MustCompile(`(?i)\d+ error(?:\(s\)|s)?\s*$`)

// sumsWords are how many words a sum of things of any kind has beside its counts; a line of progress has more.
const sumsWords = 2

// runnersSum reports whether a tally is a test runner's: its counts are those of tests.
func runnersSum(line string, t Tally) bool {
	low := strings.ToLower(line)
	if otherThings.MatchString(low) || ofFile.MatchString(line) || t.weak && !strings.Contains(low, "test") {
		return false
	}
	return t.HasPassed || t.HasFailed && countsTests.MatchString(low) || testErrors.MatchString(line)
}

// alsoCounted are what a runner counts beside what failed, and how long it took.
const alsoCounted = `(?:, \d+ (?:skipped|deselected|xfailed|xpassed|pending|todo|rerun|warnings?|errors?))*(?: in [\d.]+s(?: \([\d:]+\))?)?\W*$`

var (
	countsTests = regexp.MustCompile(`\btests?\b|examples?,|\bruns,|^\W*\d+ fail(?:ed|ing)?\b` + alsoCounted + `|^\W*fail:? +\d+$`)
	// testErrors is the sum of a runner whose tests could not even begin: "=== 5 errors in 30.28s ===".
	testErrors = regexp.MustCompile(`^=+ (?:\d+ (?:skipped|deselected|warnings?), )*\d+ errors?` + alsoCounted)
)

// ofFile matches the line of one file of tests: "❯ src/a.test.ts (3 tests | 1 failed) 12ms".
var ofFile = regexp.MustCompile(`^(?:[^\w\s] )?\S+\.\w+ \(\d+ tests?\b`)

// otherThings are counted by runners too, and are no tests.
var otherThings = regexp.MustCompile(`test files|stopping after|suites|unreachable|snapshots?:|^\W*assertions|\b(?:steps?|features?|hooks?|tasks?|projects?|targets?)\b`)

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
		if i < 6 && stillRuns.holds(line) || i >= len(s.lines)-2 && stopped.begins(line) {
			return true
		}
	}
	return false
}

// lookVerdict judges what was shown. The text belongs to others, so only an error in the name of the program itself counts:
// nothing but errors is a failure, an error among the first or last lines makes it partial.
func (s *scan) lookVerdict() (Verdict, string) {
	n := len(s.lines)
	if n == 0 {
		return Unknown, ""
	}
	if s.call.Kind == Look {
		if s.call.IsError == nil && n <= shortAnswer && (n == 1 && TellsError(s.first()) || notRead.MatchString(s.first())) {
			return Failure, s.first()
		}
		if s.call.Log && s.endedBadly() {
			return Unknown, "" // it was read well, but what it says is a failure's
		}
		return Success, ""
	}
	if at := s.lines[n-1]; slices.ContainsFunc(s.steps, asksHelp) && (saysFailed.holds(at) || TellsError(at) || saysFailed.holds(s.first()) || TellsError(s.first())) {
		return Failure, at // it came to no help
	}
	own, more := s.ownErrors()
	const ends = 8
	line, all := "", true // all lines belong to an error
	for i, l := range s.lines {
		if s.has("git") && unmerged(l) || s.has("systemctl") && strings.HasPrefix(l, "Active: failed") {
			return Partial, l
		}
		if !all && i >= ends && i < n-ends {
			continue
		}
		switch {
		case own.MatchString(l):
			if line == "" && (i < ends || i >= n-ends) {
				line = l
			}
		case more.MatchString(l) && (i > 0 || n <= shortAnswer):
		case i == 0 || !(strings.HasPrefix(l, "hint: ") || n <= shortAnswer && s.explains()):
			all = false
		}
	}
	switch {
	case all || line != "" && s.fetched() && len(s.steps) == 1:
		return Failure, s.first()
	case line != "":
		return Partial, line
	case s.fetched() && s.call.IsError == nil && s.call.ExitCode == nil:
		return Unknown, ""
	case s.call.Log && s.endedBadly():
		return Unknown, ""
	}
	return Success, ""
}

// endedBadly reports whether the last words of a log are those of a failure.
func (s *scan) endedBadly() bool {
	w := s.words()
	if w.badNear && !w.goodLast {
		return true
	}
	return slices.ContainsFunc(s.lines[max(0, len(s.lines)-nearLines):], func(line string) bool { return TellsError(lex.CutStamp(line)) })
}

// shortAnswer is how many lines an answer has at most that is only an error.
const shortAnswer = 6

// notRead is what readers without a flag say in place of a file.
var notRead = regexp.MustCompile(`^(?:Error\b|ENOENT\b|EACCES\b|EISDIR\b|(?:File|Path|Directory) (?:does not exist|not found|is empty)|No such file)`)

// explains reports whether the programs explain an error in the lines below it, as some do.
func (s *scan) explains() bool {
	return s.has("git") || s.has("rg") || s.has("helm") || s.has("terraform")
}

// ownErrors returns what matches errors of the call's programs: those that begin with the name of the program, or of the
// shell, and those in words that a shown text could have too, so that they count only where nothing else is shown.
func (s *scan) ownErrors() (named, unnamed *regexp.Regexp) {
	shells := `(?:/\S*/)?(?:ba|z|da)?sh: .*(?:not found|No such file or directory|Permission denied)`
	names, words := []string{shells}, []string{`\b\B`} // matches nothing
	all := slices.Clone(s.steps)
	for _, step := range s.steps {
		all = append(all, executed(step)...)
	}
	for _, step := range all {
		name := programOf(step)
		if name != "" {
			names = append(names, regexp.QuoteMeta(name)+`: (?:`+complaints+`)`)
			if name == "wget" { // "2026-03-02 10:11:12 ERROR 404: Not Found."
				names = append(names, `[\d: -]+ERROR \d+: `)
			}
		}
		if other, ok := aliases[name]; ok {
			name = other
		}
		if more, ok := ownWordsOf[name]; ok {
			words = append(words, more)
		}
	}
	return anchored(names), anchored(words)
}

// anchored matches one of the expressions at the beginning of a line. A name of any length and bytes is quoted, so that
// it can make an expression too large, but not invalid.
func anchored(list []string) *regexp.Regexp {
	expr, err := regexp.Compile(`^(?:` + strings.Join(list, "|") + `)`)
	if err != nil {
		return nothing
	}
	return expr
}

var nothing = regexp.MustCompile(`\b\B`)

// complains reports whether a line begins with the name of a program that runs, and with what it could not do.
func (s *scan) complains(line string) bool {
	name, rest, ok := strings.Cut(line, ":")
	return ok && s.has(name) && complaint.MatchString(strings.TrimLeft(rest, " "))
}

var complaint = regexp.MustCompile(`^(?:` + complaints + `)`)

// complaints follow the name of a program and what it is about.
const complaints = `(?:.*: )?(?:No such file or directory|Permission denied|Is a directory|Not a directory|Input/output error|Operation not permitted|command not found)$|` +
	`cannot |can't |can not |invalid |unrecognized |unknown |illegal |missing |no such |error\b|Unknown |Invalid |paths must |-e expression|regex parse error|\(\d+\) |unable to |failed to |\[emerg\] |Could not |.*: (?:Name or service not known|Connection refused)$|syntax error|unrecognised `

// ownWordsOf are errors of programs that do not begin with their names.
var ownWordsOf = map[string]string{
	"git":       `fatal: |error: `,
	"rg":        `regex parse error:|rg: |error parsing flag|error: The following required`,
	"kubectl":   `The connection to the server |Error from server|error: |Unable to connect to the server|E\d{4} \d\d:`,
	"docker":    `Error response from daemon|Cannot connect to the Docker daemon|Error: No such |no such service|no configuration file provided|OCI runtime exec failed|service "|permission denied while trying`,
	"gh":        `gh: |HTTP [45]\d\d|GraphQL: |.*gh: .{1,100} \(HTTP [45]\d\d\)$|could not |no pull requests found|error connecting|no default remote|failed to |To get started with GitHub CLI`,
	"helm":      `Error: `,
	"npm":       `npm ERR!|npm error`,
	"systemctl": `Unit \S+ could not be found|Failed to `,
	"go":        `go: |can't load package|package \S+ is not in std`,
	"terraform": `[│╷] ?Error|Error: `,
	"cargo":     `error: `,
	"aws":       `An error occurred \(|Unable to locate credentials|Could not connect`,
	"man":       `No manual entry`,
	"pip":       `WARNING: Package|ERROR: `,
	"ag":        `ERR: `,
	"apt":       `E: `,
	"ssh":       `\S+@\S+: Permission denied|Permission denied \(|Host key verification failed|Connection (?:closed|reset) by|ssh: |kex_exchange|Timeout, server`,
	"heroku":    `Error: | ›   Error`,
}

// fetched reports whether a step asks a server.
func (s *scan) fetched() bool {
	return slices.ContainsFunc(s.steps, func(step shell.Step) bool { return fetches[programOf(step)] })
}

// unmerged matches what git says of a merge that waits for a person.
func unmerged(line string) bool {
	switch {
	case strings.HasPrefix(line, "both modified:"), strings.HasPrefix(line, "both added:"), strings.HasPrefix(line, "You have unmerged paths"), strings.HasPrefix(line, "Unmerged paths:"),
		strings.HasPrefix(line, "UU "), strings.HasPrefix(line, "AA "):
		return true
	}
	return false
}
