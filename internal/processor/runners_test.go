package processor_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"precis/internal/processor"
)

// connections are those to a model, in the state that they were in last.
type connections struct {
	mu   sync.Mutex
	last map[net.Conn]http.ConnState
}

func (c *connections) note(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[net.Conn]http.ConnState{}
	}
	if c.last[conn] = s; s == http.StateClosed {
		delete(c.last, conn)
	}
}

func (c *connections) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.last)
}

// The ladder of an earlier configuration goes with its connections: at once where no job uses it, else with the last.
func TestReloadClosesLaddersThatNoJobUses(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	var m model
	var conns connections
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		call := m.calls.Add(1)
		if call == 2 {
			close(held)
			<-release
		}
		says(w, fmt.Sprintf("Compiled pkg, as call %d says.", call), 500, 10)
	}))
	m.Config.ConnState = conns.note
	m.Start()
	t.Cleanup(m.Close)
	b, c := openBroker(t, t.TempDir()), byModel(t, &m)
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	defer p.end()
	reload := func(ladders int) {
		t.Helper()
		next := *c
		if err := p.Reload(within(t), &next); err != nil {
			t.Fatal(err)
		}
		if n := p.Ladders(); n != ladders {
			t.Errorf("%d ladders are open after a reload, want %d", n, ladders)
		}
	}
	put(t, b.Conn(), "tool.result.t1", toolResult("m1", 100))
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	if n := conns.open(); n != 1 {
		t.Fatalf("%d connections after a call, want 1", n)
	}
	reload(1)
	await(t, "the connection to be closed", func() bool { return conns.open() == 0 })

	put(t, b.Conn(), "tool.result.t1", toolResult("m2", 100))
	<-held
	reload(2)
	reload(2)
	close(release)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	await(t, "the ladder of the job to be closed", func() bool { return p.Ladders() == 1 && conns.open() == 0 })
}
