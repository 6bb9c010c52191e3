package ledger

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"precis/summarize/lex"
	"precis/summarize/verdict"
)

// view is a ledger arranged for a text.
type view struct {
	l        Ledger
	goal     Note
	turns    []Note // requests that change the goal, oldest first
	requests []Note // the other ones, oldest first
	undoing  []Note // requests of either that take something back: nearly every statement is held against them
	takenOut []taken
	files    []File
	lines    map[string]scope
	began    []uint64          // where the turns of requests of some length begin
	unseen   []uint64          // where the user said something that is not among the messages
	turnEnds map[string]string // how the turn of a request ended, as far as it was asked for
	spare    int               // what the sections leave, for what is worth telling only then
	whole    int               // the room of all sections
}

func newView(l Ledger) *view {
	l.Requests, l.Runs = meant(l.Requests), apart(l.Runs)
	v := &view{l: l, files: together(l.Files), lines: map[string]scope{}, turnEnds: map[string]string{}}
	for _, e := range v.eventsOf(elsewhen, 0) {
		if !slices.ContainsFunc(l.Requests, func(r Note) bool { return r.First == e.Last || r.Last == e.Last }) {
			v.unseen = append(v.unseen, e.Last)
		}
	}
	if len(l.Requests) == 0 {
		return v
	}
	v.goal = goalOf(l.Requests)
	newest := newestOf(l.Requests)
	v.undoing = slices.DeleteFunc(slices.Clone(l.Requests), func(n Note) bool { return !undoing.MatchString(n.Text) })
	v.takenOut = takenOut(v.undoing)
	for _, n := range highestFirst(l.Requests, func(n Note) int64 { return -int64(n.Last) }) {
		if n.substantial() {
			v.began = append(v.began, n.Last)
		}
		switch {
		case n.Text == v.goal.Text:
		case n.Text != newest.Text && (turn.MatchString(lex.Clip(n.Text, 80)) || restates(n.Text, v.goal.Text)):
			v.turns = append(v.turns, n)
		case n.substantial() || n.Text == newest.Text:
			v.requests = append(v.requests, n)
		}
	}
	v.began = append(v.began, v.unseen...)
	slices.Sort(v.began)
	return v
}

// read is a reader that reads each line once.
func (v *view) read(line string) scope {
	s, known := v.lines[line]
	if !known {
		s = scopeOf(line)
		v.lines[line] = s
	}
	return s
}

// meant are the requests that the one behind them does not take back.
func meant(requests []Note) (list []Note) {
	list = highestFirst(requests, func(n Note) int64 { return -int64(n.Last) })
	return slices.Collect(func(yield func(Note) bool) {
		for i, n := range list {
			if i+1 < len(list) && retracting.MatchString(list[i+1].Text) {
				continue
			}
			if !yield(n) {
				return
			}
		}
	})
}

// restates reports whether a request is an earlier one again, with a word or two put right.
func restates(again, text string) bool {
	a, b := plainWords(again), plainWords(text)
	if len(a) != len(b) || len(a) < 5 {
		return false
	}
	other := 0
	for i := range a {
		if a[i] != b[i] {
			other++
		}
	}
	return other*6 <= len(a)
}

// mostFiles is the part of a text that the names of changed files get in any case, in percent.
const mostFiles = 40

// What instructions, the state and open errors get in any case, in percent.
const mostInstructions, mostState, mostErrors = 9, 16, 12

// mostReport is what the last words get in any case, in percent.
const mostReport = 20

// sections returns the parts of a text in their order.
func (v *view) sections(room int) []section {
	v.whole = room
	title := titleFiles + ":"
	if _, root := v.outline(); root != "" {
		title = titleFiles + " in " + root + ":"
	}
	names := lex.Runes(title) + 2
	for _, line := range v.changed(room, true) {
		names += lex.Runes(line) + 1
	}
	least := 0
	if open, _ := v.failures(); len(open) > 0 {
		least = room * mostErrors / 100
	}
	words := 0
	if v.plan().Rank == answered {
		words = room * mostReport / 100
	}
	return []section{
		{titleGoal + ":", 0, 14, v.goalLines},
		{titleInstructions + ":", room * mostInstructions / 100, 11, v.instructions},
		{titleRequests + ":", 0, 26, v.requestLines},
		{titleDecisions + ":", 0, 18, v.decisions},
		{titleState + ":", room * mostState / 100, 15, v.state},
		{title, min(names, room*mostFiles/100), 8, v.fileLines},
		{titleErrors + ":", least, 11, v.errors},
		{titleNext + ":", words, 10, v.next},
	}
}

// askedElsewhere stands for the goal of a span without a request: no compaction replaces the user's newest message.
const askedElsewhere = "(no request is among these items; the user's newest message stands whole beside this text)"

// longTalk is the number of later requests from which the first one is called that.
const longTalk = 5

// goalLines are the first request, and the newest ones that changed it.
func (v *view) goalLines(room int) []string {
	if v.goal.Text == "" && len(v.l.Runs)+len(v.l.Files)+len(v.l.Plans) > 0 && room > 2*lex.Runes(askedElsewhere) {
		return []string{"- " + askedElsewhere}
	}
	if v.goal.Text == "" || room < min(leastOpening, lex.Runes(v.goal.Text)+3) {
		return nil
	}
	turns := v.turns[max(0, len(v.turns)-2):]
	first := room
	if len(turns) > 0 {
		first = max(room/2, room-len(turns)*2*leastOpening)
	}
	began := "- "
	if n := len(v.turns) + len(v.requests) + v.l.Omitted.Requests; n >= longTalk {
		mark := fmt.Sprintf("- (first of %d or more requests) ", len(v.l.Requests)+v.l.Omitted.Requests) // it may be done long since; equal ones are one
		if whole := lex.Runes(mark+v.goal.Text) < first; whole || room > 3*leastOpening {
			began = mark
		}
	}
	mark := v.endedTurn(v.goal)
	if first-lex.Runes(began+mark) <= min(leastOpening, lex.Runes(v.goal.Text)) {
		mark = ""
	}
	lines := []string{began + withAsk(v.goal.Text, first-lex.Runes(began+mark)-1) + mark}
	v.answer([]Note{v.goal}, lines, min(v.spare-cost(v.rules(v.spare)), room-cost(lines)))
	room -= lex.Runes(lines[0]) + 1
	for i, n := range turns {
		each := room / (len(turns) - i)
		if each < leastOpening {
			continue
		}
		line := "- then: " + withAsk(n.Text, each-9)
		lines, room = append(lines, line), room-lex.Runes(line)-1
	}
	return lines
}

// instructions are those of the highest rank, the newest first, without those that a later request ended; if even the first
// does not fit, its beginning.
func (v *view) instructions(room int) []string {
	var lines []string
	for _, n := range highestFirst(v.l.Instructions, Note.rank) {
		later := slices.ContainsFunc(v.l.Requests, func(r Note) bool { return r.Last > n.Last })
		lapsed := later && (n.Rank == aside || n.Rank <= inTalk && (passing.MatchString(n.Text) || once.MatchString(n.Text) && !forbids.MatchString(n.Text)))
		if n.Text != v.goal.Text && !lapsed && !v.overridden(n.Text, n.Last) {
			lines = append(lines, "- "+n.Text)
		}
	}
	if len(lines) > 0 && room > leastOpening {
		lines[0] = opening(lines[0], room-1)
	}
	fit := listed(lines, room, 0)
	if len(fit) < len(lines) {
		return fit
	}
	return append(fit, v.rules(room-cost(fit))...)
}

// rules are those of files, as far as the sections leave room, and at most a part of the text.
func (v *view) rules(room int) (lines []string) {
	room = min(room, v.spare, v.whole*mostRules/100)
	for _, n := range highestFirst(v.l.Rules, Note.rank) {
		said := func(i Note) bool { return strings.HasSuffix(n.Text, i.Text) }
		name, rule, _ := strings.Cut(n.Text, ": ")
		changed := func(f File) bool {
			return base(f.Path) == name && (len(f.Changed) > 0 && f.Changed[0] > n.Last || f.gone())
		}
		if slices.ContainsFunc(v.files, changed) {
			name += " (edited since)"
		}
		if line := "- " + name + ": " + rule; lex.Runes(line) < room && !slices.ContainsFunc(v.l.Instructions, said) {
			lines, room = append(lines, line), room-lex.Runes(line)-1
		}
	}
	return lines
}

// mostRules bounds what the rules of files get of a text, in percent.
const mostRules = 8

// requestLines are the requests after the first one: the newest whole up to a half of the room, with an answer of few words
// behind it, the others by their beginnings, as many of the newer ones as there is room for.
func (v *view) requestLines(room int) []string {
	list := slices.Concat(v.turns[:max(0, len(v.turns)-2)], v.requests)
	slices.SortStableFunc(list, func(a, b Note) int { return cmp.Compare(a.Last, b.Last) })
	if len(list) == 0 {
		return nil
	}
	answer := ""
	if n := len(list) - 1; n > 0 && list[n].short() {
		answer, list = v.unlessReplied(list[n-1])+"\n- "+list[n].Text, list[:n]
		room -= lex.Runes(answer)
	}
	older, last := list[:len(list)-1], list[len(list)-1]
	if room < min(leastOpening, lex.Runes(last.Text)+3) {
		return nil
	}
	omitted, where := v.l.Omitted.Requests, "earlier"
	if omitted > 0 {
		where = "others" // a ledger drops short ones from between
	}
	least, head := 0, ""
	size := func(n Note) int { return min(lex.Runes(n.Text), leastOpening) + lex.Runes(v.unlessReplied(n)) + 3 }
	for _, n := range older {
		least += size(n)
	}
	if len(older) > 0 && room > 4*leastOpening && !slices.ContainsFunc(older, func(n Note) bool { return !v.ending(n) }) {
		head = allReplied
		room -= len("- ()\n" + head)
	}
	mark := ""
	over := len(v.unseen) > 0 && v.unseen[len(v.unseen)-1] > newestOf(v.l.Requests).Last // by what stands whole beside the text
	if over {
		mark = v.endedTurn(last)
	}
	newest := "- " + withAsk(last.Text, max(room/2, room-least)-3-lex.Runes(mark)) + mark
	room -= lex.Runes(newest) + 1
	if least > room || omitted > 0 {
		room -= len("(1234 earlier; ")
	}
	for least > room && len(older) > 0 {
		least -= size(older[0])
		older, omitted = older[1:], omitted+1
	}
	var lines []string
	for _, n := range older {
		lines = append(lines, "- "+n.Text)
		room -= lex.Runes(v.unlessReplied(n))
	}
	long := longest(lines, room)
	plain := map[string]bool{} // without a mark
	for i, n := range older {
		text, mark := "- "+withAsk(n.Text, long-2), v.unlessReplied(n)
		plain[text] = true
		lines[i], room = text+mark, room+lex.Runes(mark)
	}
	if over {
		told := []string{newest}
		v.answer([]Note{last}, told, min(v.spare, room-cost(lines)))
		room -= lex.Runes(told[0]) - lex.Runes(newest)
		newest = told[0]
	}
	v.answer(older, lines, min(v.spare, room-cost(lines)))
	if !slices.ContainsFunc(lines, func(l string) bool { return plain[l] }) {
		head = ""
	}
	if omitted > 0 {
		head = strings.TrimSuffix(fmt.Sprintf("%d %s; %s", omitted, where, head), "; ")
	}
	if head != "" {
		lines = slices.Insert(lines, 0, "- ("+head+")")
	}
	return append(lines, newest+answer)
}

// allReplied stands before requests: those with noReply are marked, so that the others do not look open.
const allReplied = "older ones got a reply unless marked"

// endedTurn says of a request that others followed whether the assistant handed back to the user before the next one of some length.
func (v *view) endedTurn(request Note) string {
	mark, known := v.turnEnds[request.Text]
	if known {
		return mark
	}
	end := v.l.To + 1
	if i := slices.IndexFunc(v.began, func(at uint64) bool { return at > request.Last }); i >= 0 {
		end = v.began[i]
	}
	switch {
	case !v.ending(request) || !v.asked(request.Last, v.l.To+1):
	case slices.ContainsFunc(v.l.Ends, func(at uint64) bool { return request.Last < at && at < end }):
		mark = repliedMark
	case end > v.l.To:
	case v.did(request.Last, end) != "":
		mark = workedOn
	default:
		mark = noReply
	}
	v.turnEnds[request.Text] = mark
	return mark
}

// ending reports whether it is known of the turns since a request where the assistant handed back: an agent may do so in other ways, and of
// several requests of one message, as those that an earlier compaction told, nothing is known.
func (v *view) ending(request Note) bool {
	return len(v.l.Ends) > 0 && v.l.EndsFrom > 0 && v.l.EndsFrom <= request.Last &&
		!slices.ContainsFunc(v.l.Requests, func(n Note) bool { return n.Last == request.Last && n.Text != request.Text })
}

// goesOn reports whether the assistant went on after a message without a call: it was a remark between its calls.
func (v *view) goesOn(n Note) bool {
	return v.l.EndsFrom > 0 && n.Last > v.l.EndsFrom && !slices.Contains(v.l.Ends, n.Last)
}

// unlessReplied returns what is told in any case of a request below allReplied.
func (v *view) unlessReplied(request Note) string {
	return strings.TrimPrefix(v.endedTurn(request), repliedMark)
}

// answer tells behind the requests of lines what became of them, of the newest first, as far as there is room.
func (v *view) answer(requests []Note, lines []string, room int) {
	for i, n := range slices.Backward(requests) {
		line, told := strings.TrimSuffix(lines[i], v.endedTurn(n)), v.became(n)
		if more := lex.Runes(line+told) - lex.Runes(lines[i]); told != "" && more <= room {
			lines[i], room = line+told, room-more
		}
	}
}

// became returns what the assistant said at the end of a request's turn, or else what it did in it.
func (v *view) became(request Note) string {
	end, said := v.l.To+1, Note{}
	if request.Until > 0 {
		end = request.Until
	}
	for _, r := range v.l.Requests {
		switch {
		case r.Last > request.Last:
			end = min(end, r.Last)
		case r.Last == request.Last && r.Text != request.Text:
			end = r.Last // several of one message: no answer belongs to one of them
		}
	}
	for _, at := range v.unseen {
		if at > request.Last {
			end = min(end, at)
		}
	}
	for _, n := range v.l.Answers {
		if request.Last < n.Last && n.Last < end && n.Last >= said.Last && !v.goesOn(n) {
			said = n
		}
	}
	if said.Text == "" || !fits(request, said) || v.overtaken(said) || v.since(said.Last, end) != "" {
		if done := v.did(request.Last, end); done != "" {
			return doneMark + done
		}
		return ""
	}
	if v.outOfDate(said) {
		return answeredMark
	}
	mark := answeredMark + ": "
	if v.changedSince(said.Text, said.Last) != "" {
		mark = answeredBefore
	}
	return mark + concluded(said.Text)
}

// did returns what was done of a request that others followed: the files written, the last run of tests, linter or build, the last commit.
func (v *view) did(at, to uint64) string {
	if to > v.l.To {
		return "" // the other sections tell it
	}
	var done []string
	if names := v.written(at, to); names != "" {
		done = append(done, "edited "+names)
	}
	last, commit := Run{}, Note{}
	var again []Run // that ran on after the turn: one entry stands for all runs of a line
	for _, r := range v.l.Runs {
		switch {
		case r.other() || r.Kind == "look":
		case r.First < to && r.Last >= to:
			again = append(again, r)
		case max(at, last.Ended) < r.Ended && r.Ended < to:
			last = r
		}
	}
	for _, n := range v.l.Commits {
		if max(at, commit.Last) < n.Last && n.Last < to {
			commit = n
		}
	}
	unclear := func(r Run) bool { return last.End != ends[verdict.Success] || r.repeats(last, v.read) }
	if last.Line != "" && !slices.ContainsFunc(again, unclear) {
		done = append(done, briefly(last.Line)+" → "+last.End)
	}
	if commit.Text != "" {
		done = append(done, lex.Clip(v.hashed(commit), 60))
	}
	return strings.Join(done, "; ")
}

// fits reports whether what was said may answer a request: users write on while the assistant still speaks of what was before.
func fits(request, said Note) bool {
	if !request.substantial() {
		return true
	}
	split := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	words := split(request.Text)
	return !reporting.MatchString(said.Text) && slices.ContainsFunc(split(said.Text), func(w string) bool { return len(w) > 2 && !commonWords[w] && slices.Contains(words, w) })
}

// commonWords tell no subject.
var commonWords = map[string]bool{"the": true, "and": true, "for": true, "you": true, "are": true, "was": true, "not": true, "all": true, "can": true, "has": true, "but": true, "one": true, "this": true, "that": true, "with": true, "have": true, "from": true, "what": true, "when": true, "where": true, "there": true, "then": true, "also": true,
	"just": true, "need": true, "should": true, "would": true, "could": true, "they": true, "them": true, "some": true, "only": true, "your": true, "into": true, "which": true, "does": true, "will": true}

// answeredMark stands between a request and what was said to it, answeredBefore if files changed since, doneMark before what was
// done and not told, noReply or workedOn behind
// one whose turn the next one broke off, and repliedMark behind a first one of which nothing else is told.
const answeredMark, answeredBefore, doneMark, noReply, workedOn, repliedMark = " → answered", " → answered (files were edited later): ", " → then: ", " → no reply of its own", " → worked on", " → replied"

// leastAnswer is the length to which the beginning of an answer without an end is told beside its request.
const leastAnswer = 120

// leading ends what only leads to a list.
var leading = regexp.MustCompile(`(?i)\b(?:is|are|was|were|by|with|that|when|to|of|on|for|and|the|following|these|this|as|analysis|summary|suggestions?|mean\w*|have|has)$`)

// concluded returns an answer by its whole sentences, or up to the list to which it leads; if it has none, its beginning.
func concluded(s string) string {
	if !strings.HasSuffix(s, "…") {
		return s
	}
	end := 0
	for i := stop(s); i < len(s); i += stop(s[i:]) {
		end = i
	}
	if end >= leastOpening {
		return s[:end]
	}
	if i := strings.Index(s, ": "); i >= leastOpening && !leading.MatchString(s[:i]) {
		return s[:i+1] + " " + lex.ClipMark
	}
	if at := clauseEnd.FindAllStringIndex(head(s, leastAnswer*3/2), -1); len(at) > 0 && at[len(at)-1][0] >= leastOpening*2/3 {
		return s[:at[len(at)-1][0]] + " …"
	}
	return opening(s, leastAnswer)
}

// clauseEnd stands behind a clause within a sentence.
var clauseEnd = regexp.MustCompile(`[,;] | [–—-] `)

// longest returns the length to which lines can be shown so that all of them fit into room.
func longest(list []string, room int) int {
	lengths := make([]int, len(list))
	for i, s := range list {
		lengths[i] = lex.Runes(s)
	}
	slices.Sort(lengths)
	for i, n := range lengths {
		if each := room/(len(lengths)-i) - 1; n > each {
			return each
		}
		room -= n + 1
	}
	return maxRequest
}

// mostFacts bounds the statements that decide nothing, mostFound those of work that is reading.
const mostFacts, mostFound = 8, 20

// decisions are those of the highest rank that fit, in their order, without what the plan repeats.
func (v *view) decisions(room int) []string {
	var chosen []Note
	facts, told := mostFacts, bothEnds(v.plan().Text, room) // about as much as is told of it
	if !slices.ContainsFunc(v.files, func(f File) bool { return f.Written > 0 && !temporary.MatchString(f.Path) }) {
		facts = mostFound // they are the work
	}
	for _, n := range highestFirst(v.standing(), v.worth) {
		cost := lex.Runes(n.Text) + 3
		if cost > room || strings.Contains(told, n.Text) || n.Rank == 0 && facts == 0 {
			continue
		}
		if n.Rank == 0 {
			facts--
		}
		chosen, room = append(chosen, n), room-cost
	}
	slices.SortStableFunc(chosen, func(a, b Note) int { return cmp.Compare(a.Last, b.Last) })
	lines := make([]string, len(chosen))
	for i := 0; i < len(chosen); {
		mark, n := foundMark.FindString(chosen[i].Text), 1
		for lines[i] = "- " + chosen[i].Text; mark != "" && i+n < len(chosen) && strings.HasPrefix(chosen[i+n].Text, mark); n++ {
			lines[i+n] = "- " + chosen[i+n].Text[len(mark):]
		}
		if n > 1 {
			lines[i] = fmt.Sprintf("- (this and the next %d ", n-1) + lines[i][len("- ("):]
		}
		i += n
	}
	return lines
}

// worth puts refusals first, and what was found since the newest request before what was found earlier.
func (v *view) worth(n Note) uint64 {
	if n.Rank < refusedCall && !v.asked(n.Last, v.l.To+1) {
		n.Rank = min(n.Rank+2, refusedCall-1)
	}
	return n.rank()
}

// plan is what the assistant said last.
func (v *view) plan() (n Note) {
	if plans := highestFirst(v.l.Plans, Note.age); len(plans) > 0 {
		n = plans[0]
	}
	return n
}

// stalePlan is the number of messages after which a later change of the list counts for more than what was said.
const stalePlan = 4

// longSince is the number of messages after which what was said is left out, if other things tell how far the work is.
const longSince = 24

// next is the plan, after the task that was taken up since. A plan that edits or runs followed is told as what was said before them.
func (v *view) next(room int) []string {
	n := v.plan()
	if n.Text == "" || room < min(leastOpening, lex.Runes(n.Text)+3) || v.overtaken(n) || n.Rank == answered && v.outOfDate(n) {
		return nil
	}
	said := "- "
	since := v.since(max(n.Last, 1)-1, v.l.To+1) // the message's own calls included
	cancelled := strings.Contains(since, userRefused)
	asked, looped := v.asked(n.Last, v.l.To+1), v.loop().Runs > 0
	if since != "" && !asked {
		n.Rank = 0 // it was not the last thing
	}
	switch {
	case n.Rank == answered && asked:
		said = "- (said before the newest request) "
	case n.Rank == answered:
		said = "- (last words) "
	case len(v.eventsOf(reported, max(n.First, 1)-1)) > 0 || looped && len(v.eventsOf(reported, newestOf(v.l.Requests).Last)) > 0:
		return []string{"- (nothing new was said after the last results: see State)"}
	case looped:
		said = "- said before calls without effect: "
	case since != "":
		said = "- said before that: "
		if announces(n.Text) && several(n.Text) {
			said = "- taken up since it was said (whether all of it is done isn't known): "
		}
	case announces(n.Text):
		if line := v.lookedSince(n.Last); line != "" {
			said = "- said before " + briefly(line) + " ran: "
		}
	}
	var lines []string
	old := n.Rank != answered && n.Last+longSince < v.l.To
	if tasks := highestFirst(v.l.Tasks, Task.rank); len(tasks) > 0 && tasks[0].underWay() && tasks[0].At > n.Last && (n.Rank == answered || tasks[0].At > n.Last+stalePlan || old) {
		lines = []string{"- go on with: " + cmp.Or(tasks[0].Title, tasks[0].ID)}
		if edited := v.edited(tasks[0]); edited != "" {
			lines[0] += " (or set it done" + edited + ")"
		}
		if since == "" {
			said = "- (said before) "
		}
	}
	if since != "" && (n.Rank != answered || asked) {
		lines = append(lines, "- done at last: "+since)
	}
	if room -= cost(lines); room < leastOpening || old && len(lines) > 1 || cancelled {
		return lines
	}
	shown := v.shownSince(n, room/2)
	return slices.Concat(lines[:len(lines):len(lines)], shown, []string{said + bothEnds(strings.TrimSuffix(n.Text, ":"), room-cost(shown)-lex.Runes(said)-1)})
}

// lookedSince returns the last line that ran after a message and only looked: what was announced is under way.
func (v *view) lookedSince(at uint64) (line string) {
	for _, r := range v.l.Runs {
		if r.Kind == "look" && r.Last > at {
			line, at = r.Line, r.Last
		}
	}
	return line
}

// shownSince returns the newest outputs of commands that came with or after the assistant's last words, so that it has said nothing about them yet.
func (v *view) shownSince(n Note, room int) []string {
	var lines []string
	for _, s := range highestFirst(v.l.Shown, Note.age) {
		line := "- printed since: " + s.Text
		if s.Last < n.Last || n.Rank == answered && s.Last == n.Last || len(lines) == mostPrinted || cost(lines)+lex.Runes(line)+1 > room {
			break
		}
		lines = slices.Insert(lines, 0, line)
	}
	return lines
}

// mostPrinted bounds the outputs that are told.
const mostPrinted = 3

// more is in a step that has parts.
var more = regexp.MustCompile(`(?i)\b(?:all|each|every|remaining|rest|both|two|three|four|five|several|various|multiple|one by one|step by step|and then|steps|others?)\b|\b[2-9] \w+s\b|\b1[.)] `)

// several reports whether a text announces more than one step: of one, what was done at last says how far it is.
func several(text string) bool {
	steps := 0
	for s := range sentences(text) {
		if announcing.MatchString(s) && !presents.MatchString(s) {
			if steps++; steps > 1 || more.MatchString(s) {
				return true
			}
		}
	}
	return false
}

// userRefused is told among what was done after a message.
const userRefused = "the user refused a call"

// since returns what was done between two messages: the files written, the last run.
func (v *view) since(at, to uint64) string {
	var done []string
	if names := v.written(at, to); names != "" {
		done = append(done, "edited "+names)
	}
	last := Run{}
	for _, r := range v.l.Runs {
		if r.Last > max(at, last.Last) && r.Last < to && (r.Kind != "look" || r.Last > at+stalePlan) {
			last = r
		}
	}
	if last.Line != "" && v.written(last.Last, to) == "" {
		end := ""
		if last.End != "" && last.Ended == last.Last && last.Kind != "look" && (last.Kind != "call" || last.End != ends[verdict.Success]) {
			end = " → " + last.End
		}
		done = append(done, "ran "+briefly(last.Line)+end)
	}
	if slices.ContainsFunc(v.l.Decisions, func(d Note) bool { return strings.HasPrefix(d.Text, refusedBy) && at < d.Last && d.Last < to }) {
		done = append(done, userRefused)
	}
	return strings.Join(done, "; ")
}
