package rules

import (
	"regexp"
	"strings"
)

func (f *facts) command(args arguments, doc *document) {
	f.asked(args)
	f.add("Exit", f.exit)
	if !doc.prose { // a report mentions tests that others ran
		f.add("Tests", doc.tests())
	}
	if files, added, removed := doc.changes(); files > 0 {
		f.add("Diff", counted(files, "file")+", +"+itoa(added)+" -"+itoa(removed))
	}
	f.add("Output", counted(doc.total, "line"))
	f.note("output_lines", doc.total)
}

// asked returns the request: the command, else the other arguments.
func (f *facts) asked(args arguments) {
	command := args.command()
	if command == "" {
		name, text := args.brief()
		f.add(name, clip(text, maxCommand))
		return
	}
	f.add("Command", clip(oneLine(command), maxCommand))
	f.note("command", command)
}

func (f *facts) write(args arguments, doc *document) {
	if path := args.path(); path != "" {
		f.add("File", clipLeft(oneLine(path), maxPath))
		f.note("path", path)
	} else {
		f.asked(args)
	}
	f.add("Output", counted(doc.total, "line"))
	f.note("output_lines", doc.total)
}

// testSummary is the summary of pytest, jest, mocha, cargo and similar: "3 failed, 12 passed in 1.2s".
var testSummary = regexp.MustCompile(`(?:^|[^=\w.])(\d+ (?:failed|passed|failing|passing)(?:[,;] ?\d+ \w+){0,5})(?:[^=\w]|$)`)

// tests returns how many tests passed and failed: from the runner's summary, else counted from Go's lines.
func (d *document) tests() string {
	for i := len(d.lines) - 1; i >= max(0, len(d.lines)-30); i-- {
		if l := d.lines[i].text; len(l) < 300 && (strings.Contains(l, "pass") || strings.Contains(l, "fail")) {
			if m := testSummary.FindStringSubmatch(l); m != nil {
				return m[1]
			}
		}
	}
	passed, failed := 0, 0
	for i := range d.lines {
		l := &d.lines[i]
		if !strings.HasPrefix(l.text, "--- ") {
			continue
		}
		if strings.HasPrefix(l.text, "--- PASS: ") {
			passed++
		} else if strings.HasPrefix(l.text, "--- FAIL: ") {
			failed++
		}
	}
	if passed+failed == 0 {
		return ""
	}
	return itoa(passed) + " passed, " + itoa(failed) + " failed"
}

// changes counts what a diff in git's form changes.
func (d *document) changes() (files, added, removed int) {
	for i := range d.lines {
		l := &d.lines[i]
		switch {
		case strings.HasPrefix(l.text, "diff --git "):
			files++
		case files == 0 || strings.HasPrefix(l.text, "+++ ") || strings.HasPrefix(l.text, "--- "):
		case strings.HasPrefix(l.text, "+"):
			added += 1 + l.repeat
		case strings.HasPrefix(l.text, "-"):
			removed += 1 + l.repeat
		}
	}
	return files, added, removed
}
