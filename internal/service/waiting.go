package service

import "sync"

// Bounds on the requests that wait for a min_event_seq at once. They do not delay other requests, but each costs memory and,
// from time to time, a request to the server.
const (
	maxWaiting         = 1024
	maxWaitingOfClient = 256 // a process whose agents share one connection
	maxWaitingOfThread = 64
)

// waiting counts requests that wait, by client and by thread.
type waiting struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// enter takes a place; leave gives it back. It is nil where too many wait already.
func (w *waiting) enter(client, thread string) (leave func()) {
	client, thread = "client "+client, "thread "+thread
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all >= maxWaiting || w.of[client] >= maxWaitingOfClient || w.of[thread] >= maxWaitingOfThread {
		return nil
	}
	if w.of == nil {
		w.of = map[string]int{}
	}
	w.all++
	w.of[client]++
	w.of[thread]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all--
		for _, key := range []string{client, thread} {
			if w.of[key]--; w.of[key] == 0 {
				delete(w.of, key)
			}
		}
	}
}
