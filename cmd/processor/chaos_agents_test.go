package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
)

// disturb puts edits, deletions, copies, edits before their message and edits of no message among the events.
func (l *load) disturb(t *testing.T, random *rand.Rand) {
	t.Helper()
	calm := l.events
	l.events = nil
	known := map[string][]string{}
	for n, e := range calm {
		var b body
		if err := json.Unmarshal(e.Data, &b); err != nil {
			t.Fatal(err)
		}
		if random.IntN(25) == 0 { // before its message
			l.edit(e.Thread, n, b.MessageID, fmt.Sprintf("edited before it came, %d", n))
		}
		l.events = append(l.events, e)
		known[e.Thread] = append(known[e.Thread], b.MessageID)
		switch random.IntN(24) {
		case 0, 1, 2:
			l.edit(e.Thread, n, pickOne(random, known[e.Thread]), output(random, n))
		case 3:
			l.edit(e.Thread, n, pickOne(random, known[e.Thread]), "")
		case 4:
			l.edit(e.Thread, n, fmt.Sprintf("never-%d", n), "of no message")
		case 5:
			l.events = append(l.events, l.events[random.IntN(len(l.events))])
		}
	}
}

// edit adds an edit; an empty text deletes.
func (l *load) edit(thread string, n int, message, text string) {
	data := map[string]any{"message_id": message, "edit_id": fmt.Sprintf("c%d-%d", n, len(l.events)), "content": text}
	if text == "" {
		data["content"], data["deleted"] = nil, true
	}
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	l.events = append(l.events, events.FileEvent{Type: events.MessageEdited, Thread: thread, Data: raw})
}

// agents publish side by side, each the threads that are its own.
type agents struct {
	ctx     context.Context
	stored  chan struct{} // an event is stored
	n       int
	ended   sync.WaitGroup
	failure chan error
}

func (l *load) agents(t *testing.T, url string, n int) *agents {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), killTimeout+time.Duration(len(l.events))*50*time.Millisecond)
	t.Cleanup(cancel)
	a := &agents{ctx: ctx, stored: make(chan struct{}, len(l.events)), failure: make(chan error, n)}
	for i := range n {
		var own []events.FileEvent
		for _, e := range l.events {
			h := fnv.New32()
			_, _ = io.WriteString(h, e.Thread)
			if int(h.Sum32())%n == i {
				own = append(own, e)
			}
		}
		a.ended.Go(func() {
			if err := a.publish(url, own); err != nil {
				a.failure <- err
			}
		})
	}
	return a
}

func (a *agents) publish(url string, list []events.FileEvent) error {
	nc, err := events.Connect(url, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return err
	}
	defer nc.Close()
	publisher, err := events.NewPublisher(nc, events.PublisherOptions{BufferEvents: 100, BatchEvents: 10})
	if err != nil {
		return err
	}
	receipts := make(chan *events.Receipt, len(list))
	told := make(chan error, 1)
	go func() {
		for receipt := range receipts {
			if _, err := receipt.Wait(a.ctx); err != nil {
				told <- err
				return
			}
			a.stored <- struct{}{}
		}
		told <- nil
	}()
	for _, e := range list {
		receipt, err := publisher.Publish(a.ctx, e.Type, e.Thread, e.Data)
		if err != nil {
			return err
		}
		receipts <- receipt
	}
	close(receipts)
	if err := <-told; err != nil {
		return err
	}
	return publisher.Close(a.ctx)
}

// await waits until so many events are stored.
func (a *agents) await(t *testing.T, n int) {
	t.Helper()
	for a.n < n {
		select {
		case <-a.stored:
			a.n++
		case err := <-a.failure:
			t.Fatal(err)
		case <-a.ctx.Done():
			t.Fatal(a.ctx.Err())
		}
	}
}

func (a *agents) done(t *testing.T) {
	t.Helper()
	a.ended.Wait()
	select {
	case err := <-a.failure:
		t.Fatal(err)
	default:
	}
}

// newChaosModel is a server that speaks Anthropic's wire format, and now and then says nothing of use.
func newChaosModel(t *testing.T) *httptest.Server {
	var mu sync.Mutex
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		mu.Lock()
		calls++
		call := calls
		mu.Unlock()
		if call%7 == 0 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"msg_%d","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001",
			"content":[{"type":"text","text":"The agent read what call %d was about."}],"stop_reason":"end_turn","stop_sequence":null,
			"usage":{"input_tokens":%d,"output_tokens":12}}`, call, call, n/4)
	}))
	t.Cleanup(s.Close)
	return s
}
