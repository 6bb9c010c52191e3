package ledger

import (
	"cmp"
	"hash/fnv"
	"regexp"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/verdict"
)

var (
	// page is how tools that drive a browser report the page that they came to.
	page = regexp.MustCompile(`(?m)^\W*(?:Page )?Title: (\S[^\n]*)$|\bRootWebArea '([^'\n]+)'`)
	// accomplished is how a result reports that something outside has changed.
	accomplished = regexp.MustCompile(`(?i)\b(?:thank you\b[^\n.'"]{4,80}|(?:your|the|an?) [\w #-]{2,50} (?:has|have) been (?:now )?(?:successfully )?` + changedState + `\b[^\n.'"]{0,40}|successfully ` + changedState + `\b[^\n.'"]{0,60}|[\w #-]{0,40}\b` + changedState + ` successfully\b)`)
)

const changedState = `(?:submitted|placed|created|booked|rebooked|ordered|cancell?ed|sent|confirmed|updated|changed|deleted|registered|published|deployed|scheduled|added|removed|saved|closed|opened|merged|paid|refunded|transferred|approved|assigned)`

// delegates are tools that hand work to another agent: what they return is a report.
var delegates = regexp.MustCompile(`(?i)^(?:task|agent|\w*sub_?agent\w*|delegate\w*|spawn\w*|dispatch\w*)$`)

var (
	// testsTool are tools that run tests without a command line, and failedTests is how many failed as they report it.
	testsTool   = regexp.MustCompile(`(?i)^(?:mcp__\w+?__)?(?:run|execute)_?(?:unit_?|all_?)?tests?$|^(?:mcp__\w+?__)?tests?_?runner$`)
	failedTests = regexp.MustCompile(`(?i)\bfail(?:ed|ures)?"?\W{1,3}(\d+)\b|\b(\d+) (?:tests? )?failed\b`)
)

// testedBy derives the outcome of a tool that runs tests.
func testedBy(result Message) outcome {
	end := outcomeOf(result, verdict.Run, "")
	if result.Message == nil || end.refused || end.failed() {
		return end
	}
	text := head(result.Content.Text(), maxScan)
	for _, m := range failedTests.FindAllStringSubmatch(text, 20) {
		if strings.Trim(m[1]+m[2], "0") != "" {
			return outcome{end: ends[verdict.Failure], error: problem(text, "")}
		}
	}
	return end
}

// concludes begins the line of a report that says what all of it comes to, or the heading above it.
var concludes = regexp.MustCompile(`(?i)^\W*(?:\d+\W+)?(?:(?:final |overall |my )?(?:verdict|conclusion|assessment|bottom line|root cause)s?\b|overall\s*(?:[:–—*-]|$))\W*(.*)$`)

// quotesCode is a call with a text, as lines of programs have.
var quotesCode = regexp.MustCompile(`\w\(["']`)

// conclusion returns what a report comes to: what it says so itself at last, or else its first sentence that names a cause or what
// does not work.
func conclusion(report string) (said string) {
	awaited := false
	for line := range strings.SplitSeq(report, "\n") {
		line = strings.ReplaceAll(oneLine(line), "**", "")
		if m := concludes.FindStringSubmatch(line); m != nil {
			awaited, line = true, m[1]
		}
		if line = itemMark.ReplaceAllString(line, ""); awaited && len(line) > 3 && line[0] != '`' {
			awaited, said = false, line
		}
	}
	for s := range sentences(report) {
		if said == "" && len(strings.Fields(s)) > 5 && (found.MatchString(s) || decided.MatchString(s)) && !announcing.MatchString(s) && !leaning.MatchString(s) && !guesses(s) && !quotesCode.MatchString(s) {
			said = s
		}
	}
	return said
}

// called records a call in the order of the calls, with what came of it: the page that a browser came to, or what the result says
// was accomplished. What was accomplished outranks what the assistant says later.
func (c *collector) called(at uint64, tool, what, brief string, result Message, end outcome) {
	brief = lex.Clip(brief, maxLine)
	text, came := brief, ""
	if result.Message != nil && delegates.MatchString(tool) && !end.failed() {
		c.reportedFiles(at, head(result.Content.Text(), maxScan))
		if said := conclusion(head(result.Content.Text(), maxScan)); said != "" {
			c.note(&c.decisions, lex.Clip("reported by "+cmp.Or(what, tool)+": "+said, maxDecision), 2, at)
		}
	}
	if result.Message != nil {
		out := head(result.Content.Text(), maxScan)
		if m := page.FindStringSubmatch(out); m != nil {
			came = lex.Clip(oneLine(m[1]+m[2]), 60)
		}
		if done := lex.Clip(oneLine(accomplished.FindString(out)), 100); done != "" && !end.failed() && !delegates.MatchString(tool) && !taskTool.MatchString(tool) {
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
	return digestOf(m.Content.Text())
}

func digestOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}
