package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/clean"
	"precis/summarize/rules/words"
	"precis/summarize/verdict"
)

// Statuses of a tool output.
const (
	statusSuccess = "success"
	statusError   = "error"
	statusPartial = "partial" // it ended incompletely, or found nothing
)

// facts describe an output without its lines.
type facts struct {
	ended  verdict.Outcome
	status string // of the record
	key    []string
	meta   map[string]any
	exit   string      // the exit code, if known
	errors []int       // error lines, in order
	same   map[int]int // by error line: the first one that says the same
	wide   bool        // the header has a fact that a reader of the file looks for
	report bool        // an agent's answer to the one that started it
	urgent []int       // lines to show before all others
	traces []int       // lines below errors, which follow them
}

func (f *facts) add(name, value string) {
	if value != "" {
		f.key = append(f.key, name+": "+value)
	}
}

// quoted makes a fact of the output's own text: it must not run on into other facts, such as an exit code, nor into a
// summary of another output.
func quoted(text string, n int) string {
	said := []rune(lex.Clip(text, n))
	blank := func(i int) bool { return i < 0 || i == len(said) || said[i] == ' ' || !unicode.IsPrint(said[i]) }
	for i, r := range said {
		if r == '|' && (blank(i-1) || blank(i+1)) {
			said[i] = '/'
		}
	}
	return noMarks.Replace(string(said))
}

var noMarks = strings.NewReplacer("[✓", "(✓", "[❌", "(❌", "[⚠", "(⚠")

// note adds to the metadata; it clips texts, since arguments can have any length.
func (f *facts) note(key string, value any) {
	if text, ok := value.(string); ok {
		value = lex.Clip(lex.OneLine(text), maxNote)
	}
	f.meta[key] = value
}

func (f *facts) metadata(include bool) map[string]any {
	if !include {
		return map[string]any{}
	}
	return f.meta
}

// Maximum lengths of facts, in code points; the command's and the error's are seed 2's.
const (
	maxPath    = 90
	maxCommand = 60
	maxPattern = 60
	maxError   = 100
	maxNote    = 400
)

func factsOf(in Input, category Category, args call.Arguments, doc *document) *facts {
	f := &facts{status: statusSuccess, key: []string{}, meta: map[string]any{}}
	f.errors = errorLines(in, category, doc)
	f.settle(in, category, args, doc)
	switch category {
	case FileContent:
		f.file(args, doc)
	case SearchResults:
		f.search(args, doc)
	case DirectoryListing:
		f.listing(args, doc)
	case StructuredData:
		f.data(in, args, doc)
	case WebContent:
		f.web(args, doc)
	case WriteResult:
		f.write(args, doc)
	default:
		f.command(args, doc)
	}
	f.ofPassedTests(doc)
	f.failure(doc)
	if in.PreserveErrors {
		f.urgent, f.traces = urgentLines(f, doc)
		if category == WriteResult {
			if f.status == statusError {
				f.urgent = append(firstLines(doc, 1), f.urgent...) // why it was refused
			}
			if f.ended.Verdict == verdict.Success {
				f.urgent = append(f.urgent, doc.resultSentence(cmp.Or(args.Path(), doc.namedPath()))...)
			}
			f.urgent = append(f.urgent, doc.changed(args, f.status == statusError)...)
		}
	}
	if doc.screen {
		f.urgent = append(doc.lastLines(in.MaxChars*endShare/100), f.urgent...)
	}
	if f.urgent = append(f.urgent, doc.changedFirst()...); len(f.errors) == 0 {
		f.urgent = append(f.urgent, doc.plans()...)
	}
	if told := doc.searchFailed(); category == WebContent && told >= 0 && f.ended.Verdict == verdict.Success {
		f.ended.Verdict = verdict.Unknown
		f.urgent = append(f.urgent, told)
	}
	if category == WebContent && f.status == statusError {
		f.urgent = append(f.urgent, doc.refused()...)
	}
	f.urgent = append(f.urgent, doc.kept(in.Keep)...)
	if doc.prose {
		if f.report {
			doc.question = questionOf(args)
		}
		f.urgent = append(f.urgent, doc.conclusions(f.report)...)
	}
	return f
}

// ofPassedTests sets back the error text that tests of failures print: of a run that passed all of it, of one that failed at something
// else what stands between the runner's first line and its totals.
func (f *facts) ofPassedTests(doc *document) {
	tests := f.ended.Tests
	if !tests.HasPassed || tests.Failed+tests.Errors > 0 {
		return
	}
	from, to := 0, len(doc.lines)
	if f.ended.Verdict != verdict.Success {
		from, to = doc.testRun()
	}
	f.errors = slices.DeleteFunc(f.errors, func(i int) bool {
		within := i >= from && i < to
		if within {
			doc.lines[i].favour = passedError
			for _, k := range traceOf(doc, i) {
				doc.lines[k].favour = passedError
			}
		}
		return within && f.ended.Verdict != verdict.Success
	})
}

// testRun returns the lines of the last run of tests: from the runner's first line to its totals; none if it has no such lines.
func (d *document) testRun() (from, to int) {
	start := words.None
	for i := range d.lines {
		switch text := d.lines[i].text; {
		case testsStart.MatchString(text):
			start = i
		case start >= 0 && testsTotal.MatchString(text):
			from, to = start, i
		}
	}
	return from, to
}

var (
	testsStart = regexp.MustCompile(`^(?:bun test v\d|=+ test session starts|running \d+ tests?$|RUN +v\d|TAP version)`)
	testsTotal = regexp.MustCompile(`^(?:Ran \d+ tests?\b|Tests:? +\d+ passed|test result: ok|=+ \d+ passed|# fail +0$)`)
)

// passedError is the factor on the worth of error text in a run whose tests passed.
const passedError = dullWorth

// settle asks for the verdict. A record has no word for an unknown one: nothing says that it failed.
func (f *facts) settle(in Input, category Category, args call.Arguments, doc *document) {
	named := in.ToolName
	if in.Category != "" {
		named = "" // the policy says what it is, not its name
	}
	kind := kindOfCall(named, category, args)
	if in.quoted && kind == verdict.Run {
		kind = verdict.Look
	}
	f.report = kind == verdict.Report
	call := verdict.Call{Kind: kind, Command: args.ShellLine(), IsError: in.IsError, ExitCode: in.ExitCode, Log: doc.log, Text: clean.Clean(in.Content)}
	f.ended = verdict.Of(call)
	if f.ended.ExitKnown {
		f.exit = itoa(f.ended.Exit)
		f.note("exit_code", f.ended.Exit)
	}
	switch f.ended.Verdict {
	case verdict.Failure:
		f.status = statusError
	case verdict.Partial:
		f.status = statusPartial
	}
}

// kindOfCall returns which evidence counts for a call.
func kindOfCall(tool string, category Category, args call.Arguments) verdict.Kind {
	switch named := categoryByName(tool); {
	case category == WriteResult:
		return verdict.Edit
	case named == WriteResult: // an editor that shows a file
		return verdict.Look
	case named == FileContent || named == SearchResults || named == DirectoryListing:
		return verdict.Look
	case args.Command() != "" || category == CommandOutput:
		return verdict.Run
	case category == FileContent || category == SearchResults || category == DirectoryListing:
		return verdict.Look
	case category == Other && args.Text("prompt", "task", "subagent_type") != "":
		return verdict.Report
	}
	return verdict.Other
}

// failure adds the first error line.
func (f *facts) failure(doc *document) {
	if f.status == statusSuccess && len(f.errors) == 0 {
		return
	}
	f.note("has_error", len(f.errors) > 0 || f.status == statusError)
	if len(f.errors) > 0 && f.status != statusSuccess {
		f.add("Error", quoted(doc.lines[f.errors[0]].text, maxError))
	}
}

// nothing sets the status of an output that found nothing.
func (f *facts) nothing() {
	if f.status == statusSuccess {
		f.status, f.ended.Verdict = statusPartial, verdict.Partial
	}
}

// header is the line of facts: `[✓ read_file: File: /app.ts | Lines: 100]`. If it is longer than limit,
// it shortens the first fact (the path, command or pattern, which the call contains too) and drops facts
// from the end.
func (f *facts) header(tool string, limit int) string {
	mark := f.ended.Verdict.Mark()
	if mark != "" {
		mark += " "
	}
	if tool == "" {
		tool = "tool"
	}
	head := "[" + mark + lex.Clip(lex.OneLine(tool), max(12, limit/3)) + ": "
	key := append([]string(nil), f.key...)
	most := limit + min(moreHeader, limit/2)
	for {
		text := head + strings.Join(key, " | ") + "]"
		excess := lex.Runes(text) - limit
		if excess <= 0 || len(key) == 0 {
			return lex.Clip(text, limit)
		}
		least := firstFact
		if len(key) <= 2 {
			least = leastFact
		}
		least = max(least, min(wholeOf(key[0]), longestFirst))
		if wholeOf(key[0]) > 0 && (len(key) == 1 || len(key) == 2 && (strings.HasPrefix(key[1], "Lines: ") || strings.HasPrefix(key[1], "Part: "))) { // what an output is of, and which part of it, is told in any case
			limit = max(limit, min(most, lex.Runes(text)-lex.Runes(key[0])+least))
			excess = lex.Runes(text) - limit
		}
		if len(key) == 2 && strings.HasPrefix(key[1], "Matches: ") && lex.Runes(key[0])-excess < least { // so is how much a search found
			least = (leastFact + firstFact) / 2
			limit = max(limit, min(most, lex.Runes(text)-lex.Runes(key[0])+least))
			excess = lex.Runes(text) - limit
		}
		if excess <= 0 {
			return text
		}
		if first := lex.Runes(key[0]); first-excess >= least || len(key) == 1 {
			key[0] = shorten(key[0], max(first-excess, 8))
			return lex.Clip(head+strings.Join(key, " | ")+"]", limit)
		}
		if second := lex.Runes(key[len(key)-1]) - excess; len(key) == 2 && strings.HasPrefix(key[0], "Running: ") && second >= leastFact { // what was typed
			key[1] = lex.Clip(key[1], second)
			continue
		}
		key = key[:len(key)-1]
	}
}

// Minimum lengths of the first fact, in code points: it keeps more when a third fact competes than a second.
const (
	firstFact = 28
	leastFact = 18
)

// longestFirst is how long a first fact is that stands as it is, and moreHeader how much longer the line becomes for it.
const longestFirst, moreHeader = 64, 30

// wholeOf returns how much of a first fact must stand: the name of a file, all arguments, which process goes on.
func wholeOf(fact string) int {
	name, value, _ := strings.Cut(fact, ": ")
	switch name {
	case "File", "Path":
		if at := strings.LastIndexByte(value, '/'); at > 0 {
			return min(lex.Runes(fact), len(name)+len(": …")+lex.Runes(value[at:]))
		}
		return lex.Runes(fact)
	case "Args", "Running":
		return lex.Runes(fact)
	}
	return 0
}

// shorten cuts a fact's value: a path at its beginning, a command in front of the name of what it is about, anything else at its end.
func shorten(fact string, n int) string {
	name, value, ok := strings.Cut(fact, ": ")
	if ok && (name == "File" || name == "Path") {
		return name + ": " + shortPath(value, n-lex.Runes(name)-2)
	}
	if name == "Command" {
		return clipCommand(fact, n)
	}
	return lex.Clip(fact, n)
}

// clipCommand cuts a command, and a path where it is cut in its middle; a pattern is none.
func clipCommand(fact string, n int) string {
	cut := lex.Clip(fact, n)
	if cut != fact {
		at := len(strings.TrimSuffix(cut, lex.ClipMark))
		from := strings.LastIndexByte(fact[:at], ' ') + 1
		word, _, _ := strings.Cut(fact[from:], " ")
		if slash := strings.LastIndexByte(word, '/'); slash > at-from && !strings.ContainsAny(word, `|\^*()[]`) && lex.Runes(fact[:from])+lex.Runes(word[slash:])+1 <= n {
			room := n - lex.Runes(fact[:from]) - lex.Runes(word[slash:]) - 1
			return fact[:from] + lex.Prefix(word, room) + lex.ClipMark + word[slash:]
		}
	}
	return cut
}

// shortPath keeps the end of a path, beginning at a slash if possible.
func shortPath(path string, n int) string {
	cut := clipLeft(path, n)
	if i := strings.IndexByte(cut, '/'); i > 0 && cut != path && i < len(cut)*2/3 {
		return lex.ClipMark + cut[i:]
	}
	return cut
}
