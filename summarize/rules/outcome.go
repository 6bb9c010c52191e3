package rules

import (
	"cmp"
	"regexp"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/outline"
)

// Of a log and of a terminal's screen, what came out stands at the end, and what went wrong anywhere: both come before the rest. Of an edit,
// the editor's own sentence says it; of a diff, the lines with a sign do.

// logPath matches the name of a log.
var logPath = regexp.MustCompile(`(?i)(?:\.(?:log|out|err|output)(?:[.-]\d+)?|(?:^|/)(?:std(?:out|err)|[\w-]*log)(?:\.txt)?)$`)

// isLog reports whether a file is a log: by its name, or since most of its lines begin with a time.
func isLog(args call.Arguments, text string) bool {
	path, _ := args.Shown()
	if !strings.Contains(text, "\n") {
		return false
	}
	lines, stamped := firstOf(text, sampled, func(line string) bool {
		if _, rest, ok := cutNumber(line); ok {
			line = rest
		}
		return len(lex.CutStamp(line)) < len(line)
	})
	return logPath.MatchString(path) || stamped*3 > lines*2
}

// captures matches commands that print what a terminal shows, and screenSign what programs draw that take up all of one: a box around a prompt, and
// how they are stopped.
var (
	captures   = regexp.MustCompile(`\b(?:capture-pane|hardcopy|dump-screen|workmux capture|get-text)\b`)
	screenSign = regexp.MustCompile(`(?i)\besc to (?:interrupt|cancel)\b|\bctrl[+-][a-z] to \w|\? for shortcuts|\d+% context left`)
)

// isScreen reports whether an output is what a terminal shows.
func isScreen(args call.Arguments, text string) bool {
	return captures.MatchString(args.Command()) || strings.Contains(text, "\n╭─") && screenSign.MatchString(text)
}

// drawn are the characters of boxes around a text.
const drawn = "│┃║─━═╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝▌▐█▏▕ \t"

// undrawn cuts boxes from a line of a screen.
func undrawn(line string) string {
	if trimmed := strings.TrimLeft(line, drawn); len(trimmed) < len(strings.TrimLeft(line, " \t")) {
		line = trimmed
	}
	return strings.TrimRight(line, drawn)
}

// endShare is the share of a summary that is for the end of a screen, in percent.
const endShare = 70

// lastLines returns the last lines that take at most room characters.
func (d *document) lastLines(room int) (list []int) {
	for i := len(d.lines) - 1; i >= 0; i-- {
		l := &d.lines[i]
		if l.text == "" || isRule(l.text) {
			continue
		}
		if room -= lex.Runes(l.text) + 1; room < 0 {
			break
		}
		list = append(list, i)
	}
	return list
}

// mostDiffed is up to how many files each has lines that are shown first.
const mostDiffed = 8

// changedFirst returns lines of each file of a diff that say what changed: a declaration, and else the first ones with a sign.
func (d *document) changedFirst() (list []int) {
	if d.shape != shapeDiff || len(d.groups) > mostDiffed {
		return nil
	}
	first, declared := make([]int, len(d.groups)), make([]int, len(d.groups))
	for i := range d.lines {
		l := &d.lines[i]
		if l.group < 0 || l.around || !l.starts || l.text == "" || strings.IndexByte("+-", l.text[0]) < 0 || len(l.text) < countedLine {
			continue
		}
		kind := outline.KindOf(strings.TrimLeft(l.text[1:], "+- "), false)
		if first[l.group] == 0 && kind != outline.ImportLine_ {
			first[l.group] = i + 1
		}
		if declared[l.group] == 0 && kind == outline.DeclarationLine {
			declared[l.group] = i + 1
		}
	}
	for g := range d.groups {
		if i := cmp.Or(declared[g], first[g]); i > 0 {
			list = append(list, i-1)
		}
	}
	return list
}

// resultSentence shortens the sentence by which an editor says that it is done, in the first line: to the file's name, without what leads to the text below it. It
// returns the line; none if the first is another one.
func (d *document) resultSentence(path string) (list []int) {
	const longestSentence = 160
	if len(d.lines) == 0 || d.ruled {
		return nil
	}
	l := &d.lines[0]
	if l.number > 0 || l.text == "" || len(l.text) > 2*longestSentence || isPath(l.text) || strings.IndexByte("[{(<#", l.text[0]) >= 0 {
		return nil
	}
	text := l.text
	if path != "" {
		text = strings.Replace(text, path, path[strings.LastIndexByte(path, '/')+1:], 1)
	}
	if end := sentenceEnd(text, 0); end > 0 && end < len(text) {
		text = text[:end]
	}
	if len(text) > longestSentence {
		return nil
	}
	l.altered = l.altered || !strings.HasPrefix(l.text, text)
	l.text = text
	return []int{0}
}
