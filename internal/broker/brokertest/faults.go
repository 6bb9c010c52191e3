package brokertest

import (
	"bytes"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Faults is a way to a server on which acknowledgements of publishers are lost, and on which what clients send can be held
// back: a client that is stopped and wakes up later.
type Faults struct {
	relay *relay
	left  atomic.Int64 // losses to come
	lost  atomic.Int64

	mu   sync.Mutex
	rng  *rand.Rand
	held chan struct{} // closed by Release; nil while nothing is held
}

// StartFaults listens before the server at a URL. Of the acknowledgements one in 20 is lost, and losses at most.
func StartFaults(t testing.TB, server string, seed uint64, losses int64) *Faults {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	f := &Faults{rng: rand.New(rand.NewPCG(seed, 2))}
	f.left.Store(losses)
	f.relay = newRelay(t, func() string { return u.Host }, func() edits { return edits{f.toServer, f.toClient} })
	t.Cleanup(func() {
		f.Release()
		f.relay.close()
	})
	return f
}

// URL is where clients reach the server.
func (f *Faults) URL() string { return "nats://" + f.relay.addr() }

// Lost is how many acknowledgements were lost.
func (f *Faults) Lost() int64 { return f.lost.Load() }

// Hold holds back what clients send from now on, until Release.
func (f *Faults) Hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = make(chan struct{})
	}
}

// Release passes on what was held back.
func (f *Faults) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != nil {
		close(f.held)
		f.held = nil
	}
}

func (f *Faults) toServer(m frame) []frame {
	f.mu.Lock()
	held := f.held
	f.mu.Unlock()
	if held != nil {
		<-held
	}
	return []frame{m}
}

func (f *Faults) toClient(m frame) []frame {
	if !bytes.HasPrefix(m.line, []byte("MSG ")) || !bytes.HasPrefix(m.body, []byte(`{"stream":"`)) || !f.loses() {
		return []frame{m}
	}
	f.lost.Add(1)
	return nil
}

func (f *Faults) loses() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left.Load() > 0 && f.rng.IntN(20) == 0 && f.left.Add(-1) >= 0
}
