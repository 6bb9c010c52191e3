package ui

import (
	"net/http"
	"slices"
	"time"

	"precis/internal/thread"
)

const (
	// outlineAfter is how long a page of a thread waits for the log before it shows what the store has.
	outlineAfter = 40 * time.Millisecond
	// outlined is how many messages an outline has, the latest.
	outlined = 200
)

// threadPage is a page that reads the events of one thread.
type threadPage struct {
	name  string // of the template
	path  string // behind the thread's
	title string // before the thread's id
	// live are the parameters without which it changes by itself; nil: it does not.
	live []string
	body func(r *http.Request, v *Viewer, h *thread.Header, partition int) (any, error)
}

// outline is what the store has of a thread.
type outline struct {
	*thread.Header
	Name string // of the page
	Rows []*thread.Message
}

// ofThread answers with a page of a thread. Where the log takes long the page comes in two parts: first an outline, then in the same answer the page,
// which a style shows in its place. The log may take any time: a server reads a block of up to 8 MB for each message that is not in its memory, and it
// may be far away. An answer that goes on needs no script, no address of the rest, and nothing that outlives the request.
func (u *UI) ofThread(t threadPage) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := u.viewer(r)
		if err != nil {
			u.show(w, r, nil, u.signIn(r, err))
			return
		}
		h, partition, err := u.header(r, v)
		if err != nil {
			u.show(w, r, v, u.failed(r, v, err))
			return
		}
		p := page{Name: t.name, Title: t.title + h.Thread, Nav: "threads", Live: t.live != nil && !given(r, t.live)}
		var body any
		asked := time.Now()
		begun, err := within(outlineAfter, func() bool {
			first := p
			return u.begin(w, r, v, &first, h, partition)
		}, func() (err error) {
			body, err = t.body(r, v, h, partition)
			return err
		})
		p.Body = body // not before both have returned: the outline may still be copied from the page
		next := &p
		if err != nil {
			next = u.failed(r, v, err)
		}
		u.looked(r, next, asked)
		if !begun {
			u.show(w, r, v, next)
			return
		}
		if text, err := u.rendered(r, v, next, "end"); err == nil {
			_, _ = w.Write(text) // an error means that the client is gone
		}
	}
}

// given reports whether a request has one of some parameters.
func given(r *http.Request, names []string) bool {
	in := r.URL.Query()
	return slices.ContainsFunc(names, func(name string) bool { return in.Get(name) != "" })
}

// within calls work, and meanwhile begin, where work has not ended in time. It returns when both have, also by a panic of work.
func within(limit time.Duration, begin func() bool, work func() error) (begun bool, err error) {
	over, began := make(chan struct{}), make(chan bool, 1)
	go func() {
		late := time.NewTimer(limit)
		defer late.Stop()
		select {
		case <-over:
			began <- false
		case <-late.C:
			began <- begin()
		}
	}()
	defer func() {
		close(over)
		begun = <-began
	}()
	return false, work()
}

// begin sends the outline. Where it can't, the answer is as without one.
func (u *UI) begin(w http.ResponseWriter, r *http.Request, v *Viewer, p *page, h *thread.Header, partition int) bool {
	if !u.Backend.Connected() {
		return false // the page is about to say so
	}
	o := &outline{Header: h, Name: p.Name}
	if !given(r, []string{"at", "before", "find"}) { // these say which messages are shown
		snapshot := u.Backend.Snapshot(partition)
		defer snapshot.Close()
		var err error
		if o.Rows, err = snapshot.Messages(h.Thread, max(h.Ordinals, outlined)-outlined+1, h.Ordinals+1); err != nil {
			return false
		}
	}
	p.Body = o
	text, err := u.rendered(r, v, p, "outlined")
	if err != nil {
		return false
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(text) // an error means that the client is gone, which ends the other part too
	_ = http.NewResponseController(w).Flush()
	return true
}
