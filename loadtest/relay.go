package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// relay is a way to a server, from a processor or another server, which faults bend.
type relay struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	bent  bend
	freed chan struct{} // closed when bytes may pass again; nil: they may
	conns map[net.Conn]bool
}

// bend is what happens to what passes.
type bend struct {
	cut    bool          // connections end, and new ones are refused
	toward bool          // bytes to the server are held
	back   bool          // bytes from the server are held
	slow   time.Duration // each way takes longer by that much
	lossy  bool          // one piece in lossyOf is sent again, as TCP does, and what is behind it waits
}

// lossyOf: one in so many pieces is lost. It comes again after 200 ms, TCP's shortest timeout, or twice or four times that.
const lossyOf = 10

func (b bend) lost() time.Duration {
	if !b.lossy || rand.IntN(lossyOf) > 0 {
		return 0
	}
	return 200 * time.Millisecond << rand.IntN(3)
}

func newRelay(to string) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	r := &relay{listener: l, to: to, conns: map[net.Conn]bool{}}
	go r.accept()
	return r, nil
}

func (r *relay) address() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		from, err := r.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		to, err := net.Dial("tcp", r.to)
		if err != nil || !r.track(from, to) {
			_ = from.Close()
			if err == nil {
				_ = to.Close()
			}
			continue
		}
		go r.pass(from, to, true)
		go r.pass(to, from, false)
	}
}

func (r *relay) track(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		r.conns[c] = true
	}
	return !r.bent.cut
}

// chunk is what was read at a time.
type chunk struct {
	data []byte
	at   time.Time
}

// pass moves bytes one way until either side ends.
func (r *relay) pass(from, to net.Conn, toward bool) {
	defer func() {
		_ = from.Close()
		_ = to.Close()
	}()
	chunks := make(chan chunk, 1024)
	go func() {
		defer close(chunks)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				chunks <- chunk{buffer[:n], time.Now()}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range chunks {
		r.hold(c.at, toward)
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	_ = from.Close()
	for range chunks { // until the reader has ended
		continue
	}
}

// hold waits until bytes read at a time may pass.
func (r *relay) hold(at time.Time, toward bool) {
	for {
		r.mu.Lock()
		held, freed, late := toward && r.bent.toward || !toward && r.bent.back, r.freed, r.bent.slow+r.bent.lost()
		r.mu.Unlock()
		if !held {
			if left := time.Until(at.Add(late)); left > 0 {
				<-time.After(left)
			}
			return
		}
		<-freed
	}
}

// bend changes what happens to what passes.
func (r *relay) bend(b bend) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
	r.bent = b
	if b.toward || b.back {
		r.freed = make(chan struct{})
	}
	if b.cut {
		for c := range r.conns {
			_ = c.Close()
		}
		clear(r.conns)
	}
}

func (r *relay) close() {
	r.bend(bend{cut: true})
	_ = r.listener.Close()
}
