package processor_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/internal/processor"
)

// probed is a processor whose clock goes on by an hour where a test says so: what it has asked the server is old then.
type probed struct {
	*running
	later atomic.Int64
}

func startProbed(t *testing.T, o processor.Options) *probed {
	t.Helper()
	p := &probed{}
	o.Logger = logger(t)
	began := time.Now()
	o.Now = func() time.Time { return began.Add(time.Duration(p.later.Load())) }
	p.running = start(t, o)
	<-p.Ready()
	return p
}

// says probes with nothing of what the server said before in force.
func (p *probed) says(status int, text string) {
	p.t.Helper()
	p.later.Add(int64(time.Hour))
	w := httptest.NewRecorder()
	p.Readyz(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if w.Code != status || !strings.Contains(w.Body.String(), text) {
		p.t.Errorf("/readyz says %d %q, want %d %q", w.Code, w.Body.String(), status, text)
	}
}

// give ends a processor whose streams are gone: how it ends does not matter here.
func (p *probed) give() {
	p.stop()
	p.t.Logf("run: %v", <-p.done)
	if err := p.Close(p.t.Context()); err != nil {
		p.t.Errorf("close: %v", err)
	}
}

// A limit that is set on a stream while the processor runs would lose what it writes or reads.
func TestReadyzHoldsTheStreamsSettings(t *testing.T) {
	b := openBroker(t, t.TempDir())
	p := startProbed(t, processor.Options{Config: settings(t), Broker: b})
	defer p.end()
	p.says(http.StatusOK, "ready")
	for _, c := range []struct {
		stream, says string
		change       func(*jetstream.StreamConfig)
	}{
		{broker.StreamEvents, "EVENTS: max_age is 1h0m0s", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }},
		{broker.StreamSummaries, "SUMMARIES: max_msgs is 10", func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }},
		{broker.StreamRejected, "REJECTED: max_bytes is 1000000", func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 1_000_000, jetstream.DiscardNew }},
	} {
		s, err := b.JetStream().Stream(t.Context(), c.stream)
		if err != nil {
			t.Fatal(err)
		}
		was := s.CachedInfo().Config
		changed := was
		c.change(&changed)
		for _, now := range []struct {
			config jetstream.StreamConfig
			status int
			says   string
		}{{changed, http.StatusServiceUnavailable, c.says}, {was, http.StatusOK, "ready"}} {
			if _, err := b.JetStream().UpdateStream(t.Context(), now.config); err != nil {
				t.Fatal(err)
			}
			p.says(now.status, now.says)
			if now.status != http.StatusOK {
				p.says(now.status, `"processor streams --apply" changes`)
			}
		}
	}
}

// A stream that is gone takes nothing, and one that was made anew in its place is not the one that the store is of.
func TestReadyzMissesAStream(t *testing.T) {
	for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		t.Run(stream, func(t *testing.T) {
			b := openBroker(t, t.TempDir())
			c := settings(t)
			p := startProbed(t, processor.Options{Config: c, Broker: b})
			defer p.give()
			p.says(http.StatusOK, "ready")
			if err := b.JetStream().DeleteStream(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
			p.says(http.StatusServiceUnavailable, "stream missing: "+stream+"\nstop the processor, then restore the stream")
			if _, err := broker.Provision(t.Context(), b.JetStream(), broker.StreamSpec{Partitions: c.Partitions}); err != nil {
				t.Fatal(err)
			}
			p.says(http.StatusServiceUnavailable, stream+" was recreated")
		})
	}
}

// Many who probe cost the server one check, and a second later one more.
func TestReadyzIsOneCheckForManyProbes(t *testing.T) {
	b := openBroker(t, t.TempDir())
	p := startProbed(t, processor.Options{Config: settings(t), Broker: b})
	defer p.end()
	asked, err := b.Conn().SubscribeSync("event.rejected.*")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = asked.Unsubscribe() }()
	for round := range 2 {
		p.later.Add(int64(time.Second))
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { probe(t, p.running, http.StatusOK, "ready") })
		}
		wg.Wait()
		if err := b.Conn().FlushWithContext(within(t)); err != nil {
			t.Fatal(err)
		}
		if n, _, err := asked.Pending(); err != nil || n != round+1 {
			t.Errorf("after %d rounds of probes the server was asked %d times (%v)", round+1, n, err)
		}
	}
}

// A server that says nothing, and one that goes away; each comes back with all it had.
func TestReadyzWithoutAServer(t *testing.T) {
	s, front := newServer(t), newFront(t)
	front.serve(s)
	c := settings(t)
	c.NATS.URL = "nats://" + front.listener.Addr().String()
	p := startProbed(t, processor.Options{Config: c})
	defer p.end()
	p.says(http.StatusOK, "ready")

	front.silent.Lock()
	p.says(http.StatusServiceUnavailable, context.DeadlineExceeded.Error())
	front.silent.Unlock()
	p.says(http.StatusOK, "ready")

	status := p.Broker().Conn().StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	await := func(want nats.Status) {
		for ctx := within(t); ; {
			select {
			case got := <-status:
				if got == want {
					return
				}
			case <-ctx.Done():
				t.Fatalf("the connection is not %s", want)
			}
		}
	}
	front.to.Store("")
	s.stop()
	await(nats.RECONNECTING)
	p.says(http.StatusServiceUnavailable, "not connected to NATS")
	s.start("127.0.0.1:0")
	front.serve(s)
	await(nats.CONNECTED)
	p.says(http.StatusOK, "ready")
}

// front is an address that stays while servers behind it change.
type front struct {
	listener net.Listener
	to       atomic.Value // address of the server; "" refuses
	silent   sync.RWMutex // locked, nothing passes
}

func newFront(t *testing.T) *front {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{listener: l}
	f.to.Store("")
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", f.to.Load().(string))
			if err != nil {
				_ = client.Close()
				continue
			}
			wg.Go(func() { f.pass(client, server) })
			wg.Go(func() { f.pass(server, client) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return f
}

func (f *front) serve(s *server) { f.to.Store(strings.TrimPrefix(s.URL(), "nats://")) }

// pass ends with either side.
func (f *front) pass(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	for buf := make([]byte, 64<<10); ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		f.silent.RLock()
		_, err = to.Write(buf[:n])
		f.silent.RUnlock()
		if err != nil {
			return
		}
	}
}
