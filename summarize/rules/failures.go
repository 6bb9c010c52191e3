package rules

import (
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/logs"
	"precis/summarize/rules/words"
	"precis/summarize/verdict"
)

// diagnostic is a compiler's, linter's or test runner's message about a place: "path/x.go:12:3: message".
var diagnostic = regexp.MustCompile(`^(?:\S{0,40}\s)?[\w./\\@-]{1,200}\.\w{1,6}[:(]\d{1,6}(?:[:,]\d{1,4})?\)?:? \S`)

func isDiagnostic(text string) bool { return hasPlace(text) && diagnostic.MatchString(text) }

// hasPlace is a cheap pretest: a line number after a name.
func hasPlace(text string) bool {
	for i := 1; i+1 < len(text); i++ {
		if (text[i] == ':' || text[i] == '(') && lex.IsDigit(text[i+1]) && lex.WordByte[text[i-1]] {
			return true
		}
	}
	return false
}

// errorLines returns the lines that report failures, if the kind of output can fail: a file or a page may mention
// errors without any having occurred.
func errorLines(in Input, category Category, doc *document) []int {
	told := in.IsError != nil && *in.IsError || in.ExitCode != nil && *in.ExitCode != 0
	mayFail := category == CommandOutput || doc.log || category == Other && in.IsError == nil
	if !mayFail && !told {
		return nil
	}
	var found []int
	for i := range doc.lines {
		l := &doc.lines[i]
		switch {
		case told && doc.comparesAt(i):
			found = append(found, i)
		case l.record == recordFailed || told && (l.located || l.heads):
			found = append(found, i)
		case told && l.starts && lex.IsDigit(first(l.text)) && strings.HasSuffix(finding.FindString(l.text), " error "):
			found = append(found, i)
		case !l.starts || len(l.text) < shortestError && strings.HasPrefix(l.text, "[") || !verdict.TellsError(l.text):
		case strings.HasPrefix(l.text, "Traceback (most recent"):
			found = append(found, raised(doc, i))
		default:
			found = append(found, i)
		}
	}
	return slices.Compact(found)
}

// first returns a text's first byte; 0 if it has none.
func first(text string) byte {
	if text == "" {
		return 0
	}
	return text[0]
}

// planned matches what Terraform says of a resource, and why it is replaced.
var planned = regexp.MustCompile(`^# \S+ (?:will|must) be |^# \S+ (?:has moved|is tainted)|# forces replacement$`)

// plans returns the lines by which a plan says what it does to which resources.
func (d *document) plans() (list []int) {
	const most = 16
	if !d.noisy || d.shape != shapePlain || !strings.Contains(d.source, "# ") {
		return nil
	}
	for i := range d.lines {
		if l := &d.lines[i]; l.starts && len(list) < most && strings.Contains(l.text, "# ") && planned.MatchString(l.text) {
			list = append(list, i)
		}
	}
	return list
}

// shortestError is the length, in bytes, below which a line has only a level in brackets.
const shortestError = 12

// raised returns the line with a Python traceback's exception: the first after its frames.
func raised(doc *document, at int) int {
	const mostFrames = 100
	for i := at + 1; i < min(len(doc.lines), at+mostFrames); i++ {
		if l := &doc.lines[i]; l.starts && l.text != "" && l.indent <= doc.lines[at].indent {
			return i
		}
	}
	return at
}

// Bounds on what is urgent, in lines.
const (
	mostUrgent    = 60
	mostPartial   = 8    // of a call that succeeded although its command failed
	mostDiagnosed = 1000 // examined

	messageLines = 6 // above a verdict, which may hold its messages
	traceLines   = 4 // after an error line, which belong to it

	nearTrace = 1 // of them: the message, or the place, which comes with the error line

	announcedLines = 2 // after one that ends with a colon
)

// urgentLines orders the error text of a failed output: the tests that failed by name, the last error line (in most languages it
// names the cause), the first, then the others, each with its context. A failed output without a
// recognized error line begins with its message.
func urgentLines(f *facts, doc *document) (lines, traces []int) {
	switch ended := f.ended.Verdict; {
	case len(doc.lines) == 0, ended == verdict.Success && f.ended.Line != "", len(f.errors) == 0 && ended != verdict.Failure && f.status == statusSuccess:
		return nil, nil
	case len(f.errors) == 0:
		return append(append(doc.markedTests(f), diagnosed(doc)...), firstLines(doc, 3)...), nil
	}
	first, last := f.errors[0], f.errors[len(f.errors)-1]
	lines = doc.failedTests(append(doc.markedTests(f), f.errors...))
	most := mostUrgent
	if f.ended.Verdict != verdict.Failure {
		most = mostPartial
	}
	f.same = doc.sameErrors(f.errors)
	seen := map[int]bool{}
	for _, i := range append([]int{last, first}, doc.varied(f.errors)...) {
		if len(lines) >= most {
			break
		}
		if i = f.same[i]; seen[i] {
			continue
		}
		seen[i] = true
		lines = append(lines, i)
		if reason := reasonOf(doc, i); len(reason) > 0 {
			lines = append(lines, reason...)
			continue
		}
		lines = append(lines, messagesOf(doc, i)...)
		trace := traceOf(doc, i)
		near := min(nearTrace, len(trace))
		lines = append(lines, trace[:near]...)
		traces = append(traces, trace[near:]...)
	}
	return lines, traces[:min(len(traces), max(0, most-len(lines)))]
}

// sameErrors returns for each error line the first one that says the same of the same place; of bare verdicts, such as FAIL, the last one.
func (d *document) sameErrors(errors []int) map[int]int {
	same, first := make(map[int]int, len(errors)), make(map[saying]int, len(errors))
	for _, i := range errors {
		key := d.saidAt(i)
		at, ok := first[key]
		switch {
		case !ok:
			first[key], same[i] = i, i
		case len(key.text) < countedLine:
			first[key], same[at], same[i] = i, i, i
		default:
			same[i] = at
		}
	}
	return same
}

// saying is what a message says, and of what or which place if that is not in its text: in the file of its group, in the line below it or above.
type saying struct {
	group       int
	text, place string
}

// saidAt returns what a line says.
func (d *document) saidAt(i int) saying {
	l := &d.lines[i]
	s := saying{group: l.group, text: l.text}
	if isPlace(l.text) {
		return s
	}
	if i+1 < len(d.lines) && (isPlace(d.lines[i+1].text) || announces(l.text)) {
		s.place = d.lines[i+1].text
	}
	for k := i - 1; s.place == "" && k >= max(0, i-2); k-- {
		if strings.HasPrefix(d.lines[k].text, `File "`) { // the frame that raised it
			s.place = d.lines[k].text
		}
	}
	return s
}

// isPlace reports whether a line only says where something is: "--> src/a.rs:3:5", "at f (a.js:3:5)".
func isPlace(text string) bool {
	return strings.HasPrefix(text, "--> ") || strings.HasPrefix(text, "at ") && words.DigitAt(text) >= 0
}

// countErrors counts what a failed output says more than once at the first line that says it, and leaves the others out: that all of three cases
// failed at the same is not what it says once.
func (d *document) countErrors(same map[int]int) {
	for i, at := range same {
		if l := &d.lines[i]; i != at && !l.frag && len(l.text) >= countedLine && !compares(l.text) {
			d.lines[at].repeat += 1 + l.repeat
			l.aside = true
		}
	}
}

// mostTests bounds the failed tests that precede all other error text.
const mostTests = 16

// failedTests returns the lines by which a runner names the tests that failed.
func (d *document) failedTests(lines []int) []int {
	var named []int
	seen := map[string]bool{}
	for _, i := range lines {
		text := d.lines[i].text
		if len(named) < mostTests && (namesFailure(text) || strings.HasPrefix(text, "⨯ ")) && !seen[text] {
			seen[text] = true
			named = append(named, i)
		}
	}
	return named
}

// failedMarks are what runners put in front of a test that failed, and nothing else does where tests have.
var failedMarks = []string{"✕ ", "✗ ", "× ", "✘ ", "⨯ ", "not ok ", "● "}

// suiteSign stands between a suite and its test.
const suiteSign = " › "

// markedTests returns the lines by which a runner that counts failed tests marks them, whatever they are named: one for each test. A test's suites
// are told with it only where it is listed nowhere else, and not if they are long.
func (d *document) markedTests(f *facts) (list []int) {
	if f.ended.Verdict != verdict.Failure || f.ended.Tests.Failed == 0 {
		return nil
	}
	var full []int
	seen := map[string]bool{}
	for i := range d.lines {
		l := &d.lines[i]
		at := slices.IndexFunc(failedMarks, func(mark string) bool { return strings.HasPrefix(l.text, mark) && len(l.text) > len(mark) })
		switch {
		case at < 0 && len(list) < mostTests && namesFailed(l.text):
			list = append(list, i)
			seen[ofTest(l.text)] = true
		case at < 0 || strings.Contains(l.text, "# TODO") || strings.Contains(l.text, "# SKIP"):
		case strings.HasPrefix(l.text, "● "):
			if strings.Contains(l.text, suiteSign) {
				full = append(full, i)
			}
		case len(list) < mostTests:
			list = append(list, i)
			seen[ofTest(l.text[len(failedMarks[at]):])] = true
		}
	}
	for _, i := range full {
		l := &d.lines[i]
		last := l.text[strings.LastIndex(l.text, suiteSign)+len(suiteSign):]
		if len(list) == mostTests || seen[ofTest(last)] {
			continue
		}
		seen[ofTest(last)] = true
		if list = append(list, i); len(l.text) > longestTest {
			l.text, l.altered = "● …"+suiteSign+last, true
		}
	}
	return list
}

// otherFailed are lines of one failed test in the words of other runners.
var otherFailed = regexp.MustCompile(`^(?:\d+\) [\w\\.]+::\w|FAILED +[\w\\/.:-]+(?: > |::)|Failed [\w.+]+(?:\(.*\))? \[\d|test \S+ \.\.\. FAILED$|\w[\w.$]* > .+ FAILED$)`)

func namesFailed(text string) bool {
	return len(text) > len("FAILED") && strings.IndexByte("F0123456789t", text[0]) >= 0 && otherFailed.MatchString(text) || strings.HasSuffix(text, " FAILED") && otherFailed.MatchString(text)
}

// longestTest is up to how long a test is told with its suites, in bytes.
const longestTest = 90

// ofTest is a test's name without the time that it took.
func ofTest(text string) string {
	if at := strings.LastIndex(text, " ("); at > 0 && strings.HasSuffix(text, "s)") {
		text = text[:at]
	}
	return strings.TrimSpace(text)
}

// namesFailure matches a runner's line about one failed test.
func namesFailure(text string) bool {
	for _, mark := range []string{"--- FAIL: ", "(fail) ", "FAILED ", "✗ ", "✕ ", "× ", "✘ ", "not ok ", "rspec ./", "● ", "Failed "} {
		if strings.HasPrefix(text, mark) && len(text) > len(mark) {
			return true
		}
	}
	return strings.HasPrefix(text, "test ") && strings.HasSuffix(text, " ... FAILED")
}

// varied moves lines that differ only in digits from several earlier ones to the end.
func (d *document) varied(lines []int) []int {
	var first, others []int
	count := map[uint64]int{}
	for _, i := range lines {
		kind := logs.MaskedHash(d.lines[i].text)
		if count[kind]++; count[kind] <= logs.OftenAlike {
			first = append(first, i)
		} else {
			others = append(others, i)
		}
	}
	return append(first, others...)
}

// diagnosed returns the findings of a linter that labels none of them an error.
func diagnosed(doc *document) []int {
	var lines []int
	for i := range doc.lines {
		l := &doc.lines[i]
		if len(lines) < mostDiagnosed && l.starts && isDiagnostic(l.text) && !warns(l.text) {
			lines = append(lines, i)
		}
	}
	lines = doc.varied(lines)
	return lines[:min(len(lines), mostPartial)]
}

// traceOf returns the lines after an error line that belong to it: deeper ones, places, and what a colon announces.
func traceOf(doc *document, at int) []int {
	var lines []int
	announced := 0
	if announces(doc.lines[at].text) {
		announced = at + announcedLines
	}
	for i := at + 1; i < len(doc.lines) && len(lines) < traceLines; i++ {
		l := &doc.lines[i]
		deeper := l.indent > doc.lines[at].indent || i <= announced
		if l.text == "" || !deeper && !(isDiagnostic(l.text) && !warns(l.text)) && !(strings.HasPrefix(doc.lines[at].text, "│") && strings.HasPrefix(l.text, "│")) && !compares(l.text) { // a box (Terraform's, Rich's)
			break
		}
		if len(l.text) < shortestTrace || strings.HasPrefix(l.text, "--- PASS") || strings.Trim(l.text, "=-_~^|+. ") == "" || saidAbove(doc, i) || isLibraryFrame(l.text) {
			continue // a caret, a bar; a second one below the same line of code
		}
		lines = append(lines, i)
	}
	return lines
}

// announces reports whether an error line's message is on the following lines.
func announces(text string) bool {
	return strings.HasSuffix(text, ":") || strings.HasPrefix(text, "Error using ") || strings.HasPrefix(text, "ERROR in ") || text == "WARNING: DATA RACE"
}

// comparesAt recognizes two lines of which one has a test's expected value and the other the actual one.
func (d *document) comparesAt(i int) bool {
	if !compares(d.lines[i].text) {
		return false
	}
	return i > 0 && compares(d.lines[i-1].text) || i+1 < len(d.lines) && compares(d.lines[i+1].text)
}

// isLibraryFrame matches a stack frame of the language's library or test runner, which does not help to find the cause.
func isLibraryFrame(text string) bool {
	frame, ok := strings.CutPrefix(text, "at ")
	return ok && strings.Contains(frame, "node_modules/") || ok && slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(frame, l) })
}

var libraries = []string{"java.", "java.base/", "jdk.", "sun.", "org.junit.", "System.", "Microsoft.", "node:", "Module._", "Object.Module._"}

// compares matches the values that a test compared: "Expected: 3", "got: 4".
func compares(text string) bool {
	const longestWord = 8
	word, rest, ok := strings.Cut(text[:min(len(text), longestWord+2)], ":")
	if !ok || rest == "" {
		return false
	}
	switch strings.ToLower(word) {
	case "expected", "actual", "got", "want", "wanted", "received", "left", "right", "but was":
		return true
	}
	return false
}

// saidAbove reports whether a line of code already appeared with another error just above.
func saidAbove(doc *document, at int) bool {
	for i := at - 1; i >= max(0, at-messageLines); i-- {
		if doc.lines[i].text == doc.lines[at].text {
			return true
		}
	}
	return false
}

// shortestTrace is the length, in bytes, up to which a line below an error only points at something.
const shortestTrace = 5

// messagesOf returns the messages right above a verdict: what a test printed before it failed, the innermost
// frames of a traceback.
func messagesOf(doc *document, at int) []int {
	var lines []int
	for i := at - 1; i >= max(0, at-messageLines); i-- {
		if isDiagnostic(doc.lines[i].text) && !warns(doc.lines[i].text) || strings.HasPrefix(doc.lines[i].text, "File \"") || i == at-1 && strings.HasPrefix(doc.lines[i].text, "> ") && strings.HasPrefix(doc.lines[at].text, "E ") {
			lines = append(lines, i)
			if i+1 < at && isDiagnostic(doc.lines[i].text) && doc.lines[i+1].indent > doc.lines[i].indent {
				lines = append(lines, i+1) // the rest of the message
			}
		}
	}
	return lines
}

// reasonOf returns the last message below the name of a failed test, behind what the test has logged, and the lines that continue it.
func reasonOf(doc *document, at int) []int {
	const farthest, continued = 400, 2
	if !strings.HasPrefix(doc.lines[at].text, "--- FAIL: ") {
		return nil
	}
	found := words.None
	for i := at + 1; i < min(len(doc.lines), at+farthest); i++ {
		l := &doc.lines[i]
		if l.text != "" && l.indent <= doc.lines[at].indent || strings.HasPrefix(l.text, "--- ") {
			break
		}
		if isDiagnostic(l.text) && !warns(l.text) {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	lines := []int{found}
	for i := found + 1; i < len(doc.lines) && len(lines) <= continued && doc.lines[i].text != "" && doc.lines[i].indent > doc.lines[found].indent; i++ {
		lines = append(lines, i)
	}
	return lines
}

// warns reports whether a diagnostic is less than an error.
func warns(text string) bool {
	return strings.Contains(text, "warning") || strings.Contains(text, ": note:")
}

func firstLines(doc *document, n int) []int {
	var lines []int
	for i := range doc.lines {
		if len(lines) == n {
			break
		}
		if doc.lines[i].text != "" {
			lines = append(lines, i)
		}
	}
	return slices.Clip(lines)
}

// If the messages of a compiler, a linter or a test run do not all fit, the places of the others are listed: `store.go:12`.

// leastPlaces is how many messages are few enough to be shown.
const leastPlaces = 5

// diagnosedPlaces are the places that a command's messages are about, each by the name of its file.
func (d *document) diagnosedPlaces() []landmark {
	var list []landmark
	seen := map[string]bool{}
	for i := range d.lines {
		l := &d.lines[i]
		if !l.starts || !l.located && !hasPlace(l.text) {
			continue
		}
		if name := d.placeOf(i); name != "" && !seen[name] && len(list) < mostLandmarks {
			seen[name] = true
			list = append(list, landmark{line: i, name: name, worth: placeWorth, place: true})
		}
	}
	if len(list) < leastPlaces {
		return nil
	}
	return list
}

// placeOf returns the file's name and the line that a message is about; empty if the line is none.
func (d *document) placeOf(i int) string {
	if l := &d.lines[i]; l.located {
		path := d.groups[l.group]
		return path[strings.LastIndexByte(path, '/')+1:] + ":" + itoa(l.number)
	}
	return placeIn(d.lines[i].text)
}

// placeIn returns the file's name and the line in front of a message: "src/a.go:12:3: text", "src/a.ts(12,3): text".
func placeIn(text string) string {
	at := strings.IndexAny(text, ":( ")
	if at <= 0 || text[at] == ' ' || !namesFile(text[:at], '-') || placeEnd(text) == 0 {
		return ""
	}
	end := at + 1
	for end < len(text) && lex.IsDigit(text[end]) {
		end++
	}
	return text[strings.LastIndexAny(text[:at], `/\\`)+1:at] + ":" + text[at+1:end]
}

// placesRoom is how much of the room the places take that no message shows, in characters: at most a third.
func (c *chooser) placesRoom(lines []int, room int) int {
	if len(c.doc.landmarks) == 0 || !c.doc.landmarks[0].place || c.doc.placeOf(c.doc.landmarks[0].line) == "" {
		return 0
	}
	need, left := 0, room
	for _, i := range lines {
		left -= min(c.cost(choice{line: i, end: len(c.doc.lines[i].text)}), clippedMessage)
	}
	if left >= 0 {
		return 0
	}
	for _, m := range c.doc.landmarks {
		need += lex.Runes(m.name) + 2
	}
	return min(need, room/3)
}
