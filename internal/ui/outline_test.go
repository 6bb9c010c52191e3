package ui_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// way leads to a server, whose answers it can hold back.
type way struct {
	listener net.Listener
	to       string
	done     sync.WaitGroup
	mu       sync.RWMutex // held for writing: nothing comes from the server
}

func newWay(t testing.TB, to string) *way {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	y := &way{listener: l, to: at.Host}
	y.done.Go(y.accept)
	t.Cleanup(func() { _ = l.Close(); y.done.Wait() })
	return y
}

func (y *way) url() string { return "nats://" + y.listener.Addr().String() }

func (y *way) accept() {
	for {
		client, err := y.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", y.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		y.done.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
		y.done.Go(func() { _, _ = io.Copy(held{client, y}, server); _ = client.Close() })
	}
}

// held writes when the way is open.
type held struct {
	net.Conn
	way *way
}

func (h held) Write(b []byte) (int, error) {
	h.way.mu.RLock()
	defer h.way.mu.RUnlock()
	return h.Conn.Write(b)
}

// hold holds answers back until release is called, or the test ends.
func (w *world) hold() (release func()) {
	w.way.mu.Lock()
	release = sync.OnceFunc(w.way.mu.Unlock)
	w.t.Cleanup(release)
	return release
}

// begun is an answer of which nothing is read.
func (w *world) begun(path string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(within(w.t), http.MethodGet, w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// readTo reads an answer up to a text.
func (w *world) readTo(from io.Reader, text string) string {
	w.t.Helper()
	var b bytes.Buffer
	for one := make([]byte, 1); !strings.HasSuffix(b.String(), text); {
		n, err := from.Read(one)
		b.Write(one[:n])
		if err != nil {
			w.t.Fatalf("%v in front of %q: %s", err, text, b.String())
		}
	}
	return b.String()
}

// While the log does not answer, a page of a thread shows what the store has, and then goes on, in the same answer.
func TestOutline(t *testing.T) {
	w := begin(t, options{contents: true, server: true, slow: true})
	w.sample("t")
	w.sample("other")
	for _, c := range []struct {
		path    string
		outline []string // has these, in any case the thread's name
		not     []string
		rest    []string
	}{
		{"/ui/threads/t?whole=on", []string{">u1<", ">r2<", `<span class="seq">1</span>`, "data-live", "5 messages", "1 edit"}, []string{"zanzibar", `id="told"`}, []string{"zanzibar", "No discrepancies", "source_edited by r1", `id="told"`}},
		{"/ui/threads/t?at=3", nil, []string{">r2<", "data-live"}, []string{"zanzibar", "up to event 3"}},
		{"/ui/threads/other?find=ZANZIBAR", nil, []string{">r2<"}, []string{"1 entry has"}},
		{"/ui/threads/t?at=2001-01-01", nil, []string{">r2<"}, []string{`data-status="404"`, "No event of the thread had come by then"}},
		{"/ui/threads/t/prompt", []string{">u1<", "data-live"}, []string{"zanzibar"}, []string{"What the agent gets", "zanzibar"}},
		{"/ui/threads/t/prompt?at=4", nil, []string{">u1<", "data-live"}, []string{"Prompt then", "I will."}},
		{"/ui/threads/t/compare?policy=default&turns=0", []string{">u1<"}, []string{"zanzibar", "data-live"}, []string{"As it would be: "}},
	} {
		release := w.hold()
		res := w.begun(c.path)
		first := w.readTo(res.Body, "</ol></div>")
		release()
		for _, text := range append(c.outline, `<div class="outline">`, "<h1>", "5 messages") {
			if !strings.Contains(first, text) {
				t.Errorf("the outline of %s does not show %q: %s", c.path, text, first)
			}
		}
		for _, text := range c.not {
			if strings.Contains(first, text) {
				t.Errorf("the outline of %s shows %q", c.path, text)
			}
		}
		rest, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		for _, text := range append(c.rest, "</main>", "</html>") {
			if strings.Count(string(rest), text) == 0 {
				t.Errorf("behind its outline %s does not show %q: %.2000s", c.path, text, rest)
			}
		}
		if res.StatusCode != 200 || strings.Contains(string(rest), "<html") {
			t.Errorf("%s: %d %.300s", c.path, res.StatusCode, rest)
		}
	}
	// What is remembered needs no log, nor an outline.
	w.hold()
	if a := w.wants(200, "/ui/threads/t", "zanzibar"); strings.Contains(a.text, `class="outline"`) {
		t.Error("an outline of a story that is remembered")
	}
}

// Who leaves while the log does not answer ends the look.
func TestOutlineLeft(t *testing.T) {
	w := begin(t, options{contents: true, server: true, slow: true})
	w.sample("t")
	for i := range 5 { // more than folds at once
		release := w.hold()
		res := w.begun(fmt.Sprintf("/ui/threads/t?at=%d", i+2))
		w.readTo(res.Body, "</ol></div>")
		_ = res.Body.Close()
		release()
	}
	w.wants(200, "/ui/threads/t", "zanzibar")
}

// A stream of a page whose last look took long rests for a hundred times as long before it says that the page has changed.
func TestDearLooksAreRare(t *testing.T) {
	w := begin(t, options{contents: true, server: true, slow: true})
	w.sample("t")
	const path = "/ui/threads/t/prompt"
	release := w.hold()
	res := w.begun(path)
	w.readTo(res.Body, "</ol></div>") // the outline, 40 ms after the look began
	release()
	w.readTo(res.Body, "</html>")
	_ = res.Body.Close()
	opened := time.Now()
	stream := w.begun("/ui/live?path=" + path)
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	w.put([2]string{"thread.message.t", say("more", "user", "more", "")})
	for lines.Scan() && lines.Text() != "event: changed" {
	}
	if rested := time.Since(opened); lines.Err() != nil || rested < 4*time.Second {
		t.Errorf("%q after %v, %v", lines.Text(), rested, lines.Err())
	}
}
