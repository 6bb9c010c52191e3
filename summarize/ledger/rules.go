package ledger

import (
	"regexp"
	"strings"

	"precis/summarize/lex"
)

var (
	// rulesHead begins a message that shows a file of rules, or a part of a reminder; rulesEnd ends it.
	rulesHead = regexp.MustCompile(`(?m)(?:\A\s*# |^Contents of (?:\S*/)?)((?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md)\b`)
	rulesEnd  = regexp.MustCompile(`</(?:system-reminder|INSTRUCTIONS)>`)
	// rulesName is the name of such a file.
	rulesName = regexp.MustCompile(`(?:^|[/\s"'])((?:AGENTS|CLAUDE|GEMINI|CRUSH|QWEN)(?:\.local)?\.md|copilot-instructions\.md|\.(?:cursorrules|windsurfrules|clinerules))["']?\s*$`)
	// lineNumber is what tools put before the lines of a file.
	lineNumber = regexp.MustCompile(`(?m)^ *\d+(?:→|\||:|\t) ?`)
	// ruling begins a rule that stands on its own, ruledOut is a rule wherever it stands, by its capitals.
	ruling   = regexp.MustCompile(`(?i)^(?:please |important: |note: )?(?:never|always|do not|don['’]t|you must|must|only (?:use|run|edit|commit|push)|avoid)\b`)
	ruledOut = regexp.MustCompile(`\b(?:NEVER|ALWAYS|MUST|DO NOT)\b`)
	// pointing is in a rule that says what it is about in the sentence before, inCase in a line above rules that hold in some case only.
	pointing = regexp.MustCompile(`(?i)^(?:\w+ ){1,4}(?:them|those|these|this|that|it|such)\b`)
	inCase   = regexp.MustCompile(`(?i)\b(?:if|when|whenever|unless|once|before|after|for|example|e\.g\.|bad|good)\b`)
)

// perFile bounds the rules that are kept of a file.
const perFile = 8

// rulesFile returns the name of the file of rules that a path, or a command that shows one file, ends with.
func rulesFile(line string) string {
	if m := rulesName.FindStringSubmatch(line); m != nil && !strings.ContainsAny(line, ">\n") {
		return m[1]
	}
	return ""
}

// ruled records the rules of a file, or of a message of the system, that stand on their own, the first few; those in capitals first.
func (c *collector) ruled(source, text string, at uint64) {
	n, lead := 0, ""
	for line := range prose(text) {
		item := itemMark.MatchString(line) && line[0] != '#'
		if !item {
			lead = line
		}
		if item && strings.HasSuffix(strings.TrimRight(lead, "* "), ":") && inCase.MatchString(lead) {
			continue
		}
		for s := range sentencesOf(line) {
			loud := ruledOut.MatchString(s)
			words := len(strings.Fields(s))
			if n == perFile || words < 4 || words > 40 || lex.Runes(s) > maxRule || strings.HasSuffix(s, ":") || strings.HasSuffix(s, "?") || lex.CodeLike(s) || leaning.MatchString(s) || pointing.MatchString(s) || !loud && !ruling.MatchString(s) {
				continue
			}
			rank := 0
			if loud {
				rank = 1
			}
			c.note(&c.rules, source+": "+s, rank, at)
			n++
		}
	}
}

// maxRule bounds a rule, in code points.
const maxRule = 200

// printed records the output of a command that is short, or of a longer one the lines with its sums.
func (c *collector) printed(at uint64, line, kind string, result Message, end outcome) {
	if result.Message == nil || end.refused || end.failed() || kind != "" && kind != "look" || strings.Contains(line, "git ") || started.MatchString(head(result.Content.Text(), 600)) {
		return
	}
	lines := outputOf(escapes.ReplaceAllString(result.Content.Text(), ""), nil)
	most, long := 12, maxPrinted
	if kind == "look" {
		most, long = 1, maxLine
	}
	if kind == "" && (len(lines) > most || lex.Runes(strings.Join(lines, " ")) > long) {
		var sums []string
		for _, l := range lines {
			if ofSum.MatchString(l) && lex.Runes(l) < maxLine {
				sums = append(sums, l)
			}
		}
		lines = sums[max(0, len(sums)-2):]
	}
	text := oneLine(strings.Join(lines, " "))
	if len(lines) == 0 || len(lines) > most || lex.Runes(text) > long || len(strings.Fields(text)) < 2 && !strings.ContainsAny(text, "0123456789") {
		return
	}
	c.note(&c.shown, briefly(oneLine(changeDir.ReplaceAllString(line, "")))+" → “"+text+"”", 0, at)
}

// ofSum is a line of an output that sums up.
var ofSum = regexp.MustCompile(`(?i)^\W*(?:totals?|sum|average|mean|median|overall|score|accuracy|precision|recall|coverage|result|summary|final)\b.*\d`)

// maxPrinted bounds an output that is told whole, in code points.
const maxPrinted = 200

// rulesIn records the rules that a message of the user's role shows, which a harness put there.
func (c *collector) rulesIn(text string, at uint64) {
	for _, m := range rulesHead.FindAllStringSubmatchIndex(text, 4) {
		part := text[m[1]:]
		if end := rulesEnd.FindStringIndex(part); end != nil {
			part = part[:end[0]]
		}
		if next := rulesHead.FindStringIndex(part); next != nil {
			part = part[:next[0]]
		}
		c.ruled(text[m[2]:m[3]], part, at)
	}
}
