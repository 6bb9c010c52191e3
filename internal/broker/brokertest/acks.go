package brokertest

import (
	"bytes"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
)

// Acks is a way to a server on which the acknowledgements of one stream can be lost.
type Acks struct {
	relay     *relay
	to        string
	prefix    []byte // of an acknowledgement's body
	swallow   atomic.Bool
	cut       atomic.Bool
	swallowed atomic.Int64
}

// StartAcks listens before the server at a URL.
func StartAcks(t testing.TB, server, stream string) *Acks {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	a := &Acks{to: u.Host, prefix: fmt.Appendf(nil, `{"stream":%q,`, stream)}
	a.relay = newRelay(t, func() string {
		if a.cut.Load() {
			return "" // no address
		}
		return a.to
	}, func() edits { return dropping(a.passes) })
	t.Cleanup(a.relay.close)
	return a
}

// URL is where clients reach the server.
func (a *Acks) URL() string { return "nats://" + a.relay.addr() }

// Swallow drops every acknowledgement of the stream from now on, until Restore.
func (a *Acks) Swallow() { a.swallow.Store(true) }

// Swallowed is how many acknowledgements were dropped: the server has stored so many messages.
func (a *Acks) Swallowed() int64 { return a.swallowed.Load() }

// Cut closes all connections and refuses new ones, until Restore.
func (a *Acks) Cut() {
	a.cut.Store(true)
	a.relay.cut()
}

// Restore lets clients connect, and everything pass.
func (a *Acks) Restore() {
	a.swallow.Store(false)
	a.cut.Store(false)
}

func (a *Acks) passes(f frame) bool {
	if !a.swallow.Load() || !bytes.HasPrefix(f.body, a.prefix) || !bytes.HasPrefix(f.line, []byte("MSG ")) {
		return true
	}
	a.swallowed.Add(1)
	return false
}
