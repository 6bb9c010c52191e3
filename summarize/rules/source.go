package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/frame"
	"precis/summarize/rules/records"
	"precis/summarize/rules/words"
)

// Agents' programs wrap what a tool printed: reminders to the model, a reader's note on how to go on, a shell's clock. None
// of it is a line of the source.

var (
	// wrapHead are the lines that shells put in front; the verdict has read them already.
	wrapHead = regexp.MustCompile(`^(?:Chunk ID:|Wall time:|Process exited with|Process running with session ID|Original token count:|Total output lines:|Exit code:? \d|Output:$)`)
	// wrapNote is a reader's last line: "[54 more lines in file. Use offset=80 to continue]".
	wrapNote = regexp.MustCompile(`(?i)^[\[(<.…= ]{1,6}\s?(?:\d+ more lines|\d+ lines? (?:more|remaining|omitted)|showing lines|end of file|file has more lines|output truncated|truncated:|results are truncated|content truncated|more lines available).{0,200}$|^Shell cwd was reset to |^</?(?:output|stdout|stderr|file|content|result|persisted-output|usage)>$|^<cwd>.*</cwd>$|^agentId: \w+|^<usage>|^(?:total_tokens|tool_uses|duration_ms|subagent_tokens): \d+(?:</usage>)?$|^</?system>|^<shellId: \d+ .{0,80}>$`)
)

// cutWarning and cutTotal begin the two lines that a shell puts in front of an output that it cut.
const (
	cutWarning = "Warning: truncated output ("
	cutTotal   = "Total output lines:"
)

// toModel is how a line begins that a search tool adds for the model that called it.
const toModel = "REMINDER: You MUST include the sources"

// stillRuns matches what says that a command goes on, and by which id it is asked for.
var stillRuns = regexp.MustCompile(`(?i)\b(?:(?:process|command|shell) (?:is )?(?:still )?running|running in (?:the )?background)\b[^\n]{0,20}?\b((?:id|session)[:= ]+(?:id[:= ]+)?[\w-]+)`)

// runningIn returns the id of the process that an output leaves running, "session ID 84145", from the lines around the source.
func runningIn(content, source string) string {
	const around = 400
	at := strings.Index(content, source)
	if at < 0 {
		return ""
	}
	if m := stillRuns.FindStringSubmatch(lex.Head(content[:at], around)); m != nil {
		return lex.Clip(m[1], maxRunning)
	}
	return ""
}

const maxRunning = 54 // a UUID is whole

// partNote is what a program says of an output of which it shows a part.
var partNote = regexp.MustCompile(`(?im)^[\[(<. ]{0,6}(?:output too large|results? (?:are|is|were) truncated|output (?:was )?truncated|showing (?:the )?first \d+|too many results)`)

// saysCutOff reports whether the first or the last lines of an output say that it is a part.
func saysCutOff(content string) bool {
	const near = 300
	return partNote.MatchString(content[:min(len(content), near)]) || partNote.MatchString(content[max(0, len(content)-near):])
}

// moreOf matches a reader's note that its file goes on, and how many lines it has in all, or more.
var moreOf = regexp.MustCompile(`(?i)(?:showing (?:lines )?\d+ ?(?:-|–|to) ?\d+ of (\d+)|(\d+) (?:more lines?|lines? (?:more|remaining|not shown))|file has more lines|more lines available)`)

// goesOnBy returns what follows the range of lines of a file that goes on, " of 802" or " of more", from what stands behind them.
func goesOnBy(content, source string) string {
	const near = 400
	at := strings.LastIndex(content, source)
	if at < 0 {
		return ""
	}
	rest := content[at+len(source):]
	m := moreOf.FindStringSubmatch(rest[:min(len(rest), near)])
	switch {
	case m == nil:
		return ""
	case m[1] != "":
		return " of " + m[1]
	case m[2] != "":
		return ", " + m[2] + " more"
	}
	return " of more"
}

// shortenedBy reports whether a shell says in front of a source that it has cut it.
func shortenedBy(content, source string) bool {
	before, _, _ := strings.Cut(content, source)
	at := strings.Index(before, cutWarning)
	return at >= 0 && strings.Contains(before[at:], "\n"+cutTotal)
}

const reminder = "system-reminder>"

// proper returns a source without what the agent's program added. It keeps the text's own lines as they are.
func proper(content string) string {
	if strings.Contains(content, "<"+reminder) {
		content = withoutReminders(content)
	}
	for {
		line, rest, more := strings.Cut(content, "\n")
		cut := strings.HasPrefix(line, cutWarning) && strings.HasPrefix(rest, cutTotal)
		if !more || strings.TrimSpace(rest) == "" || !cut && !wrapHead.MatchString(line) && !wrapNote.MatchString(line) {
			break
		}
		if content = rest; strings.HasPrefix(line, cutTotal) {
			content = strings.TrimPrefix(content, "\n") // a blank line ends the head of a cut output
		}
	}
	for {
		trimmed := strings.TrimRight(content, " \t\r\n")
		at := strings.LastIndexByte(trimmed, '\n') + 1
		if at == 0 || !wrapNote.MatchString(trimmed[at:]) {
			return content
		}
		content = strings.TrimRight(content[:at], "\n") + "\n" // a reader puts a blank line before its note
	}
}

// withoutReminders drops blocks between reminder tags that begin a line.
func withoutReminders(content string) string {
	var b strings.Builder
	for {
		at := strings.Index(content, "<"+reminder)
		if at < 0 {
			break
		}
		end := len(content)
		if i := strings.Index(content[at:], "</"+reminder); i >= 0 {
			end = at + i + len(reminder) + 2
		}
		if at > 0 && content[at-1] != '\n' && strings.TrimSpace(content[strings.LastIndexByte(content[:at], '\n')+1:at]) != "" {
			end = at + len(reminder) + 1 // a file that speaks of them
			b.WriteString(content[:end])
		} else {
			b.WriteString(strings.TrimRight(content[:at], " \t\n"))
			b.WriteByte('\n')
		}
		content = content[end:]
	}
	if strings.TrimSpace(content) != "" || b.Len() == 0 { // a line break behind the last one is no line
		b.WriteString(strings.TrimPrefix(content, "\n"))
	}
	return b.String()
}

// An output that is JSON around a text is summarized as that text (package envelope). A line of the text is not a line of the original,
// so that the lines of a command's output are not numbered, and the mark says where the missing ones are; in a file, a line has the number
// that it has there.

// opened returns the input with the text that its output holds as the content; what a harness put around the JSON stays around the text. If
// the JSON states with which line of its file the text begins, and the arguments do not, they do after that.
func (in Input) opened(args call.Arguments) Input {
	in = in.unframed(args)
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
	in.held, in.quoted, in.without = true, in.quoted || o.Quoted, in.without+o.Without
	in = in.unframed(args)
	if _, from := args.Shown(); from == 1 && o.Line > 1 {
		args["start_line"] = jsontext.Value(itoa(o.Line)) // the call has it under another name
	}
	path := args.Path()
	in.beside = slices.DeleteFunc(o.Beside, func(m envelope.Member) bool {
		asked, _ := args.Named(m.Name)
		return slices.Contains(in.Drop, m.Name) || slices.Equal(asked, m.Value) || path != "" && records.PlainValue(m.Value) == path // the call says it
	})
	return in
}

// unframed returns the input without what a harness puts around what a command printed, and with the exit code that it states. What only
// looks like it is the output's own: in a file or a page, or where it contradicts what the event says, or says that a command that only
// shows a text has failed.
func (in Input) unframed(args call.Arguments) Input {
	command := args.ShellLine()
	if command == "" && (args.Path() != "" || args.Url() != "") {
		if text, ok := frame.Notes(in.Content); ok {
			in.without += lex.Runes(in.Content) - lex.Runes(text)
			in.Content = text
		}
		return in
	}
	o, ok := frame.Open(in.Content, command)
	if !ok || o.Exit != nil && in.contradicts(*o.Exit, command) {
		return in
	}
	in.without += max(0, lex.Runes(in.Content)-lex.Runes(o.Text))
	in.Content, in.quoted = o.Text, in.quoted || o.Report
	if in.ExitCode == nil {
		in.ExitCode = o.Exit
	} else if o.Running && *in.ExitCode < 0 {
		in.ExitCode = nil
	}
	if o.Failed {
		in.IsError = &o.Failed
	}
	return in
}

// shows matches a command that prints what is in files, logs or pages, and nothing else.
var shows = regexp.MustCompile(`^(?:cd \S+ *(?:&&|;) *)?(?:cat|bat|nl|head|tail|sed -n|less|more|type|gc|Get-Content|git (?:-C \S+ )?(?:show|diff|log)|docker (?:compose )?logs|kubectl logs|journalctl|curl|wget|gh|glab)\b[^;&]*$`)

// contradicts reports whether an exit code that stands in the text is not that of the call.
func (in Input) contradicts(exit int, command string) bool {
	switch {
	case in.ExitCode != nil && *in.ExitCode >= 0:
		return exit != *in.ExitCode
	case in.IsError != nil && !*in.IsError && exit > 0, in.IsError != nil && *in.IsError && exit == 0:
		return true
	}
	return exit != 0 && shows.MatchString(command)
}

// opensWithout reports whether JSON still holds a text without the members that are not shown.
func opensWithout(source string, drop []string) bool {
	rest, _ := records.WithoutMembers(source, drop)
	_, ok := envelope.Open(rest)
	return ok
}

// isDataFile reports whether an object is what a file of JSON contains, and not around it.
func isDataFile(args call.Arguments, source, held string) bool {
	path, _ := args.Shown()
	kind := words.FileType(path)
	if kind != "JSON" && kind != "JSON lines" || !strings.HasPrefix(strings.TrimSpace(source), "{") {
		return false
	}
	shape := shapeOf(held)
	return shape != shapeJSON && shape != shapeNumbered
}

// withoutDropped returns a source without what is named in drop, and how many of its lines have gone. Line breaks stay, so that the others
// keep their numbers.
func withoutDropped(source string, drop []string) (rest string, lines int) {
	if len(drop) == 0 {
		return source, 0
	}
	if shapeOf(source) == shapeJSON {
		return records.WithoutMembers(source, drop)
	}
	var b strings.Builder
	for line := range strings.Lines(source) {
		text := strings.TrimRight(line, "\r\n")
		if slices.ContainsFunc(drop, func(part string) bool { return strings.Contains(text, part) }) {
			lines++
			line = line[len(text):]
		}
		b.WriteString(line)
	}
	return b.String(), lines
}

// mostKept bounds how many lines are shown first.
const mostKept = 100

// kept returns the lines that hold what is named in keep: a member's name, in JSON.
func (d *document) kept(keep []string) (list []int) {
	if len(keep) == 0 {
		return nil
	}
	parts := slices.Clone(keep)
	if d.shape == shapeJSON {
		for i, text := range parts {
			parts[i] = `"` + text[strings.LastIndexByte(text, '.')+1:] + `"`
		}
	}
	for i := range d.lines {
		text := d.lines[i].text
		if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) }) {
			if list = append(list, i); len(list) == mostKept {
				break
			}
		}
	}
	return list
}
