package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/verdict"
)

// view is a ledger arranged for a text.
type view struct {
	l        Ledger
	goal     Note
	turns    []Note // requests that change the goal, oldest first
	requests []Note // the other ones, oldest first
	files    []File
}

func newView(l Ledger) *view {
	v := &view{l: l, files: together(l.Files)}
	if len(l.Requests) == 0 {
		return v
	}
	v.goal = goalOf(l.Requests)
	newest := slices.MaxFunc(l.Requests, func(a, b Note) int { return cmp.Compare(a.Last, b.Last) })
	for _, n := range highestFirst(l.Requests, func(n Note) int64 { return -int64(n.Last) }) {
		switch {
		case n.Text == v.goal.Text:
		case n.Text != newest.Text && turn.MatchString(lex.Clip(n.Text, 80)):
			v.turns = append(v.turns, n)
		case n.substantial() || n.Text == newest.Text:
			v.requests = append(v.requests, n)
		}
	}
	return v
}

// mostFiles is the part of a text that the names of changed files get in any case, in percent.
const mostFiles = 40

// What instructions, the state and open errors get in any case, in percent.
const mostInstructions, mostState, mostErrors = 9, 16, 12

// sections returns the parts of a text in their order.
func (v *view) sections(room int) []section {
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
	return []section{
		{titleGoal + ":", 0, 14, v.goalLines},
		{titleInstructions + ":", room * mostInstructions / 100, 11, v.instructions},
		{titleRequests + ":", 0, 24, v.requestLines},
		{titleDecisions + ":", 0, 13, v.decisions},
		{titleState + ":", room * mostState / 100, 15, v.state},
		{title, min(names, room*mostFiles/100), 8, v.fileLines},
		{titleErrors + ":", least, 11, v.errors},
		{titleNext + ":", 0, 8, v.next},
	}
}

// longTalk is the number of later requests from which the first one is called that.
const longTalk = 5

// goalLines are the first request, and the newest ones that changed it.
func (v *view) goalLines(room int) []string {
	if v.goal.Text == "" || room < min(leastOpening, lex.Runes(v.goal.Text)+3) {
		return nil
	}
	turns := v.turns[max(0, len(v.turns)-2):]
	first := room
	if len(turns) > 0 {
		first = max(room/2, room-len(turns)*2*leastOpening)
	}
	began := "- "
	if n := len(v.turns) + len(v.requests) + v.l.Omitted.Requests; n >= longTalk && room > 3*leastOpening {
		began = fmt.Sprintf("- (first of %d requests) ", n+1) // it may be done long since
	}
	lines := []string{began + opening(v.goal.Text, first-lex.Runes(began)-1)}
	room -= lex.Runes(lines[0]) + 1
	for i, n := range turns {
		each := room / (len(turns) - i)
		if each < leastOpening {
			continue
		}
		line := "- then: " + opening(n.Text, each-9)
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
		if n.Text != v.goal.Text && !(later && n.Rank <= inTalk && passing.MatchString(n.Text)) {
			lines = append(lines, "- "+n.Text)
		}
	}
	if len(lines) > 0 && room > leastOpening {
		lines[0] = opening(lines[0], room-1)
	}
	return listed(lines, room, 0)
}

// requestLines are the requests after the first one: the newest whole up to a half of the room, with an answer of few words
// behind it, the others by their beginnings, as many of the newer ones as there is room for.
func (v *view) requestLines(room int) []string {
	list := slices.Concat(v.turns[:max(0, len(v.turns)-2)], v.requests)
	slices.SortFunc(list, func(a, b Note) int { return cmp.Compare(a.Last, b.Last) })
	if len(list) == 0 {
		return nil
	}
	answer := ""
	if n := len(list) - 1; n > 0 && !list[n].substantial() {
		answer, list = "\n- "+list[n].Text, list[:n]
		room -= lex.Runes(answer)
	}
	older, last := list[:len(list)-1], list[len(list)-1]
	if room < min(leastOpening, lex.Runes(last.Text)+3) {
		return nil
	}
	omitted := v.l.Omitted.Requests
	least := 0
	for _, n := range older {
		least += min(lex.Runes(n.Text), leastOpening) + 3
	}
	newest := "- " + opening(last.Text, max(room/2, room-least)-3)
	room -= lex.Runes(newest) + 1
	if least > room || omitted > 0 {
		room -= len("- (123 earlier)\n")
	}
	for least > room && len(older) > 0 {
		least -= min(lex.Runes(older[0].Text), leastOpening) + 3
		older, omitted = older[1:], omitted+1
	}
	var lines []string
	for _, n := range older {
		lines = append(lines, "- "+n.Text)
	}
	long := longest(lines, room)
	for i, n := range older {
		lines[i] = "- " + opening(n.Text, long-2)
	}
	if omitted > 0 {
		lines = slices.Insert(lines, 0, fmt.Sprintf("- (%d earlier)", omitted))
	}
	return append(lines, newest+answer)
}

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

// mostFacts bounds the statements that decide nothing.
const mostFacts = 4

// decisions are those of the highest rank that fit, in their order, without what the plan repeats.
func (v *view) decisions(room int) []string {
	var chosen []Note
	facts := 0
	for _, n := range highestFirst(v.l.Decisions, Note.rank) {
		cost := lex.Runes(n.Text) + 3
		if cost > room || strings.Contains(v.plan().Text, n.Text) || n.Rank == 0 && facts == mostFacts {
			continue
		}
		if n.Rank == 0 {
			facts++
		}
		chosen, room = append(chosen, n), room-cost
	}
	slices.SortStableFunc(chosen, func(a, b Note) int { return cmp.Compare(a.Last, b.Last) })
	var lines []string
	for _, n := range chosen {
		lines = append(lines, "- "+n.Text)
	}
	return lines
}

// latest returns the last run of a kind that passed or failed, and whether a later one has no known end.
func (v *view) latest(kind string) (known Run, unclear bool) {
	last := uint64(0)
	for _, r := range v.l.Runs {
		if !strings.Contains(r.Kind, kind) {
			continue
		}
		last = max(last, r.Last)
		if r.End != "" && r.Ended >= known.Ended {
			known = r
		}
	}
	return known, last > known.Ended
}

// state tells the last verdicts, where the work is recorded, what still runs, and the assistant's own list.
func (v *view) state(room int) []string {
	var lines []string
	for _, kind := range kinds {
		if r, unclear := v.latest(kind.name); r.Line != "" {
			line := "- " + lex.Clip(r.Line, 90) + " → " + r.End
			switch {
			case unclear:
				line += "; run again since, end unknown"
			case v.written(r.Ended, v.l.To+1) != "":
				line += "; edits since"
			}
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	var open []string
	done := v.l.Omitted.Tasks
	for _, t := range highestFirst(v.l.Tasks, Task.rank) {
		switch {
		case t.process() && t.done():
		case t.process():
			lines = append(lines, "- running: "+cmp.Or(t.Title, t.ID)+" ("+t.ID+")")
		case t.done():
			done++
		default:
			status := ""
			if s := strings.ToLower(t.Status); s != "" && s != "pending" {
				status = " (" + strings.ReplaceAll(s, "_", " ") + ")"
			}
			open = append(open, "- to do: "+cmp.Or(t.Title, t.ID)+status)
		}
	}
	if done > 0 && len(open) > 0 {
		open[0] += fmt.Sprintf(" (%d done)", done)
	}
	lines = append(lines, v.recorded(max(room/3, 100))...)
	if called := v.called(); called != "" {
		open = append(open, called)
	}
	return listed(slices.Concat(lines, open), room, 0)
}

// called tells the last calls of an agent that neither writes files nor runs tests: they are its work.
func (v *view) called() string {
	const most = 6
	var calls []string
	for _, r := range highestFirst(v.l.Runs, func(r Run) uint64 { return r.Last }) {
		if !r.other() && r.Kind != "look" {
			return ""
		}
		if r.Kind == "call" && r.Error == "" && len(calls) < most {
			calls = append(calls, lex.Clip(r.Line, 60))
		}
	}
	if len(calls) == 0 || slices.ContainsFunc(v.files, func(f File) bool { return f.Written > 0 }) {
		return ""
	}
	slices.Reverse(calls)
	return "- called at last: " + strings.Join(calls, "; ")
}

// recorded tells where the work is: the branch, whether it was pushed after the last commit, the pull request; the commits.
func (v *view) recorded(room int) (lines []string) {
	var commits, others []Note
	for _, n := range highestFirst(v.l.Commits, Note.rank) {
		if strings.HasPrefix(n.Text, "pushed ") || strings.HasPrefix(n.Text, "opened ") {
			others = append(others, n)
		} else {
			commits = append(commits, n)
		}
	}
	branch := ""
	if branches := highestFirst(v.l.Branches, Note.rank); len(branches) > 0 {
		branch = branches[0].Text
	}
	for i, n := range others {
		first := !slices.ContainsFunc(others[:i], func(m Note) bool { return m.Text[:6] == n.Text[:6] })
		if first && (n.Text[0] == 'o' || len(commits) == 0 || n.Last >= commits[0].Last) {
			branch += "; " + n.Text
		}
	}
	if branch != "" {
		if !strings.HasPrefix(branch, "; ") {
			branch = "branch: " + branch
		}
		lines = append(lines, "- "+strings.TrimPrefix(branch, "; "))
	}
	if len(commits) > 0 {
		line := "- commits: " + lex.Clip(commits[0].Text, 60)
		for _, n := range commits[1:] {
			if more := "; " + lex.Clip(n.Text, 50); lex.Runes(line+more) < room {
				line += more
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// failures tells what runs reported that failed and have not passed since, and what was mended and where. A run is named by
// its kind if the state names it whole.
func (v *view) failures() (open, mended []string) {
	others := 0
	for _, r := range highestFirst(v.l.Runs, Run.rank) {
		if r.Failed == 0 || r.Error == "" || r.Kind == "look" || v.failedSince(r) || v.onlyGone(targets(r.Line)) {
			continue
		}
		switch good := v.passedSince(r); {
		case good == 0 && r.other() && others == 2:
		case good == 0 && len(open) < 5:
			name := briefly(r.Line)
			if latest, unclear := v.latest(r.Kind); !r.other() && latest.Line == r.Line {
				name = r.Kind
				if unclear {
					name += ", before the last run"
				}
			}
			open = append(open, "- "+name+": "+r.Error)
			if r.other() {
				others++
			}
		case !r.other() && len(mended) < 2:
			if names := v.written(r.Failed, good); names != "" {
				mended = append(mended, "- fixed in "+names+": "+lex.Clip(r.Error, 100))
			}
		}
	}
	if len(open) > 0 {
		mended = mended[:min(len(mended), 1)]
	}
	return open, mended
}

// errors lists failures, as many as can be shown at a length that says something.
func (v *view) errors(room int) []string {
	open, mended := v.failures()
	all := append(open, mended...)
	for ; len(all) > 0; all = all[:len(all)-1] {
		if long := longest(all, room); long >= leastError || len(all) == 1 && long >= leastOpening {
			for i, s := range all {
				if first, _, more := strings.Cut(s, "; "); more && lex.Runes(s) > long && lex.Runes(first) > leastOpening {
					s = first
				}
				all[i] = lex.Clip(s, long)
			}
			return all
		}
	}
	return nil
}

// leastError is the length from which an error says what is wrong, with its place.
const leastError = 64

// failedSince reports whether another run that does the same failed later: its error is the newer one.
func (v *view) failedSince(r Run) bool {
	return slices.ContainsFunc(v.l.Runs, func(b Run) bool {
		later := b.Failed > r.Failed || b.Failed == r.Failed && b.Line > r.Line // calls at once have one ordinal
		return later && b.Error != "" && b.covers(r)
	})
}

// passedSince returns when what failed first passed again, in the same run or in one of the same kind that covers it; 0 if it
// did not.
func (v *view) passedSince(failed Run) uint64 {
	first := failed.Good
	for _, r := range v.l.Runs {
		at := r.Good
		if at <= failed.Failed && r.End == ends[verdict.Success] {
			at = r.Ended
		}
		if at > failed.Failed && (first == 0 || at < first) && r.covers(failed) {
			first = at
		}
	}
	return first
}

// covers reports whether a run does what another one does: it is of one of its kinds, or the same program's, and on the same
// files, or on all.
func (r Run) covers(b Run) bool {
	if b.other() {
		return program(r.Line) == program(b.Line) || strings.HasSuffix(b.Line, " "+r.Line)
	}
	same := false
	for kind := range strings.SplitSeq(b.Kind, "+") {
		same = same || strings.Contains(r.Kind, kind)
	}
	if !same {
		return false
	}
	on, of := targets(r.Line), targets(b.Line)
	return len(on) == 0 || len(of) == 0 || slices.ContainsFunc(on, func(p string) bool { return slices.Contains(of, p) })
}

// onlyGone reports whether all of some files were deleted.
func (v *view) onlyGone(paths []string) bool {
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool {
		return !slices.ContainsFunc(v.files, func(f File) bool { return f.gone() && (f.Path == p || strings.HasSuffix(f.Path, "/"+p)) })
	})
}

// briefly names a run: its line with paths by their last elements.
func briefly(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if len(w) > 12 && pathLike(w) {
			words[i] = base(w)
		}
	}
	return lex.Clip(strings.Join(words, " "), 36)
}

// program returns the program that a line runs at last, and its first word.
func program(line string) string {
	if i := strings.LastIndexAny(line, "&;"); i >= 0 {
		line = line[i+1:]
	}
	words := strings.Fields(line)
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	return strings.Join(words[:min(len(words), 2)], " ")
}

// targets returns the files and directories that a line names.
func targets(line string) (paths []string) {
	for _, p := range operands(strings.Fields(line)) {
		if !strings.Contains(p, "...") {
			paths = append(paths, p)
		}
	}
	return paths
}

// written names the files that were written between two messages.
func (v *view) written(from, to uint64) string {
	var names []string
	for _, f := range v.files {
		if len(names) < 3 && slices.ContainsFunc(f.Changed, func(at uint64) bool { return from < at && at < to }) {
			names = append(names, base(f.Path))
		}
	}
	return strings.Join(names, ", ")
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

// next is the plan, after the task that was taken up since.
func (v *view) next(room int) []string {
	n := v.plan()
	if n.Text == "" || room < min(leastOpening, lex.Runes(n.Text)+3) {
		return nil
	}
	said := "- "
	if n.Rank == answered {
		said = "- (last words) "
	}
	var lines []string
	if tasks := highestFirst(v.l.Tasks, Task.rank); len(tasks) > 0 && tasks[0].underWay() && (n.Rank == answered && tasks[0].At > n.Last || tasks[0].At > n.Last+stalePlan) {
		said, lines = "- (said before) ", []string{"- go on with: " + cmp.Or(tasks[0].Title, tasks[0].ID)}
	}
	if room -= cost(lines); room < leastOpening {
		return lines
	}
	return append(lines, said+opening(strings.TrimSuffix(n.Text, ":"), room-lex.Runes(said)-1))
}
