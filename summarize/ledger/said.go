package ledger

import (
	"iter"
	"regexp"
	"strings"
	"unicode"
)

// Bounds of what is kept of the assistant's words, in code points and in number.
const (
	maxDecision = 300
	maxPlan     = 300
	decisions   = 4 // of a message
)

var (
	// decided is the wording of a decision, or of what did not work.
	decided = regexp.MustCompile(`(?i)\b(?:decided|decision|chose|opted|root cause|turn(?:s|ed) out|dead end|workaround|(?:I|we)(?:['’]ll| will| should)(?: just)? (?:go with|keep (?:the|this|that|it|both|using|our|existing|\x60)|stick with|skip|leave (?:the|this|that|it)|not|drop)|let['’]s (?:go with|keep|stick with|not)|won['’]t|(?:real|actual) (?:problem|issue|bug|cause|reason)|(?:doesn['’]t|does not|didn['’]t|did not|can['’]t|cannot) (?:work|help|be)|not possible|impossible)\b`)
	// reasoned is weaker: a reason or a choice.
	reasoned = regexp.MustCompile(`(?i)\b(?:because|instead|rather than)\b`)
	// announcing is the wording of a step that the next call takes, or of what follows below.
	announcing = regexp.MustCompile(`(?i)^(?:ok(?:ay)?[,.]? |good[,.!]? |great[,.!]? |perfect[,.!]? )?(?:now|let me|let['’]s|i['’]ll|i will|i['’]m|i am|i need to|next|first|then|here(?:['’]s| is| are))\b|:$`)
	// refused is how harnesses report that the user refused a call.
	refused = regexp.MustCompile(`(?i)\b(?:user (?:doesn['’]t want|does not want|did not want|rejected|declined|denied|refused|disapproved|cancelled)|(?:rejected|declined|denied|refused|cancelled) by (?:the )?user)\b`)
	// reason introduces the user's words in such a report.
	reason = regexp.MustCompile(`(?is)\b(?:user said|user['’]s (?:feedback|reason|message)|feedback|reason)[^:\n]{0,60}:\s*(.+)`)
	// itemMark is what begins an item of a list or a heading.
	itemMark = regexp.MustCompile(`^(?:[-*#>•]+|\d+[.)])\s+`)
)

// statements records what the assistant says: its decisions, and what it does next.
func (c *collector) statements(m Message) {
	text := m.Content.Text()
	if plan := opener(text); plan != "" {
		c.note(&c.plans, clip(plan, maxPlan), 0, m.Ordinal)
	}
	n := 0
	for s := range sentences(text[:min(len(text), maxSaid)]) {
		words := len(strings.Fields(s))
		if words < 6 || words > 50 || runes(s) > maxDecision || n == decisions || codeLike(s) || strings.HasSuffix(s, "?") {
			continue
		}
		rank := -1
		switch {
		case decided.MatchString(s):
			rank = 2
		case reasoned.MatchString(s):
			rank = 1
		case !announcing.MatchString(s):
			eachWord(s, func(string) { rank = 0 })
		}
		if rank >= 0 {
			c.note(&c.decisions, s, rank, m.Ordinal)
			n++
		}
	}
}

// opener returns the first paragraph that says something, from its first sentence that does, and what follows a colon at
// its end.
func opener(text string) (all string) {
	for paragraph := range strings.SplitSeq(text[:min(len(text), maxSaid)], "\n\n") {
		said := ""
		for s := range sentences(paragraph) {
			if said+all != "" {
				said += " " + s
			} else if telling(s) {
				said = s
			}
		}
		if all = strings.TrimSpace(all + " " + said); all != "" && !strings.HasSuffix(all, ":") {
			break
		}
	}
	return all
}

// telling reports whether a sentence says something: "Let me check." does not.
func telling(s string) bool {
	n := 0
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(w) > 3 || w[0] >= 0x80 {
			n++
		}
	}
	return n > 3
}

// refusal records a call that the user refused, with the user's words.
func (c *collector) refusal(m Message, tool string, args arguments, text string) {
	if m.IsError != nil && !*m.IsError || !refusedIn(text) {
		return
	}
	said := "Refused by the user: " + clip(args.brief(tool), 80)
	if words := reason.FindStringSubmatch(text); words != nil {
		said += ": “" + clip(oneLine(words[1]), 160) + "”"
	}
	c.note(&c.decisions, said, 3, m.Ordinal)
}

// refusedIn reports whether a result says, at its beginning, that the user refused the call.
func refusedIn(text string) bool {
	head := text[:min(len(text), 300)]
	return (strings.Contains(head, "user") || strings.Contains(head, "User")) && refused.MatchString(head)
}

// sentences yields the sentences of prose: its lines, split after full stops, without list marks and without code in
// fences.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		fenced := false
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
				fenced = !fenced
				continue
			}
			if fenced || strings.HasPrefix(line, "|") {
				continue
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

// abbreviated reports whether a text that a full stop follows ends in an abbreviation: e.g., i.e., vs.
func abbreviated(s string) bool {
	return strings.HasSuffix(s, "e.g") || strings.HasSuffix(s, "i.e") || strings.HasSuffix(s, " vs")
}
