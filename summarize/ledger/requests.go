package ledger

import (
	"regexp"
	"strings"
)

// Bounds on what is noted of one user message, in code points, bytes and entries.
const (
	maxRequest    = 240
	maxStanding   = 6
	instructionAt = 24   // where its telling word stands at the latest: "And please, for tests, never …"
	shortRequest  = 16   // "yes, go on"
	longRequest   = 2000 // a pasted document, or a conversation handed over: its beginning says little
)

var (
	// injected are blocks that harnesses put into the user's turns: they are nobody's words.
	injected = regexp.MustCompile(`(?s)<([a-zA-Z][\w-]*)[^<>]*>.*?</([a-zA-Z][\w-]*)>`)
	// standing is how an instruction sounds that goes on to hold after its own request is done.
	standing = marked(`(?i)\b(?:always|never|don't|do not|must(?: not)?|should(?:n't| not)?|prefer|make sure|ensure|only use|instead of|avoid|remember|from now on|no need to|keep in mind|only ever|not allowed|stick to|please use)\b`,
		"always", "never", "don't", "do not", "must", "should", "prefer", "make sure", "ensure", "only use", "instead of", "avoid",
		"remember", "from now on", "no need to", "keep in mind", "only ever", "not allowed", "stick to", "please use")
)

// request notes what the user asked for: how the message begins, and each standing instruction in it.
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

// instructs says that a sentence begins like a standing instruction; one that has such a word further on
// is as a rule a remark.
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

// sentences splits prose at line ends and behind full stops.
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

// stop is where the first sentence of a line ends.
func stop(line string) int {
	for i := 0; i+1 < len(line); i++ {
		if (line[i] == '.' || line[i] == '!' || line[i] == '?') && line[i+1] == ' ' && i > 2 {
			return i + 1
		}
	}
	return len(line)
}
