package ledger

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Bounds of what is kept of the user's words, in code points and in number.
const (
	maxRequest     = 2000 // of the first request and the newest
	maxOlder       = 300  // of the others, once a ledger is trimmed
	maxInstruction = 240
	perMessage     = 6 // instructions of a message
	maxSaid        = 64 << 10
)

var (
	// blocks are elements that harnesses put into the user's turns: their names are compound or shouted, where the user's
	// own markup has the names of HTML.
	blocks = regexp.MustCompile(`(?m)^[ \t]*<([a-zA-Z]+(?:[-_:][\w:-]+)+|[A-Z]{4,}|skill)\b[^<>]*>`)
	// ownWords are elements around the user's own words: only their tags go.
	ownWords = regexp.MustCompile(`</?(?:user[-_](?:query|request|message|input|prompt|task)|task|query|request|prompt|question|feedback|answer|message|instructions?)>`)
	// marks are notes of the harness in brackets.
	marks = regexp.MustCompile(`\[(?:Request interrupted|[Ii]mage|Attachment|Pasted)[^\]\n]*\]`)
	// notAsked begins messages in the user's role that no user wrote: instruction files, skills, an agent's own summary.
	notAsked = regexp.MustCompile(`^(?:# AGENTS\.md|# CLAUDE\.md|# GEMINI\.md|Caveat: The messages below|Base directory for this skill|This session is being continued from a previous conversation|Your (?:last|previous) (?:output|response) )`)
	// lasting begins an instruction that remains in force after its own request is done.
	lasting = regexp.MustCompile(`^(?:(?i:and|but|also|so|please|note|important|remember|no|yes|then|ok(?:ay)?)\b[,:.!]* +)*(?i:never|always|don['’]?t|do not|make sure|ensure|be sure|from now on|keep in mind|avoid|only use|stick to|you must|must) |\b(?:NEVER|ALWAYS|MUST|DO NOT)\b`)
	// remark begins a sentence with don't that is no instruction.
	remark = regexp.MustCompile(`(?i)^(?:\w+[,:]? +)*?don['’]?t (?:we|you|i|they|know|understand|think|see|worry|mind|care|have|want|like|need)\b`)
	// turn begins a request that changes what the first one asked for.
	turn = regexp.MustCompile(`(?i)\b(?:forget (?:it|that|this|about)|scrap|change of plans?|changed? my mind|on second thought|let['’]s (?:switch|try something else|go with|start over)|(?:new|different|another) (?:plan|approach)|start over|from scratch|instead of (?:that|this|what))\b`)
)

// request records the user's request and the lasting instructions in it.
func (c *collector) request(m Message) {
	text := own(m.Content.Text())
	if text == "" {
		return
	}
	c.note(&c.requests, clip(strings.TrimLeft(oneLine(text), "-*#> "), maxRequest), 0, m.Ordinal)
	n := 0
	for s := range sentences(text) {
		if n < perMessage && instructs(s) {
			c.note(&c.instructions, s, 0, m.Ordinal)
			n++
		}
	}
}

// own returns the user's own words of a message in the user's role, without what a harness put in.
func own(text string) string {
	text = text[:min(len(text), maxSaid)]
	text = ownWords.ReplaceAllString(withoutBlocks(text), " ")
	text = strings.TrimSpace(marks.ReplaceAllString(text, " "))
	if notAsked.MatchString(text) {
		return ""
	}
	return strings.ToValidUTF8(text, "")
}

// withoutBlocks removes elements of a harness with their content; one that is not closed goes on to the end.
func withoutBlocks(text string) string {
	var kept strings.Builder
	for {
		at := blocks.FindStringSubmatchIndex(text)
		if at == nil {
			return kept.String() + text
		}
		if ownWords.MatchString(text[at[0]:at[1]]) {
			kept.WriteString(text[:at[1]])
			text = text[at[1]:]
			continue
		}
		kept.WriteString(text[:at[0]] + " ")
		end := "</" + text[at[2]:at[3]] + ">"
		i := strings.Index(text[at[1]:], end)
		if i < 0 {
			return kept.String()
		}
		text = text[at[1]+i+len(end):]
	}
}

// instructs reports whether a sentence is a lasting instruction: prose of a moderate length that begins like one. With
// such a word further on it is usually a remark, unless it is shouted.
func instructs(s string) bool {
	words := len(strings.Fields(s))
	return words > 3 && words < 46 && runes(s) <= maxInstruction && !strings.HasSuffix(s, "?") && !codeLike(s) &&
		lasting.MatchString(s) && !remark.MatchString(s)
}

// codeLike reports whether a line looks like a program's.
func codeLike(s string) bool {
	return strings.HasSuffix(s, "{") || strings.HasSuffix(s, "}") || strings.HasSuffix(s, ";") || strings.HasPrefix(s, "//") ||
		strings.Contains(s, "->") || strings.Contains(s, "::") || strings.Contains(s, "=>")
}

// substantial reports whether a request says more than "yes, go on".
func (n Note) substantial() bool {
	letters := 0
	for _, r := range n.Text {
		if r > 0x2000 && unicode.IsLetter(r) { // scripts without spaces between words
			letters++
		}
	}
	return letters >= 8 || len(strings.FieldsFunc(n.Text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })) >= 5
}

// trimRequests keeps the first request, then the substantial ones, the newest first; only the first and the newest stay
// long.
func trimRequests(list []Note, dropped *int) []Note {
	if len(list) == 0 {
		return nil
	}
	first, last := goalOf(list), slices.MaxFunc(list, func(a, b Note) int { return int(a.Last) - int(b.Last) })
	list = keep(list, maxNotes, dropped, func(n Note) uint64 {
		switch {
		case n.Text == first.Text:
			return 3 * ahead
		case n.substantial():
			return ahead + n.Last
		}
		return n.Last
	})
	for i, n := range list {
		if n.Text != first.Text && n.Text != last.Text {
			list[i].Text = clip(n.Text, maxOlder)
		}
	}
	return list
}

// goalOf returns the first substantial request, or else the first.
func goalOf(list []Note) Note {
	return slices.MinFunc(list, func(a, b Note) int {
		if x, y := a.substantial(), b.substantial(); x != y {
			if x {
				return -1
			}
			return 1
		}
		return int(a.First) - int(b.First)
	})
}
