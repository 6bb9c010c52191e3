package rules

import (
	"regexp"

	"precis/summarize/verdict"
)

func (f *facts) command(args arguments, doc *document) {
	f.asked(args)
	f.add("Running", doc.running)
	f.add("Exit", f.exit)
	f.add("Tests", tests(f.ended.Tests))
	if len(doc.changes) > 0 {
		var all change
		for _, c := range doc.changes {
			all.added += c.added
			all.removed += c.removed
		}
		f.add("Diff", counted(len(doc.changes), "file")+","+all.String())
	}
	f.add("Output", counted(doc.total, "line"))
	f.note("output_lines", doc.total)
}

// changesDir is how shells of agents begin most commands; what is run then says more, and the call has it all.
var changesDir = regexp.MustCompile(`^\s*cd (?:"[^"]*"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*`)

// asked returns the request: the command, else the other arguments.
func (f *facts) asked(args arguments) {
	command := args.command()
	if command == "" {
		name, text := args.brief()
		f.add(name, clip(text, maxCommand))
		return
	}
	f.add("Command", clip(oneLine(changesDir.ReplaceAllString(command, "")), maxCommand))
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

// tests is what a test runner sums up: "12 passed, 1 failed".
func tests(t verdict.Tally) string {
	switch {
	case t.HasPassed && t.HasFailed:
		return itoa(t.Passed) + " passed, " + itoa(t.Failed) + " failed"
	case t.HasPassed:
		return itoa(t.Passed) + " passed"
	case t.HasFailed:
		return itoa(t.Failed) + " failed"
	}
	return ""
}
