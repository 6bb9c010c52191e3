package events_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"precis/events"
)

func itoa(n int) string { return strconv.Itoa(n) }

func splitAddr(clientURL string) (host string, port int, err error) {
	u, err := url.Parse(clientURL)
	if err != nil {
		return "", 0, err
	}
	host, p, err := net.SplitHostPort(u.Host)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(p)
	return host, port, err
}

// checkLeaks fails the test if it leaks goroutines. Call it first, so that it runs last.
func checkLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		goleak.VerifyNone(t, before, serversOwn("server.(*msgBlock).flushLoop"),
			serversOwn("server.(*fileStore).flushStreamStateLoop"), serversOwn("server/ats.Register.func1"))
	})
}

// serversOwn ignores goroutines that the server does not wait for on shutdown, and that don't end if a request
// reopens a stream's files meanwhile.
func serversOwn(function string) goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/" + function)
}

func closePublisher(t *testing.T, p *events.Publisher) {
	t.Helper()
	if err := p.Close(within(t)); err != nil {
		t.Errorf("close: %v", err)
	}
}

func newPublisher(t *testing.T, s *testServer, opts events.PublisherOptions) *events.Publisher {
	t.Helper()
	opts.RetryWait = time.Millisecond
	p, err := events.NewPublisher(s.connect(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func publish(t *testing.T, p *events.Publisher, thread string, n int) *events.Receipt {
	t.Helper()
	data := fmt.Sprintf(`{"message_id":"m%d","content":"x"}`, n)
	r, err := p.Publish(within(t), events.ToolResult, thread, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// firstSeen returns the order in which a stream holds each thread's events, without duplicates.
func firstSeen(t *testing.T, all []*jetstream.RawStreamMsg) map[string][]string {
	t.Helper()
	order, seen := map[string][]string{}, map[string]bool{}
	for _, msg := range all {
		ev, rej := events.Decode(events.Raw{Subject: msg.Subject, Header: msg.Header, Body: msg.Data}, events.Limits{})
		if rej != nil {
			t.Fatalf("%s: %v", msg.Subject, rej)
		}
		if key := ev.Thread + "/" + ev.Message.MessageID; !seen[key] {
			seen[key] = true
			order[ev.Thread] = append(order[ev.Thread], ev.Message.MessageID)
		}
	}
	return order
}

func wantInOrder(t *testing.T, got map[string][]string, threads, each int) {
	t.Helper()
	if len(got) != threads {
		t.Errorf("%d threads, want %d", len(got), threads)
	}
	for thread, ids := range got {
		if len(ids) != each {
			t.Errorf("%s has %d events, want %d", thread, len(ids), each)
		}
		for i, id := range ids {
			if id != fmt.Sprintf("m%d", i) {
				t.Fatalf("%s: %s at %d", thread, id, i)
			}
		}
	}
}

// No accepted event is lost and every thread keeps its order, whatever happens to the server.
func TestPublisherThroughRestarts(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	for _, batch := range []int{1, 64} {
		t.Run(fmt.Sprintf("batches of %d", batch), func(t *testing.T) {
			stream := s.stream(s.connect(), eventsStream())
			if err := stream.Purge(within(t)); err != nil {
				t.Fatal(err)
			}
			p := newPublisher(t, s, events.PublisherOptions{BatchEvents: batch, BufferEvents: 300})
			const threads, each = 20, 100
			marks := make(chan *events.Receipt, each)
			restarted := make(chan struct{})
			go func() { // while events are in flight, and while the server is down
				defer close(restarted)
				for mark := range marks {
					if _, err := mark.Wait(within(t)); err != nil {
						t.Error(err)
					}
					s.stop()
					s.start()
				}
			}()
			for n := range each {
				for thread := range threads {
					r := publish(t, p, fmt.Sprintf("t.%d", thread), n)
					if n%20 == 7 && thread == 11 {
						marks <- r
					}
				}
			}
			close(marks)
			<-restarted
			closePublisher(t, p)
			all := stored(t, stream)
			wantInOrder(t, firstSeen(t, all), threads, each)
			t.Logf("%d events, %d stored", threads*each, len(all))
		})
	}
}

// A receipt's sequence is the event's position, also within a batch.
func TestPublisherReceipts(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	stream := s.stream(s.connect(), eventsStream())
	p := newPublisher(t, s, events.PublisherOptions{})
	s.stop() // so that all events wait, and go out in batches
	var receipts []*events.Receipt
	for n := range 1000 {
		receipts = append(receipts, publish(t, p, "t", n))
	}
	s.start()
	for n, r := range receipts {
		seq, err := r.Wait(within(t))
		if err != nil {
			t.Fatal(err)
		}
		msg, err := stream.GetMsg(within(t), seq)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"message_id":"m%d","content":"x"}`, n); string(msg.Data) != want || !strings.HasSuffix(msg.Subject, ".tool.result.t") {
			t.Fatalf("sequence %d holds %s on %s, want %s", seq, msg.Data, msg.Subject, want)
		}
	}
	closePublisher(t, p)
}

func TestPublisherTyped(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	stream := s.stream(s.connect(), eventsStream())
	p := newPublisher(t, s, events.PublisherOptions{})
	message := &events.Message{Role: events.RoleUser, Content: events.TextContent("hi")}
	edit := &events.Edit{MessageID: "m", Deleted: true}
	for _, publish := range []func() (*events.Receipt, error){
		func() (*events.Receipt, error) { return p.Message(within(t), "a b", message) },
		func() (*events.Receipt, error) {
			return p.ToolResult(within(t), "a b", &events.Message{Content: events.TextContent("ok")})
		},
		func() (*events.Receipt, error) { return p.Edit(within(t), "a b", edit) },
	} {
		if _, err := publish(); err != nil {
			t.Fatal(err)
		}
	}
	closePublisher(t, p)
	var types []string
	for _, msg := range stored(t, stream) {
		ev, rej := events.Decode(events.Raw{Subject: msg.Subject, Header: msg.Header, Body: msg.Data}, events.Limits{})
		if rej != nil || ev.Thread != "a b" {
			t.Fatalf("%s: %+v, %v", msg.Data, ev, rej)
		}
		types = append(types, string(ev.Type))
	}
	if got := strings.Join(types, " "); got != "thread.message tool.result message.edited" {
		t.Errorf("stored %s", got)
	}
	if message.MessageID == "" || edit.EditID == "" {
		t.Error("what has no id is given one")
	}
}

// Equal events are two events: none is dropped.
func TestPublisherSwallowsNothing(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	stream := s.stream(s.connect(), eventsStream())
	p := newPublisher(t, s, events.PublisherOptions{})
	for range 10 {
		publish(t, p, "t", 1)
	}
	closePublisher(t, p)
	if n := len(stored(t, stream)); n != 10 {
		t.Errorf("%d of 10 are stored", n)
	}
}

// The publisher refuses an event that the processor would reject regardless of its thread.
func TestPublisherChecks(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	stream := s.stream(s.connect(), eventsStream())
	p := newPublisher(t, s, events.PublisherOptions{EventBytes: 100})
	for code, c := range map[string]struct {
		typ  events.Type
		data string
	}{
		events.CodeInvalidJSON:    {events.ThreadMessage, `{"message_id":`},
		events.CodeSchema:         {events.ThreadMessage, `{"message_id":"m1","content":"no role"}`},
		events.CodeThreadMismatch: {events.ToolResult, `{"message_id":"m1","thread_id":"other","content":""}`},
		events.CodeTypeMismatch:   {events.ToolResult, `{"message_id":"m1","type":"message.edited","content":""}`},
		events.CodeTooLarge:       {events.ToolResult, `{"message_id":"m1","content":"` + strings.Repeat("x", 100) + `"}`},
	} {
		_, err := p.Publish(within(t), c.typ, "t", []byte(c.data))
		var reject *events.RejectError
		if !errors.As(err, &reject) || reject.Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	if err := p.Flush(within(t)); err != nil || p.LastSeq() != 0 {
		t.Errorf("flush: %v, last sequence %d", err, p.LastSeq())
	}
	publish(t, p, "t", 1)
	if err := p.Flush(within(t)); err != nil || p.LastSeq() != 1 {
		t.Errorf("flush: %v, last sequence %d, want 1", err, p.LastSeq())
	}
	raw := newPublisher(t, s, events.PublisherOptions{Unchecked: true})
	if _, err := raw.Publish(within(t), events.ThreadMessage, "t", []byte("{}")); err != nil {
		t.Errorf("unchecked: %v", err)
	}
	if err := raw.Flush(within(t)); err != nil || raw.LastSeq() != 2 {
		t.Errorf("flush: %v, last sequence %d, want 2", err, raw.LastSeq())
	}
	if got := stored(t, stream); len(got) != 2 {
		t.Errorf("%d events are stored, want 2", len(got))
	}
	if err := errors.Join(p.Close(within(t)), raw.Close(within(t))); err != nil {
		t.Error(err)
	}
}
