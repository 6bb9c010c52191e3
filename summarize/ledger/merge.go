package ledger

import (
	"cmp"
	"slices"
)

// Merge joins the ledgers of adjoining spans, older first. It is associative, and drops nothing but what a
// later span made obsolete: an older whole list of tasks. The arguments are not changed.
func Merge(spans ...Ledger) (merged Ledger) {
	spans = slices.DeleteFunc(slices.Clone(spans), func(l Ledger) bool { return l.Messages == 0 })
	if len(spans) < 2 {
		return slices.Concat(spans, []Ledger{{}})[0]
	}
	merged = Ledger{
		From: spans[0].From, To: spans[len(spans)-1].To,
		Files:    union(spans, func(l *Ledger) []File { return l.Files }, func(f *File) string { return f.Path }, joinFiles),
		Commands: union(spans, func(l *Ledger) []Command { return l.Commands }, func(c *Command) string { return c.Line }, joinCommands),
		Errors:   union(spans, func(l *Ledger) []Error { return l.Errors }, func(e *Error) string { return e.Form }, joinErrors),
		Tasks:    mergeTasks(spans),
		Requests: union(spans, func(l *Ledger) []Request { return l.Requests }, func(r *Request) string { return r.Text }, joinRequests),
		Words:    union(spans, func(l *Ledger) []Word { return l.Words }, func(w *Word) string { return w.Text }, joinWords),
	}
	for _, l := range spans {
		merged.Messages, merged.Calls = merged.Messages+l.Messages, merged.Calls+l.Calls
		merged.Lines = append(merged.Lines, l.Lines...)
		merged.Omitted = merged.Omitted.plus(l.Omitted)
	}
	return merged
}

// union joins the lists of spans, whose entries have a name; those with one name are joined, older first.
func union[T any](spans []Ledger, of func(*Ledger) []T, name func(*T) string, join func(a, b T) T) []T {
	n := 0
	for i := range spans {
		n += len(of(&spans[i]))
	}
	if n == 0 {
		return nil
	}
	at := make(map[string]int, n)
	all := make([]T, 0, n)
	for i := range spans {
		list := of(&spans[i])
		for j := range list {
			e := &list[j]
			if k, ok := at[name(e)]; ok {
				all[k] = join(all[k], *e)
				continue
			}
			at[name(e)] = len(all)
			all = append(all, *e)
		}
	}
	return all
}

// mergeTasks goes span by span: what a whole list made obsolete does not come back with a later span's word of it.
func mergeTasks(spans []Ledger) (tasks []Task) {
	for i := range spans {
		two := []Ledger{{Tasks: tasks}, {Tasks: spans[i].Tasks}}
		tasks = latestList(union(two, func(l *Ledger) []Task { return l.Tasks }, func(t *Task) string { return t.ID }, joinTasks))
	}
	return tasks
}

func joinFiles(a, b File) File {
	a.Read, a.Written, a.Failed = a.Read+b.Read, a.Written+b.Written, a.Failed+b.Failed
	a.Created, a.Viewed = a.Created || b.Created, a.Viewed || b.Viewed
	a.Deleted, a.Touched, a.Changed = max(a.Deleted, b.Deleted), max(a.Touched, b.Touched), max(a.Changed, b.Changed)
	return a
}

func joinCommands(a, b Command) Command {
	b.Runs, b.Failed = a.Runs+b.Runs, a.Failed+b.Failed
	return b
}

func joinErrors(a, b Error) Error {
	b.Seen, b.First = a.Seen+b.Seen, a.First
	return b
}

func joinTasks(a, b Task) Task {
	b.Title, b.Status = cmp.Or(b.Title, a.Title), cmp.Or(b.Status, a.Status)
	return b
}

func joinRequests(a, b Request) Request {
	b.Standing = a.Standing || b.Standing
	return b
}

func joinWords(a, b Word) Word {
	near, n := b.Near, 0
	for n < len(near) && near[n] != 0 {
		n++
	}
	copy(near[n:], a.Near[:])
	a.Near = near
	a.Seen, a.Said, a.Results = a.Seen+b.Seen, a.Said+b.Said, a.Results+b.Results
	a.Written = a.Written || b.Written
	a.Last, a.SaidAt = max(a.Last, b.Last), max(a.SaidAt, b.SaidAt)
	return a
}

// latestList drops the entries of whole lists that a later whole list replaced.
func latestList(tasks []Task) []Task {
	newest := uint64(0)
	for _, t := range tasks {
		newest = max(newest, t.List)
	}
	return slices.DeleteFunc(tasks, func(t Task) bool { return t.List != 0 && t.List < newest })
}

func (o Omitted) plus(p Omitted) Omitted {
	return Omitted{
		Files: o.Files + p.Files, Commands: o.Commands + p.Commands, Errors: o.Errors + p.Errors,
		Tasks: o.Tasks + p.Tasks, Requests: o.Requests + p.Requests,
	}
}
