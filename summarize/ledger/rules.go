package ledger

import (
	"iter"
	"regexp"
	"strings"

	"precis/summarize/lex"
)

var (
	// rulesTitle begins a message that shows a file of rules, rulesHead a part of a reminder that does; rulesEnd ends it.
	rulesTitle = regexp.MustCompile(`\A\s*# ((?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md)\b`)
	rulesHead  = regexp.MustCompile(`(?m)^Contents of (?:\S*/)?((?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md)\b`)
	rulesEnd   = regexp.MustCompile(`</(?:system-reminder|INSTRUCTIONS)>`)
	// rulesName is the name of such a file.
	rulesName = regexp.MustCompile(`(?:^|[/\s"'])((?:AGENTS|CLAUDE|GEMINI|CRUSH|QWEN)(?:\.local)?\.md|copilot-instructions\.md|\.(?:cursorrules|windsurfrules|clinerules))["']?\s*$`)
	// shows is a command that only shows one file, and others a path of a file that is of another project, or that only tests a program.
	shows  = regexp.MustCompile(`^(?:cd [^;&|<>]+(?:&&|;) *)?(?:cat|bat|head|tail|less|more|nl|sed|type|Get-Content) [^;&|<>]*$`)
	others = regexp.MustCompile(`(?i)://|(?:^|[\s/\\"'])(?:node_modules|vendor|third_party|site-packages|\.?venv|\.cargo|pkg/mod|testdata|fixtures?|templates?|examples?)/|(?:^|[\s"'])(?:/private)?/(?:tmp|var/tmp|var/folders)/`)
	// reminder is a part of a message that a harness puts there.
	reminder = regexp.MustCompile(`(?s)<system-reminder>.*?(?:</system-reminder>|\z)`)
	// lineNumber is what tools put before the lines of a file.
	lineNumber = regexp.MustCompile(`(?m)^ *\d+(?:→|\||:|\t) ?`)
	// ruling begins a rule that stands on its own, ruledOut is a rule wherever it stands, by its capitals.
	ruling   = regexp.MustCompile(`(?i)^(?:please |important: |note: )?(?:never|always|do not|don['’]t|you must|must|only (?:use|run|edit|commit|push)|avoid)\b`)
	ruledOut = regexp.MustCompile(`\b(?:NEVER|ALWAYS|MUST|DO NOT)\b`)
	// pointing is in a rule that says what it is about in the sentence before; lifted is in one that is none, or none any more.
	pointing = regexp.MustCompile(`(?i)^(?:\w+ ){1,4}(?:them|those|these|this|that|it|such)\b`)
	lifted   = regexp.MustCompile(`(?i)\bno longer\b|\b(?:do|does|did)(?: not|n['’]t) (?:have|need) to\b|\bneed(?: not|n['’]t)\b|\b(?:used to|previously|formerly|not true)\b`)
	// inCase is in a line above rules that hold in some case only, and partOnly in a heading above such.
	inCase   = regexp.MustCompile(`(?i)\b(?:if|when|whenever|unless|once|before|after|for|in|on|during|within|inside|under|example|e\.g\.|bad|good)\b`)
	partOnly = regexp.MustCompile(`(?i)\b(?:if|when|whenever|unless|once|during|examples?|e\.g\.|bad|wrong|deprecated|obsolete|old|legacy|history)\b`)
	// unsaid is what is in a file and says nothing to who reads it, or is an example.
	unsaid = regexp.MustCompile(`(?is)<!--.*?(?:-->|\z)|<\w*example\w*>.*?(?:</\w*example\w*>|\z)`)
	// aKey is what no compaction carries on: it would be in prompts for longer than what showed it.
	aKey = regexp.MustCompile(`\b(?:[sp]k[-_]|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|AKIA|AIza)[\w-]{10,}|\beyJ[\w-]{10,}\.|-----BEGIN |(?i:(?:passw(?:or)?d|secret|token|api_?key|access_?key|private_?key)["']?\s*[:=]\s*["']?[^\s"'<$]{6,}|://[^\s/:@]+:[^\s/@]+@)`)
	// ofKeys is a command that shows such.
	ofKeys = regexp.MustCompile(`(?i)(?:^|[\s/])\.env\b|\b(?:printenv|secrets?|credentials?|passw(?:or)?ds?|gpg|vault)\b|_(?:TOKEN|KEY|SECRET|PASSWORD)\b|\bauth (?:token|print)|\b(?:id_rsa|id_ed25519)\b|^(?:env|set)$`)
)

// perFile bounds the rules that are kept of a file.
const perFile = 8

// rulesFile returns the name of the file of rules that a path, or else a command that shows one file, ends with: one of this project.
func rulesFile(path, line string) string {
	if path == "" && shows.MatchString(line) {
		path = line
	}
	if m := rulesName.FindStringSubmatch(path); m != nil && !strings.Contains(path, "\n") && !others.MatchString(path) {
		return m[1]
	}
	return ""
}

// ruled records the rules of a file, or of a message of the system, that stand on their own: the first few in capitals, and the first few others.
func (c *collector) ruled(source, text string, at uint64) {
	var kept [2]int // by rank
	for line := range general(text) {
		for s := range sentencesOf(line) {
			rank := 0
			if ruledOut.MatchString(s) {
				rank = 1
			}
			words := len(strings.Fields(s))
			if kept[rank] == perFile || words < 4 || words > 40 || lex.Runes(s) > maxRule || strings.HasSuffix(s, ":") || strings.HasSuffix(s, "?") || lex.CodeLike(s) || leaning.MatchString(s) || pointing.MatchString(s) || rank == 0 && !ruling.MatchString(s) || lifted.MatchString(s) || aKey.MatchString(s) {
				continue
			}
			c.note(&c.rules, source+": "+s, rank, at)
			kept[rank]++
		}
	}
}

// general yields the lines of a file of rules that hold in all cases, as far as what stands above them tells: no code, quotes, examples and comments,
// and nothing that was struck out.
func general(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		const none = 1 << 20
		part, within := 0, none                     // the level of the heading, and the indentation of the line, below which rules hold in some case only
		fenced, blank, ofItem := false, true, false // the last: the line above is an item itself
		for raw := range strings.SplitSeq(unsaid.ReplaceAllString(text, ""), "\n") {
			line := strings.TrimSpace(raw)
			indent := strings.IndexFunc(strings.ReplaceAll(raw, "\t", "    "), func(r rune) bool { return r != ' ' })
			behind := blank
			blank = line == ""
			switch {
			case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
				fenced = !fenced
				continue
			case fenced, blank, strings.HasPrefix(line, "|"), strings.HasPrefix(line, ">"), strings.Contains(line, "~~"), strings.Trim(line, "-*_= ") == "":
				continue
			}
			if line[0] == '#' {
				level := len(line) - len(strings.TrimLeft(line, "#"))
				if within = none; part == 0 || level <= part {
					if part = 0; partOnly.MatchString(line) {
						part = level
					}
				}
			}
			item := itemMark.MatchString(line) && line[0] != '#'
			if part > 0 || !item && indent >= 4 && behind { // the latter is code
				continue
			}
			if indent < within || indent == within && (!item || ofItem) {
				within = none
			}
			if within < none {
				continue
			}
			if strings.HasSuffix(strings.TrimRight(line, "* "), ":") && inCase.MatchString(line) {
				within, ofItem = indent, item
			}
			if !yield(line) {
				return
			}
		}
	}
}

// maxRule bounds a rule, in code points.
const maxRule = 200

// printed records the output of a command that is short, or of a longer one the lines with its sums.
func (c *collector) printed(at uint64, line, kind string, result Message, end outcome) {
	line = head(line, maxTold) // more of it is not told
	if kind == "look" && result.Message != nil && soleSearch.MatchString(changeDir.ReplaceAllString(line, "")) && foundNothing.MatchString(head(result.Content.Text(), 200)) {
		c.note(&c.shown, briefly(oneLine(changeDir.ReplaceAllString(line, "")))+" → found nothing", 0, at)
		return
	}
	if result.Message == nil || end.refused || end.failed() || kind != "" && kind != "look" || strings.Contains(line, "git ") || ofKeys.MatchString(line) || started.MatchString(head(result.Content.Text(), 600)) {
		return
	}
	lines := outputOf(escapes.ReplaceAllString(head(result.Content.Text(), maxScan), ""), nil)
	most, long := 12, maxPrinted
	if kind == "look" {
		most, long = 1, maxLine
	}
	if kind == "" && (len(lines) > most || lex.Runes(strings.Join(lines, " ")) > long) {
		var sums []string
		for _, l := range lines {
			if len(l) < 4*maxLine && lex.Runes(l) < maxLine && ofSum.MatchString(l) {
				sums = append(sums, l)
			}
		}
		lines = sums[max(0, len(sums)-2):]
	}
	text := oneLine(strings.Join(lines, " "))
	if len(lines) == 0 || len(lines) > most || aKey.MatchString(text) || aKey.MatchString(line) || lex.Runes(text) > long || len(strings.Fields(text)) < 2 && !strings.ContainsAny(text, "0123456789") {
		return
	}
	c.note(&c.shown, briefly(oneLine(changeDir.ReplaceAllString(line, "")))+" → “"+text+"”", 0, at)
}

// soleSearch is a line that only searches and whose complaints are shown, foundNothing its result without a match.
var (
	soleSearch   = regexp.MustCompile(`^\s*(?:rg|e?grep|git grep) [^|;<>&\n]+$`)
	foundNothing = regexp.MustCompile(`(?i)^\s*(?:(?:Command exited with code|Exit code:?|exited with(?: exit)? code) 1\s*)?(?:\(?no (?:output|matches found)\)?\s*)?$`)
)

// ofSum is a line of an output that sums up.
var ofSum = regexp.MustCompile(`(?i)^\W*(?:totals?|sum|average|mean|median|overall|score|accuracy|precision|recall|coverage|result|summary|final)\b.*\d`)

// maxTold bounds the part of a command's line that is read, in bytes.
const maxTold = 4 << 10

// maxPrinted bounds an output that is told whole, in code points.
const maxPrinted = 200

// rulesIn records the rules that a message of the user's role shows, which a harness put there.
func (c *collector) rulesIn(text string, at uint64) {
	if m := rulesTitle.FindStringSubmatchIndex(text); m != nil {
		part := text[m[1]:]
		if end := rulesEnd.FindStringIndex(part); end != nil {
			part = part[:end[0]]
		}
		c.ruled(text[m[2]:m[3]], part, at)
	}
	for _, part := range reminder.FindAllString(text, 4) {
		all := rulesHead.FindAllStringSubmatchIndex(part, 4)
		for i, m := range all {
			end := len(part)
			if i+1 < len(all) {
				end = all[i+1][0]
			}
			c.ruled(part[m[2]:m[3]], strings.TrimSuffix(part[m[1]:end], "</system-reminder>"), at)
		}
	}
}
