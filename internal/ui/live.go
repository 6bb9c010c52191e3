package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"precis/events"
	"precis/internal/broker"
)

const (
	// lookEvery is how often a stream looks for changes: a page is fetched again no more often.
	lookEvery = 2 * time.Second
	// writeFor bounds a write to a client.
	writeFor = 30 * time.Second
)

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
	version := u.versionOf(r.URL.Query().Get("path"), v)
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
		now := version()
		switch quiet += lookEvery; {
		case now != last:
			alive, last, quiet = write("event: changed\ndata: "+url.QueryEscape(now)+"\n\n"), now, 0
		case quiet >= u.Heartbeat:
			alive, quiet = write(": alive\n\n"), 0
		}
	}
}

// versionOf returns what differs when the page of a path has changed: a thread's own numbers, or those of all.
func (u *UI) versionOf(path string, v *Viewer) func() string {
	all := func() string {
		return fmt.Sprint(u.standing(), " ", u.Backend.Moved(), u.Backend.Cluster().version())
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
