package ledger

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"precis/events"
	"precis/summarize/lex"
	"precis/summarize/shell"
	"precis/summarize/verdict"
)

// Bounds of what is kept of the user's words, in code points and in number.
const (
	maxRequest     = 2000 // of the first request and the newest
	maxOlder       = 300  // of the others, once a ledger is trimmed
	maxInstruction = 240
	perMessage     = 6 // instructions of a message
	maxSaid        = 64 << 10
)

// clause is the beginning of a sentence, or of a part of it.
const clause = `(?i)(?:^|[,;:(–—] *|\b(?:and|but|also|so|please|just|note|important|remember|no|yes|then|ok(?:ay)?)\b[,:.!]* +)`

var (
	// blocks are elements that harnesses put into the user's turns: their names are compound or shouted, where the user's
	// own markup has the names of HTML.
	blocks = regexp.MustCompile(`(?m)^[ \t]*<([a-zA-Z]+(?:[-_:][\w:-]+)+|[A-Z]{4,}|skill)\b[^<>]*>`)
	// ownWords are elements around the user's own words: only their tags go.
	ownWords = regexp.MustCompile(`</?(?:user[-_](?:query|request|message|input|prompt|task)|task|query|request|prompt|question|feedback|answer|message|instructions?)>`)
	// marks are notes of the harness in brackets, or about a background task.
	marks = regexp.MustCompile(`\[(?:Request interrupted|[Ii]mage|Attachment|Pasted)[^\]\n]*\]|(?m:^(?:Full transcript available at|Read the output file to retrieve the result): \S+$)`)
	// notAsked begins messages in the user's role that no user wrote: instruction files, skills, an agent's own summary.
	notAsked = regexp.MustCompile(`^(?:# AGENTS\.md|# CLAUDE\.md|# GEMINI\.md|Caveat: The messages below|Base directory for this skill|This session is being continued from a previous conversation|Operation stopped by hook|\[Previous Conversation Summary\]$|Your (?:last|previous) (?:output|response) )`)
	// lasting begins a clause that holds until it is taken back, ordered one that may; shouted is a rule wherever it stands.
	lasting = regexp.MustCompile(clause + `((?:never|always|from now on|going forward|(?:i|we) (?:never|always) (?:want|need|use))[ ,])`)
	ordered = regexp.MustCompile(clause + `((?:don['’]?t|do not|make sure|ensure|be sure|keep in mind|avoid|only use|use only|stick to|you must|must|no need (?:to|for)) )`)
	shouted = regexp.MustCompile(`\b(?:NEVER|ALWAYS|MUST|D[Oo] NOT|do NOT|must NOT)\b|\b(?:must (?:never|not|always)|should (?:never|always)) |^(?:and )?[Nn]o \w+(?: \w+){0,2}!`)
	// capitals are the words of a rule in a document, where "must not" describes.
	capitals = regexp.MustCompile(`\b(?:NEVER|ALWAYS|MUST|DO NOT|NOT)\b`)
	// passing is in an instruction that ends with the step that it is about.
	passing = regexp.MustCompile(`(?i)\b(?:yet|for now|at the moment|right now)\b`)
	// noOrder begins a question or an observation, whatever words are in it.
	noOrder = regexp.MustCompile(`(?i)^(?:(?:ok(?:ay)?|hm+|so|and|also|well|hi|hey|please|yes|no)[,.!:]* )*(?:(?:i|we) (?:think|guess|believe|see|selected|tried|got|wonder|noticed|can see)|(?:can|could|would|will) (?:you|we)|why|what|how|where|which|it (?:seems|looks)|looks like|there(?:['’]s| is| are)|is|are|does|did|should (?:we|i))\b`)
	// once is an order about the step at hand, which stands among the requests.
	once = regexp.MustCompile(`(?i)\b(?:make sure|ensure|be sure|keep in mind|must|no need)\b`)
	// forbids is in an order that holds beyond its step.
	forbids = regexp.MustCompile(`(?i)\b(?:never|always|don['’]?t|do not|avoid|only use|use only|stick to|from now on|going forward)\b`)
	// forbidding begins a rule in a document, where other orders describe the work.
	forbidding = regexp.MustCompile(`(?i)^(?:don['’]?t|do not|avoid|only use|use only|you must) `)
	// remark is a clause with don't that is no instruction.
	remark = regexp.MustCompile(`(?i)^don['’]?t (?:we|you|i|they|know|understand|think|see|worry|mind|care|have|want|like|need)\b`)
	// retracting begins a request that takes the one before it back: it was meant for another conversation.
	retracting = regexp.MustCompile(`(?i)^(?:(?:sorry|oops|wait|hm+|ah|no)[,.!:]* )*(?:wrong (?:chat|thread|window|session|terminal|tab)\b|(?:please )?(?:ignore|disregard) (?:the |my )?(?:last|previous|prior) (?:message|request|question|prompt)\b)`)
	// turn begins a request that changes what the first one asked for.
	turn = regexp.MustCompile(`(?i)\b(?:forget (?:it|that|this|about)|scrap|change of plans?|changed? my mind|on second thought|let['’]s (?:switch|try something else|go with|start over)|(?:new|different|another) (?:plan|approach)|start over|from scratch|instead of (?:that|this|what))\b`)
)

// request records the user's request and the instructions in it that remain in force.
func (c *collector) request(m Message) {
	raw := head(m.Content.Text(), maxSaid)
	c.rulesIn(raw, m.Ordinal)
	said, printed := raw, c.isOutput(raw)
	if printed {
		said = ""
		if beside := saidBeside.FindStringSubmatch(raw); beside != nil {
			said = beside[1]
		}
	}
	text := own(c.earlier(said, m.Ordinal))
	if n := len(c.handed) - 1; text == "" && n >= 0 && c.handed[n] == c.last && printed {
		c.handed = c.handed[:n] // its words were a call
	}
	if text == "" || c.ranByUser(m, text) {
		return
	}
	asked := strings.TrimLeft(oneLine(text), "-*#> ")
	asked += chosen(asked, c.told)
	c.note(&c.requests, bounded(asked, maxRequest), 0, m.Ordinal)
	c.confirms(asked, m.Ordinal)
	where := inTalk
	if len(text) > longestTalk || strings.Count(text, "\n") >= linesOfTalk {
		where = inDocument
	}
	c.instruct(text, where, m.Ordinal)
}

// shownRun is how a harness without tools for it tells of a command that the user ran.
var shownRun = regexp.MustCompile(`(?s)^I ran this command:\s+(\S[^\n]*)\s+And got this output:\s+(.*)$`)

// ranByUser records a command that the user ran, with its output.
func (c *collector) ranByUser(m Message, text string) bool {
	found := shownRun.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	result, line := *m.Message, strings.Trim(found[1], "`")
	result.Content = events.TextContent(found[2])
	c.run(m.Ordinal, line, c.workDir(line, arguments{}), kindOf(shell.Steps(line)), outcomeOf(Message{Ordinal: m.Ordinal, Message: &result}, verdict.Run, line))
	return true
}

// confirming begins an answer by which the user says that what the assistant said is what was sought, or that it helped.
var confirming = regexp.MustCompile(`(?i)^(?:\w+[,!.]? ){0,3}(?:that['’]?s it\b|that was it\b|that (?:did|fixed) it\b|(?:it|that|this) works\b|works now\b|(?:it|that)['’]?s fixed\b|fixed it\b)`)

// confirms records that the user confirmed what the assistant said, with the names in it.
func (c *collector) confirms(asked string, at uint64) {
	if !confirming.MatchString(asked) || denies.MatchString(asked) || refutes.MatchString(lex.Clip(asked, 60)) || c.told == "" {
		return
	}
	c.note(&c.events, lex.Clip(asked, 80), confirmed, at)
	names := confirmable(c.told)
	if len(names) > 0 {
		first, _, _ := strings.Cut(asked, ", ")
		c.note(&c.decisions, lex.Clip("The user confirmed (“"+lex.Clip(first, 60)+"”) what was said of "+strings.Join(names, ", "), maxDecision), 3, at)
	}
}

// confirmable returns the names of which a confirmation speaks: those in the last sentence that finds or decides something, or all if there are
// few. Of a list of things to try it isn't known which of them helped.
func confirmable(told string) []string {
	const few = 2
	named := func(text string) (names []string) {
		for _, m := range quotedCode.FindAllString(text, 40) {
			if n := len(m); n > 5 && n < 80 && specific(strings.Trim(m, "`")) && !slices.Contains(names, m) {
				names = append(names, m)
			}
		}
		return names
	}
	var names []string
	for s, as := range spoken(told) {
		if found := named(s); len(found) > 0 {
			if _, rank := rankOf(s, as); rank > 1 {
				names = found
			}
		}
	}
	if len(names) == 0 {
		names = named(told)
	}
	if len(names) > few {
		return nil
	}
	return names
}

// previous begins a message that hands a compaction on, by itself or under the heading of an agent.
var previous = regexp.MustCompile(`^\s*(?:\[Previous Conversation Summary\]\s*)?` + regexp.QuoteMeta(titleStart) + `[^\n]*\n?`)

// afterNext and blank end a compaction, which has a blank line before its last section at most: what a user adds stands
// behind one.
var (
	afterNext = regexp.MustCompile(`(?m)^Next:[^\n]*\n(?:[^\n]*\S[^\n]*\n)*[ \t]*\n`)
	blank     = regexp.MustCompile(`(?m)^[ \t]*\n`)
)

// adopted bounds the statements of each kind that are taken from a compaction.
const adopted = 20

// earlier adopts the statements of a compaction that begins a turn of the user, as in a thread that continues the work of
// another one, and returns the rest of the turn. A compaction that is quoted further on is the user's text.
func (c *collector) earlier(text string, at uint64) (rest string) {
	begins := previous.FindStringIndex(text)
	if begins == nil {
		return text
	}
	items := text[begins[1]:]
	end := afterNext.FindStringIndex(items)
	if end == nil && !strings.Contains(items, "\nNext:") {
		end = blank.FindStringIndex(items)
	}
	if end != nil {
		items, rest = items[:end[1]], items[end[1]:]
	}
	_, said := parsed(items)
	take := func(to *entries[Note], lines []string, most, rank int) {
		for _, l := range lines[:min(len(lines), adopted)] {
			if l = asTold.ReplaceAllString(moreMark.ReplaceAllString(l, ""), ""); l != "" {
				c.note(to, lex.Clip(l, most), rank, at)
			}
		}
	}
	asked := slices.Concat(said[titleGoal], said[titleRequests])
	for i, l := range asked {
		asked[i] = asMarked.ReplaceAllString(l, "")
	}
	take(&c.requests, asked, maxRequest, 0)
	take(&c.instructions, said[titleInstructions], maxInstruction, inTalk)
	take(&c.decisions, eachMarked(said[titleDecisions]), maxDecision, 3)
	return rest
}

// moreMark is what a compaction puts behind the last entry of a list that is not whole.
var moreMark = regexp.MustCompile(` \(\+\d+ more\)$`)

// asMarked is what a compaction tells behind a request of what became of it.
var asMarked = regexp.MustCompile(` → (?:(?:answered|replied|no reply of its own|worked on|edited|ran|committed|pushed|opened)$|answered(?:: | \(|$)|then: ).*$`)

// asTold is what a compaction puts before a request, or in place of some.
var asTold = regexp.MustCompile(`^- (?:\(first of \d+(?: or more)? requests\) |then: |\((?:\d+ (?:earlier|others))?(?:; )?(?:` + allReplied + `)?\)$)?`)

// Where an instruction stands: its rank among others, since a document is full of sentences that only describe the work.
const (
	aside = iota // part of a sentence about a step, with which it ends
	inDocument
	inTalk // and one more if it is lasting by its words
)

// longestTalk is the length in bytes from which a request is a document, and linesOfTalk the number of line ends: what is pasted
// has short lines.
const longestTalk, linesOfTalk = 2000, 12

// instruct records the sentences of a text that remain in force, the first few.
func (c *collector) instruct(text string, where int, at uint64) {
	n := 0
	for s := range sentences(text) {
		if n == perMessage {
			return
		}
		words := len(strings.Fields(s))
		if words < 3 || words < 4 && !shouted.MatchString(s) || words > 45 || lex.Runes(s) > maxInstruction || strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") || lex.CodeLike(s) || noOrder.MatchString(s) {
			continue
		}
		holds := lasting.FindStringIndex(s)
		rank := where
		switch {
		case holds != nil && (where == inTalk || holds[0] == 0) || shouted.MatchString(s) && (where == inTalk || capitals.MatchString(s)):
			if where == inTalk {
				rank++
			}
		default:
			order := ordered.FindStringSubmatchIndex(s)
			if order == nil || remark.MatchString(s[order[2]:]) || where != inTalk && !forbidding.MatchString(s) {
				continue
			}
			if where == inTalk && len(strings.Fields(s[:order[2]])) > 2 {
				rank = aside
			}
		}
		c.note(&c.instructions, s, rank, at)
		n++
	}
}

// own returns the user's own words of a message in the user's role, without what a harness put in.
func own(text string) string {
	text = withoutTags(withoutBlocks(text))
	text = strings.TrimSpace(marks.ReplaceAllString(text, " "))
	if notAsked.MatchString(text) {
		return ""
	}
	return text
}

var (
	// outputHere begins what a tool printed, which harnesses without a role for it put into the user's turns, in words that no user writes;
	// mayBeOutput in words that one may write.
	outputHere  = regexp.MustCompile(`^\s*(?:\[\w+(?: for '[^'\n]*')?\] Result:|EXECUTION RESULT of \[[^\]\n]*\]:|exitcode: \d+ \(execution (?:succeeded|failed)\)|(?s:Code output: .*\n\s*What does this output mean / what's next \())`)
	mayBeOutput = regexp.MustCompile(`^\s*(?:(?:OBSERVATION|Observation):\s|Code output: )`)
	// callInText is in what the assistant says where its harness has it write its calls there.
	callInText = regexp.MustCompile("(?m)^[ \t]*(?:```|(?i:action|action input|command)[ \t]*:|<(?:execute|function|tool|invoke|bash|command|\\w+_\\w+)\\b)")
	// pleads begins a paragraph that the user wrote, below whatever output.
	pleads = regexp.MustCompile(`^(?:Please|Can you|Could you|Would you) `)
	// ofProse is a paragraph in sentences.
	ofProse = regexp.MustCompile(`^[A-Z][\w'’-]*,? [^\n{}=;<>|$]*[.?!]$`)
	// saidBeside is what the user said beside it.
	saidBeside = regexp.MustCompile(`(?s)<(?:feedback|user_message|answer)>(.*?)</(?:feedback|user_message|answer)>`)
)

// isOutput reports whether a message in the user's role is what a tool printed. What a user may write too is that only behind a call in
// the assistant's words, or where that was so before; and never if the last paragraph is the user's.
func (c *collector) isOutput(text string) bool {
	certain := outputHere.MatchString(text)
	if !certain && !(mayBeOutput.MatchString(text) && (c.inText || c.printsHere)) {
		return false
	}
	if saidBeside.MatchString(text) {
		return true // its words are told apart
	}
	all := strings.TrimSpace(withoutBlocks(text))
	if at := strings.LastIndex(all, "\n\n"); at >= 0 {
		last := strings.TrimSpace(all[at:])
		if pleads.MatchString(last) || !certain && ofProse.MatchString(last) && len(strings.Fields(last)) > 3 {
			return false
		}
	}
	c.printsHere = c.printsHere || !certain
	return true
}

// withoutTags removes the tags around the user's own words: those in pairs, and those that begin or end a line, as of an element that was
// cut. A single one within a line is what the user writes about.
func withoutTags(text string) string {
	var kept strings.Builder
	from, all := 0, ownWords.FindAllStringIndex(text, -1)
	first, last := map[string]int{}, map[string]int{} // where each tag stands
	for _, at := range slices.Backward(all) {
		tag := text[at[0]:at[1]]
		first[tag], last[tag] = at[0], max(last[tag], at[0])
	}
	for _, at := range all {
		tag := text[at[0]:at[1]]
		name, closes := strings.CutPrefix(tag, "</")
		opened, known := first["<"+name]
		paired := closes && known && opened < at[0] || !closes && last["</"+tag[1:]] > at[0]
		before, after := text[:at[0]], text[at[1]:]
		line := strings.TrimRight(before, " \t")
		rest := strings.TrimLeft(after, " \t\r")
		if paired || line == "" || line[len(line)-1] == '\n' || rest == "" || rest[0] == '\n' {
			kept.WriteString(text[from:at[0]] + " ")
			from = at[1]
		}
	}
	return kept.String() + text[from:]
}

// head returns the first n bytes of a text, without a character that continues after them.
func head(text string, n int) string { return strings.ToValidUTF8(text[:min(len(text), n)], "") }

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

// pastes begins a request with what was copied from a terminal or a log, below which stands what is asked.
var pastes = regexp.MustCompile(`^(?:[➜❯»$%] |[\w.-]+@[\w.-]+[:~ ]|(?i:error|fatal|warning|traceback|panic|exception)\b ?[:(\[]|npm (?:ERR|error)|=== |--- FAIL|FAIL\b|\[?\d{4}-\d\d-\d\d[ T]\d\d:)`)

// withAsk returns a request in at most n characters: its beginning, and its last words, which often say what decides: a condition, an order
// of the steps, the question. A paste has both halves.
func withAsk(s string, n int) string {
	const begins = leastOpening * 4 / 3 // which is cut at a word
	if pastes.MatchString(s) {
		return bothEnds(s, n)
	}
	if lex.Runes(s) <= n || n < 2*begins {
		return opening(s, n)
	}
	last := lastAsk(s, min(n-begins-3, max(n/3, 80)))
	if last == "" {
		return opening(s, n)
	}
	first := opening(s, n-lex.Runes(last)-3)
	return strings.TrimRight(first, " …") + " … " + last
}

// lastAsk returns the last sentence of a request, with those before it while it says little, or else its last clause, in at most n characters;
// empty if it ends in code.
func lastAsk(s string, n int) string {
	s = strings.TrimRight(s, " …")
	if over := len(s) - 8*n; over > 0 {
		s = strings.ToValidUTF8(s[over:], "")
	}
	last := s
	if i := strings.LastIndex(s, " … "); i >= 0 && lex.Runes(s[i+len(" … "):]) <= n {
		last = s[i+len(" … "):] // it was cut before
	}
	for {
		rest := strings.TrimSpace(last[stop(last):])
		if !asks(rest) {
			break
		}
		last = rest
	}
	if lex.Runes(last) > n {
		runes := []rune(last)
		last = string(runes[len(runes)-n:])
		if at := clauseStart.FindStringIndex(last); at != nil && len(last)-at[1] >= leastOpening/2 {
			last = last[at[1]:]
		} else if at := strings.IndexByte(last, ' '); at >= 0 {
			last = last[at+1:]
		}
		last = strings.TrimLeft(last, " …")
	}
	if last == s || !asks(last) || lex.CodeLike(last) || strings.Count(last, "://") > 1 {
		return ""
	}
	return last
}

// asks reports whether a part of a request says something by itself.
func asks(s string) bool { return len(strings.Fields(s)) > 2 && !thanking.MatchString(s) }

// clauseStart stands before a clause within a sentence.
var clauseStart = regexp.MustCompile(`(?:[,;:)] | [–—-] | \.{2,} | (?:but|pero|aber|mais) )`)

// bounded returns a request in at most n characters, as a ledger keeps it.
func bounded(s string, n int) string {
	if lex.Runes(s) <= n {
		return s
	}
	return withAsk(s, n)
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

// short reports whether a request says no more than "yes, go on", without what it refers to.
func (n Note) short() bool {
	n.Text, _, _ = strings.Cut(n.Text, " (to: “")
	return !n.substantial()
}

// trimRequests keeps the first request, then the substantial ones, the newest first; only the first and the newest stay
// long.
func trimRequests(list []Note, dropped *int) []Note {
	if len(list) == 0 {
		return nil
	}
	first, last := goalOf(list), newestOf(list)
	all := list
	list = keep(list, maxNotes, dropped, func(n Note) uint64 {
		switch {
		case n.Text == first.Text:
			return 3 * ahead
		case n.substantial():
			return ahead + n.Last
		}
		return n.Last
	})
	if len(list) < len(all) {
		boundTurns(list, all)
	}
	for i, n := range list {
		if n.Text != first.Text && n.Text != last.Text {
			list[i].Text = bounded(n.Text, maxOlder)
		}
	}
	return list
}

// boundTurns tells each of the requests that are kept where the turn of a dropped one begins.
func boundTurns(kept, all []Note) {
	stays := map[string]bool{}
	for _, n := range kept {
		stays[n.Text] = true
	}
	for _, d := range all {
		if stays[d.Text] {
			continue
		}
		for i, n := range kept {
			for _, at := range []uint64{d.First, d.Last} {
				if at > n.Last && (kept[i].Until == 0 || at < kept[i].Until) {
					kept[i].Until = at
				}
			}
		}
	}
}

// goalOf returns the first substantial request, or else the first.
func goalOf(list []Note) Note {
	older := func(a, b Note) int { return cmp.Compare(a.First, b.First) }
	if said := slices.DeleteFunc(slices.Clone(list), func(n Note) bool { return !n.substantial() }); len(said) > 0 {
		return slices.MinFunc(said, older)
	}
	return slices.MinFunc(list, older)
}

// newestOf returns the newest request, of those in one message the last.
func newestOf(list []Note) (newest Note) {
	for _, n := range list {
		if n.Last >= newest.Last {
			newest = n
		}
	}
	return newest
}

var (
	// numberOf and letterOf name an item of a list that the assistant wrote.
	numberOf = regexp.MustCompile(`(?:^|[^\w.#/-])#?(\d{1,2})(?:$|[^\w.%/-]|\.(?:\s|$))`)
	letterOf = regexp.MustCompile(`(?i)(?:^\(?|\b(?:option|variant|plan) \(?)([a-h])(?:\)|\s*$|[.,;:!])|\b(?:option|variant|plan) ([a-h])\b`)
	// ownList begins a request that quotes the item itself.
	ownList = regexp.MustCompile(`^\d{1,2}[.)]\s+\S+\s+\S`)
	// listItem is such an item.
	listItem = regexp.MustCompile(`(?im)^[ \t]*(?:#+ *)?(?:[-*] +)?\**(?:option |variant |plan |step )?\(?(\d{1,2}|[A-H])[.):]+\**[ \t:—–-]*(\S[^\n]*)$`)
)

var (
	// offering is in a sentence by which the assistant offers a step without a question, and anything in one that offers whatever may be.
	offering = regexp.MustCompile(`(?i)\bif you(?:['’]d)? (?:want|like|prefer|wish|agree)\b|\bi (?:can|could) (?:also|then|next|now)\b|\b(?:let me know|tell me|say) (?:if|when|whether|which|and i['’]ll)\b|\bshall i\b`)
	anything = regexp.MustCompile(`(?i)\b(?:anything|something) else\b|\b(?:any|more|further|other) (?:\w+ )?(?:questions?|help|changes|issues|adjustments|tweaks)\b|\bneed (?:any|more|further)\b`)
	// thanking begins an answer that takes up nothing.
	thanking = regexp.MustCompile(`(?i)^(?:(?:ok(?:ay)?|great|perfect|nice|cool|awesome|good)[,.!]* )*(?:thanks?\b|thx\b|thank you\b)`)
)

// longestChoice is the length of a request from which it says itself what it is about.
const longestChoice = 90

// choice is an item of a list that the assistant wrote, with the line above the list.
type choice struct{ key, text, above string }

// choices are the items of the lists in a text.
func choices(told string) (all []choice) {
	above, before := "", ""
	for line := range strings.SplitSeq(told, "\n") {
		m := listItem.FindStringSubmatch(line)
		switch {
		case m != nil && len(all) < maxChoices:
			if before != "" && (m[1] == "1" || strings.EqualFold(m[1], "a")) {
				above = before
			}
			before = ""
			all = append(all, choice{strings.ToUpper(m[1]), strings.ReplaceAll(oneLine(m[2]), "**", ""), strings.ToLower(above)})
		case m == nil && line != "" && line[0] != ' ' && line[0] != '\t' && !strings.HasPrefix(line, "- "):
			before = line
		}
	}
	return all
}

const maxChoices = 60

var (
	// offers is above a list from which the user is to choose.
	offers = regexp.MustCompile(`(?i)\b(?:would you|do you|shall i|should (?:i|we)|which|options?|choose|alternatives?)\b`)
	// choosing is the beginning of a longer answer that makes a choice before it goes on.
	choosing = regexp.MustCompile(`(?i)^(?:.{0,30}\b(?:think|with|do|prefer|take|choose|pick|like|option) )?[#(]?(?:\d{1,2}|[a-h])\b[^.!?\n]{0,40}[.!?]`)
)

// named returns the item that an answer means by a key: the one of the list that is called by the word before the key (Critical 2),
// or else the only one, or the one of the only list that offers a choice. Of several that could be meant it returns none.
func named(key, word string, all []choice) string {
	var called, offered, any []string
	for _, c := range all {
		if c.key != key {
			continue
		}
		any = append(any, c.text)
		if len(word) > 3 && strings.Contains(c.above, strings.ToLower(word)) {
			called = append(called, c.text)
		}
		if offers.MatchString(c.above) {
			offered = append(offered, c.text)
		}
	}
	name := word != "" && unicode.IsUpper(rune(word[0])) && !offers.MatchString(word)
	switch {
	case len(called) == 1:
		return called[0]
	case len(called) == 0 && !name && len(any) == 1:
		return any[0]
	case len(called) == 0 && !name && len(offered) == 1:
		return offered[0]
	}
	return ""
}

// chosen returns what a short answer refers to: the items of the assistant's list that it names, or else the question that it
// answers.
func chosen(answer, told string) string {
	if ownList.MatchString(answer) {
		return ""
	}
	full := answer
	if first := choosing.FindString(answer); first != "" {
		answer = first
	}
	if told == "" || len(answer) > longestChoice || strings.HasPrefix(answer, "/") {
		return ""
	}
	all := choices(told)
	var items []string
	spaced := strings.ReplaceAll(answer, "+", " + ")
	unclear := false
	for _, re := range []*regexp.Regexp{numberOf, letterOf} {
		for _, m := range re.FindAllStringSubmatchIndex(spaced, 6) {
			at := max(m[2], m[len(m)-2])
			key := strings.ToUpper(spaced[at:max(m[3], m[len(m)-1])])
			words := strings.Fields(strings.TrimRight(spaced[:at], "#( "))
			word := ""
			if len(words) > 1 {
				word = words[len(words)-1]
			}
			item := named(key, word, all)
			if line := key + ": " + opening(item, 120); item == "" {
				unclear = true
			} else if len(items) < 4 && !slices.Contains(items, line) {
				items = append(items, line)
			}
		}
	}
	if len(items) > 0 {
		return " (" + strings.Join(items, "; ") + ")"
	}
	if (Note{Text: full}).substantial() && (!unclear || answer == full) {
		return ""
	}
	question, offer := "", ""
	for s := range sentences(told) {
		if strings.HasSuffix(s, "?") {
			question = s
		}
		if offering.MatchString(s) && !anything.MatchString(s) {
			offer = s
		}
	}
	if question == "" && !thanking.MatchString(full) {
		question = offer
	}
	if question == "" {
		return ""
	}
	return " (to: “" + opening(question, 160) + "”)"
}
