package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// formatVersion is the first byte of a stored ledger. An edit in a long thread reads dozens of ledgers and writes a few:
// with JSON that took a third of its time.
const formatVersion = 1

// ErrFormat is data that is not a stored ledger.
var ErrFormat = errors.New("not a stored ledger")

// AppendBinary appends the ledger in its stored form: fields in order, numbers as varints, strings prefixed with
// their length.
func (l Ledger) AppendBinary(b []byte) ([]byte, error) {
	w := writer(append(b, formatVersion))
	w.n(l.From, l.To)
	w.count(l.Messages, l.Calls)
	list(&w, l.Files, (*writer).file)
	list(&w, l.Commands, (*writer).command)
	list(&w, l.Errors, (*writer).error)
	list(&w, l.Tasks, (*writer).task)
	list(&w, l.Requests, (*writer).request)
	list(&w, l.Lines, (*writer).line)
	list(&w, l.Words, (*writer).word)
	w.count(l.Omitted.Files, l.Omitted.Commands, l.Omitted.Errors, l.Omitted.Tasks, l.Omitted.Requests)
	return w, nil
}

// MarshalBinary returns the ledger in its stored form.
func (l Ledger) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary reads a stored ledger.
func (l *Ledger) UnmarshalBinary(data []byte) error {
	if len(data) == 0 || data[0] != formatVersion {
		return ErrFormat
	}
	r := &reader{s: string(data[1:])} // one copy, shared by all its strings
	*l = Ledger{From: r.n(), To: r.n(), Messages: r.int(), Calls: r.int()}
	l.Files = entries(r, (*reader).file)
	l.Commands = entries(r, (*reader).command)
	l.Errors = entries(r, (*reader).error)
	l.Tasks = entries(r, (*reader).task)
	l.Requests = entries(r, (*reader).request)
	l.Lines = entries(r, (*reader).line)
	l.Words = entries(r, (*reader).word)
	l.Omitted = Omitted{Files: r.int(), Commands: r.int(), Errors: r.int(), Tasks: r.int(), Requests: r.int()}
	if len(r.s) > 0 {
		r.fail("its end")
	}
	return r.err
}

// writer builds a stored ledger.
type writer []byte

func list[T any](w *writer, l []T, each func(*writer, *T)) {
	w.count(len(l))
	for i := range l {
		each(w, &l[i])
	}
}

func (w *writer) n(list ...uint64) {
	for _, n := range list {
		*w = binary.AppendUvarint(*w, n)
	}
}

func (w *writer) count(list ...int) {
	for _, n := range list {
		*w = binary.AppendUvarint(*w, uint64(n))
	}
}

func (w *writer) text(list ...string) {
	for _, s := range list {
		w.count(len(s))
		*w = append(*w, s...)
	}
}

// flags packs up to eight flags into a byte.
func (w *writer) flags(list ...bool) {
	var all byte
	for i, set := range list {
		if set {
			all |= 1 << i
		}
	}
	*w = append(*w, all)
}

func (w *writer) file(f *File) {
	w.text(f.Path)
	w.count(f.Read, f.Written, f.Failed)
	w.flags(f.Created, f.Viewed)
	w.n(f.Deleted, f.Touched, f.Changed)
}

func (w *writer) command(c *Command) {
	w.text(c.Line, c.Result)
	w.count(c.Runs, c.Failed)
	w.flags(c.Bad, c.Open)
	w.n(c.At)
}

func (w *writer) error(e *Error) {
	w.text(e.Form, e.Text, e.Where)
	w.count(e.Seen)
	w.n(e.First, e.Last)
}

func (w *writer) task(t *Task) {
	w.text(t.ID, t.Title, t.Status)
	w.n(t.List, t.At)
}

func (w *writer) request(r *Request) {
	w.text(r.Text)
	w.flags(r.Long, r.Standing)
	w.n(r.At)
}

func (w *writer) line(l *Line) {
	w.text(l.Text, l.Kind, l.In)
	w.n(l.At)
}

func (w *writer) word(v *Word) {
	w.text(v.Text)
	w.count(v.Seen, v.Said, v.Results)
	w.flags(v.Written)
	w.n(v.First, v.Last, v.SaidAt)
	w.n(v.Near[:]...)
}

// reader is the unread rest of a stored ledger. After an error it returns zeros.
type reader struct {
	s   string
	err error
}

func entries[T any](r *reader, each func(*reader) T) []T {
	n := r.n()
	if n > uint64(len(r.s)) { // an entry takes at least a byte: don't allocate for an impossible length
		r.fail("a list")
	}
	if n == 0 || r.err != nil {
		return nil
	}
	l := make([]T, n)
	for i := range l {
		l[i] = each(r)
	}
	return l
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrFormat, what)
	}
	r.s = ""
}

func (r *reader) n() (n uint64) {
	for i := 0; i < len(r.s) && i < binary.MaxVarintLen64; i++ {
		b := r.s[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.s = r.s[i+1:]
			return n
		}
	}
	r.fail("a number")
	return 0
}

func (r *reader) int() int { return int(r.n()) }

func (r *reader) text() string {
	n := r.n()
	if n > uint64(len(r.s)) {
		r.fail("a text")
		return ""
	}
	s := r.s[:n]
	r.s = r.s[n:]
	return s
}

func (r *reader) flags() (first, second bool) {
	if r.s == "" {
		r.fail("flags")
		return false, false
	}
	b := r.s[0]
	r.s = r.s[1:]
	return b&1 != 0, b&2 != 0
}

func (r *reader) file() (f File) {
	f.Path = r.text()
	f.Read, f.Written, f.Failed = r.int(), r.int(), r.int()
	f.Created, f.Viewed = r.flags()
	f.Deleted, f.Touched, f.Changed = r.n(), r.n(), r.n()
	return f
}

func (r *reader) command() (c Command) {
	c.Line, c.Result = r.text(), r.text()
	c.Runs, c.Failed = r.int(), r.int()
	c.Bad, c.Open = r.flags()
	c.At = r.n()
	return c
}

func (r *reader) error() Error {
	return Error{Form: r.text(), Text: r.text(), Where: r.text(), Seen: r.int(), First: r.n(), Last: r.n()}
}

func (r *reader) task() Task {
	return Task{ID: r.text(), Title: r.text(), Status: r.text(), List: r.n(), At: r.n()}
}

func (r *reader) request() (q Request) {
	q.Text = r.text()
	q.Long, q.Standing = r.flags()
	q.At = r.n()
	return q
}

func (r *reader) line() Line {
	return Line{Text: r.text(), Kind: r.text(), In: r.text(), At: r.n()}
}

func (r *reader) word() (v Word) {
	v.Text = r.text()
	v.Seen, v.Said, v.Results = r.int(), r.int(), r.int()
	v.Written, _ = r.flags()
	v.First, v.Last, v.SaidAt = r.n(), r.n(), r.n()
	for i := range v.Near {
		v.Near[i] = r.n()
	}
	return v
}
