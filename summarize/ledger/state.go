package ledger

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/verdict"
)

// latest returns the last run of a kind that passed or failed, and whether a later one that does something of it has no known end.
func (v *view) latest(kind string) (known Run, unclear bool) {
	for _, r := range v.l.Runs {
		if strings.Contains(r.Kind, kind) && r.End != "" && r.Ended >= known.Ended {
			known = r
		}
	}
	return known, known.Line != "" && slices.ContainsFunc(v.l.Runs, func(r Run) bool {
		return r.Last > known.Ended && r.repeats(known, v.read) && v.read(r.Line).shares(v.read(known.Line))
	})
}

// state tells the last verdicts, where the work is recorded, what still runs, and the assistant's own list.
func (v *view) state(room int) []string {
	var lines []string
	if lost := v.lost(); lost != "" {
		lines = []string{"- uncommitted work was discarded by " + lost}
	}
	lines = append(lines, v.verdicts()...)
	var open []string
	done := v.l.Omitted.Tasks
	for _, t := range highestFirst(v.l.Tasks, Task.rank) {
		switch {
		case t.process() && t.done():
		case t.process():
			lines = append(lines, "- running: "+cmp.Or(t.Title, t.ID)+" ("+t.ID+")")
		case t.Status == "deleted", !t.done() && v.uncertain(t):
		case t.done():
			done++
		default:
			status := strings.ReplaceAll(strings.ToLower(t.Status), "_", " ")
			if since := v.edited(t); status == "pending" && since == "" {
				status = ""
			} else if status += since; status != "" {
				status = " (" + strings.TrimPrefix(status, "; ") + ")"
			}
			open = append(open, "- to do: "+cmp.Or(t.Title, t.ID)+status)
		}
	}
	if done > 0 && len(open) > 0 {
		open[0] += fmt.Sprintf(" (%d done%s)", done, v.lostSince())
	}
	lines = append(lines, v.recorded(max(room-cost(lines)-cost(open), room/3, 100))...)
	for _, line := range []string{v.stagedOnly(), v.uncommitted(), v.branchesGone()} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return listed(slices.Concat(lines, open, v.called()), room, 0)
}

// verdicts tell how the last run of each kind ended, and beside it the last one of all of another suite.
func (v *view) verdicts() (lines []string) {
	add := func(line string) {
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, kind := range kinds {
		r, unclear := v.latest(kind.name)
		if r.Line == "" {
			add(v.silent(kind.name))
			continue
		}
		add(v.ended(r, unclear))
		if other := v.otherSuite(kind.name, r); other.Line != "" {
			add(v.ended(other, false))
		}
	}
	return lines
}

// silent tells of the newest run of a kind of which none has a known end, if it showed no error.
func (v *view) silent(kind string) string {
	newest := Run{}
	for _, r := range v.l.Runs {
		if strings.Contains(r.Kind, kind) && r.Last >= newest.Last {
			newest = r
		}
	}
	if newest.Line == "" || newest.Clean != newest.Last {
		return ""
	}
	line := "- " + shortened(newest.Line, 90) + noErrorShown
	if names := v.writtenFor(newest, newest.Last); names != "" {
		line += "; edited since: " + names
	}
	return line
}

// noErrorShown stands behind a run whose end isn't known.
const noErrorShown = " → no error shown"

// otherSuite returns the newest run of a kind with a known end that was on all of something that the last one was no part of.
func (v *view) otherSuite(kind string, last Run) (other Run) {
	for _, r := range v.l.Runs {
		if !strings.Contains(r.Kind, kind) || r.End == "" || r.Ended != r.Last || r.Ended <= other.Ended || r.repeats(last, v.read) {
			continue
		}
		if on := v.read(r.Line); len(on.filters)+len(on.paths) == 0 && !strings.HasSuffix(r.Line, "…") {
			other = r
		}
	}
	return other
}

// ended says how a run ended, and what followed; nothing if it was mended, which is told elsewhere.
func (v *view) ended(r Run, unclear bool) string {
	if r.Failed == r.Ended && v.passedSince(r) > 0 {
		return ""
	}
	line := "- " + shortened(r.Line, 90) + " → " + r.End
	script := ""
	if r.End != ends[verdict.Success] {
		script = v.scriptSince(r)
	}
	switch {
	case script != "":
		line += "; " + script
	case unclear:
		line += "; run again later, result unknown"
		if v.cleanSince(r) {
			line = strings.TrimSuffix(line, "result unknown") + "no error shown"
			if r.End != ends[verdict.Success] {
				line = "- " + shortened(r.Line, 90) + noErrorShown + " (" + r.End + " before)"
			}
		}
	case len(v.eventsOf(discarded, r.Ended)) > 0 && v.lost() != "":
		line += "; work was discarded since"
	default:
		if names := v.writtenFor(r, r.Ended); names != "" {
			line += "; edited since: " + names
		}
	}
	return line
}

// called lists what results reported as done; for an agent that neither writes files nor runs tests, its last calls, since they are
// its work; and a run that is repeated without effect.
func (v *view) called() (lines []string) {
	const most = 6
	var done []string
	for _, e := range v.eventsOf(reported, 0) {
		done = append(done, e.Text)
	}
	if len(done) > 0 {
		lines = append(lines, "- reported by results: "+strings.Join(done[max(0, len(done)-3):], "; "))
	}
	apart := func(r Run) bool { return !r.other() && r.Kind != "look" }
	if !slices.ContainsFunc(v.l.Runs, apart) && !slices.ContainsFunc(v.files, func(f File) bool { return f.Written > 0 }) {
		var calls []string
		for _, n := range v.l.Calls[max(0, len(v.l.Calls)-most):] {
			text := lex.Clip(n.Text, 90)
			if n.Rank > 1 {
				text += fmt.Sprintf(" (%d times in a row)", n.Rank)
			}
			calls = append(calls, text)
		}
		if len(calls) > 0 {
			lines = append(lines, "- called at last: "+strings.Join(calls, "; "))
		}
	}
	if r := v.loop(); r.Runs > 0 {
		lines = append(lines, fmt.Sprintf("- over and over: %s, %d times of which the last %d had the same result", lex.Clip(r.Line, 60), r.Runs, r.Same))
	}
	return lines
}

// loop returns the newest call or failed run that is repeated without effect, if any.
func (v *view) loop() Run {
	const over, recent = 4, 12
	for _, r := range highestFirst(v.l.Runs, func(r Run) uint64 { return r.Last }) {
		if loops := r.Kind == "call" || r.End == ends[verdict.Failure] && r.Ended == r.Last; loops && r.Same >= over && r.Result != 0 && r.Last+recent > v.l.To && v.written(r.Last, v.l.To+1) == "" {
			return r
		}
	}
	return Run{}
}

// torun is in the title of a task that is to run something, and not to write it.
var torun = regexp.MustCompile(`(?i)\b(?:re-?)?(?:run|execute|check|verify|validate|pass)(?:s|ning)?\b`)

// edited says of a task that is under way what was edited since it was begun, and of one that is to run something of a kind that
// such a run passed since: of its steps the list does not tell.
func (v *view) edited(t Task) (since string) {
	if names := v.written(t.At, v.l.To+1); names != "" && t.underWay() {
		since = "; edited since: " + names
	}
	var passed []string
	for _, k := range kinds {
		r, _ := v.latest(k.name)
		if name := briefly(r.Line); torun.MatchString(t.Title) && k.claims.MatchString(t.Title) && r.End == ends[verdict.Success] && r.Ended > t.At && v.writtenFor(r, r.Ended) == "" && !slices.Contains(passed, name) {
			passed = append(passed, name)
		}
	}
	if len(passed) > 0 {
		since += "; passed since: " + strings.Join(passed, ", ")
	}
	return since
}

// longAgo is the number of messages after which a branch may have been left by others.
const longAgo = 40

// recorded tells where the work is: the branch, whether it was pushed after the last commit, the pull request; the commits.
func (v *view) recorded(room int) (lines []string) {
	var commits, others []Note
	for _, n := range highestFirst(v.l.Commits, Note.rank) {
		if strings.HasPrefix(n.Text, "pushed ") || strings.HasPrefix(n.Text, "opened ") {
			if slices.ContainsFunc(v.eventsOf(ready, n.Last), func(e Note) bool {
				number := strings.TrimSpace(strings.TrimPrefix(e.Text, "gh pr ready"))
				return number == "" || strings.HasSuffix(n.Text, "/"+number+asDraft)
			}) {
				n.Text = strings.TrimSuffix(n.Text, asDraft)
			}
			others = append(others, n)
		} else {
			n.Text = v.hashed(n)
			commits = append(commits, n)
		}
	}
	branch := ""
	if branches := highestFirst(v.l.Branches, Note.rank); len(branches) > 0 {
		branch = branches[0].Text
		if ago := v.l.To - branches[0].Last; ago > longAgo && v.asked(branches[0].Last, v.l.To+1) {
			branch += fmt.Sprintf(" (as told %d messages before)", ago)
		}
	}
	for i, n := range others {
		if hash := pushedHash.FindString(n.Text); hash != "" && slices.ContainsFunc(commits, func(m Note) bool { return strings.HasPrefix(m.Text, hash[2:9]) }) {
			n.Text = strings.TrimSuffix(n.Text, hash) // it stands below
		}
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

// pushedHash is the commit that a branch was pushed at.
var pushedHash = regexp.MustCompile(` \([0-9a-f]{7}\)$`)

// stagedOnly says that files were added to a commit that was not made since.
func (v *view) stagedOnly() string {
	all := v.eventsOf(staged, 0)
	if len(all) == 0 {
		return ""
	}
	at := all[len(all)-1].Last
	if slices.ContainsFunc(v.l.Commits, func(n Note) bool { return n.Last >= at }) {
		return ""
	}
	for _, kind := range []int{unstaged, settled, rewrote, discarded} {
		if len(v.eventsOf(kind, at-1)) > 0 {
			return ""
		}
	}
	return "- staged by git add, no commit since"
}

// branchesGone tells the branches that were deleted at last and not made again.
func (v *view) branchesGone() string {
	const most = 3
	var names []string
	for _, e := range v.eventsOf(removed, 0) {
		name, _, _ := strings.Cut(e.Text, " ")
		again := func(n Note) bool {
			return n.Last > e.Last && (n.Text == name || strings.HasPrefix(n.Text+" ", "pushed "+name+" "))
		}
		if !slices.ContainsFunc(v.l.Branches, again) && !slices.ContainsFunc(v.l.Commits, again) {
			names = append(names, e.Text)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "- branches deleted: " + strings.Join(names[max(0, len(names)-most):], ", ")
}

// hashed returns a commit without its hash if a later command may have given it another one.
func (v *view) hashed(n Note) string {
	if strings.HasPrefix(n.Text, "“") || strings.HasPrefix(n.Text, "pushed ") || strings.HasPrefix(n.Text, "opened ") {
		return n.Text // without one
	}
	on := v.branchAt(n.Last)
	for _, e := range v.eventsOf(rewrote, n.Last) {
		if now := v.branchAt(e.Last); on != "" && now != "" && now != on {
			continue // of another branch
		}
		last := !slices.ContainsFunc(v.l.Commits, func(m Note) bool { return n.Last < m.Last && m.Last < e.Last })
		if verb := strings.Fields(e.Text)[1]; last || verb == "rebase" || verb == "pull" {
			_, subject, _ := strings.Cut(n.Text, " ")
			return subject + " (before git " + verb + "; its hash may differ)"
		}
	}
	return n.Text
}

// branchAt returns the branch that was the newest one known at a message.
func (v *view) branchAt(at uint64) (name string) {
	seen := uint64(0)
	for _, b := range v.l.Branches {
		for _, n := range []uint64{b.First, b.Last} {
			if n <= at && n >= seen {
				name, seen = b.Text, n
			}
		}
	}
	return name
}

// lost names the commands that threw away changes which were not made again since.
func (v *view) lost() string {
	var all []string
	for _, e := range v.eventsOf(discarded, 0) {
		if slices.ContainsFunc(v.files, func(f File) bool {
			return len(f.Changed) > 0 && f.Changed[len(f.Changed)-1] < e.Last && v.concerns(e.Text, f.Path) && !v.spares(e, f) && v.undone(f)
		}) {
			all = append(all, lex.Clip(e.Text, maxShown))
		}
	}
	return strings.Join(all[max(0, len(all)-3):], ", ")
}

// lostSince says of tasks that are called done whether work was thrown away since.
func (v *view) lostSince() string {
	if v.lost() == "" {
		return ""
	}
	events := v.eventsOf(discarded, 0)
	last, before := events[len(events)-1].Last, 0
	for _, t := range v.l.Tasks {
		if t.done() && !t.process() && t.At < last {
			before++
		}
	}
	if before == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them before work was discarded", before)
}
