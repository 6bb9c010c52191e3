package rules

import (
	"regexp"
	"slices"
	"strings"
)

func (f *facts) search(args arguments, doc *document) {
	if pattern := args.pattern(); pattern != "" {
		f.add("Pattern", `"`+clip(oneLine(pattern), maxPattern)+`"`)
		f.note("pattern", pattern)
	} else {
		f.asked(args)
	}
	matches, files := doc.found()
	switch {
	case doc.shape == shapePlain && showsContext(args):
		f.add("Output", counted(doc.total, "line")) // nothing tells matches from the lines around them
	default:
		f.add("Matches", doc.atLeast(matches))
	}
	f.note("match_count", matches)
	f.note("file_count", len(files))
	if len(files) > 0 {
		f.add("Files", itoa(len(files)))
		f.add("Top files", quoted(strings.Join(files[:min(3, len(files))], ", "), maxNote))
	}
	if matches == 0 {
		f.nothing()
	}
}

// atLeast formats a count of what is shown: `100+` if the tool says that there is more.
func (d *document) atLeast(n int) string {
	if d.cutOff {
		return itoa(n) + "+"
	}
	return itoa(n)
}

// contextFlag is how a search is asked for the lines around its matches.
var contextFlag = regexp.MustCompile(`\s(?:-[a-zA-Z]*[ABC] ?\d|--(?:after-|before-)?context\b)`)

// showsContext reports whether a search was asked for the lines around its matches.
func showsContext(args arguments) bool {
	return contextFlag.MatchString(args.command()) || args.text("-A", "-B", "-C") != ""
}

// found counts the matches of a search, without the context lines, and their files.
func (d *document) found() (matches int, files []string) {
	for i := range d.lines {
		l := &d.lines[i]
		if !l.starts || l.text == "" && l.number == 0 || l.context {
			continue
		}
		switch {
		case d.shape == shapeMatches && l.group < 0, d.shape == shapeOneFile && l.number == 0:
			continue // a separator, or a tool's own remark
		case isPath(l.text):
			files = append(files, l.text)
		case foundNothing(l.text):
			continue
		}
		matches++
	}
	if d.shape == shapeMatches {
		files = d.groups
	}
	return matches, slices.Clip(files)
}

// foundNothing distinguishes a tool's remark from a match.
func foundNothing(text string) bool {
	if text == "" || strings.IndexByte("nNfF", text[0]) < 0 {
		return false
	}
	low := strings.ToLower(text[:min(len(text), 40)])
	return strings.HasPrefix(low, "no matches") || strings.HasPrefix(low, "no files") || strings.HasPrefix(low, "no results") || strings.HasPrefix(low, "found 0")
}
