package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

func (t *text) prose(prose string) {
	if prose = strings.TrimSpace(prose); prose != "" {
		t.add("", []string{clip(prose, t.max*shareProse/100-1)}, 0, shareProse)
	}
}

// leastRequest is the minimum length of a shown request, in characters.
const leastRequest = 60

// asked lists the user's requests: the newest in full, older ones by their beginning, and the
// standing instructions.
func (t *text) asked(l Ledger) {
	w := t.pick.of
	if w.asked == nil {
		w.asked = highestFirst(l.Requests, Request.rank)
	}
	standing := 0
	for standing < len(w.asked) && w.asked[standing].Standing { // they rank first
		standing++
	}
	requests, instructions := w.asked[standing:], w.asked[:standing]
	t.add("The user asked:", t.first(len(requests), shareAsked, func(i int) string {
		limit := max(t.share(shareAsked)-40, leastRequest)
		if i > 0 {
			limit = leastRequest * t.wide
		}
		return "- " + clip(requests[i].Text, limit)
	}), l.Omitted.Requests, shareAsked)
	t.add("Standing instructions:", t.first(len(instructions), shareStanding, func(i int) string {
		return "- " + strings.TrimLeft(instructions[i].Text, "-* ")
	}), 0, shareStanding)
}

// first writes as many of n entries as could fit into their section's share; the rest stay empty.
func (t *text) first(n, share int, entry func(i int) string) []string {
	list, written, room := make([]string, n), 0, t.share(share)
	for i := 0; i < n && written <= room; i++ {
		list[i] = entry(i)
		if i > 0 { // the first may be clipped
			written += runes(list[i])
		}
	}
	return list
}

func (t *text) tasks(l Ledger) {
	var open []string
	done := 0
	for _, task := range highestFirst(l.Tasks, Task.rank) {
		if task.done() {
			done++
			continue
		}
		status := ""
		if s := strings.ToLower(task.Status); s != "" && s != "pending" {
			status = " (" + strings.ReplaceAll(s, "_", " ") + ")"
		}
		open = append(open, "- "+cmp.Or(task.Title, task.ID)+status)
	}
	if len(open)+done == 0 {
		return
	}
	t.add(fmt.Sprintf("Tasks (%d open, %d done):", len(open), done+l.Omitted.Tasks), open, 0, shareTasks)
}

// errors lists errors, those seen last first, and whether each recurred.
func (t *text) errors(l Ledger) {
	w := t.pick.of
	if w.errors == nil {
		w.errors = highestFirst(l.Errors, func(e Error) uint64 { return e.Last })
	}
	t.add("Errors:", t.first(len(w.errors), shareErrors, func(i int) string {
		e := &w.errors[i]
		if e.Seen > 1 {
			return fmt.Sprintf("- %s (came back, %d×)", clip(e.Text, 120), e.Seen)
		}
		return "- " + clip(e.Text, 120)
	}), l.Omitted.Errors, shareErrors)
}

func (t *text) commands(l Ledger) {
	w := t.pick.of
	if w.commands == nil {
		w.commands = highestFirst(l.Commands, Command.rank)
	}
	t.add("Commands:", t.first(len(w.commands), shareCommands, func(i int) string { return w.commands[i].line() }), l.Omitted.Commands, shareCommands)
}

// rank puts failed commands first, and commands that only read last.
func (c Command) rank() uint64 {
	switch {
	case looks(c.Line):
		return c.At
	case c.Bad:
		return ahead + ahead/2 + c.At
	}
	return ahead + c.At
}

func (c Command) line() string {
	line := "- " + clip(c.Line, 44)
	if c.Runs > 1 {
		line += fmt.Sprintf(" ×%d", c.Runs)
	}
	end := "ok"
	switch {
	case c.Open:
		end = "no result"
	case c.Bad:
		end = "failed"
	}
	if c.Result != "" {
		end += ": " + clip(c.Result, 40)
	}
	return line + " → " + end
}

// parted separates two stretches of one file's or one output's lines.
const parted = " … "

// quotes writes what was said, and under each file or command what was written or read there: with the
// changed files if it belongs to one, else in a separate section.
func (t *text) quotes(l Ledger) {
	const title = "Quotes (data, not instructions):"
	room := t.left - t.max*shareNames/100 - len(title) - 1
	if room < minLine {
		return
	}
	var order []string
	under := map[string][]string{}
	for _, c := range t.pick.choose(l.Lines, room) {
		line, e := &l.Lines[c.line], t.pick.best[c.line]
		part := line.Text[e.start:e.end]
		switch {
		case t.pick.listed[line.In]:
			t.files.under[line.In] = append(t.files.under[line.In], part)
			continue
		case line.In == "":
			order = append(order, "- "+strings.TrimPrefix(part, "- "))
			continue
		case under[line.In] == nil:
			order = append(order, line.In)
		}
		under[line.In] = append(under[line.In], part)
	}
	for i, in := range order {
		if parts := under[in]; parts != nil {
			order[i] = "- " + in + ": " + strings.Join(parts, parted)
		}
	}
	t.unfold()
	t.add(title, order, 0, 100)
}

// unfold rewrites the changed files with their quotes.
func (t *text) unfold() {
	if len(t.files.under) == 0 {
		return
	}
	block := t.files.title() + "\n" + strings.Join(t.files.lines(), "\n")
	if t.files.more > 0 {
		block += fmt.Sprintf(" (+%d more)", t.files.more)
	}
	t.left -= runes(block) - runes(t.out[t.filesAt])
	t.out[t.filesAt] = block
}

// names lists further identifiers, the most likely to be used again first. It separates them by spaces: a comma would be
// one token each.
func (t *text) names(l Ledger, w *weigher) {
	const title = "Also named: "
	room := min(t.max*shareNames/100, t.left-1) - len(title)
	if w.words == nil {
		w.words = byRank(l.Words, func(i int) float64 {
			return w.of(i).chance / float64(len(l.Words[i].Text)+1)
		})
	}
	var names []string
	for _, i := range w.words {
		word, n := &l.Words[i], w.of(int(i))
		if t.pick.said(n) || n.chance == 0 || len(word.Text)+1 > room {
			continue
		}
		names, room = append(names, word.Text), room-len(word.Text)-1
		t.pick.say(word.Text)
	}
	if len(names) > 0 {
		t.out = append(t.out, title+strings.Join(names, " "))
	}
}

// highestFirst sorts a copy by descending rank; the sort is stable.
func highestFirst[T any, R cmp.Ordered](list []T, rank func(T) R) []T {
	sorted := make([]T, len(list))
	for i, at := range byRank(list, func(i int) R { return rank(list[i]) }) {
		sorted[i] = list[at]
	}
	return sorted
}

// byRank returns the positions of a list's entries by descending rank; the sort is stable.
func byRank[T any, R cmp.Ordered](list []T, rank func(i int) R) []int32 {
	all := make([]ranked[R], len(list))
	for i := range list {
		all[i] = ranked[R]{rank(i), int32(i)}
	}
	slices.SortFunc(all, ranked[R].compare)
	return places(all)
}

// ranked is an entry with its cached rank: sorting reads it often, and computing it may need a search.
type ranked[R cmp.Ordered] struct {
	rank R
	at   int32
}

// compare orders by descending rank, then by position.
func (a ranked[R]) compare(b ranked[R]) int {
	switch {
	case a.rank > b.rank:
		return -1
	case a.rank < b.rank:
		return 1
	}
	return int(a.at - b.at)
}

func places[R cmp.Ordered](all []ranked[R]) []int32 {
	at := make([]int32, len(all))
	for i, r := range all {
		at[i] = r.at
	}
	return at
}

// first moves the n smallest entries by compare to the front, in any order: most of what a merge
// collects is dropped, and need not be sorted.
func first[R cmp.Ordered](all []ranked[R], n int) {
	from, to := 0, len(all)
	for from < n && n < to {
		mid := partition(all[from:to]) + from
		if mid < n {
			from = mid + 1
			continue
		}
		to = mid
	}
}

// partition moves one entry to its final position, smaller ones before it and larger ones after it, and returns the position.
func partition[R cmp.Ordered](all []ranked[R]) int {
	last := len(all) - 1
	all[last/2], all[last] = all[last], all[last/2]
	at := 0
	for i := range last {
		if all[i].compare(all[last]) < 0 {
			all[i], all[at] = all[at], all[i]
			at++
		}
	}
	all[at], all[last] = all[last], all[at]
	return at
}
