package call

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/shell"
	"precis/summarize/verdict"
)

// Shell commands show parts of files: `sed -n '40,90p' a.go`, `head -20 a.go`, several of them one after the other. What the
// call says of them is which lines of which file an output has.

// Part is some lines of a file, as a command asks for them.
type Part struct {
	Path     string // empty: lines of no file, such as what echo prints
	From, To int    // the numbers of the first and the last line; from 0: unknown; to 0: the last one of the file
	Last     int    // how many lines before the file's end, if that is what is asked for
}

// Has reports whether a line of the file is in a part.
func (p Part) Has(number int) bool { return number >= p.From && (p.To == 0 || number <= p.To) }

// Size is how many lines a part has if its file is long enough; 0: unknown.
func (p Part) Size() int {
	if p.From == 0 || p.To == 0 {
		return 0
	}
	return p.To - p.From + 1
}

// Parts returns what a shell command shows if that is all it does; nil if not, or if the call is none.
func (a Arguments) Parts() (list []Part) {
	for _, step := range shell.Steps(a.Command()) {
		name, operands := step.Program()
		switch {
		case name == "cd" || name == "" || name == "true":
			continue
		case slices.ContainsFunc(operands, func(w string) bool { return strings.HasPrefix(w, ">") || strings.HasPrefix(w, "<") }):
			return nil
		case step.Op == "|":
			if len(list) == 0 || !list[len(list)-1].narrow(name, operands) {
				return nil
			}
			continue
		case name == "echo":
			list = append(list, Part{From: 1, To: 1})
			continue
		case name == "printf" && len(operands) == 1 && strings.HasSuffix(operands[0], `\n`):
			list = append(list, Part{From: 1, To: strings.Count(operands[0], `\n`)})
			continue
		case !showsFiles[name] || len(operands) == 0 || !verdict.Shows(step):
			return nil
		}
		path := operands[len(operands)-1]
		if strings.ContainsAny(path, "*>$ ") || !strings.ContainsAny(path, "./") {
			return nil
		}
		if name == "sed" {
			ranges := sedRanges(operands[:len(operands)-1])
			for _, r := range ranges {
				r.Path = path
				list = append(list, r)
			}
			if len(ranges) == 0 {
				list = append(list, Part{Path: path})
			}
			continue
		}
		p := Part{Path: path, From: 1}
		if (name == "head" || name == "tail") && !p.narrow(name, operands[:len(operands)-1]) {
			return nil
		}
		list = append(list, p)
	}
	return list
}

// showsFiles are the programs that print files as they are.
var showsFiles = map[string]bool{"cat": true, "head": true, "tail": true, "sed": true, "nl": true, "bat": true, "less": true, "more": true}

// narrow takes a filter that shows some of a part's lines; it is false for any other program.
func (p *Part) narrow(name string, operands []string) bool {
	switch name {
	case "head":
		if n := lineCount(operands); n > 0 && p.From > 0 {
			if to := p.From + n - 1; p.To == 0 || to < p.To {
				p.To = to
			}
			return true
		}
	case "tail":
		if n := lineCount(operands); n > 0 {
			p.From, p.To, p.Last = 0, 0, n
			return true
		}
		for _, w := range operands {
			if n := lex.Atoi(strings.TrimPrefix(strings.TrimPrefix(w, "-n"), "+")); n > 0 && strings.Contains(w, "+") && p.From > 0 {
				p.From += n - 1
				return true
			}
		}
	case "sed":
		if ranges := sedRanges(operands); len(ranges) == 1 && p.From > 0 {
			r := ranges[0]
			if p.To == 0 || r.To > 0 && p.From+r.To-1 < p.To {
				p.To = 0
				if r.To > 0 {
					p.To = p.From + r.To - 1
				}
			}
			p.From += r.From - 1
			return true
		}
	}
	return false
}

// lineCount reads the number of head and tail, `-n 20`, `-20`; ten without one, 0 if it is something else.
func lineCount(operands []string) int {
	words := strings.TrimPrefix(strings.TrimPrefix(strings.Join(operands, ""), "-n"), "-")
	if words == "" {
		return 10
	}
	return lex.Atoi(words)
}

var sedRange = regexp.MustCompile(`^(\d{1,8})(?:,(\d{1,8}|\$))?p$`)

// sedRanges reads what sed prints: `-n 40,90p`, `-n -e 1,20p -e 60,80p`; nil for another script.
func sedRanges(operands []string) (list []Part) {
	quiet := false
	for _, w := range operands {
		switch {
		case w == "-n":
			quiet = true
			continue
		case w == "-e":
			continue
		}
		for script := range strings.SplitSeq(w, ";") {
			m := sedRange.FindStringSubmatch(strings.ReplaceAll(strings.TrimSpace(script), " ", ""))
			if m == nil {
				return nil
			}
			p := Part{From: lex.Atoi(m[1]), To: lex.Atoi(m[2])}
			if m[2] == "" {
				p.To = p.From
			}
			if n := len(list); n > 0 && (list[n-1].To == 0 || p.From <= list[n-1].To) || p.From == 0 {
				return nil
			}
			list = append(list, p)
		}
	}
	if !quiet {
		return nil
	}
	return list
}

// Shown returns the file that a call shows, and the number of the first line shown; 0 if that is not known. A shell
// command counts if showing one file is all it does.
func (a Arguments) Shown() (path string, from int) {
	if path = a.Path(); path != "" {
		if n := lex.Atoi(a.Text("offset", "start_line", "line_start")); n > 0 {
			return path, n
		}
		return path, 1
	}
	for i, p := range a.Parts() {
		switch {
		case i == 0:
			path, from = p.Path, p.From
		case p.Path != path || p.Path == "":
			return "", 0
		default:
			from = 0 // not of all lines
		}
	}
	return path, from
}

// Settled returns the parts with the lines that an output of total lines has of them; nil if they can't be told apart, since one of
// several files may have been shorter than what was asked for.
func Settled(list []Part, total int) []Part {
	known, open := 0, -1
	for i, p := range list {
		n := p.Size()
		switch {
		case n > 0:
			known += n
		case open >= 0 || p.From == 0:
			return nil
		default:
			open = i
		}
	}
	list = slices.Clone(list)
	switch last := len(list) - 1; {
	case last < 0:
		return nil
	case open >= 0 && known < total:
		list[open].To = list[open].From + total - known - 1
	case open >= 0:
		return nil
	case known > total && last == 0: // the file ends before
		list[0].To = list[0].From + total - 1
	case known != total:
		return nil
	}
	return list
}

// ExtentOf names the lines of a file that are parts, `12-40,60-80`; empty if they are all of it, as far as is known, or too many to name.
func ExtentOf(list []Part) string {
	const most = 3
	if len(list) == 0 || len(list) > most || len(list) == 1 && list[0].From == 1 {
		return ""
	}
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = strconv.Itoa(p.From) + "-" + strconv.Itoa(p.To)
	}
	return strings.Join(names, ",")
}

// Capped reads how many lines of a command's output its last filter leaves, `… | head -20`, and which, `first` or `last`.
func (a Arguments) Capped() (n int, which string) {
	steps := shell.Steps(a.Command())
	if len(steps) < 2 || steps[len(steps)-1].Op != "|" {
		return 0, ""
	}
	for i, s := range steps[1:] {
		if name, _ := steps[i].Program(); s.Op != "|" && name != "cd" {
			return 0, "" // the filter is of the last command only
		}
	}
	name, operands := steps[len(steps)-1].Program()
	switch name {
	case "head":
		return lineCount(operands), "first"
	case "tail":
		return lineCount(operands), "last"
	case "sed":
		if r := sedRanges(operands); len(r) == 1 && r[0].From == 1 {
			return r[0].To, "first"
		}
	}
	return 0, ""
}
