package ledger

import (
	"cmp"
	"slices"
)

// Merge joins the ledgers of adjoining spans, older first. It is associative, and drops only what a
// later span supersedes: an older complete task list. It does not change its arguments.
func Merge(spans ...Ledger) Ledger { return new(merger).merge(spans) }

// merger merges into its own lists, which the next merge reuses: only a fraction, about one over the fan-in, of what it
// merges is kept.
type merger struct {
	at       index // of the words that were merged last
	files    []File
	commands []Command
	errors   []Error
	requests []Request
	lines    []Line
	words    []Word
}

// merge implements Merge; its result is valid until the next call.
func (m *merger) merge(spans []Ledger) (merged Ledger) {
	spans = slices.DeleteFunc(slices.Clone(spans), func(l Ledger) bool { return l.Messages == 0 })
	if len(spans) < 2 {
		merged = slices.Concat(spans, []Ledger{{}})[0]
		m.of(merged.Words)
		return merged
	}
	x := &m.at
	merged = Ledger{
		From: spans[0].From, To: spans[len(spans)-1].To,
		Files:    union(x, &m.files, spans, func(l *Ledger) []File { return l.Files }, func(f *File) string { return f.Path }, (*File).join),
		Commands: union(x, &m.commands, spans, func(l *Ledger) []Command { return l.Commands }, func(c *Command) string { return c.Line }, (*Command).join),
		Errors:   union(x, &m.errors, spans, func(l *Ledger) []Error { return l.Errors }, func(e *Error) string { return e.Form }, (*Error).join),
		Tasks:    mergeTasks(x, spans),
		Requests: union(x, &m.requests, spans, func(l *Ledger) []Request { return l.Requests }, func(r *Request) string { return r.Text }, (*Request).join),
		Lines:    m.allLines(spans),
	}
	merged.Words = union(x, &m.words, spans, func(l *Ledger) []Word { return l.Words }, func(w *Word) string { return w.Text }, (*Word).join)
	if len(merged.Words) == 0 {
		m.of(nil)
	}
	for _, l := range spans {
		merged.Messages, merged.Calls = merged.Messages+l.Messages, merged.Calls+l.Calls
		merged.Omitted = merged.Omitted.plus(l.Omitted)
	}
	return merged
}

// of indexes the positions of words.
func (m *merger) of(words []Word) {
	m.at.reset(len(words))
	for i := range words {
		m.at.add(words[i].Text)
	}
}

func (m *merger) allLines(spans []Ledger) []Line {
	n := 0
	for i := range spans {
		n += len(spans[i].Lines)
	}
	m.lines = grown(m.lines, n)
	for i := range spans {
		m.lines = append(m.lines, spans[i].Lines...)
	}
	return m.lines
}

// union joins the named entries of the spans' lists; entries with the same name are joined, older first. It
// leaves the positions of the names in x, and the list in *all.
func union[T any](x *index, all *[]T, spans []Ledger, of func(*Ledger) []T, name func(*T) string, join func(a, b *T)) []T {
	n := 0
	for i := range spans {
		n += len(of(&spans[i]))
	}
	if n == 0 {
		return nil
	}
	x.reset(n)
	to := grown(*all, n)
	for i := range spans {
		list := of(&spans[i])
		for j := range list {
			at, fresh := x.add(name(&list[j]))
			if fresh {
				to = append(to, list[j])
				continue
			}
			join(&to[at], &list[j])
		}
	}
	*all = to
	return to
}

// mergeTasks merges span by span: a task that a complete list superseded does not return with a later update.
func mergeTasks(x *index, spans []Ledger) (tasks []Task) {
	for i := range spans {
		var all []Task
		two := []Ledger{{Tasks: tasks}, {Tasks: spans[i].Tasks}}
		tasks = latestList(union(x, &all, two, func(l *Ledger) []Task { return l.Tasks }, func(t *Task) string { return t.ID }, (*Task).join))
	}
	return tasks
}

// The join functions add a later entry to an earlier one with the same name.

func (f *File) join(b *File) {
	f.Read, f.Written, f.Failed = f.Read+b.Read, f.Written+b.Written, f.Failed+b.Failed
	f.Created, f.Viewed = f.Created || b.Created, f.Viewed || b.Viewed
	f.Deleted, f.Touched, f.Changed = max(f.Deleted, b.Deleted), max(f.Touched, b.Touched), max(f.Changed, b.Changed)
}

func (c *Command) join(b *Command) {
	runs, failed := c.Runs+b.Runs, c.Failed+b.Failed
	*c = *b
	c.Runs, c.Failed = runs, failed
}

func (e *Error) join(b *Error) {
	seen, first := e.Seen+b.Seen, e.First
	*e = *b
	e.Seen, e.First = seen, first
}

func (t *Task) join(b *Task) {
	title, status := cmp.Or(b.Title, t.Title), cmp.Or(b.Status, t.Status)
	*t = *b
	t.Title, t.Status = title, status
}

func (r *Request) join(b *Request) {
	standing := r.Standing || b.Standing
	*r = *b
	r.Standing = standing
}

func (w *Word) join(b *Word) {
	near, n := b.Near, 0
	for n < len(near) && near[n] != 0 {
		n++
	}
	copy(near[n:], w.Near[:])
	w.Near = near
	w.Seen, w.Said, w.Results = w.Seen+b.Seen, w.Said+b.Said, w.Results+b.Results
	w.Written = w.Written || b.Written
	w.Last, w.SaidAt = max(w.Last, b.Last), max(w.SaidAt, b.SaidAt)
}

// latestList drops the entries of complete lists that a later complete list superseded.
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
