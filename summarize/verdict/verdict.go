package verdict

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
)

// Verdict is how a call ended.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota
	Success
	Partial // a part of it failed
	Failure
)

// Mark is how a verdict is shown; an unknown one is not.
func (v Verdict) Mark() string { return [...]string{"", "✓", "⚠", "❌"}[v] }

func (v Verdict) String() string { return [...]string{"unknown", "success", "partial", "failure"}[v] }

// Kind is what a call does, as far as that decides which evidence counts.
type Kind uint8

// The kinds of calls.
const (
	Other  Kind = iota
	Run         // runs programs: their own words count
	Look        // shows a file, a listing, matches: the text belongs to others
	Edit        // changes files, and acknowledges that
	Report      // a page, a report of another agent
)

// Call is a tool call and its output.
type Call struct {
	Kind     Kind
	Command  string // the shell command of a Run; may be empty
	IsError  *bool
	ExitCode *int
	Log      bool   // the text is what programs wrote while they ran, at another time
	Text     string // without terminal controls
}

// Outcome is a verdict and what it was taken from.
type Outcome struct {
	Verdict Verdict
	Exit    int // where ExitKnown
	// ExitKnown: the event or the harness states the exit code of the call.
	ExitKnown bool
	Line      string // the line that decided; may be empty
	Tests     Tally  // of a test runner that sums up once
}

// Of decides how a call ended.
func Of(c Call) Outcome {
	s := newScan(c)
	o := s.exit()
	switch {
	case c.IsError != nil && *c.IsError:
		o.Verdict, o.Line = Failure, s.first()
		if words := s.words(); words.bad != "" {
			o.Line, o.Tests = words.bad, words.tests
		}
	case s.refused():
		o.Verdict, o.Line = Failure, s.first()
	case s.runs():
		s.decideRun(&o)
	case o.ExitKnown && o.Exit != 0:
		o.Verdict = Failure
		if c.Kind == Run && c.Command == "" { // the end of a process that was started before
			words := s.words()
			o.Line, o.Tests = words.bad, words.tests
		}
		if s.answers(o.Exit) {
			o.Verdict = Unknown // grep, diff and test say no by it
		}
	case c.Kind == Edit:
		o.Verdict, o.Line = s.editVerdict()
	case c.Kind == Look || c.Kind == Run: // a Run of commands that only show something
		o.Verdict, o.Line = s.lookVerdict()
	default:
		s.decideOther(&o)
	}
	return o
}

// decideRun weighs an exit code against the runner's own words. An exit code of 0 that is the program's own is never a
// failure. Where several programs run and it may be another one's, success of one does not undo the errors of another.
func (s *scan) decideRun(o *Outcome) {
	w := s.words()
	o.Tests = w.tests
	told := s.toldFailed()
	w.bad = cmp.Or(w.bad, told)
	good := o.ExitKnown && o.Exit == 0 || s.call.IsError != nil || s.reached()
	proven := good && s.exitProves()
	reports, found := s.examines()
	quoted := s.quotes()
	several := !proven && s.programs() != 1
	switch {
	case o.ExitKnown && s.answers(o.Exit):
		o.Verdict = Unknown
	case o.ExitKnown && o.Exit != 0:
		o.Verdict, o.Line = Failure, w.bad
	case s.unfinished():
		o.Verdict = Unknown
	case reports:
		if o.Line = found; found != "" {
			o.Verdict = Success
		}
	case quoted != nothingQuoted && (proven || quoted == quotedLast || w.bad+w.soft+w.compiler+w.last != ""):
		if o.Verdict = Unknown; proven { // whose words they are, nothing tells
			o.Verdict = Success
		}
		if w.bad+w.soft != "" {
			o.Tests = Tally{}
		}
	case proven && w.bad != "" && w.good != "" && told == "" && (w.goodLast || w.tests.Failed+w.tests.Errors == 0 && (o.ExitKnown || !w.badNear)):
		o.Verdict, o.Line = Success, w.good
	case proven && w.bad != "":
		o.Verdict, o.Line = Partial, w.bad // its words and its exit code disagree
	case w.broken != "" && several && w.goodLast:
		o.Verdict, o.Line = Partial, w.broken
	case w.broken != "":
		o.Verdict, o.Line = Failure, w.broken
	case w.bad != "" && w.good == "":
		o.Verdict, o.Line = Failure, w.bad
	case w.compiler != "" && w.good == "" && !proven:
		o.Verdict, o.Line = Failure, w.compiler
	case w.badNear && !several && w.sum && w.goodLast && w.tests.HasPassed && w.tests.Failed+w.tests.Errors == 0:
		o.Verdict, o.Line = Success, w.good // what passing tests of failures print
	case w.badNear && !several && w.goodLast && saysDone.begins(w.good) && !s.runsOthers():
		o.Verdict, o.Line = Success, w.good // it went on, and was done
	case w.badNear && w.goodLast && w.sum && slices.ContainsFunc(s.lines, retries.MatchString):
		o.Verdict = Unknown // which of the runs counts, the one that retries knows
	case w.badNear && several && w.goodLast:
		o.Verdict, o.Line = Partial, w.bad
	case w.badNear:
		o.Verdict, o.Line = Failure, w.bad
	case w.bad != "":
		o.Verdict, o.Line = Partial, w.bad
	case w.compiler != "" && w.placed && several:
		o.Verdict, o.Line = Partial, w.compiler
	case w.endsBad && w.goodLast && !proven:
		o.Verdict = Unknown // an error behind the sum: the run's, or a test's that prints late
	case w.soft != "" && (several || !proven || !slices.ContainsFunc(s.steps, isScript)) && (several || !w.sum || !w.goodLast || w.softLast || !w.tests.passedAll()):
		o.Verdict, o.Line = Partial, w.soft
	case w.good != "" && (proven || w.sum && w.goodLast && (w.last == "" || !saysDone.begins(w.good)) || !w.troubled):
		o.Verdict, o.Line = Success, w.good
	case proven && (o.ExitKnown || !w.troubled):
		o.Verdict = Success
	case w.last != "" && !good:
		o.Verdict, o.Line = Failure, w.last
	case w.last != "":
		o.Verdict, o.Line = Partial, w.last
	}
	if o.Verdict >= Partial && o.Line == w.last && w.compiler == "" && s.cutOff(true) { // not among the last lines of the run
		o.Verdict, o.Line = Unknown, ""
	}
	if o.Verdict == Success && !proven && o.Line != "" && (w.behind > 0 && s.runsOthers() || s.cutOff(w.sum)) {
		o.Verdict, o.Line = Unknown, ""
	}
	o.withoutOthers(w)
}

// withoutOthers leaves out what a failure's counts of tests would say of something else.
func (o *Outcome) withoutOthers(w words) {
	if o.Verdict == Failure && !o.ExitKnown && o.Tests.passedAll() && failedFile.MatchString(o.Line) { // what is counted is another run
		o.Tests = Tally{}
	}
	if o.Verdict == Failure && w.broken != "" && o.Tests.Failed+o.Tests.Errors == 0 { // of the tests that it came to: "0 failed" would mislead
		if o.Tests.HasFailed, o.Tests.HasErrors = false, false; !o.Tests.HasPassed {
			o.Tests = Tally{}
		}
	}
}

// failedFile matches a runner's line about a file of tests that failed.
var failedFile = regexp.MustCompile(`^FAIL +[\w./\\@-]+\.\w{1,5}(?: |$)`)

// decideOther judges an output of which only the harness's flag and the text are known.
func (s *scan) decideOther(o *Outcome) {
	first, flagged := s.first(), s.call.IsError != nil
	short := len(s.call.Text) <= longestMessage || !flagged // a page can have an error for its title
	switch {
	case short && (strings.HasPrefix(first, "Error: ") || strings.HasPrefix(first, "Error executing") || strings.HasPrefix(first, "Error calling")), failedJSON(s.call.Text):
		o.Verdict, o.Line = Failure, first
	case s.call.Kind == Other && !flagged && !o.ExitKnown && failedWithCode.MatchString(first):
		o.Verdict, o.Line = Failure, first
	case s.call.Kind == Other && flagged, o.ExitKnown:
		o.Verdict = Success
	case s.call.Kind == Other && len(s.lines) == 1 && len(first) < longestMessage && first[0] != '{' && first[0] != '[' && TellsError(first):
		o.Verdict, o.Line = Failure, first
	}
}

// failedWithCode is how a tool of any name says that what it ran failed: "step 3: build FAILED, rc=1". Words about an exit code also stand in
// titles of what a tool fetches.
var failedWithCode = regexp.MustCompile(`(?i)^.{0,120}\b(?:failed|failure)\b.{0,40}\b(?:rc|exit_?code) ?[=:] ?[1-9]\d{0,4}\)?\.?$`)

// longestMessage bounds an answer that is only an error, in bytes.
const longestMessage = 300

// failedJSON reports whether an answer is an object that says that it is an error: {"error": …}, {"isError": true.
func failedJSON(text string) bool {
	const most = 64 << 10
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return false
	}
	d := jsontext.NewDecoder(strings.NewReader(text[:min(len(text), most)]), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return false
		}
		name := key.String()
		value, err := d.ReadValue()
		if err != nil {
			return false
		}
		if envelope.StatesError(name, value) {
			return true
		}
	}
	return false
}

// editVerdict reads an editor's acknowledgement. Its first line decides; the lines below it may be the text that was
// changed, in which a refusal counts only where no line number stands, and behind a success only at a line's beginning.
func (s *scan) editVerdict() (Verdict, string) {
	const shown = 30
	first := s.first()
	failed, done := has(first, editRefused), has(first, editDone)
	refused := failed || !done && (strings.HasPrefix(first, "Error") || TellsError(first))
	bad := ""
	if refused {
		bad = first
	}
	part := false // an edit of several was applied
	for i, line := range s.lines {
		if i == 0 || i >= shown && i < len(s.lines)-shown || numbered.MatchString(line) {
			continue
		}
		switch {
		case begins(line, editRefused) || !done && has(line, editRefused):
			if bad == "" {
				bad = line
			}
		case begins(line, editDone) || has(line, editDone[:3]):
			part = part || has(line, editDone[:3])
			if !done && bad == "" {
				done, first = true, line
			}
		}
	}
	switch {
	case bad != "" && (part || done && has(first, editDone)):
		return Partial, bad
	case bad != "":
		return Failure, bad
	case done:
		return Success, first
	case s.call.IsError != nil:
		return Success, ""
	}
	return Unknown, ""
}

// numbered matches a line of a shown text.
var numbered = regexp.MustCompile(`^\s*\d+\s*[\t→|:│]`)

func has(line string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(line, p) })
}

func begins(line string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.HasPrefix(line, p) })
}

// What editors say, as parts of a line; the first three of editDone are said of a part of several edits.
var (
	editRefused = []string{"introduced new syntax error", "failed to match", "String to replace not found", "string to replace not found", "No replacement was performed",
		"No exact match", "old_string not found", "oldString not found", "old_str` did not appear", "did not appear verbatim", "not found in file", "not found in content", "Failed to apply", "Failed to edit", "Failed to find",
		"has not been read yet", "has been modified since", "patch does not apply", "Hunk FAILED", "hunk FAILED", "Invalid patch", "Invalid Context", "Multiple occurrences", "multiple matches",
		"matches of the string to replace", "is not unique", "not unique in the file", "No changes were made", "No changes made", "No changes to make", "Edit failed", "edit failed", "verification failed", "could not be applied", "Could not apply", "Unable to apply", "does not exist. ", "was not found in", "No match found", "no match found", "must read the file before", "appears multiple times", "appears more than once"}
	editDone = []string{"applied successfully", "Applied edit", "replacements made", "has been updated", "has been edited", "updated successfully", "edited successfully", "created successfully",
		"File updated", "File created", "Text replaced", "Text inserted", "text has been inserted", "text has been replaced", "has been created", "Successfully", "successfully", "Success. Updated", "Wrote ", "File written", "has been written", "All occurrences", "was saved", "Done!", "changes applied", "patch applied", "Updated "}
)
