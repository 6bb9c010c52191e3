package ledger

import (
	"iter"
	"regexp"
	"strings"
	"unicode"

	"precis/summarize/lex"
)

// Bounds of what is kept of the assistant's words, in code points and in number.
const (
	maxDecision = 300
	maxReport   = 1200 // of what the assistant said last
	maxAnswer   = 160
	decisions   = 4 // of a message
)

var (
	// decided is the wording of a choice or of a cause that was found.
	decided = regexp.MustCompile(`(?i)\b(?:(?:I|we)(?:['’]ve| have)? (?:just )?(?:decided|chose|opted)|decided (?:to|on|against|that)|the decision is|root cause|turn(?:s|ed) out|dead end|(?:I|we)(?:['’]ll| will| should)(?: just)? (?:go with|keep (?:the|this|that|it|both|using|our|existing|\x60)|stick with|skip|leave (?:the|this|that|it)|not|drop)|let['’]s (?:go with|keep|stick with|not)|(?:I['’]m|I am|we['’]re) (?:keeping|leaving|taking|dropping|skipping)|(?:I|we) won['’]t|(?:real|actual) (?:problem|issue|bug|cause|reason))\b`)
	// found is the wording of what is the matter, or of what does not work.
	found = regexp.MustCompile(`(?i)\b(?:(?:problem|issue|bug|cause|culprit|reason|fix|catch|gap) (?:is|was)|workaround|won['’]t|(?:doesn['’]t|does not|didn['’]t|did not|can['’]t|cannot) (?:work|help|be)|not possible|impossible|non-(?:goal|issue))\b`)
	// reasoned is weaker: a reason or a choice.
	reasoned = regexp.MustCompile(`(?i)\b(?:because|instead|rather than)\b`)
	// announcing is the wording of a step that the next call takes, or of what follows below.
	announcing = regexp.MustCompile(`(?i)^(?:(?:ok(?:ay)?|good|great|perfect|so|and|but|yes|no)[,.!:]? )*(?:now|let me|let['’]s|i['’]ll|i will|i['’]m|i am|i['’]ve|i have|(?:i|we) (?:also )?need to|next|first|then|finally|here(?:['’]s| is| are)|one more|(?:us|check|look|read|runn?|try|add|updat|fix|creat|writ|implement)ing|step \d)\b|:$`)
	// presents begins what tells of work that is done, though it sounds like a step.
	presents = regexp.MustCompile(`(?i)^(?:here(?:['’]s| is| are)|now (?:when|the|it|all|you|they|this|a|an|both|each|every)|i['’]ve|i have)\b`)
	// leaning begins a sentence that does not stand on its own.
	leaning = regexp.MustCompile(`(?i)^(?:this|that|these|those|it|they|he|she|which|so|but|and|also|however|otherwise|then|same|actually|well|hm+|oh|wait|good|great|nice|perfect|excellent|interesting)\b`)
	// stating is a statement of fact.
	stating = regexp.MustCompile(`(?i)\b(?:is|are|was|were|has|have|had|does|did|ran|failed|rejected|returned|needs?|asks?|exists?|contains?|points?|says?|never|no longer|already|still|must|requires?|passes|returns|means|uses?|sets|starts|causes?|expects?|shows?|makes|calls|reads|writes|lacks?|changed|moved|succeeds?|succeeded|works?|worked|keeps|ends)\b`)
	// nextStep ends a statement of fact with what the assistant does about it.
	nextStep = regexp.MustCompile(`(?:[,;]| [—–-])\s*(?:(?:so|and|but) )?I(?:['’]m| am|['’]ll) .*$`)
	// vague says that something was found, and not what.
	vague = regexp.MustCompile(`(?i)\b(?:is|was) (?:now )?(?:clear|obvious|simple|here|fixed|resolved|more fundamental)\b[^:]*$`)
	// waiting is what is no decision, whatever it sounds like.
	waiting = regexp.MustCompile(`(?i)\b(?:wait|waiting|polling|interval|status again|hands-off)\b`)
	// progressing tells how far something is that goes on.
	progressing = regexp.MustCompile(`(?i)\b(?:minutes in|(?:latest|partial) tail|letting (?:it|them|the agents?)|interrupting|taking (?:a few|several|some) (?:more )?minutes|(?:remaining|open) question is)\b|\b(?:is|are|it['’]s) (?:now|currently|actively|still) \w+ing\b|\bcommits? (?:behind|ahead)\b|\bthe (?:earlier|previous|first|last) (?:patch|edit|attempt|command|replace\w*|try)\b|\b(?:diagnostics?|warnings?) (?:is|are) expected\b`)
	// guessing is in a statement that may turn out to be wrong, or in a proposal.
	guessing = regexp.MustCompile(`(?i)\b(?:likely|probably|perhaps|maybe|might|may|could|would (?:be|need|have)|presumably|suspect|seems?|appears?|looks like|should be possible)\b`)
	// reporting is the wording of a result that the state tells better or that is soon out of date, or of a greeting.
	reporting = regexp.MustCompile(`(?i)\b(?:uncommitted|untracked|unstaged|working tree|up to date|high load|in progress|still (?:running|local|working)|not (?:yet )?(?:committed|pushed))\b|\b(?:tests?|lint(?:er|ing)?|build|checks?|everything|all) (?:now |is |are |still |should be )*(?:pass|clean|green|succe|done|complete|work)|^(?:hello|hi|please|sorry|thank|you['’]re (?:absolutely )?right|good (?:question|call|catch|point)|i (?:can|could|understand|see)|api error)\b|\bsummary of\b`)
	// outage begins what a harness puts in place of an answer.
	outage = regexp.MustCompile(`(?i)^(?:api error|error:|the server)|\bhigh load\b|\bretry after\b`)
	// approved is how harnesses report that the user agreed to a plan, refused that the user refused a call.
	approved = regexp.MustCompile(`(?i)\buser (?:has |have )?(?:approved|accepted)\b`)
	refused  = regexp.MustCompile(`(?i)\b(?:user (?:doesn['’]t want|does not want|did not want|rejected|declined|denied|refused|disapproved|cancelled)|(?:rejected|declined|denied|refused|cancelled) by (?:the )?user)\b`)
	// reason introduces the user's words in such a report.
	reason = regexp.MustCompile(`(?is)\b(?:user said|user['’]s (?:feedback|reason|message)|feedback|reason)[^:\n]{0,60}:\s*(.+)`)
	// yesOrNo begins an answer that is short and yet all that was asked.
	yesOrNo = regexp.MustCompile(`(?i)^(?:yes|no|nope|correct|mostly|part(?:ly|ially)|not (?:yet|quite|really|entirely|exactly|directly))\b`)
	// link is the target of a link, of which the text says enough.
	link = regexp.MustCompile(`\]\([^()\s]+\)`)
	// itemMark is what begins an item of a list or a heading.
	itemMark = regexp.MustCompile(`^(?:[-*#>•]+|\d+[.)])\s+`)
)

// statements records what the assistant says: its decisions, what it concludes when it hands back to the user, and what it
// does next.
func (c *collector) statements(m Message) {
	text := head(m.Content.Text(), maxSaid)
	if strings.TrimSpace(text) != "" {
		c.told = text
	}
	answers := len(m.ToolCalls) == 0
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
	for s := range sentences(text) {
		n := len(said)
		follows := n > 0 && kept != "" && said[n-1].Text == kept && leaning.MatchString(s)
		kept = ""
		if n > 0 && corrects.MatchString(s) {
			said = said[:n-1] // thought better of
		}
		if instead, rank := c.takenBack(s, m.Ordinal); rank != none && lex.Runes(instead) <= maxDecision && len(said) < decisions {
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
		rank := none
		switch plain := !announcing.MatchString(s) && !leaning.MatchString(s); {
		case progressing.MatchString(s):
		case decided.MatchString(s) && !waiting.MatchString(s):
			rank = 3
		case plain && found.MatchString(s) && !vague.MatchString(s):
			rank = 2
		case plain && reasoned.MatchString(s):
			rank = 1
		case plain && stating.MatchString(s) && !reporting.MatchString(s):
			if strings.ContainsAny(s, "`0123456789") {
				rank = 0
			}
			eachWord(s, func(string) { rank = 0 })
		}
		if rank > 0 && guessing.MatchString(s) && !turnsOut.MatchString(s) {
			rank = 0
		}
		if rank == 0 {
			s = nextStep.ReplaceAllString(s, ".")
		}
		if rank != none {
			add(s, rank)
			kept = s
		}
	}
	for _, n := range said {
		c.note(&c.decisions, n.Text, n.Rank, m.Ordinal)
	}
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
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, "#") {
			continue // a heading says what its text says
		}
		said := ""
		for s := range sentences(paragraph) {
			if said+all != "" {
				said += " " + s
			} else if telling(s) || answers && yesOrNo.MatchString(s) {
				said = s
			}
		}
		if all = strings.TrimSpace(all + " " + strings.TrimSpace(said)); telling(all) && !strings.HasSuffix(all, ":") {
			break
		}
	}
	return all
}

// dropped is what a report is told without: code and tables.
var dropped = regexp.MustCompile("(?ms)^[ \\t]*(?:```|~~~).*?(?:^[ \\t]*(?:```|~~~)[ \\t]*$|\\z)|(?:^[ \\t]*\\|[^\\n]*(?:\\n|\\z))+")

// report returns what a message that hands back to the user says from where its first words begin, on one line, with the marks of
// its items, with a mark in place of code and tables.
func report(text, first string) string {
	var said []string
	begun := false
	for line := range prose(dropped.ReplaceAllString(text, "…")) {
		heading := line[0] == '#'
		line = oneLine(strings.TrimLeft(strings.ReplaceAll(link.ReplaceAllString(line, "]"), "**", ""), "#> "))
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
		return first
	}
	return strings.ToValidUTF8(strings.Join(said, " "), "")
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
		c.note(&c.decisions, "The user was asked “"+opening(oneLine(m[1]), 120)+"” → “"+opening(oneLine(m[2]), 160)+"”", refusedCall, at)
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
			if strings.Contains(line, "](") {
				line = link.ReplaceAllString(line, "]")
			}
			for line = oneLine(strings.ReplaceAll(itemMark.ReplaceAllString(line, ""), "**", "")); line != ""; {
				i := stop(line)
				if s := strings.TrimSpace(line[:i]); s != "" && !yield(strings.ToValidUTF8(s, "")) {
					return
				}
				line = line[i:]
			}
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
