package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/gateway"
)

// path is the way to a NATS server on which what the server says takes a while. What is on its way is not delayed by what follows it.
type path struct {
	listener net.Listener
	delay    func() time.Duration

	mu     sync.Mutex
	conns  []net.Conn
	closed chan struct{}
	ended  sync.WaitGroup
}

// far connects to the world's server by such a path.
func (w *world) far(delay func() time.Duration) *nats.Conn {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	p := &path{listener: l, delay: delay, closed: make(chan struct{})}
	server := strings.TrimPrefix(w.broker.URL(), "nats://")
	p.ended.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			p.ended.Go(func() {
				_, _ = io.Copy(out, in)
				_ = out.Close()
			})
			p.slowly(in, out)
		}
	})
	nc, err := events.Connect("nats://" + l.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		nc.Close()
		close(p.closed)
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.ended.Wait()
	})
	return nc
}

type chunk struct {
	data []byte
	due  time.Time
}

func (p *path) slowly(to, from net.Conn) {
	chunks := make(chan chunk, 1<<14)
	p.ended.Go(func() {
		defer close(chunks)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if n > 0 {
				chunks <- chunk{b[:n], time.Now().Add(p.delay())}
			}
			if err != nil {
				return
			}
		}
	})
	p.ended.Go(func() {
		for c := range chunks {
			timer := time.NewTimer(time.Until(c.due))
			select {
			case <-timer.C:
			case <-p.closed:
				timer.Stop()
			}
			if _, err := to.Write(c.data); err != nil {
				continue // the rest is read, so that the reader ends
			}
		}
		_ = to.Close()
	})
}

// slowly has what the server says take a while, which may change.
type slowly struct{ atomic.Int64 }

func (s *slowly) delay() time.Duration { return time.Duration(s.Load()) }

// overFar is a world whose gateway reaches NATS by a slow path. A prompt takes two ways: its messages are stored, and it is asked for.
func overFar(t testing.TB, provider http.HandlerFunc, slow *slowly) *world {
	w := beginWith(t, provider, gateway.Options{}, compacting)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.startGateway(gateway.Options{Mode: gateway.ModeCompact, Conn: w.far(slow.delay), Brief: 150 * time.Millisecond}) // on a machine that has other work
	return w
}

// settled waits until precis has answered what it was asked.
func (w *world) settled() {
	w.t.Helper()
	w.eventually(func() error {
		if n := w.server.Asking(); n > 0 {
			return fmt.Errorf("%d questions", n)
		}
		return nil
	})
}

// While precis is slow, requests are compacted all the same, with the prompt of an earlier request of the conversation and what is newer whole: each
// message once, as a provider takes it. When it is quick again they have their own prompts.
func TestPrepared(t *testing.T) {
	output := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120) + "--- FAIL: TestTotal (0.00s)\n"
	for name, s := range sessions() {
		t.Run(name, func(t *testing.T) {
			slow, got := &slowly{}, &received{}
			w := overFar(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, s.answer(got.add(string(body))))
			}, slow)
			history, n := []string{s.first}, 0
			turn := func() string { // when all that was asked is answered
				t.Helper()
				w.settled()
				list := append([]string{}, history...)
				list[len(list)-1] = s.marked(list[len(list)-1])
				body := "{" + s.others + ` "` + s.list + `" : [` + strings.Join(list, " , ") + "]}"
				said := w.said(t, s.path, body)
				if strings.HasPrefix(said, "yes; ") {
					s.check(t, list, body, got.last())
				} else if got.last() != body {
					t.Fatalf("%s, and the request is another:\n%s", said, got.last())
				}
				for i := range n { // the result of each turn stands at most once
					if c := strings.Count(got.last(), fmt.Sprintf("turn %d: ok", i)); c > 1 {
						t.Fatalf("%s: the result of turn %d stands %d times", said, i, c)
					}
				}
				history = append(append(history, s.back(n)...), s.result(n, fmt.Sprintf("turn %d: ", n)+output))
				n++
				return said
			}
			untilSaid := func(want string) {
				t.Helper()
				w.eventually(func() error {
					if said := turn(); !strings.HasPrefix(said, want) {
						return fmt.Errorf("turn %d: %s, want %s", n, said, want)
					}
					return nil
				})
			}
			untilSaid("yes; summaries=")
			slow.Store(int64(150 * time.Millisecond))
			oneStep, behind := 0, 0
			for range 9 {
				before := n
				said := turn()
				if !strings.HasPrefix(said, "yes; prepared; newer=") {
					t.Fatalf("turn %d: %s\n%s", n, said, w.log)
				}
				if strings.HasPrefix(said, "yes; prepared; newer=2; ") { // what the model said and its result: the request before was asked for
					oneStep++
				}
				if strings.Count(got.last(), "shop/cart") < 2*120 { // only the newest result stands whole: that prompt was asked for behind the answer that has read the one before
					behind++
				}
				// What the model has not read stands whole.
				if want := fmt.Sprintf("turn %d: ok", before-1); !strings.Contains(got.last(), want) {
					t.Errorf("%s: the result of turn %d is missing", said, before-1)
				}
			}
			if oneStep == 0 || behind == 0 {
				t.Errorf("%d requests have the prompt of the one before, %d that of its answer", oneStep, behind)
			}
			if p, y := w.count("precis_gateway_compacted_total", "outcome", "prepared"), w.count("precis_gateway_prepared_bytes"); p < 5 || y == 0 {
				t.Errorf("%v requests, %v bytes", p, y)
			}
			slow.Store(0)
			untilSaid("yes; summaries=")
		})
	}
}

// A processor that is away costs no conversation its prompt: what it said last goes on.
func TestPreparedGoesOn(t *testing.T) {
	c := compactions(t, "chat")
	c.stopProcessor()
	body := c.request("")
	said, _, _ := c.ask(t, c.s.path, body)
	if !strings.HasPrefix(said, "yes; prepared; newer=") {
		t.Fatalf("%s\n%s", said, c.log)
	}
	c.s.check(t, c.history, body, c.got.last())
}

// Two conversations of one beginning, and parallel requests of one, take no other's prompt.
func TestPreparedOfItsOwn(t *testing.T) {
	slow, got := &slowly{}, &received{}
	long := strings.Repeat("ok  \tshop/cart\t0.01s\n", 120)
	w := overFar(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.add(string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, chat("Fine."))
	}, slow)
	beginning := `{"role":"user","content":"Hi."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_9f8e7d6c5b","type":"function","function":{"name":"bash","arguments":"{}"}}]},` +
		fmt.Sprintf(`{"role":"tool","tool_call_id":"call_9f8e7d6c5b","content":%q},{"role":"assistant","content":"Done."}`, long)
	body := func(more string) string {
		return `{"messages":[` + beginning + `,{"role":"user","content":"` + more + `"}]}`
	}
	w.eventually(func() error {
		if said := w.said(t, chatPath, body("first")); !strings.HasPrefix(said, "yes; summaries=1; ") {
			return fmt.Errorf("%s", said)
		}
		return nil
	})
	slow.Store(int64(300 * time.Millisecond))
	for i := range 20 { // other branches of the conversation
		text := fmt.Sprint("another question ", i)
		said := w.said(t, chatPath, body(text))
		if !strings.HasPrefix(said, "yes; prepared; newer=") || !strings.Contains(got.last(), text) || strings.Contains(got.last(), "first") || strings.Contains(got.last(), fmt.Sprint("another question ", i-1)+`"`) {
			t.Fatalf("%s\n%s", said, got.last())
		}
	}
	// The client changed what the summary stands for, or what comes before it.
	for _, other := range []string{
		strings.Replace(body("more"), "Hi.", "Hello.", 1), strings.ReplaceAll(body("more"), "call_9f8e7d6c5b", "call_1a2b3c4d5e"),
	} {
		if said := w.said(t, chatPath, other); said != "no; reason=behind" || got.last() != other {
			t.Errorf("%s\n%s", said, got.last())
		}
		named := w.said(t, chatPath, strings.Replace(body("more"), "Hi.", "Hello.", 1), gateway.HeaderThread, w.threads()[0])
		if strings.HasPrefix(named, "yes") {
			t.Errorf("%s\n%s", named, got.last())
		}
	}
}
