package ledger

import (
	"regexp"
	"strings"
)

// Bounds on the entries for one user message, in code points, bytes and number.
const (
	maxRequest    = 240
	maxStanding   = 6
	instructionAt = 24   // the latest position of its keyword: "And please, for tests, never …"
	shortRequest  = 16   // "yes, go on"
	longRequest   = 2000 // a pasted document or conversation: its beginning says little
)

var (
	// injected are blocks that harnesses insert into the user's turns: the user did not write them.
	injected = regexp.MustCompile(`(?s)<([a-zA-Z][\w-]*)[^<>]*>.*?</([a-zA-Z][\w-]*)>`)
	// standing is the wording of an instruction that remains in force after its own request is done.
	standing = marked(`(?i)\b(?:always|never|don't|do not|must(?: not)?|should(?:n't| not)?|prefer|make sure|ensure|only use|instead of|avoid|remember|from now on|no need to|keep in mind|only ever|not allowed|stick to|please use)\b`,
		"always", "never", "don't", "do not", "must", "should", "prefer", "make sure", "ensure", "only use", "instead of", "avoid",
		"remember", "from now on", "no need to", "keep in mind", "only ever", "not allowed", "stick to", "please use")
)

// request records the user's request: the beginning of the message, and each standing instruction in it.
func (c *collector) request(m Message) {
	text := strings.TrimSpace(injected.ReplaceAllString(m.Content.Text(), ""))
	text = text[:min(len(text), maxScan)]
	if text == "" || strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return
	}
	opening := clip(oneLine(text), maxRequest)
	c.noteRequest(Request{Text: strings.ToValidUTF8(opening, ""), Long: len(text) > longRequest, At: m.Ordinal})
	n := 0
	for _, s := range sentences(text) {
		if n < maxStanding && instructs(s) && runes(s) <= maxRequest && !strings.HasPrefix(opening, s) {
			c.noteRequest(Request{Text: s, Standing: true, At: m.Ordinal})
			n++
		}
	}
}

// instructs reports whether a sentence begins like a standing instruction; a sentence with such a word further on
// is usually a remark.
func instructs(sentence string) bool {
	at := standing.FindStringIndex(sentence)
	return at != nil && at[0] <= instructionAt
}

func (c *collector) noteRequest(r Request) {
	e, fresh := entry(c.requests, &c.order.requests, r.Text)
	if fresh {
		*e = r
		return
	}
	e.join(&r)
}

// sentences splits prose at line ends and after full stops.
func sentences(text string) []string {
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		line = oneLine(line)
		for line != "" {
			i := stop(line)
			if s := strings.TrimSpace(line[:i]); s != "" {
				list = append(list, s)
			}
			line = line[i:]
		}
	}
	return list
}

// stop returns the end of a line's first sentence.
func stop(line string) int {
	for i := 0; i+1 < len(line); i++ {
		if (line[i] == '.' || line[i] == '!' || line[i] == '?') && line[i+1] == ' ' && i > 2 {
			return i + 1
		}
	}
	return len(line)
}
