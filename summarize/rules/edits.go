package rules

import (
	"regexp"
	"slices"
	"strings"

	"precis/summarize/rules/call"
)

// An editor answers with what it changed, or with why it did not. What was refused is no state of a file: its lines stay below the editor's
// own heading, and the sentence that nothing changed is shown first.

// notApplied matches the sentence that an edit changed nothing.
var notApplied = regexp.MustCompile(`(?i)\b(?:not (?:been )?(?:applied|saved|written|changed|modified)|no changes? (?:were|was|have been) (?:made|applied|saved)|(?:changes|edit|patch) (?:was|were|has been|have been) (?:rejected|reverted|rolled back|discarded))\b`)

// fileNote matches what an editor says of the file around a version: which it is, and how much of it is not shown.
var fileNote = regexp.MustCompile(`^(?:\[File: .*\]|\(\d+ more lines (?:above|below)\))$`)

// cursorMark reports whether a line is an editor's mark of where it is: "<<<<< START CURSOR >>>>>".
func cursorMark(line string) bool {
	return strings.HasPrefix(line, "<<<") && strings.HasSuffix(line, "CURSOR >>>>>")
}

// isLongRule matches a line of dashes, above or below a part of an output.
func isLongRule(text string) bool {
	const least = 10
	return len(text) >= least && strings.Trim(text, "-=") == ""
}

// showsVersions recognizes several parts between rules, each below its heading.
func showsVersions(text string) bool {
	const least = 3 // both of the first part, and the one above the second
	rules := 0
	for line := range strings.Lines(text) {
		if isLongRule(strings.TrimSpace(line)) {
			rules++
		}
	}
	return rules >= least
}

// underRule puts the lines between two rules under the heading above the first; it reports whether the line is a rule.
func (d *document) underRule(l *line) (rule bool) {
	if !isLongRule(l.text) {
		l.group = d.under
		return false
	}
	if d.under >= 0 || len(d.lines) == 0 || d.lines[len(d.lines)-1].text == "" {
		d.under = -1
		return true
	}
	last := len(d.lines) - 1
	d.under = d.group(d.lines[last].text)
	d.lines = d.lines[:last]
	return true
}

// mostChanged bounds the lines of an edit that are shown first.
const mostChanged = 16

// changed returns the lines that tell of an edit: that it was not applied, what differs between the versions that are shown, or else the lines
// that the call put in.
func (d *document) changed(args call.Arguments, failed bool) (list []int) {
	const far = 3 // lines: what is left between two of them
	if failed {
		for i := range d.lines {
			if d.lines[i].group < 0 && notApplied.MatchString(d.lines[i].text) {
				list = append(list, i)
				break
			}
		}
	}
	in := map[string]int{} // by line: a bit for each version, the call's own behind them
	if !d.ruled {
		for _, text := range args.NewLines() {
			in[text] = 1
		}
	}
	plain := func(l *line) string {
		_, text, ok := cutNumber(l.text)
		if !ok {
			text = l.text
		}
		return strings.TrimRight(text, " ")
	}
	for i := range d.lines {
		if l := &d.lines[i]; d.ruled && l.group >= 0 {
			in[plain(l)] |= 1 << min(l.group, 8)
		}
	}
	var lines []int
	for i := range d.lines {
		l := &d.lines[i]
		text := plain(l)
		switch {
		case d.ruled && (l.group < 0 || in[text]&(in[text]-1) != 0 || strings.HasPrefix(text, "(") || strings.HasPrefix(text, "[")):
		case !d.ruled && (l.number == 0 || in[strings.Join(strings.Fields(text), " ")] == 0):
		case len(strings.TrimSpace(text)) > 1:
			lines = append(lines, i)
		}
	}
	if !d.ruled { // equal lines stand elsewhere in a file too: the edit is where most are
		lines = densest(lines, far)
	}
	return append(list, lines[:min(len(lines), mostChanged)]...)
}

// densest returns the longest run of numbers of which none is more than far from the one before it.
func densest(list []int, far int) (best []int) {
	from := 0
	for i := range list {
		if i > 0 && list[i]-list[i-1] > far {
			from = i
		}
		if run := list[from : i+1]; len(run) > len(best) {
			best = run
		}
	}
	return slices.Clone(best)
}
