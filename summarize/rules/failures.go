package rules

import (
	"regexp"
	"slices"
	"strings"
)

// diagnostic is what compilers, linters and test runners print of a place: "path/x.go:12:3: message".
var diagnostic = regexp.MustCompile(`^(?:\S{0,40}\s)?[\w./\\@-]{1,200}\.\w{1,6}[:(]\d{1,6}(?:[:,]\d{1,4})?\)?:? \S`)

func isDiagnostic(text string) bool { return hasPlace(text) && diagnostic.MatchString(text) }

// hasPlace is a cheap test before it: a line's number behind a name.
func hasPlace(text string) bool {
	for i := 1; i+1 < len(text); i++ {
		if (text[i] == ':' || text[i] == '(') && isDigit(text[i+1]) && wordByte[text[i-1]] {
			return true
		}
	}
	return false
}

// errorLines are the lines that tell of failures, where the output is one that can: a file or a page that
// is read may speak of errors without any having happened.
func errorLines(in Input, category Category, doc *document) []int {
	told := in.IsError != nil && *in.IsError || in.ExitCode != nil && *in.ExitCode != 0
	mayFail := category == CommandOutput || category == Other && in.IsError == nil
	if !mayFail && !told {
		return nil
	}
	var found []int
	for i := range doc.lines {
		l := &doc.lines[i]
		switch {
		case told && doc.comparesAt(i):
			found = append(found, i)
		case l.record == recordFailed:
			found = append(found, i)
		case !l.starts || len(l.text) < shortestError && strings.HasPrefix(l.text, "[") || !tellsError(l.text):
		case strings.HasPrefix(l.text, "Traceback (most recent"):
			found = append(found, raised(doc, i))
		default:
			found = append(found, i)
		}
	}
	return slices.Compact(found)
}

// shortestError is the length under which a line has a level in brackets and nothing behind it, in bytes.
const shortestError = 12

// raised is the line that says what a Python traceback is about: the first behind its frames.
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
	mostPartial   = 8    // of a call that went well, though what it ran did not
	mostDiagnosed = 1000 // looked at

	messageLines = 6 // above a verdict that may hold its messages
	traceLines   = 4 // that follow an error line and belong to it

	announcedLines = 2 // under one that ends with a colon
)

// urgentLines orders the error text of an output that failed: the last error line (in most languages it
// names the cause), the first, then the others with what belongs to them. A failed output without any
// recognized error line begins with its message.
func urgentLines(f *facts, doc *document) []int {
	if f.status == statusSuccess || len(doc.lines) == 0 {
		return nil
	}
	if len(f.errors) == 0 {
		return append(diagnosed(doc), firstLines(doc, 3)...)
	}
	first, last := f.errors[0], f.errors[len(f.errors)-1]
	lines := append([]int{last, first}, messagesOf(doc, first)...)
	lines = append(lines, traceOf(doc, first)...)
	lines = append(lines, traceOf(doc, last)...)
	seen := map[string]bool{doc.lines[first].text: true, doc.lines[last].text: true}
	most := mostUrgent
	if f.status == statusPartial {
		most = mostPartial
	}
	for _, i := range doc.varied(f.errors) {
		if len(lines) >= most {
			break
		}
		if key := doc.lines[i].text; seen[key] {
			continue
		} else {
			seen[key] = true
		}
		lines = append(lines, i)
		lines = append(lines, messagesOf(doc, i)...)
		lines = append(lines, traceOf(doc, i)...)
	}
	return lines
}

// varied puts behind the others those of the lines that differ in digits only from several before them.
func (d *document) varied(lines []int) []int {
	var first, others []int
	count := map[uint64]int{}
	for _, i := range lines {
		kind := maskedHash(d.lines[i].text)
		if count[kind]++; count[kind] <= oftenAlike {
			first = append(first, i)
		} else {
			others = append(others, i)
		}
	}
	return append(first, others...)
}

// diagnosed are the findings of a linter that calls none of them an error.
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

// traceOf are the lines under an error line that belong to it: deeper ones, places, and what a colon announces.
func traceOf(doc *document, at int) []int {
	var lines []int
	announced := 0
	if announces(doc.lines[at].text) {
		announced = at + announcedLines
	}
	for i := at + 1; i < len(doc.lines) && len(lines) < traceLines; i++ {
		l := &doc.lines[i]
		deeper := l.indent > doc.lines[at].indent || i <= announced
		if l.text == "" || !deeper && !(isDiagnostic(l.text) && !warns(l.text)) && !boxed(doc.lines[at].text, l.text) && !compares(l.text) {
			break
		}
		if len(l.text) < shortestTrace || strings.Trim(l.text, "=-_~^|+. ") == "" || saidAbove(doc, i) || isLibraryFrame(l.text) {
			continue // a caret, a bar; a second one under the same line of code
		}
		lines = append(lines, i)
	}
	return lines
}

// announces tells an error line whose message stands under it.
func announces(text string) bool {
	return strings.HasSuffix(text, ":") || strings.HasPrefix(text, "Error using ") || strings.HasPrefix(text, "ERROR in ") || text == "WARNING: DATA RACE"
}

// comparesAt tells one of two lines of which one says what a test expected and the other what it got.
func (d *document) comparesAt(i int) bool {
	if !compares(d.lines[i].text) {
		return false
	}
	return i > 0 && compares(d.lines[i-1].text) || i+1 < len(d.lines) && compares(d.lines[i+1].text)
}

// isLibraryFrame tells a frame of a stack that is the language's own or its test runner's, and says nothing of the cause.
func isLibraryFrame(text string) bool {
	frame, ok := strings.CutPrefix(text, "at ")
	return ok && strings.Contains(frame, "node_modules/") || ok && slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(frame, l) })
}

var libraries = []string{"java.", "java.base/", "jdk.", "sun.", "org.junit.", "System.", "Microsoft.", "node:", "Module._", "Object.Module._"}

// compares tells what a test compared: "Expected: 3", "got: 4".
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

// saidAbove tells a line of code that stands under another error of it just above.
func saidAbove(doc *document, at int) bool {
	for i := at - 1; i >= max(0, at-messageLines); i-- {
		if doc.lines[i].text == doc.lines[at].text {
			return true
		}
	}
	return false
}

// shortestTrace is the length up to which a line under an error only points at something, in bytes.
const shortestTrace = 5

// boxed tells a line of the box that an error line stands in (Terraform's, Rich's).
func boxed(first, line string) bool {
	return strings.HasPrefix(first, "│") && strings.HasPrefix(line, "│")
}

// messagesOf are the messages right above a verdict: what a test printed before it failed, the innermost
// frames of a traceback.
func messagesOf(doc *document, at int) []int {
	var lines []int
	for i := at - 1; i >= max(0, at-messageLines); i-- {
		if isDiagnostic(doc.lines[i].text) && !warns(doc.lines[i].text) || strings.HasPrefix(doc.lines[i].text, "File \"") {
			lines = append(lines, i)
		}
	}
	return lines
}

// warns tells a diagnostic of less than an error.
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

var exitLine = regexp.MustCompile(`(?i)(?:\bexit(?:ed)?(?: with)?[ _]?(?:code|status)?[:= ]\s*|\bexit (?:code|status) |exited with (?:code|status) |returned non-zero exit status )(-?\d{1,5})\b`)

// exitLineAlone is one that says nothing else, as what runs a command writes it around the command's output.
var exitLineAlone = regexp.MustCompile(`(?i)^\W{0,12}(?:\w+ ){0,5}(?:exit(?:ed)?(?: with)?[ _]?(?:code|status)?[:= ]\s*)(-?\d{1,5})\W{0,4}$`)

// exitCode is the event's, else one that a command's first or last lines state. What a command prints could say
// anything: that it went well is believed of a line that says nothing else, and nothing is of a header like ours.
func exitCode(in Input, category Category, doc *document) (code int, known bool) {
	if in.ExitCode != nil {
		return *in.ExitCode, true
	}
	if category == FileContent || category == SearchResults || category == WebContent {
		return 0, false
	}
	const ends = 3
	for i := range doc.lines {
		if i >= ends && i < len(doc.lines)-ends {
			continue
		}
		if n, ok := statedExit(doc.lines[i].text); ok {
			return n, true
		}
	}
	return 0, false
}

func statedExit(text string) (code int, ok bool) {
	if len(text) > 200 || !strings.Contains(strings.ToLower(text), "exit") || hasFacts(text) {
		return 0, false // cheaper than the expression
	}
	m := exitLine.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n := atoi(strings.TrimPrefix(m[1], "-"))
	if strings.HasPrefix(m[1], "-") {
		n = -n
	}
	return n, n != 0 || exitLineAlone.MatchString(text)
}

// hasFacts tells a line of facts like a summary's first one.
func hasFacts(text string) bool {
	return strings.Contains(text, "[✓ ") || strings.Contains(text, "[❌ ") || strings.Contains(text, " | ")
}
