package processor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/internal/processor"
	"precis/internal/service"
)

// served asks an endpoint of a thread and returns its answer.
func served(t testing.TB, nc *nats.Conn, endpoint, thread, request string) string {
	t.Helper()
	reply, err := nc.RequestWithContext(within(t), "precis."+endpoint+"."+thread, []byte(request))
	if err != nil {
		t.Fatalf("%s of %s: %v", endpoint, thread, err)
	}
	if code := reply.Header.Get("Nats-Service-Error-Code"); code != "" {
		t.Fatalf("%s of %s with %s: %s %s", endpoint, thread, request, code, reply.Header.Get("Nats-Service-Error"))
	}
	return string(reply.Data)
}

// The newest ack that somebody has, of whatever thread, is one that every thread's answers can be asked for with, and
// none of them lacks an event up to there.
func TestMinEventSeqIsAnyThreads(t *testing.T) {
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: settings(t), Logger: logger(t), Broker: b})
	const threads = 12 // in several partitions
	for round := range 3 {
		var last uint64
		for i := range threads {
			last = put(t, b.Conn(), fmt.Sprint("thread.message.t", i), fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"Say hull%d."}`, round, round))
		}
		if round == 1 { // one that is stored past the partitions
			last = put(t, b.Conn(), "thread.message.*", `{}`)
		}
		for i := range threads {
			thread, newest := fmt.Sprint("t", i), fmt.Sprintf("hull%d", round)
			min := fmt.Sprintf(`"min_event_seq":%d`, last)
			if got := served(t, b.Conn(), "thread.context", thread, "{"+min+"}"); !strings.Contains(got, newest) {
				t.Errorf("context of %s in round %d: %s", thread, round, got)
			}
			if got := served(t, b.Conn(), "thread.get", thread, "{"+min+"}"); !strings.Contains(got, fmt.Sprintf(`"messages":%d`, round+1)) {
				t.Errorf("counters of %s in round %d: %s", thread, round, got)
			}
			if got := served(t, b.Conn(), "message.get", thread, fmt.Sprintf(`{"message_id":"m%d",%s}`, round, min)); !strings.Contains(got, newest) {
				t.Errorf("message of %s in round %d: %s", thread, round, got)
			}
			served(t, b.Conn(), "thread.summarize", thread, "{"+min+"}")
		}
	}
	last := put(t, b.Conn(), "thread.message.t0", `{"message_id":"last","role":"user","content":"Go."}`)
	for partition := range p.Partitions() {
		var beyond *service.BeyondEnd
		if err := p.Wait(within(t), partition, last+1); !errors.As(err, &beyond) || beyond.Last != last {
			t.Errorf("an event that nobody has published is waited for in partition %d: %v", partition, err)
		}
	}
	m, err := b.Conn().RequestWithContext(within(t), "precis.thread.get.t0", fmt.Appendf(nil, `{"min_event_seq":%d}`, last+1))
	if err != nil || m.Header.Get("Nats-Service-Error-Code") != "400" || !strings.Contains(m.Header.Get("Nats-Service-Error"), fmt.Sprint("the last event, ", last)) {
		t.Errorf("asked for one: %v, %v", m, err)
	}
}

// A message that is not durable yet is waited for, whoever's ack comes behind it.
func TestMinEventSeqWaitsForWhatIsBefore(t *testing.T) {
	c := settings(t)
	c.Partitions = 1 // and that of the strays
	var held atomic.Bool
	release := make(chan struct{})
	b := openBroker(t, t.TempDir())
	p := serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b, Failpoint: func(at string, partition int) error {
		if at == processor.FailFlush && partition == 0 && held.Load() {
			<-release
		}
		return nil
	}})
	held.Store(true)
	put(t, b.Conn(), "thread.message.t", `{"message_id":"m","role":"user","content":"Go."}`)
	last := put(t, b.Conn(), "thread.message.*", `{}`)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Wait(ctx, 0, last); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a message that is not durable is not waited for: %v", err)
	}
	close(release)
	if got := served(t, b.Conn(), "thread.get", "t", fmt.Sprintf(`{"min_event_seq":%d}`, last)); !strings.Contains(got, `"messages":1`) {
		t.Error(got)
	}
}

// Requests that wait for their own writes take nothing from those that do not, and are bounded themselves.
func TestWaitingRequestsHoldUpNobody(t *testing.T) {
	c := settings(t)
	c.Partitions = 1
	var held atomic.Bool
	release := make(chan struct{})
	b := openBroker(t, t.TempDir())
	serving(t, processor.Options{Config: c, Logger: logger(t), Broker: b, Failpoint: func(at string, partition int) error {
		if at == processor.FailFlush && partition == 0 && held.Load() {
			<-release
		}
		return nil
	}})
	const threads, each, bound = 4, 70, 64
	for i := range threads {
		served(t, b.Conn(), "thread.get", fmt.Sprint("t", i), fmt.Sprintf(`{"min_event_seq":%d}`,
			put(t, b.Conn(), fmt.Sprint("thread.message.t", i), `{"message_id":"m","role":"user","content":"Go."}`)))
	}
	held.Store(true)
	last := put(t, b.Conn(), "thread.message.t0", `{"message_id":"m2","role":"user","content":"Go."}`)
	answers, err := b.Conn().SubscribeSync("_INBOX.waits.*")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(thread, client string) {
		err := b.Conn().PublishRequest("precis.thread.get."+thread, "_INBOX.waits."+client, fmt.Appendf(nil, `{"min_event_seq":%d}`, last))
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range threads {
		for range each {
			ask(fmt.Sprint("t", i), "x")
		}
	}
	codes := map[string]int{}
	read := func(n int) {
		for range n {
			m, err := answers.NextMsgWithContext(within(t))
			if err != nil {
				t.Fatalf("after %v: %v", codes, err)
			}
			codes[m.Header.Get("Nats-Service-Error-Code")]++
		}
	}
	read(threads*each - 4*bound) // those beyond the bound of a thread, and of the client: at once
	if codes["503"] != threads*each-4*bound {
		t.Errorf("beyond the bounds: %v", codes)
	}
	for i := range threads { // which would wait behind them
		served(t, b.Conn(), "thread.get", fmt.Sprint("t", i), "")
	}
	close(release)
	read(4 * bound)
	if codes[""] != 4*bound {
		t.Errorf("in the end: %v", codes)
	}
}
