package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"precis/events"
	"precis/internal/broker"
)

const (
	// lookEvery is how often a stream looks for changes: a page is fetched again no more often.
	lookEvery = 2 * time.Second
	// restOf is how many times as long as a look at a page took its stream waits before it says that the page has changed, up to restAtMost: a page that
	// stays open takes one part in so many of a core, unless a look takes longer than 300 ms. The story of a thread at work is folded at each.
	restOf, restAtMost = 100, 30 * time.Second
	// pacedPaths is how many paths' looks are remembered.
	pacedPaths = 1024
	// writeFor bounds a write to a client.
	writeFor = 30 * time.Second
)

// paces remembers how long the last look at a page took, by path.
type paces struct {
	mu   sync.Mutex
	took map[string]time.Duration
}

// note remembers how long a look took. Looks that are hardly felt are not kept.
func (p *paces) note(path string, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if took*restOf <= lookEvery {
		delete(p.took, path)
		return
	}
	if p.took == nil || len(p.took) >= pacedPaths {
		p.took = map[string]time.Duration{} // what is open is looked at again
	}
	p.took[path] = took
}

// rest is how long a stream waits between two changes of a page.
func (p *paces) rest(path string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.took[path]*restOf, restAtMost)
}

// live says by server-sent events that a page has changed.
func (u *UI) live(w http.ResponseWriter, r *http.Request) {
	v, err := u.viewer(r)
	if err != nil {
		http.Error(w, "sign in first", http.StatusUnauthorized)
		return
	}
	leave := u.Gate.Stream(v)
	if leave == nil {
		http.Error(w, "too many streams are open (api.streams)", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	path := r.URL.Query().Get("path")
	version := u.versionOf(path, v)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // of the request, which is read
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	write := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeFor))
		_, err := w.Write([]byte(text))
		return err == nil && control.Flush() == nil
	}
	look, last, quiet := time.NewTicker(lookEvery), version(), time.Duration(0)
	said, stood := time.Now(), u.standing()
	defer look.Stop()
	for alive := write("retry: 2000\n\n"); alive; {
		select {
		case <-look.C:
		case <-r.Context().Done():
			return
		case <-u.Closing:
			return
		}
		if !u.stays(r) {
			return
		}
		now, stands := version(), u.standing()
		switch quiet += lookEvery; {
		case now != last && (stands != stood || time.Since(said) >= u.paces.rest(path)):
			alive, last, quiet, said, stood = write("event: changed\ndata: "+url.QueryEscape(now)+"\n\n"), now, 0, time.Now(), stands
		case quiet >= u.Heartbeat:
			alive, quiet = write(": alive\n\n"), 0
		}
	}
}

// versionOf returns what differs when the page of a path has changed: a thread's own numbers, or those of all.
func (u *UI) versionOf(path string, v *Viewer) func() string {
	all := func() string {
		return fmt.Sprint(u.standing(), " ", u.Backend.Moved(), u.Backend.Cluster().version(), u.Backend.Reloaded())
	}
	rest, ok := strings.CutPrefix(path, Path+"threads/")
	if !ok {
		return all
	}
	name, _, _ := strings.Cut(rest, "/")
	if name, err := url.PathUnescape(name); err == nil && v.Covers(name) {
		if token, err := events.Token(name); err == nil {
			partition := broker.PartitionOf(token, u.Backend.Partitions())
			return func() string {
				if other := u.Backend.Elsewhere(partition); other != "" {
					return u.standing() + " " + other
				}
				h, err := u.Backend.View(partition).Header(name)
				if err != nil || h == nil {
					return u.standing()
				}
				return fmt.Sprint(u.standing(), " ", h.EventSeq, " ", h.ChainSeq, " ", h.Jobs)
			}
		}
	}
	return all
}
