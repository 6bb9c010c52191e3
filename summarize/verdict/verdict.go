package verdict

import "strings"

// Verdict is how a call ended.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota
	Success
	Partial // a part of it failed, or a search found nothing
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
		o.Verdict, o.Line = Failure, firstContent(c.Text)
		if words := s.words(); words.bad != "" {
			o.Line, o.Tests = words.bad, words.tests
		}
	case s.refused():
		o.Verdict, o.Line = Failure, firstContent(c.Text)
	case s.runs():
		s.decideRun(&o)
	case o.ExitKnown && o.Exit != 0:
		o.Verdict = Failure
		if o.Exit == 1 && s.compares() {
			o.Verdict = Unknown // grep, diff and test say no by it
		}
	case c.Kind == Edit:
		o.Verdict, o.Line = editVerdict(c)
	case c.Kind == Look || c.Kind == Run: // a Run of commands that only show something
		o.Verdict, o.Line = s.lookVerdict()
	default:
		s.decideOther(&o)
	}
	return o
}

// decideRun weighs an exit code against the runner's own words.
func (s *scan) decideRun(o *Outcome) {
	w := s.words()
	o.Tests = w.tests
	good := o.ExitKnown && o.Exit == 0 || s.call.IsError != nil
	proven := good && s.exitProves()
	switch {
	case o.ExitKnown && o.Exit != 0 && o.Exit == 1 && s.compares():
		o.Verdict = Unknown
	case o.ExitKnown && o.Exit != 0:
		o.Verdict, o.Line = Failure, w.bad
	case s.unfinished():
		o.Verdict = Unknown
	case w.bad != "" && w.good == "":
		o.Verdict, o.Line = Failure, w.bad
		if proven {
			o.Verdict = Partial // its words and its exit code disagree
		}
	case w.compiler != "" && w.good == "" && !proven:
		o.Verdict, o.Line = Failure, w.compiler
	case w.bad != "" && proven && w.goodLast:
		o.Verdict, o.Line = Success, w.good
	case w.badNear:
		o.Verdict, o.Line = Failure, w.bad
	case w.bad != "":
		o.Verdict, o.Line = Partial, w.bad
	case w.soft != "":
		o.Verdict, o.Line = Partial, w.soft
	case w.good != "" && (proven || w.sum && w.goodLast || !w.troubled):
		o.Verdict, o.Line = Success, w.good
	case proven && (o.ExitKnown || !w.troubled):
		o.Verdict = Success
	case w.last != "" && !good:
		o.Verdict, o.Line = Failure, w.last
	case w.last != "":
		o.Verdict, o.Line = Partial, w.last
	}
}

// decideOther judges an output of which only the harness's flag and the text are known.
func (s *scan) decideOther(o *Outcome) {
	first := firstContent(s.call.Text)
	switch {
	case strings.HasPrefix(first, "Error: ") || strings.HasPrefix(first, "Error executing") || strings.HasPrefix(first, "Error calling") || failedJSON(first):
		o.Verdict, o.Line = Failure, first
	case s.call.Kind == Other && s.call.IsError != nil, o.ExitKnown:
		o.Verdict = Success
	case s.call.Kind == Other && len(s.lines) == 1 && len(first) < longestMessage && first != "" && first[0] != '{' && first[0] != '[' && TellsError(first):
		o.Verdict, o.Line = Failure, first
	}
}

// longestMessage bounds an answer that is only an error, in bytes.
const longestMessage = 300

// failedJSON matches an answer that is an error: {"error": …}, {"isError": true.
func failedJSON(first string) bool {
	first = strings.TrimLeft(first, "{ \t")
	for _, key := range []string{`"error":`, `"errors":`, `"isError":`} {
		if value, ok := strings.CutPrefix(first, key); ok {
			value = strings.TrimLeft(value, " ")
			return value != "" && !strings.HasPrefix(value, "null") && !strings.HasPrefix(value, "false") && !strings.HasPrefix(value, `""`) && !strings.HasPrefix(value, "[]") && !strings.HasPrefix(value, "{}")
		}
	}
	return false
}

// editVerdict reads an editor's acknowledgement, which stands above the text that it changed.
func editVerdict(c Call) (Verdict, string) {
	const shown = 600
	head := c.Text[:min(len(c.Text), shown)]
	failed, done := holds(head, editRefused), holds(head, editDone)
	if failed == "" && (strings.HasPrefix(head, "Error") || strings.HasPrefix(head, "<tool_use_error>") || TellsError(firstContent(head)) && done == "") {
		failed = firstContent(head)
	}
	switch {
	case failed != "" && holds(c.Text, editDone[:3]) != "":
		return Partial, failed
	case failed != "":
		return Failure, failed
	case done != "" || c.IsError != nil:
		return Success, done
	}
	return Unknown, ""
}

// What editors say, as parts of a line; the first three of editDone are said of a part of several edits.
var (
	editRefused = []string{"introduced new syntax error", "failed to match", "String to replace not found", "string to replace not found", "No replacement was performed",
		"No exact match", "old_string not found", "oldString not found", "old_str` did not appear", "did not appear verbatim", "not found in file", "not found in content", "Failed to apply", "Failed to edit", "Failed to find",
		"has not been read yet", "has been modified since", "patch does not apply", "Hunk FAILED", "hunk FAILED", "Invalid patch", "Invalid Context", "Multiple occurrences", "multiple matches",
		"matches of the string to replace", "is not unique", "not unique in the file", "No changes were made", "No changes made", "No changes to make", "Edit failed", "edit failed", "verification failed", "could not be applied", "Could not apply", "Unable to apply", "does not exist. ", "was not found in", "No match found", "no match found", "must read the file before", "appears multiple times", "appears more than once"}
	editDone = []string{"applied successfully", "Applied edit", "replacements made", "has been updated", "has been edited", "updated successfully", "edited successfully", "created successfully",
		"File updated", "File created", "Successfully", "successfully", "Success. Updated", "Wrote ", "File written", "has been written", "All occurrences", "was saved", "Done!", "changes applied", "patch applied", "Updated "}
)

// holds returns the line of text with the first of the phrases that is in it.
func holds(text string, phrases []string) string {
	for _, p := range phrases {
		if at := strings.Index(text, p); at >= 0 {
			from := strings.LastIndexByte(text[:at], '\n') + 1
			line, _, _ := strings.Cut(text[from:], "\n")
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// firstContent returns the first line that is not blank, "" only if all are.
func firstContent(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
