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
var claim = regexp.MustCompile(`(?i)\b(?:\w*tests?|specs?|suite|jest|mocha|lint\w*|\w+lint|mypy|ruff|tsc|clippy|build|pipeline|ci|checks?|compil\w+)\b.*\b(?:pass|fail|green|red\b|clean|succe|broke|ok\b)|` +
	`\b(?:pass|fail)\w*\b.*\b(?:\w*tests?|suite|lint\w*|builds?|checks?)\b|` +
	`\b(?:everything|all|it|they)\b(?:'s| is| are| now)* (?:pass(?:es|ed|ing)?|green|clean)\b`)

// say adds what a model says to sections. Requests, files and errors are the record's alone, and so are verdicts; an
// instruction has to be the user's. The newest request and the next step get some room beside what the model says.
func (v *view) say(sections []section, said map[string][]string, room int) {
	for i := range sections {
		s := &sections[i]
		title := strings.TrimSuffix(s.title, ":")
		lines, own := said[title], s.lines
		if title != titleInstructions {
			lines = slices.DeleteFunc(lines, claim.MatchString)
		}
		switch title {
		case titleGoal:
			s.lines = joined(own, fixed(lines))
		case titleInstructions:
			lines = v.users(lines)
			s.lines = joined(own, fixed(lines))
		case titleDecisions:
			s.lines = joined(fixed(lines), own)
		case titleState:
			s.lines = joined(own, fixed(lines))
		case titleNext:
			if len(lines) > 0 {
				s.lines = orClipped(lines, own)
			}
			s.least = room * mostNext / 100
		case titleRequests:
			s.least = room * mostRequests / 100
			continue
		default:
			continue
		}
		s.least = max(s.least, min(cost(lines), room*mostSaid/100))
	}
}

// mostSaid is the part of a text that a model's lines get in a section in any case, in percent; beside them, mostRequests
// and mostNext are those of the requests and the next step.
const mostSaid, mostRequests, mostNext = 20, 12, 6

// orClipped writes the lines that fit; without one the beginning of the first, or what own has.
func orClipped(lines []string, own func(room int) []string) func(room int) []string {
	return func(room int) []string {
		kept := listed(lines, room, 0)
		if len(kept) == 0 && room > leastOpening {
			kept = []string{opening(lines[0], room-1)}
		}
		if len(kept) == 0 {
			kept = own(room)
		}
		return kept
	}
}

// unclaimed returns a text without its sentences about verdicts.
func unclaimed(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		var sentences []string
		for line != "" {
			end := stop(line)
			if s := strings.TrimSpace(line[:end]); !claim.MatchString(s) {
				sentences = append(sentences, s)
			}
			line = line[end:]
		}
		if len(sentences) > 0 {
			kept = append(kept, strings.Join(sentences, " "))
		}
	}
	return strings.Join(kept, "\n")
}

// users returns the lines whose words a user said in this order, within one sentence, with the same restrictions.
func (v *view) users(lines []string) (kept []string) {
	for _, l := range lines {
		words := plainWords(strings.TrimPrefix(l, "- "))
		said := func(n Note) bool {
			for text := n.Text; text != ""; {
				end := stop(text)
				if s := plainWords(text[:end]); inOrder(words, s) && slices.Equal(restrictions(words), restrictions(s)) {
					return true
				}
				text = text[end:]
			}
			return false
		}
		if len(words) > 0 && (slices.ContainsFunc(v.l.Requests, said) || slices.ContainsFunc(v.l.Instructions, said)) {
			kept = append(kept, l)
		}
	}
	return kept
}

func plainWords(text string) (words []string) {
	for _, w := range strings.Fields(text) {
		if w = plainWord(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}

// inOrder reports whether a text has all of some words in their order.
func inOrder(words, text []string) bool {
	for _, w := range text {
		if len(words) > 0 && words[0] == w {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// restrictions are the words by which an instruction means something else without them.
func restrictions(words []string) (list []string) {
	for _, w := range words {
		switch w = strings.ReplaceAll(w, "’", "'"); w {
		case "never", "not", "no", "none", "nothing", "nobody", "dont", "cannot", "without", "unless", "except", "only", "until", "before", "after", "if",
			"nicht", "nie", "niemals", "kein", "keine", "keinen", "ohne", "nur":
			list = append(list, w)
		default:
			if strings.HasSuffix(w, "n't") {
				list = append(list, w)
			}
		}
	}
	return list
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
