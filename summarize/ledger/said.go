package ledger

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"precis/events"
	"precis/summarize/lex"
)

// Bounds of what is kept of the assistant's words, in code points and in number.
const (
	maxDecision = 300
	maxReport   = 1200 // of what the assistant said last
	maxAnswer   = 240
	decisions   = 4 // of a message
)

// statements records what the assistant says: its decisions, what it concludes when it hands back to the user, and what it
// does next.
func (c *collector) statements(m Message) {
	text, whole := finished(spokenOf(head(m.Content.Text(), maxSaid)))
	if strings.TrimSpace(text) != "" {
		c.told = text
	}
	if n := len(c.handed) - 1; n >= 0 && c.handed[n] == c.last {
		if m.Ordinal == c.last+1 {
			c.handed = c.handed[:n] // it goes on
		} else { // as the user's newest message, which stands whole beside a text
			c.note(&c.events, "message "+strconv.FormatUint(c.last+1, 10), elsewhen, c.last+1)
		}
	}
	answers := whole && len(m.ToolCalls) == 0
	if all := strings.TrimSpace(m.Content.Text()); len(m.ToolCalls) == 0 && all != "" && !noReplyAtAll(all) { // one that was cut off is a reply too
		c.handed = append(c.handed, m.Ordinal)
	}
	plan := lastWords(text, answers)
	if plan != "" {
		rank := 0
		if answers && !announces(plan) {
			rank = answered
			if !outage.MatchString(plan) && !announcing.MatchString(plan) && !lex.CodeLike(plan) {
				c.note(&c.answers, lex.Clip(plan, maxAnswer), 0, m.Ordinal)
			}
		}
		if rank == answered {
			plan = bothEnds(report(text, plan), maxReport)
		}
		c.note(&c.plans, bothEnds(plan, maxReport), rank, m.Ordinal)
	}
	if yields.MatchString(text) {
		c.note(&c.events, lex.Clip(oneLine(text), 2*maxDecision), retracted, m.Ordinal)
	}
	var said []Note // without ordinals
	add := func(s string, rank int) { said = append(said, Note{Text: s, Rank: rank}) }
	kept := "" // the sentence before, if it stands
	for s, as := range spoken(text) {
		n := len(said)
		beside := n > 0 && kept != "" && said[n-1].Text == kept
		follows := beside && leaning.MatchString(s)
		switch {
		case n > 0 && as == inText && corrects.MatchString(s): // thought better of
			said, n, follows = said[:n-1], n-1, false
		case beside && said[n-1].Rank == 0 && (altering.MatchString(s) || mending.MatchString(s) && wanting.MatchString(kept)): // true until the next call changes it
			said, n, follows = said[:n-1], n-1, false
		}
		kept = ""
		if instead, rank := c.takenBack(s, as, m.Ordinal); rank != none && lex.Runes(instead) <= maxDecision && len(said) < decisions {
			add(instead, rank)
			continue
		}
		words := len(strings.Fields(s))
		if words < 4 || words < 6 && !strings.Contains(s, "`") || words > 50 || lex.Runes(s) > maxDecision || len(said) == decisions || lex.CodeLike(s) || strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") {
			continue
		}
		if follows && !announcing.MatchString(s) && !reporting.MatchString(s) && !progressing.MatchString(s) && lex.Runes(said[n-1].Text+s) < maxDecision {
			said[n-1].Text += " " + nextStep.ReplaceAllString(s, ".")
			continue // how it ends
		}
		stated, rank := rankOf(s, as)
		if rank != none {
			add(stated, rank)
			kept = stated
		}
	}
	waits := c.waits(m)
	for _, n := range said {
		if waits && n.Rank < 2 {
			continue // of the moment
		}
		c.note(&c.decisions, n.Text, n.Rank, m.Ordinal)
	}
}

// noReplyAtAll reports whether a message is only what a harness puts in place of one: it may go on with advice to wait.
func noReplyAtAll(text string) bool {
	const long = 400
	first, rest, _ := strings.Cut(text, "\n")
	return noAnswer.MatchString(text) || len(text) < long && noAnswer.MatchString(strings.TrimSpace(first)) && (strings.TrimSpace(rest) == "" || outage.MatchString(strings.TrimSpace(rest)))
}

// inMidSentence ends what was cut off: no sentence ends with such a word.
var inMidSentence = regexp.MustCompile(`(?i)(?:\b(?:the|an?|of|to|and|or|with|for|by|from|into|is|are|was|which|because|if|when|its|their|your|this is|should|will|would)|,)$`)

// finished returns a message without its last sentence, if it was cut off there: in code that is not closed, or behind a word that
// something has to follow.
func finished(text string) (said string, whole bool) {
	text = strings.TrimRight(text, " \t\n")
	from := strings.LastIndexByte(text, '\n') + 1
	line := text[from:]
	fences := strings.Count(text, "```")
	open := fences%2 == 0 && !strings.Contains(line, "```") && strings.Count(line, "`")%2 == 1
	if !open && (fences%2 == 1 || !inMidSentence.MatchString(line)) {
		return text, true
	}
	at := 0
	for end := stop(line); at+end < len(line); end = stop(line[at:]) {
		at += end
	}
	return text[:from+at], false
}

// thoughts are elements in which models think before they speak, and thought ends one whose beginning a server left out.
var (
	thoughts = regexp.MustCompile(`(?ms)^[ \t]*<(?:think|thinking|thought|reasoning)>.*?</(?:think|thinking|thought|reasoning)>|\A\s*<(?:think|thinking|thought|reasoning)>.*`)
	thought  = regexp.MustCompile(`(?m)^[ \t]*</(?:think|thinking)>[ \t]*$`)
)

// spokenOf returns a message without thoughts, which guess and weigh what is given up in the next sentence; one that is nothing else is
// taken for what it says.
func spokenOf(text string) string {
	if !strings.Contains(text, "</") {
		return text
	}
	rest := thoughts.ReplaceAllString(text, "")
	if at := thought.FindStringIndex(rest); at != nil && strings.Count(rest[:at[0]], "```")%2 == 0 {
		rest = rest[at[1]:]
	}
	if strings.TrimSpace(rest) == "" {
		return text
	}
	return rest
}

// waits reports whether a message only asks how processes in the background go on.
func (c *collector) waits(m Message) bool {
	return len(m.ToolCalls) > 0 && !slices.ContainsFunc(m.ToolCalls, func(call events.ToolCall) bool {
		args := parseArguments(call.Arguments)
		return c.processes[args.number(processNames...)] == "" || args.text("chars", "input", "text", "command") != ""
	})
}

// announces reports whether a text ends with what comes next.
func announces(text string) bool {
	last := ""
	for s := range sentences(text) {
		last = s
	}
	return announcing.MatchString(last) && !presents.MatchString(last)
}

// Ranks of notes beside those of decisions.
const (
	none     = -1
	answered = 1 // a plan that is what the assistant said last to the user

	refusedCall = 4
)

// lastWords returns the first paragraph that says something, from its first sentence that does, and what follows a colon at
// its end.
func lastWords(text string, answers bool) (all string) {
	lead := "" // the line above a list, with the items that say little
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, "#") {
			continue // a heading says what its text says
		}
		said := ""
		if !strings.HasSuffix(lead, ":") {
			lead = ""
		}
		for s := range sentences(paragraph) {
			switch {
			case said+all != "":
				said += " " + s
			case telling(s) || answers && yesOrNo.MatchString(s):
				said = strings.TrimSpace(lead + " " + s)
			case strings.HasSuffix(s, ":") && !leadsOn.MatchString(s):
				lead = s
			case lead != "":
				lead += " " + s
			}
		}
		if all = strings.TrimSpace(all + " " + strings.TrimSpace(said)); telling(all) && !strings.HasSuffix(all, ":") {
			break
		}
	}
	return all
}

// leadsOn begins a line above a list that says nothing of it.
var leadsOn = regexp.MustCompile(`(?i)^(?:let me|let['’]s|now|here|i['’]ll|first|next|done|perfect|great|key changes|changes|summary)\b`)

// dropped is what a report is told without: code and tables.
var dropped = regexp.MustCompile("(?ms)^[ \\t]*(?:```|~~~).*?(?:^[ \\t]*(?:```|~~~)[ \\t]*$|\\z)|(?:^[ \\t]*\\|[^\\n]*(?:\\n|\\z))+")

// report returns what a message that hands back to the user says from where its first words begin, on one line, with the marks of
// its items, with a mark in place of code and tables.
func report(text, first string) string {
	var said []string
	begun := false
	for line := range prose(dropped.ReplaceAllStringFunc(text, shortCode)) {
		heading := line[0] == '#'
		if line[0] != '`' || strings.Count(line, "`") != 2 || line[len(line)-1] != '`' { // else it is code, as it is
			line = oneLine(strings.TrimLeft(strings.ReplaceAll(link.ReplaceAllString(line, "]"), "**", ""), "#> "))
		}
		if i := strings.Index(line, first[:min(len(first), leastOpening/2)]); !begun && i >= 0 {
			begun, line = true, line[i:]
		}
		if heading && !strings.HasSuffix(line, ":") {
			line += ":"
		}
		if begun {
			said = append(said, line)
		}
	}
	if !begun {
		return withQuestion(first, text)
	}
	return strings.ToValidUTF8(strings.Join(said, " "), "")
}

// withQuestion returns the first words of a message of which they are no line, with the question that ends it and the choices below that.
func withQuestion(first, text string) string {
	const most = 200
	var end []string
	for s := range sentences(text) {
		end = append(end, s)
	}
	from := len(end)
	for i, s := range slices.Backward(end) {
		if !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, ":") {
			break
		}
		from = i
	}
	asked := strings.Join(end[from:], " ")
	if !strings.HasSuffix(asked, "?") || lex.Runes(asked) > most || strings.Contains(first, asked) {
		return first
	}
	return strings.TrimRight(opening(first, leastAnswer), " …") + " … " + asked
}

// shortCode returns what a report tells in place of code or a table: one of few lines as it is, since the words above lead to it.
func shortCode(block string) string {
	const lines, long = 3, 200
	var kept []string
	for line := range strings.SplitSeq(block, "\n") {
		if line = oneLine(line); line != "" && !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
			kept = append(kept, line)
		}
	}
	text := strings.Join(kept, "; ")
	if len(kept) == 0 || len(kept) > lines || lex.Runes(text) > long || kept[0][0] == '|' || strings.Contains(text, "`") {
		return "…"
	}
	return "`" + text + "`\n"
}

// telling reports whether a text says something: "Let me check." does not, and what names an identifier does.
func telling(s string) bool {
	n := 0
	eachWord(s, func(string) { n = 4 })
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(w) > 3 || w[0] >= 0x80 {
			n++
		}
	}
	return n > 3
}

const refusedBy, approvedBy = "Refused by the user: ", "Approved by the user: "

// refusal records a call that the user refused, with the user's words, and a plan that the user approved.
func (c *collector) refusal(m Message, tool string, args arguments, text string) {
	if approved.MatchString(text[:min(len(text), 120)]) && args.text(pathNames...)+args.commandLine(tool) == "" {
		c.note(&c.decisions, approvedBy+tool, refusedCall, m.Ordinal)
	}
	if m.IsError != nil && !*m.IsError || !refusedIn(text) {
		return
	}
	what := tool
	if path := args.text(pathNames...); path != "" {
		what += " " + lastNames(path)
	} else if line := args.commandLine(tool); line != "" {
		what += " " + changeDir.ReplaceAllString(line, "")
	}
	said := refusedBy + lex.Clip(oneLine(what), 80)
	words := reason.FindStringSubmatch(text)
	if words != nil {
		said += ": “" + lex.Clip(oneLine(words[1]), 160) + "”"
		c.instruct(words[1], inTalk, m.Ordinal)
	}
	c.note(&c.decisions, said, refusedCall, m.Ordinal)
}

var (
	// asking are tools by which an assistant asks its user.
	asking = regexp.MustCompile(`(?i)ask_?(?:the_?)?user|ask_?follow_?up|request_?user|(?:user|human)_?input`)
	// pair is a question with its answer in the result of one that asks several, and replied begins the result of others.
	pair    = regexp.MustCompile(`"([^"\n]+)"="([^"\n]*)"`)
	replied = regexp.MustCompile(`(?i)^\W*(?:the )?user (?:has )?(?:responded|selected|answered|chose|replied|said)[^:\n]{0,20}:\s*`)
)

// agreeing begins an answer by which the user agrees, or takes what was recommended.
var agreeing = regexp.MustCompile(`(?i)^\W*(?:y(?:es|eah|ep|up)?\b|ok(?:ay)?\b|sure\b|i agree|agreed|correct\b|right\b|exactly\b|sounds (?:good|right)|go (?:ahead|for it)|do it\b|perfect\b|great\b|looks good|lgtm\b|s[ií]\b|ja\b|oui\b|sim\b|да|はい|是的?|好|对)|\(recommended\)`)

// agrees reports whether the result of a tool that asks says that the user agrees to all that was asked.
func agrees(text string) bool {
	pairs := pair.FindAllStringSubmatch(text, perMessage)
	for _, m := range pairs {
		if !agreeing.MatchString(m[2]) {
			return false
		}
	}
	return len(pairs) > 0 || agreeing.MatchString(replied.ReplaceAllString(text, ""))
}

// chose records what the user answered to a tool that asks: such an answer is a decision.
func (c *collector) chose(at uint64, tool string, args arguments, text string) {
	if !asking.MatchString(tool) {
		return
	}
	pairs := pair.FindAllStringSubmatch(text, perMessage)
	if answer := replied.ReplaceAllString(text, ""); len(pairs) == 0 && answer != text {
		pairs = [][]string{{"", args.text("question", "prompt", "message"), answer}}
	}
	for _, m := range pairs {
		c.note(&c.decisions, "The user was asked “"+opening(oneLine(m[1]), 120)+"” → “"+withAsk(oneLine(m[2]), 240)+"”", refusedCall, at)
	}
}

// refusedIn reports whether a result says, at its beginning, that the user refused the call.
func refusedIn(text string) bool {
	head := text[:min(len(text), 300)]
	return (strings.Contains(head, "user") || strings.Contains(head, "User")) && refused.MatchString(head)
}

// prose yields the lines of a text, trimmed, without code in fences, tables, rules and blank lines.
func prose(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		fenced := false
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
				fenced = !fenced
				continue
			}
			if fenced || strings.HasPrefix(line, "|") || strings.Trim(line, "-*_= ") == "" {
				continue
			}
			if !yield(line) {
				return
			}
		}
	}
}

// sentences yields the sentences of prose: its lines, split after full stops, without list marks and without code in
// fences.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range prose(text) {
			for s := range sentencesOf(line) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// sentencesOf yields those of a line.
func sentencesOf(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if strings.Contains(line, "](") {
			line = link.ReplaceAllString(line, "]")
		}
		for line := oneLine(strings.ReplaceAll(itemMark.ReplaceAllString(line, ""), "**", "")); line != ""; {
			i := stop(line)
			if s := strings.TrimSpace(line[:i]); s != "" && !yield(strings.ToValidUTF8(s, "")) {
				return
			}
			line = line[i:]
		}
	}
}

// stop returns the end of a line's first sentence.
func stop(line string) int {
	for i := 3; i+1 < len(line); i++ {
		if (line[i] == '.' || line[i] == '!' || line[i] == '?') && line[i+1] == ' ' && !abbreviated(line[:i]) {
			return i + 1
		}
	}
	return len(line)
}

// abbreviated reports whether a text that a full stop follows ends in an abbreviation (e.g., i.e., vs.) or in the number of an item.
func abbreviated(s string) bool {
	return strings.HasSuffix(s, "e.g") || strings.HasSuffix(s, "i.e") || strings.HasSuffix(s, " vs") || itemNumber.MatchString(s[max(0, len(s)-6):])
}

// itemNumber is the number of an item behind a sentence or the mark of a heading.
var itemNumber = regexp.MustCompile(`[.:#!?] +\d{1,2}$`)
