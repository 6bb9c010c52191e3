package rules

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
)

// An output that is JSON around a text is summarized as that text (package envelope). A line of the text is not a line of the original,
// so that the lines of a command's output are not numbered, and the mark says where the missing ones are; in a file, a line has the number
// that it has there.

// opened returns the input with the text that its output holds as the content; what a harness put around the JSON stays around the text. If
// the JSON states with which line of its file the text begins, and the arguments do not, they do after that.
func (in Input) opened(args arguments) Input {
	source := proper(in.Content)
	o, ok := envelope.Open(source)
	if !ok || strings.TrimSpace(o.Text) == "" || len(in.Drop) > 0 && !opensWithout(source, in.Drop) || isDataFile(args, source, o.Text) {
		return in
	}
	before, after, _ := strings.Cut(in.Content, source)
	if len(before)+len(source)+len(after) != len(in.Content) {
		before, after = "", ""
	}
	in.Content = before + o.Text + after
	if in.ExitCode == nil {
		in.ExitCode = o.Exit
	}
	if o.Failed {
		in.IsError = &o.Failed
	}
	in.held, in.quoted, in.without = true, o.Quoted, o.Without
	if _, from := args.shown(); from == 1 && o.Line > 1 {
		args["start_line"] = jsontext.Value(itoa(o.Line)) // the call has it under another name
	}
	path := args.path()
	in.beside = slices.DeleteFunc(o.Beside, func(m envelope.Member) bool {
		asked, _ := args.named(m.Name)
		return slices.Contains(in.Drop, m.Name) || slices.Equal(asked, m.Value) || path != "" && plainValue(m.Value) == path // the call says it
	})
	return in
}

// opensWithout reports whether JSON still holds a text without the members that are not shown.
func opensWithout(source string, drop []string) bool {
	rest, _ := withoutMembers(source, drop)
	_, ok := envelope.Open(rest)
	return ok
}

// isDataFile reports whether an object is what a file of JSON contains, and not around it.
func isDataFile(args arguments, source, held string) bool {
	path, _ := args.shown()
	kind := fileType(path)
	if kind != "JSON" && kind != "JSON lines" || !strings.HasPrefix(strings.TrimSpace(source), "{") {
		return false
	}
	shape := shapeOf(held)
	return shape != shapeJSON && shape != shapeNumbered
}
