package brokertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Faults is a way to a server on which acknowledgements of publishers are lost, all connections are cut, and what clients
// send is held back: a client that is stopped and wakes up later.
type Faults struct {
	relay *relay
	left  atomic.Int64 // losses to come
	lost  atomic.Int64
	off   atomic.Bool

	mu      sync.Mutex
	rng     *rand.Rand
	swallow []byte        // the beginning of acknowledgements that are all lost; nil: of none
	held    chan struct{} // closed by Release; nil while nothing is held
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
	f.relay = newRelay(t, func() string {
		if f.off.Load() {
			return "" // no address
		}
		return u.Host
	}, func() edits { return edits{f.toServer, f.toClient} })
	t.Cleanup(func() {
		f.Release()
		f.relay.close()
	})
	return f
}

// URL is where clients reach the server.
func (f *Faults) URL() string { return "nats://" + f.relay.addr() }

// Lost is how many acknowledgements were lost: the server has stored so many messages.
func (f *Faults) Lost() int64 { return f.lost.Load() }

// Swallow drops every acknowledgement of a stream from now on, until Restore.
func (f *Faults) Swallow(stream string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.swallow = fmt.Appendf(nil, `{"stream":%q,`, stream)
}

// Cut closes all connections and refuses new ones, until Restore.
func (f *Faults) Cut() {
	f.off.Store(true)
	f.relay.cut()
}

// Restore lets clients connect, and everything pass.
func (f *Faults) Restore() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.swallow = nil
	f.off.Store(false)
}

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
	if !bytes.HasPrefix(m.line, []byte("MSG ")) || !bytes.HasPrefix(m.body, []byte(`{"stream":"`)) || !f.loses(m.body) {
		return []frame{m}
	}
	f.lost.Add(1)
	return nil
}

func (f *Faults) loses(ack []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.swallow != nil && bytes.HasPrefix(ack, f.swallow) {
		return true
	}
	return f.left.Load() > 0 && f.rng.IntN(20) == 0 && f.left.Add(-1) >= 0
}
