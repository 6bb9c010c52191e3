package processor_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/processor"
	"precis/summarize"
)

var threadLength = flag.Int("thread.length", 10_000, "how long the long thread of BenchmarkLength is, in events")

// What an event costs in a thread of 100 and in a long one, compactions included:
//
//	go test -run '^$' -bench Length -benchtime 1000x ./internal/processor -thread.length 100000
//
// Whole is threads from their first event to their last, each with an edit in its middle behind that, so many events in
// all as the long one has. An append goes to the thread's end, an edit to a message of its first half, which a summary
// stands for: each time another one, whose other messages have to be read from the log.
func BenchmarkLength(b *testing.B) {
	const short = 100
	for _, length := range []int{short, *threadLength} {
		b.Run(fmt.Sprint("whole/", length), func(b *testing.B) { benchWhole(b, *threadLength/length, length) })
		for _, way := range []struct {
			name  string
			event func(thread string, i int) *nats.Msg
		}{
			{"append", func(thread string, i int) *nats.Msg { return turnOf(thread, length+i) }},
			{"edit", func(thread string, i int) *nats.Msg { return editOf(thread, i*62%(length/2), i) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", way.name, length), func(b *testing.B) {
				// So many threads that none of the short ones is much longer at the end.
				threads := max(1, b.N/50*short/length)
				benchThreads(b, threads, length, func(i int) *nats.Msg {
					return way.event(fmt.Sprint("t", i%threads), i/threads)
				})
			})
		}
	}
}

// benchWhole measures threads of one length, and an edit in the middle of each.
func benchWhole(b *testing.B, threads, length int) {
	br, settled := lengthProcessor(b)
	report := meter(b)
	publishAll(b, br, threads*length, func(i int) *nats.Msg { return turnOf(fmt.Sprint("t", i%threads), i/threads) })
	settled()
	publishAll(b, br, threads, func(i int) *nats.Msg { return editOf(fmt.Sprint("t", i), length/2, i) })
	settled()
	report(threads * (length + 1))
}

// benchThreads measures b.N events behind threads that have so many.
func benchThreads(b *testing.B, threads, length int, event func(i int) *nats.Msg) {
	br, settled := lengthProcessor(b)
	publishAll(b, br, threads*length, func(i int) *nats.Msg { return turnOf(fmt.Sprint("t", i%threads), i/threads) })
	settled()
	report := meter(b)
	publishAll(b, br, b.N, event)
	settled()
	report(b.N)
}

// lengthProcessor is one that makes a leaf of 50 messages; settled waits until it has done what was published.
func lengthProcessor(b *testing.B) (br *broker.Broker, settled func()) {
	c := settings(b)
	c.Partitions = 1
	c.Policies[0].Tokenizer = "estimate"
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 50}
	br = openBroker(b, b.TempDir())
	p := start(b, processor.Options{Config: c, Logger: zerolog.Nop(), Broker: br})
	b.Cleanup(p.end)
	return br, func() {
		if err := p.Settled(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func publishAll(b testing.TB, br *broker.Broker, n int, event func(i int) *nats.Msg) {
	b.Helper()
	pub, err := broker.NewPublisher(br.Conn(), broker.PublisherConfig{})
	if err != nil {
		b.Fatal(err)
	}
	defer pub.Close()
	for from := 0; from < n; from += 10_000 {
		var msgs []*nats.Msg
		for i := from; i < min(n, from+10_000); i++ {
			msgs = append(msgs, event(i))
		}
		for _, ack := range pub.PublishBatch(context.Background(), msgs) {
			if ack.Err != nil {
				b.Fatal(ack.Err)
			}
		}
	}
}

// turnOf is the i-th event of an agent's thread: a request now and then, calls, and their results.
func turnOf(thread string, i int) *nats.Msg {
	switch {
	case i%10 == 0:
		return &nats.Msg{Subject: "thread.message." + thread, Data: fmt.Appendf(nil,
			`{"message_id":"m%d","role":"user","content":"Please mend the parser of module_%d, its test fails at line %d."}`, i, i%97, i)}
	case i%10 == 9:
		return &nats.Msg{Subject: "thread.message." + thread, Data: fmt.Appendf(nil,
			`{"message_id":"m%d","role":"assistant","content":"Done: module_%d passes."}`, i, i%97)}
	case i%2 == 1:
		return &nats.Msg{Subject: "thread.message." + thread, Data: fmt.Appendf(nil,
			`{"message_id":"m%d","role":"assistant","content":"Let me look.","tool_calls":[{"id":"c%d","name":"bash","arguments":{"command":"go test ./module_%d"}}]}`, i, i, i%97)}
	default:
		return &nats.Msg{Subject: "tool.result." + thread, Data: fmt.Appendf(nil,
			`{"message_id":"m%d","tool_call_id":"c%d","tool_name":"bash","content":"%s"}`, i, i-1, lines(i, "ok"))}
	}
}

// editOf is the i-th edit of a user's message or a tool result.
func editOf(thread string, message, i int) *nats.Msg {
	return &nats.Msg{Subject: "message.edited." + thread, Data: fmt.Appendf(nil,
		`{"message_id":"m%d","content":"%s"}`, message&^1, lines(i, "changed"))}
}

func lines(i int, word string) string {
	var b strings.Builder
	for n := range 8 {
		fmt.Fprintf(&b, `%s pkg/module_%d/file_%d.go:%d\n`, word, i%97, i%1009, i+n)
	}
	return b.String()
}
