package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
		case n.Text != newest.Text && turn.MatchString(clip(n.Text, 80)):
			v.turns = append(v.turns, n)
		case n.substantial() || n.Text == newest.Text:
			v.requests = append(v.requests, n)
		}
	}
	return v
}

// mostFiles is the part of a text that the names of changed files get in any case, in percent.
const mostFiles = 40

// sections returns the parts of a text in their order.
func (v *view) sections(room int) []section {
	title := "Files:"
	if _, root := v.outline(); root != "" {
		title = "Files in " + root + ":"
	}
	names := runes(title) + 2
	for _, line := range v.changed(room, true) {
		names += runes(line) + 1
	}
	return []section{
		{"Goal:", 0, 14, v.goalLines},
		{"Instructions that hold:", 0, 9, v.instructions},
		{"Requests:", 0, 25, v.requestLines},
		{"Decisions and dead ends:", 0, 14, v.decisions},
		{"State:", 0, 15, v.state},
		{title, min(names, room*mostFiles/100), 8, v.fileLines},
		{"Errors:", 0, 11, v.errors},
		{"Next:", 0, 8, v.next},
		{"Also named:", 0, 0, v.names},
	}
}

// goalLines are the first request, and the newest ones that changed it.
func (v *view) goalLines(room int) []string {
	if v.goal.Text == "" || room < min(leastOpening, runes(v.goal.Text)+3) {
		return nil
	}
	turns := v.turns[max(0, len(v.turns)-2):]
	first := room
	if len(turns) > 0 {
		first = max(room/2, room-len(turns)*2*leastOpening)
	}
	lines := []string{"- " + opening(v.goal.Text, first-3)}
	room -= runes(lines[0]) + 1
	for i, n := range turns {
		each := room / (len(turns) - i)
		if each < leastOpening {
			continue
		}
		line := "- then: " + opening(n.Text, each-9)
		lines, room = append(lines, line), room-runes(line)-1
	}
	return lines
}

func (v *view) instructions(room int) []string {
	var lines []string
	for _, n := range highestFirst(v.l.Instructions, Note.rank) {
		if n.Text != v.goal.Text {
			lines = append(lines, "- "+n.Text)
		}
	}
	return listed(lines, room, 0)
}

// requestLines are the requests after the first one: the newest whole up to a half of the room, the others by their
// beginnings, as many of the newer ones as there is room for.
func (v *view) requestLines(room int) []string {
	list := slices.Concat(v.turns[:max(0, len(v.turns)-2)], v.requests)
	slices.SortFunc(list, func(a, b Note) int { return cmp.Compare(a.Last, b.Last) })
	if len(list) == 0 {
		return nil
	}
	older, last := list[:len(list)-1], list[len(list)-1]
	if room < min(leastOpening, runes(last.Text)+3) {
		return nil
	}
	omitted := v.l.Omitted.Requests
	least := 0
	for _, n := range older {
		least += min(runes(n.Text), leastOpening) + 3
	}
	newest := "- " + opening(last.Text, max(room/2, room-least)-3)
	room -= runes(newest) + 1
	if least > room || omitted > 0 {
		room -= len("- (123 earlier)\n")
	}
	for least > room && len(older) > 0 {
		least -= min(runes(older[0].Text), leastOpening) + 3
		older, omitted = older[1:], omitted+1
	}
	long := longest(older, room)
	var lines []string
	if omitted > 0 {
		lines = append(lines, fmt.Sprintf("- (%d earlier)", omitted))
	}
	for _, n := range older {
		lines = append(lines, "- "+opening(n.Text, long))
	}
	return append(lines, newest)
}

// longest returns the length to which statements can be shown so that all of them fit into room.
func longest(list []Note, room int) int {
	lengths := make([]int, len(list))
	for i, n := range list {
		lengths[i] = runes(n.Text)
	}
	slices.Sort(lengths)
	for i, n := range lengths {
		if each := room/(len(lengths)-i) - 3; n > each {
			return each
		}
		room -= n + 3
	}
	return maxRequest
}

func (v *view) decisions(room int) []string {
	var chosen []Note
	for _, n := range highestFirst(v.l.Decisions, Note.rank) {
		if cost := runes(n.Text) + 3; cost <= room {
			chosen, room = append(chosen, n), room-cost
		}
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
	var last Run
	for _, r := range v.l.Runs {
		if strings.Contains(r.Kind, kind) && r.Last >= last.Last {
			last = r
		}
		if strings.Contains(r.Kind, kind) && r.End != "" && r.Last >= known.Last {
			known = r
		}
	}
	return known, last.Last > known.Last
}

// state tells the last verdicts, where the work is recorded, what still runs, and the assistant's own list.
func (v *view) state(room int) []string {
	var lines []string
	for _, kind := range kinds {
		if r, unclear := v.latest(kind.name); r.Line != "" {
			line := "- " + clip(r.Line, 80) + " → " + r.End
			if unclear {
				line += ", then run again"
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
	if branches := highestFirst(v.l.Branches, Note.rank); len(branches) > 0 {
		lines = append(lines, "- branch: "+branches[0].Text)
	}
	if commits := highestFirst(v.l.Commits, Note.rank); len(commits) > 0 {
		line := "- commits: " + clip(commits[0].Text, 60)
		for _, n := range commits[1:] {
			if more := "; " + clip(n.Text, 50); runes(line+more) < max(room/3, 100) {
				line += more
			}
		}
		lines = append(lines, line)
	}
	return listed(slices.Concat(lines, open), room, 0)
}

// errors tells what the last runs reported that failed, and what was mended and where.
func (v *view) errors(room int) []string {
	var open, mended []Note
	for _, r := range highestFirst(v.l.Runs, Run.rank) {
		if r.Failed == 0 || r.Error == "" || r.Kind == "look" {
			continue
		}
		good, again := r.Good, false // whether later runs say how it went on
		for kind := range strings.SplitSeq(r.Kind, "+") {
			if last, _ := v.latest(kind); kind != "" && last.Last > r.Failed {
				again = true
				if good == 0 && last.Good > r.Failed {
					good = last.Good
				}
			}
		}
		switch {
		case good == 0 && !again && len(open) < 5:
			open = append(open, Note{Text: clip(r.Line, 30) + ": " + r.Error})
		case good > 0 && len(mended) < 2:
			text := "fixed"
			if names := v.written(r.Failed, good); names != "" {
				text += " in " + names
			}
			mended = append(mended, Note{Text: text + ": " + clip(r.Error, 100)})
		}
	}
	if len(open) > 0 {
		mended = mended[:min(len(mended), 1)]
	}
	all := append(open, mended...)
	for len(all) > 0 && longest(all, room) < 2*leastOpening && len(all) > 1 {
		all = all[:len(all)-1]
	}
	long := longest(all, room)
	var lines []string
	for _, n := range all {
		if long >= leastOpening {
			lines = append(lines, "- "+clip(n.Text, long))
		}
	}
	return lines
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

func (v *view) next(room int) []string {
	plans := highestFirst(v.l.Plans, Note.rank)
	if len(plans) == 0 || room < min(leastOpening, runes(plans[0].Text)+3) {
		return nil
	}
	return []string{"- " + opening(plans[0].Text, room-3)}
}

// names lists further identifiers in room that nothing else wants, separated by spaces: a comma would be a token each.
func (v *view) names(room int) []string {
	const most = 100
	room = min(room, most)
	line := ""
	for _, n := range highestFirst(v.l.Names, func(n Name) float64 { return n.worth(v.l.To) }) {
		if len(line)+len(n.Text)+1 < room {
			line += " " + n.Text
		}
	}
	if len(line) < leastOpening {
		return nil
	}
	return []string{line[1:]}
}
