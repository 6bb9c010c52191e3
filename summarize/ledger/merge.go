package ledger

import (
	"cmp"
	"slices"
	"strings"
)

// Merge joins the ledgers of adjoining spans, older first. It is associative, and drops only what a
// later span supersedes: an older complete task list. It does not change its arguments.
func Merge(spans ...Ledger) Ledger {
	spans = slices.DeleteFunc(slices.Clone(spans), func(l Ledger) bool { return l.Messages == 0 })
	if len(spans) == 0 {
		return Ledger{}
	}
	notes := func(of func(*Ledger) []Note) []Note {
		return union(spans, of, func(n *Note) string { return n.Text }, (*Note).join)
	}
	merged := Ledger{
		From: spans[0].From, To: spans[len(spans)-1].To, GoesOn: spans[0].GoesOn,
		Requests:     notes(func(l *Ledger) []Note { return l.Requests }),
		Instructions: notes(func(l *Ledger) []Note { return l.Instructions }),
		Decisions:    notes(func(l *Ledger) []Note { return l.Decisions }),
		Plans:        notes(func(l *Ledger) []Note { return l.Plans }),
		Answers:      notes(func(l *Ledger) []Note { return l.Answers }),
		Branches:     notes(func(l *Ledger) []Note { return l.Branches }),
		Commits:      notes(func(l *Ledger) []Note { return l.Commits }),
		Events:       notes(func(l *Ledger) []Note { return l.Events }),
		Shown:        notes(func(l *Ledger) []Note { return l.Shown }),
		Rules:        notes(func(l *Ledger) []Note { return l.Rules }),
		Runs:         union(spans, func(l *Ledger) []Run { return l.Runs }, (*Run).name, (*Run).join),
		Files:        union(spans, func(l *Ledger) []File { return l.Files }, func(f *File) string { return f.Path }, (*File).join),
	}
	for i := range spans { // span by span: a task that a complete list superseded does not return with a later update
		var tasks entries[Task]
		for _, list := range [][]Task{merged.Tasks, spans[i].Tasks} {
			for _, t := range list {
				put(&tasks, t.ID, t, (*Task).join)
			}
		}
		merged.Tasks = latestList(tasks.list)
		merged.Messages += spans[i].Messages
		merged.Acted = cmp.Or(merged.Acted, spans[i].Acted)
		for _, n := range spans[i].Calls {
			merged.Calls = follow(merged.Calls, n)
		}
		if last := len(merged.Ends) - 1; i > 0 && spans[i].GoesOn && last >= 0 && merged.Ends[last] == spans[i-1].To && spans[i].From == spans[i-1].To+1 {
			merged.Ends = slices.Clip(merged.Ends[:last])
		}
		switch span := &spans[i]; {
		case span.Messages == 0:
		case span.EndsFrom == 0 || span.EndsFrom > span.From: // of the beginning of this span it isn't known
			merged.Ends, merged.EndsFrom = span.Ends, span.EndsFrom
		default:
			merged.Ends, merged.EndsFrom = slices.Concat(merged.Ends, span.Ends), cmp.Or(merged.EndsFrom, span.EndsFrom)
		}
		merged.Omitted = merged.Omitted.plus(spans[i].Omitted)
	}
	return merged
}

// union joins the named entries of the spans' lists; entries with the same name are joined, older first.
func union[T any](spans []Ledger, of func(*Ledger) []T, name func(*T) string, join func(a, b *T)) []T {
	var all entries[T]
	for i := range spans {
		for _, e := range of(&spans[i]) {
			put(&all, name(&e), e, join)
		}
	}
	return all.list
}

// The join functions add a later entry to an earlier one with the same name.

func (n *Note) join(b *Note) { n.Rank, n.Last, n.Until = max(n.Rank, b.Rank), b.Last, b.Until }

func (r *Run) join(b *Run) {
	a := *r
	*r = *b
	r.First, r.Runs, r.Clean = a.First, a.Runs+b.Runs, max(a.Clean, b.Clean)
	if b.Same == b.Runs && b.Result == a.Result {
		r.Same += a.Same
	}
	if b.End == "" {
		r.End, r.Ended = a.End, a.Ended
	}
	if b.Failed == 0 {
		r.Failed, r.Error, r.Good = a.Failed, a.Error, cmp.Or(a.Good, b.Good)
	}
}

func (t *Task) join(b *Task) {
	title, status, list := cmp.Or(b.Title, t.Title), cmp.Or(b.Status, t.Status), max(t.List, b.List)
	*t = *b
	t.Title, t.Status, t.List = title, status, list
}

func (f *File) join(b *File) {
	f.Read, f.Written, f.Tried = f.Read+b.Read, f.Written+b.Written, f.Tried+b.Tried
	f.Told, f.Made, f.Seen = max(f.Told, b.Told), max(f.Made, b.Made), max(f.Seen, b.Seen)
	f.Diffs, f.Net, f.Whole = f.Diffs+b.Diffs, f.Net+b.Net, max(f.Whole, b.Whole)
	if b.Deleted > 0 || b.Left > 0 && (b.Moved != "" || f.Moved == "") {
		f.Moved = b.Moved
	}
	f.Left = max(f.Left, b.Left)
	if f.Dirty == 0 || b.Dirty > 0 {
		f.Dirty = min(cmp.Or(f.Dirty, b.Dirty), b.Dirty)
	}
	f.Created, f.Deleted, f.Touched = f.Created || b.Created, max(f.Deleted, b.Deleted), max(f.Touched, b.Touched)
	f.Gone = newestNames(b.Gone, slices.DeleteFunc(slices.Clone(f.Gone), func(name string) bool { return slices.Contains(b.What, name) }))
	f.Changed, f.What = newest(b.Changed, f.Changed), newestNames(b.What, f.What)
}

// latestList drops the entries that a complete list superseded which was set or shown later: a numbered list those that were numbered,
// one of titles those of such lists.
func latestList(tasks []Task) []Task {
	newest := map[bool]uint64{}
	for _, t := range tasks {
		newest[t.numbered()] = max(newest[t.numbered()], t.List)
	}
	return slices.DeleteFunc(tasks, func(t Task) bool {
		if !t.numbered() {
			return t.List != 0 && t.List < newest[false]
		}
		return max(t.List, t.At) < newest[true]
	})
}

// numbered reports whether a task is of a list to which entries are added individually.
func (t Task) numbered() bool { return strings.HasPrefix(t.ID, "#") }

func (o Counts) plus(p Counts) Counts {
	return Counts{
		Requests: o.Requests + p.Requests, Runs: o.Runs + p.Runs, Tasks: o.Tasks + p.Tasks, Files: o.Files + p.Files, Commits: o.Commits + p.Commits,
	}
}

// Bounds of a stored ledger, in entries.
const (
	maxNotes = 60 // of each kind
	maxRuns  = 60
	maxTasks = 60
	maxFiles = 300
	maxPlans = 3
	maxCalls = 20
	maxOut   = 6
	maxRules = 12
	maxEnds  = 300
)

// Trim returns a ledger within bounds: it keeps some 20 KiB, whatever the span. It drops the oldest entries, read files
// before written ones, and counts them; the first request stays.
func (l Ledger) Trim() Ledger {
	uncounted := 0
	l.Requests = trimRequests(l.Requests, &l.Omitted.Requests)
	for _, notes := range []*[]Note{&l.Instructions, &l.Decisions, &l.Branches} {
		*notes = keep(*notes, maxNotes, &uncounted, Note.rank)
	}
	l.Events = keep(onlyNewest(l.Events), maxNotes, &uncounted, Note.age)
	l.Calls = keep(l.Calls, maxCalls, &uncounted, Note.age)
	l.Answers = keep(l.Answers, maxNotes, &uncounted, Note.age)
	if over := len(l.Ends) - maxEnds; over > 0 {
		l.EndsFrom, l.Ends = l.Ends[over-1], slices.Clone(l.Ends[over:])
	}
	l.Shown = keep(l.Shown, maxOut, &uncounted, Note.age)
	l.Rules = keep(l.Rules, maxRules, &uncounted, Note.rank)
	l.Plans = keep(l.Plans, maxPlans, &uncounted, Note.age)
	l.Commits = keep(l.Commits, maxNotes, &l.Omitted.Commits, Note.rank)
	l.Runs = keep(l.Runs, maxRuns, &l.Omitted.Runs, Run.rank)
	l.Tasks = keep(l.Tasks, maxTasks, &l.Omitted.Tasks, Task.rank)
	l.Files = keep(l.Files, maxFiles, &l.Omitted.Files, File.rank)
	return l
}

// Join merges adjoining spans' ledgers into one within bounds, older first.
func Join(spans []Ledger) Ledger { return Merge(spans...).Trim() }

// keep keeps the n entries of the highest rank, of equals the first, in list order, and counts the others.
func keep[T any, R cmp.Ordered](list []T, n int, dropped *int, rank func(T) R) []T {
	if len(list) <= n {
		return slices.Clone(list)
	}
	order, ranks := make([]int, len(list)), make([]R, len(list)) // a rank may read the whole text
	for i, e := range list {
		order[i], ranks[i] = i, rank(e)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[b], ranks[a]) })
	order = order[:n]
	slices.Sort(order)
	kept := make([]T, n)
	for i, at := range order {
		kept[i] = list[at]
	}
	*dropped += len(list) - n
	return kept
}

// highestFirst sorts a copy by descending rank; the sort is stable.
func highestFirst[T any, R cmp.Ordered](list []T, rank func(T) R) []T {
	return slices.SortedStableFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(rank(b), rank(a)) })
}

// Ranks put one class of entries before another, and within a class the newest first.
const ahead = 1 << 56

func (n Note) age() uint64 { return n.Last }

func (n Note) rank() uint64 { return uint64(n.Rank)*ahead + n.Last }

func (r Run) rank() uint64 {
	switch {
	case r.Kind == "look":
		return r.Last
	case r.other():
		return ahead + r.Last
	}
	return 2*ahead + r.Last
}

func (t Task) rank() uint64 {
	switch {
	case t.done():
		return t.At
	case t.underWay():
		return 2*ahead + t.At
	}
	return ahead + t.At
}

func (f File) rank() uint64 {
	if f.Written > 0 || f.Deleted > 0 || f.Tried > 0 || f.Told > 0 {
		return ahead + f.Touched
	}
	return f.Touched
}
