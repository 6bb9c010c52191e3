package e2e_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

var (
	manyEvents  = flag.Int("events", 2_000, "events of the one long thread; the contract speaks of 100000")
	manyThreads = flag.Int("threads", 500, "threads; the contract speaks of 10000")
)

// bulk publishes without waiting for each ack, and returns the last sequence.
func (w *world) bulk(n int, event func(i int) (subject string, body []byte)) uint64 {
	w.t.Helper()
	var last jetstream.PubAckFuture
	for i := range n {
		subject, body := event(i)
		ack, err := w.js.PublishAsync(subject, body)
		if err != nil {
			w.t.Fatal(err)
		}
		last = ack
	}
	<-w.js.PublishAsyncComplete()
	select {
	case ack := <-last.Ok():
		return ack.Sequence
	case err := <-last.Err():
		w.t.Fatal(err)
		return 0
	}
}

func TestALongThread(t *testing.T) {
	w := begin(t, "policies: [{name: default, tokenizer: estimate}]\n")
	n := *manyEvents
	seq := w.bulk(n, func(i int) (string, []byte) {
		return "thread.message.long", encode(t, object{"message_id": fmt.Sprint(i), "role": "user", "content": "abcd"})
	})
	w.counters("long", seq, map[string]int64{"messages": int64(n), "bytes": int64(4 * n), "duplicates": 0, "rejected": 0})
}

func TestManyThreads(t *testing.T) {
	w := begin(t, "policies: [{name: default, tokenizer: estimate}]\n")
	n := *manyThreads
	w.bulk(n, func(i int) (string, []byte) {
		return fmt.Sprint("thread.message.many-", i), encode(t, object{"message_id": "m", "role": "user", "content": "abcd"})
	})
	for i := range n {
		w.counters(fmt.Sprint("many-", i), 0, map[string]int64{"messages": 1, "bytes": 4, "rejected": 0})
	}
}
