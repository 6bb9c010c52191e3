package ledger

import (
	"cmp"
	"slices"
)

// Merge joins the ledgers of two spans, a before b. It is associative, and drops nothing but what b
// made obsolete: an older whole list of tasks. The arguments are not changed.
func Merge(a, b Ledger) Ledger {
	if a.Messages == 0 {
		return b
	}
	if b.Messages == 0 {
		return a
	}
	return Ledger{
		From: a.From, To: b.To, Messages: a.Messages + b.Messages, Calls: a.Calls + b.Calls,
		Files:    union(a.Files, b.Files, func(f File) string { return f.Path }, joinFiles),
		Commands: union(a.Commands, b.Commands, func(c Command) string { return c.Line }, joinCommands),
		Errors:   union(a.Errors, b.Errors, func(e Error) string { return e.Form }, joinErrors),
		Tasks:    latestList(union(a.Tasks, b.Tasks, func(t Task) string { return t.ID }, joinTasks)),
		Requests: union(a.Requests, b.Requests, func(r Request) string { return r.Text }, joinRequests),
		Lines:    slices.Concat(a.Lines, b.Lines),
		Words:    union(a.Words, b.Words, func(w Word) string { return w.Text }, joinWords),
		Omitted:  a.Omitted.plus(b.Omitted),
	}
}

// union joins two lists whose entries have a name; those of both are joined, older first.
func union[T any](a, b []T, name func(T) string, join func(a, b T) T) []T {
	at := make(map[string]int, len(a)+len(b))
	all := make([]T, 0, len(a)+len(b))
	for _, list := range [][]T{a, b} {
		for _, e := range list {
			i, ok := at[name(e)]
			if ok {
				all[i] = join(all[i], e)
				continue
			}
			at[name(e)] = len(all)
			all = append(all, e)
		}
	}
	return all
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
	near := slices.Concat(b.Near[:], a.Near[:])
	near = slices.DeleteFunc(near, func(n uint64) bool { return n == 0 })
	a.Near = [len(a.Near)]uint64{}
	copy(a.Near[:], near)
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
