package ledger

import (
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
)

// Titles of a text's sections, in their order.
const (
	titleGoal         = "Goal"
	titleInstructions = "Instructions that hold"
	titleRequests     = "Requests"
	titleDecisions    = "Decisions and dead ends"
	titleState        = "State"
	titleFiles        = "Files"
	titleErrors       = "Errors"
	titleNext         = "Next"
)

// Titles are the titles of a text's sections, in their order.
func Titles() []string {
	return []string{titleGoal, titleInstructions, titleRequests, titleDecisions, titleState, titleFiles, titleErrors, titleNext}
}

// heading is a section's title as models write it, with what follows it on its line.
var heading = regexp.MustCompile(`^(?:#+ *|\d+[.)] *|\*\*)*(Goal|Instructions(?: that hold)?|Requests|Decisions(?: and dead ends)?|State|Files|Errors|Next)\b(?: in \S+?)?(?:\*\*)?(?:: *(?:\*\*)? *(.*)|(?:\*\*)?)$`)

// parsed divides a model's text into its sections, and what it says outside of them.
func parsed(prose string) (lead string, said map[string][]string) {
	var before []string
	at := ""
	for line := range strings.SplitSeq(prose, "\n") {
		if line = oneLine(line); line == "" {
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			if at = m[1]; said == nil {
				said = map[string][]string{}
			}
			for _, title := range Titles() {
				if strings.HasPrefix(title, at) {
					at = title
				}
			}
			line = m[2]
		}
		text := strings.TrimSpace(itemMark.ReplaceAllString(line, ""))
		switch {
		case text == "" || strings.EqualFold(strings.TrimRight(text, "."), "none"):
		case at == "":
			before = append(before, line)
		default:
			said[at] = append(said[at], "- "+text)
		}
	}
	return strings.Join(before, "\n"), said
}

// claim is a model's sentence about a verdict, which only the record gives.
var claim = regexp.MustCompile(`(?i)\b(?:tests?|suite|lint\w*|build|ci|checks?|compil\w+)\b.*\b(?:pass|fail|green|red\b|clean|succe|broke|ok\b)|\b(?:pass|fail)\w*\b.*\b(?:tests?|suite|lint\w*|builds?|checks?)\b`)

// say adds what a model says to sections. Requests, files and errors are the record's alone, and so are verdicts; an
// instruction has to be the user's.
func (v *view) say(sections []section, said map[string][]string, room int) {
	for i := range sections {
		s := &sections[i]
		title := strings.TrimSuffix(s.title, ":")
		lines, own := said[title], s.lines
		switch title {
		case titleGoal:
			s.lines = joined(own, fixed(lines))
		case titleInstructions:
			s.lines = joined(own, fixed(v.users(lines)))
		case titleDecisions:
			s.lines = joined(fixed(lines), own)
		case titleState:
			s.lines = joined(own, fixed(slices.DeleteFunc(lines, claim.MatchString)))
		case titleNext:
			if len(lines) > 0 {
				s.lines = fixed(lines)
			}
		default:
			continue
		}
		s.least = max(s.least, min(cost(lines), room*mostSaid/100))
	}
}

// mostSaid is the part of a text that a model's lines get in a section in any case, in percent.
const mostSaid = 20

// users returns the lines whose words are mostly the user's.
func (v *view) users(lines []string) (kept []string) {
	words := map[string]bool{}
	for _, notes := range [][]Note{v.l.Requests, v.l.Instructions} {
		for _, n := range notes {
			for _, w := range strings.Fields(n.Text) {
				words[plainWord(w)] = true
			}
		}
	}
	for _, l := range lines {
		all := strings.Fields(l)[1:]
		known := 0
		for _, w := range all {
			if words[plainWord(w)] {
				known++
			}
		}
		if 4*known >= 3*len(all) {
			kept = append(kept, l)
		}
	}
	return kept
}

// plainWord returns a word in lower case without the punctuation around it.
func plainWord(w string) string {
	return strings.ToLower(strings.Trim(w, ".,;:!?\"'`()“”‘’*_"))
}

// joined writes what first wants, as far as it leaves room for up to half by second, and then second.
func joined(first, second func(room int) []string) func(room int) []string {
	return func(room int) []string {
		lines := slices.Clone(first(room - cost(second(room/2))))
		for _, l := range second(room - cost(lines)) {
			if !slices.Contains(lines, l) {
				lines = append(lines, l)
			}
		}
		return lines
	}
}

// fixed writes the lines that fit.
func fixed(lines []string) func(room int) []string {
	return func(room int) []string { return listed(lines, room, 0) }
}

// cost is the length of lines with their ends.
func cost(lines []string) (n int) {
	for _, l := range lines {
		n += lex.Runes(l) + 1
	}
	return n
}
