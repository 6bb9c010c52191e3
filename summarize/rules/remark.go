package rules

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"precis/summarize/lex"
	"precis/summarize/rules/logs"
	"precis/summarize/rules/outline"
	"precis/summarize/rules/page"
	"precis/summarize/rules/words"
)

// The worth of a line apart from its identifiers, on their scale: a good one has some 0.3. Words of
// prose are not weighed, but some lines are read for them.
const (
	stateWorth    = 0.2   // the state of something: "Reason: OOMKilled"
	tallyWorth    = 0.4   // the results in numbers
	failedWorth   = 0.6   // an error in a log record
	recordWorth   = 0.1   // the beginning of a record: its id, its name
	lastWorth     = 0.1   // the end of a command
	headWorth     = 0.3   // says what the files below it are
	controlsWorth = 0.015 // a condition, a loop, a return: what code does is told by them
	nearWorth     = 0.1   // a line next to one
	aroundNamed   = 3     // how many lines above it and below it are, if at most fewNamed are named
	fewNamed      = 2
	commitWorth   = 1   // a commit of a list, for each character, the first; the list is shown from there on
	namedWorth    = 0.6 // a line whose place a message has named: of an error, of a match

	matchWorth   = 0.2  // a match among the lines around it: they say nothing without it
	inputWorth   = 0.1  // what is to be filled in or chosen, of a page
	controlWorth = 0.01 // an element of a page that a user acts on, even if the page before had it: what is there is the state
)

// mostAlikeStates is how often the same state is worth showing.
const mostAlikeStates = 3

var (
	stateLine  = regexp.MustCompile(`(?i)^[-*"\\{ ]{0,4}(?:status|state|reason|message|error|result|title|summary|subject|exit[ _]?code|warning|conclusion)\\?"?\s?[:=]\s?\S`)
	statusHead = regexp.MustCompile(`^\W*(?:Changes to be committed|Changes not staged for commit|Unmerged paths|Untracked files|(?:Staged|Unstaged|Modified|Untracked|Conflicts): \d)`)
	commitLine = regexp.MustCompile(`^commit [0-9a-f]{7,40}\b`)
)

// mayState is a cheap pretest for stateLine: by the letters with which such a line may begin, after a prefix. Those
// beyond ASCII can be case variants.
func mayState(text string) bool {
	i := len(text) - len(strings.TrimLeft(text, "-*\"\\{ "))
	start := i
	for i < len(text) && (lex.IsLower(text[i]) || lex.IsUpper(text[i])) {
		i++
	}
	if i < len(text) && text[i] >= utf8.RuneSelf {
		return true
	}
	switch strings.ToLower(text[start:i]) {
	case "status", "state", "reason", "message", "error", "result", "title", "summary", "subject", "exit", "exitcode", "warning", "conclusion":
		return true
	}
	return false
}

// remarks returns the worth of each line.
func (d *document) remarks() []float64 {
	worth := make([]float64, len(d.lines))
	if len(d.lines) > 1 && !d.lines[0].frag && isHead(d.lines[0].text, d.lines[1].text) {
		worth[0] = stateWorth
	}
	if d.shape == shapeSnapshot {
		d.remarkSnapshot(worth)
	}
	for _, m := range d.landmarks {
		if !m.file && !m.place && !d.prose {
			worth[m.line] = m.worth
		}
		if m.share > 0 {
			worth[m.line] = stateWorth * m.share
		}
	}
	d.remarkSource(worth)
	d.remarkNamed(worth)
	if !d.endFirst && d.shape != shapeJSON {
		return worth
	}
	for i := range d.lines {
		if l := &d.lines[i]; d.endFirst && len(l.text) <= shortLine && statusHead.MatchString(l.text) {
			worth[i] = headWorth
			d.remarkBelow(i, worth)
		}
	}
	if d.commits {
		for i := range d.lines { // as a list, from its beginning
			worth[i] = commitWorth * float64(len(d.lines[i].text)+lineCost+1) * (1 - float64(i)/float64(len(d.lines)))
		}
		return worth
	}
	commit := false
	states := map[string]int{}
	for i := range d.lines {
		l := &d.lines[i]
		switch {
		case len(l.text) < countedLine || len(l.text) > longest || l.dull():
		case l.record == recordFailed:
			worth[i] = failedWorth
		case l.record == recordText && l.alike < logs.OftenAlike:
			worth[i] = recordWorth
		case l.record != noRecord:
		case mayState(l.text) && stateLine.MatchString(l.text):
			if states[l.text]++; states[l.text] <= mostAlikeStates {
				worth[i] = stateWorth
			}
		case d.shape == shapeJSON && (l.text[0] == '{' || strings.HasPrefix(l.text, "[{")):
			worth[i] = recordWorth
		case l.text[0] == 'c' && commitLine.MatchString(l.text):
			commit = true
		case commit && l.indent >= 4:
			worth[i], commit = stateWorth, false // its subject
		}
	}
	if d.endFirst {
		d.remarkTally(worth)
		d.remarkLast(worth)
	}
	return worth
}

// remarkNamed gives worth to the lines whose places are named, and to the statements next to one or two of them: what is looked for is seldom one line
// alone.
func (d *document) remarkNamed(worth []float64) {
	if len(d.pointedAt) == 0 {
		return
	}
	near := 0
	if d.steps && len(d.pointedAt) <= fewNamed {
		near = aroundNamed
	}
	for i := range d.lines {
		if l := &d.lines[i]; !l.starts || !d.pointedAt[l.number] {
			continue
		}
		worth[i] += namedWorth
		for k := max(0, i-near); k <= min(i+near, len(d.lines)-1); k++ {
			if l := &d.lines[k]; k != i && l.mark == 0 && l.kind != outline.CommentLine && l.kind != outline.ImportLine_ && len(l.text) > 2 {
				worth[k] += nearWorth * float64(len(l.text)+2) / shortLine
			}
		}
	}
}

// mostBelow is how many of the files below such a line are worth as much: that there are changes says little without what changed.
const mostBelow = 8

// remarkBelow gives worth to the files that git names below the head of a status.
func (d *document) remarkBelow(head int, worth []float64) {
	named := 0
	for i := head + 1; i < len(d.lines) && d.lines[i].text != "" && named < mostBelow; i++ {
		if _, end := changedIn(d.lines[i].text); end > 0 {
			worth[i] = headWorth
			named++
		}
	}
}

// remarkSource gives worth to what changed in a diff, what a search found, and what code does.
func (d *document) remarkSource(worth []float64) {
	if d.shape == shapeDiff {
		for i := range d.lines {
			if l := &d.lines[i]; l.group >= 0 && l.starts && !l.around && len(l.text) >= countedLine && strings.IndexByte("+-", l.text[0]) >= 0 {
				if worth[i] = changedWorth; d.declaresAt(i) {
					worth[i] = stateWorth
				}
			}
		}
	}
	if d.around {
		for i := range d.lines {
			if l := &d.lines[i]; l.starts && !l.context && l.number > 0 {
				worth[i] = matchWorth * max(1, float64(len(l.text))/shortLine)
			}
		}
	}
	if d.steps {
		for i := range d.lines {
			if l := &d.lines[i]; l.starts && l.alike == 0 && outline.Controls(l.text) {
				worth[i] += controlsWorth
			}
		}
	}
	for i, w := range d.asked {
		worth[i] += w
	}
}

// remarkSnapshot gives worth to the lines of a page's tree: what was done, what is in a state, what can be used, and what is said.
func (d *document) remarkSnapshot(worth []float64) {
	for i := range d.lines {
		switch l := &d.lines[i]; {
		case !l.starts:
		case l.favour == didWorth:
			worth[i] = 2 * stateWorth
			if text := d.labelled(i); text >= 0 {
				worth[text] = stateWorth
			}
		case page.InState(l.text) && !strings.HasPrefix(l.text, "RootWebArea ") && !strings.Contains(l.text, "] option "): // its box says which is chosen
			worth[i] = stateWorth
		case l.favour == actWorth:
			if worth[i] = max(worth[i], controlWorth); takesInput(l.text) {
				worth[i] = inputWorth
			}
		case l.favour == 0 && (page.IsText(l.text) || isCell(l.text)) || strings.Contains(l.text, "] heading "):
			worth[i] = d.said(l.text)
		}
		if d.isTitle(i) {
			worth[i] = max(worth[i], itemWorth)
		}
	}
}

// isCell reports whether an element is a cell of a table.
func isCell(text string) bool {
	e, ok := page.ElementIn(text)
	return ok && (e.Role == "cell" || e.Role == "gridcell")
}

// takesInput reports whether an element is to be filled in or chosen.
func takesInput(text string) bool {
	e, ok := page.ElementIn(text)
	return ok && page.TakesInput(e.Role)
}

// said is the worth of a page's text: of sentences, and of numbers, such as those in a table.
func (d *document) said(text string) float64 {
	const sentence = 5
	switch {
	case strings.Count(text, " ") >= sentence:
		return stateWorth * max(1, float64(min(len(text), longest))/shortLine)
	case words.DigitAt(text) >= 0:
		return stateWorth / 4
	}
	return controlWorth
}

// isHead recognizes the column names of a table by the first two lines of comma-separated values: the same number, in words.
func isHead(first, second string) bool {
	const least = 3
	commas := strings.Count(first, ",")
	return commas >= least && strings.Count(second, ",") == commas && !strings.ContainsAny(first, "0123456789(){}[];=") && len(first) <= longest
}

// remarkTally weighs the line that sums up the results, the last one if each part has its own, with those right above it.
func (d *document) remarkTally(worth []float64) {
	const few, most = 2, 4
	var found []int
	for i := range d.lines {
		if l := &d.lines[i]; l.starts && (logs.Tallies(l.text) || l.alike < logs.OftenAlike && logs.Scores(l.text)) {
			found = append(found, i)
		}
	}
	if n := len(found) - 1; n >= few {
		from := n
		for from > 0 && n-from+1 < most && found[from-1] == found[from]-1 {
			from--
		}
		found = found[from:]
	}
	for _, i := range found {
		worth[i] = tallyWorth
	}
}

// remarkLast weighs the last line that has content.
func (d *document) remarkLast(worth []float64) {
	for i := len(d.lines) - 1; i >= 0; i-- {
		if text := d.lines[i].text; len(text) >= countedLine && len(text) <= longest && !isRule(text) && text[0] != '[' {
			worth[i] += lastWorth
			return
		}
	}
}
