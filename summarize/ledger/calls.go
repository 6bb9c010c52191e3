package ledger

import (
	"hash/fnv"
	"regexp"
	"strings"

	"precis/summarize/lex"
)

var (
	// page is how tools that drive a browser report the page that they came to.
	page = regexp.MustCompile(`(?m)^\W*(?:Page )?Title: (\S[^\n]*)$|\bRootWebArea '([^'\n]+)'`)
	// accomplished is how a result reports that something outside has changed.
	accomplished = regexp.MustCompile(`(?i)\b(?:thank you\b[^\n.'"]{4,80}|(?:your|the|an?) [\w #-]{2,50} (?:has|have) been (?:now )?(?:successfully )?` + changedState + `\b[^\n.'"]{0,40}|successfully ` + changedState + `\b[^\n.'"]{0,60}|[\w #-]{0,40}\b` + changedState + ` successfully\b)`)
)

const changedState = `(?:submitted|placed|created|booked|rebooked|ordered|cancell?ed|sent|confirmed|updated|changed|deleted|registered|published|deployed|scheduled|added|removed|saved|closed|opened|merged|paid|refunded|transferred|approved|assigned)`

// delegates are tools that hand work to another agent, or a plan to the user: what they return speaks of many things.
var delegates = regexp.MustCompile(`(?i)^(?:task|agent|\w*sub_?agent\w*|delegate\w*|spawn\w*|dispatch\w*|exitplanmode)$`)

// called records a call in the order of the calls, with what came of it: the page that a browser came to, or what the result says
// was accomplished. What was accomplished outranks what the assistant says later.
func (c *collector) called(at uint64, tool, brief string, result Message, end outcome) {
	brief = lex.Clip(brief, maxLine)
	text, came := brief, ""
	if result.Message != nil {
		out := head(result.Content.Text(), maxScan)
		if m := page.FindStringSubmatch(out); m != nil {
			came = lex.Clip(oneLine(m[1]+m[2]), 60)
		}
		if done := lex.Clip(oneLine(accomplished.FindString(out)), 100); done != "" && !end.failed() && !delegates.MatchString(tool) {
			if came != "" {
				done = came + ": " + done
			}
			c.note(&c.events, brief+" → “"+done+"”", reported, at)
		}
	}
	switch {
	case end.failed():
		text += " → failed"
	case came != "":
		text += " → " + came
	}
	text = strings.ToValidUTF8(text, "")
	c.trail = follow(c.trail, Note{Text: text, Rank: 1, First: at, Last: at})
}

// follow adds a call to those before it; one that is made again at once is counted.
func follow(trail []Note, n Note) []Note {
	if last := len(trail) - 1; last >= 0 && trail[last].Text == n.Text {
		trail[last].Rank, trail[last].Last = trail[last].Rank+n.Rank, n.Last
		return trail
	}
	return append(trail, n)
}

// digest tells results apart.
func digest(m Message) uint64 {
	if m.Message == nil {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(m.Content.Text()))
	return h.Sum64()
}
