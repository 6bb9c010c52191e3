package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"precis/summarize/lex"
)

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
	if lost := v.lost(); lost != "" {
		lines = []string{"- uncommitted work was discarded by " + lost}
	}
	for _, kind := range kinds {
		if r, unclear := v.latest(kind.name); r.Line != "" {
			line := "- " + lex.Clip(r.Line, 90) + " → " + r.End
			switch {
			case unclear:
				line += "; run again since, end unknown"
			case len(v.eventsOf(discarded, r.Ended)) > 0 && v.lost() != "":
				line += "; work was discarded since"
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
		open[0] += fmt.Sprintf(" (%d done%s)", done, v.lostSince())
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
			n.Text = v.hashed(n)
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

// hashed returns a commit without its hash if a later command may have given it another one.
func (v *view) hashed(n Note) string {
	for _, e := range v.eventsOf(rewrote, n.Last) {
		last := !slices.ContainsFunc(v.l.Commits, func(m Note) bool { return n.Last < m.Last && m.Last < e.Last })
		if verb := strings.Fields(e.Text)[1]; last || verb == "rebase" || verb == "pull" {
			_, subject, _ := strings.Cut(n.Text, " ")
			return subject + " (hash before git " + verb + ")"
		}
	}
	return n.Text
}

// lost names the commands that threw away changes which were not made again since.
func (v *view) lost() string {
	var all []string
	for _, e := range v.eventsOf(discarded, 0) {
		if slices.ContainsFunc(v.files, func(f File) bool {
			return len(f.Changed) > 0 && f.Changed[len(f.Changed)-1] < e.Last && v.concerns(e.Text, f.Path) && v.undone(f)
		}) {
			all = append(all, e.Text)
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
