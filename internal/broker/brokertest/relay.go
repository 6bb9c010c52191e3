package brokertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
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

// sized is f with other headers and payload, and their size as the line's last word.
func (f frame) sized(body []byte) frame {
	words := f.fields()
	words[len(words)-1] = strconv.Itoa(len(body))
	return frame{line: []byte(strings.Join(words, " ") + crlf), body: append(slices.Clone(body), crlf...)}
}

// content is a frame's headers and payload.
func (f frame) content() []byte { return bytes.TrimSuffix(f.body, []byte(crlf)) }

const crlf = "\r\n"

// edits returns, for a frame of one connection, the frames to pass on in its place. The two directions are concurrent.
type edits struct{ toServer, toClient func(frame) []frame }

// dropping passes on the frames that pass, unchanged.
func dropping(passes func(frame) bool) edits {
	edit := func(f frame) []frame {
		if !passes(f) {
			return nil
		}
		return []frame{f}
	}
	return edits{edit, edit}
}

// relay listens on an address of its own and passes the frames of each connection on to a server, and back, as edited.
// edit is called once for each connection.
type relay struct {
	listener net.Listener
	to       func() string
	edit     func() edits

	mu    sync.Mutex
	conns []net.Conn
	done  bool
	wg    sync.WaitGroup
}

func newRelay(t testing.TB, to func() string, edit func() edits) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, to: to, edit: edit}
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
		e := r.edit()
		r.wg.Go(func() { pass(conn, server, e.toServer) })
		r.wg.Go(func() { pass(server, conn, e.toClient) })
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
func pass(from, to net.Conn, edit func(frame) []frame) {
	defer func() {
		_ = from.Close()
		_ = to.Close()
	}()
	r, w := bufio.NewReaderSize(from, 64<<10), bufio.NewWriterSize(to, 64<<10)
	for {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		for _, f := range edit(f) { // a write that fails has the flush fail
			_, _ = w.Write(f.line)
			_, _ = w.Write(f.body)
		}
		if r.Buffered() > 0 {
			continue
		}
		if err := w.Flush(); err != nil {
			return
		}
	}
}
