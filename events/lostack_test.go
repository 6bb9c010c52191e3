package events_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/events"
)

// ackEater is a proxy that breaks the connection just when the server has stored an event and acknowledges it, as often
// as cuts allows.
type ackEater struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	cuts     int
	done     sync.WaitGroup
}

func newAckEater(t *testing.T, target string, cuts int) *ackEater {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &ackEater{listener: l, target: target, cuts: cuts}
	e.done.Go(e.accept)
	t.Cleanup(func() { _ = l.Close(); e.done.Wait() })
	return e
}

func (e *ackEater) accept() {
	for {
		client, err := e.listener.Accept()
		if err != nil {
			return
		}
		srv, err := net.Dial("tcp", e.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		e.done.Go(func() { _, _ = io.Copy(srv, client); _ = srv.Close(); _ = client.Close() })
		e.done.Go(func() { e.answers(client, srv) })
	}
}

// answers forwards the server's output up to the ack to be dropped.
func (e *ackEater) answers(client, srv net.Conn) {
	defer func() { _ = srv.Close(); _ = client.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := srv.Read(buf)
		if err != nil || bytes.Contains(buf[:n], []byte(`"stream":"EVENTS"`)) && e.cut() {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (e *ackEater) cut() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cuts--
	return e.cuts >= 0
}

// An event whose ack is lost is resent: stored twice, counted once, and never out of order.
func TestPublisherLosesAcks(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	stream := s.stream(s.connect(), eventsStream())
	const cuts = 3
	line := newAckEater(t, fmt.Sprintf("127.0.0.1:%d", s.port), cuts)
	nc, err := events.Connect("nats://"+line.listener.Addr().String(), nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	p, err := events.NewPublisher(nc, events.PublisherOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		publish(t, p, "t", n)
	}
	closePublisher(t, p)
	all := stored(t, stream)
	if len(all) <= 50 {
		t.Errorf("%d stored: no ack was lost", len(all))
	}
	wantInOrder(t, firstSeen(t, all), 1, 50)
}
