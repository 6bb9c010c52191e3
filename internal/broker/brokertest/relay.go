package brokertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

// frame is one operation of the NATS protocol, of a client or of a route.
type frame struct {
	line []byte // with its end
	body []byte // headers and payload with their end; nil where there are none
}

// fields are the words of the operation's line.
func (f frame) fields() []string {
	var out []string
	for _, w := range bytes.Fields(f.line) {
		out = append(out, string(w))
	}
	return out
}

// hasBody: the operation's last word is the size of what follows its line.
func hasBody(line []byte) bool {
	for _, op := range []string{"PUB ", "HPUB ", "MSG ", "HMSG ", "RMSG ", "LMSG "} {
		if len(line) >= len(op) && bytes.EqualFold(line[:len(op)], []byte(op)) {
			return true
		}
	}
	return false
}

func readFrame(r *bufio.Reader) (f frame, err error) {
	if f.line, err = r.ReadBytes('\n'); err != nil || !hasBody(f.line) {
		return f, err
	}
	words := bytes.Fields(f.line)
	size, err := strconv.Atoi(string(words[len(words)-1]))
	if err != nil {
		return f, fmt.Errorf("read size of %q: %w", f.line, err)
	}
	f.body = make([]byte, size+2)
	_, err = io.ReadFull(r, f.body)
	return f, err
}

// relay listens on an address of its own and passes each connection on to a server. Only frames that
// pass are passed on; passes is called for all connections at once.
type relay struct {
	listener net.Listener
	to       func() string
	passes   func(frame) bool

	mu    sync.Mutex
	conns []net.Conn
	done  bool
	wg    sync.WaitGroup
}

func newRelay(t testing.TB, to func() string, passes func(frame) bool) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, to: to, passes: passes}
	r.wg.Go(r.accept)
	return r
}

func (r *relay) addr() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.to())
		if err != nil {
			_ = conn.Close()
			continue
		}
		if !r.track(conn, server) {
			return
		}
		r.wg.Go(func() { pass(conn, server, r.passes) })
		r.wg.Go(func() { pass(server, conn, r.passes) })
	}
}

func (r *relay) track(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, conns...)
	if r.done {
		for _, c := range conns {
			_ = c.Close()
		}
	}
	return !r.done
}

func (r *relay) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	r.done = true
	r.mu.Unlock()
	r.cut()
	r.wg.Wait()
}

// cut closes the connections that there are.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// pass relays one direction until either end closes, and then closes both.
func pass(from, to net.Conn, passes func(frame) bool) {
	defer func() {
		_ = from.Close()
		_ = to.Close()
	}()
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		if !passes(f) {
			continue
		}
		if _, err := to.Write(append(f.line, f.body...)); err != nil {
			return
		}
	}
}
