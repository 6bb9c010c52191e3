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
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for partition := range p.Partitions() {
		if err := p.Wait(ctx, partition, last+1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an event that nobody has published is waited for in partition %d: %v", partition, err)
		}
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
