package processor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/summarize"
)

const (
	contextAgents  = 50
	contextKept    = 100 // messages of each thread that stand in its prompt
	contextRequest = `{"format":"openai","max_tokens":100000}`
	contextRate    = 200 // events a second, by all publishers together, and as many prompts asked for
)

// 50 agents publish and 50 readers ask for their threads' prompts at once; what is reported is how long
// precis.thread.context takes, in milliseconds:
//
//	go test -run '^$' -bench ContextAmongAgents -benchtime 2000x ./internal/processor
//
// Each thread's prompt has been asked for once before, as by an agent that asks for it every turn: what the first
// one takes (its messages are read from the log, and counted) is reported by itself, one at a time.
//
// A benchmark without a rate would measure how long 50 requests queue for the cores.
func BenchmarkContextAmongAgents(b *testing.B) {
	c := settings(b)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 100}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: contextKept}
	br := openBroker(b, b.TempDir())
	agentsAtWork(b, br, c)
	first := make([]time.Duration, contextAgents)
	for agent := range first {
		began := time.Now()
		promptOf(b, br, fmt.Sprintf("agent%d", agent), contextRequest)
		first[agent] = time.Since(began)
	}
	slices.Sort(first)
	report := meter(b)
	took := askAmong(b, br, b.N)
	report(b.N)
	reportQuantiles(b, took)
	b.ReportMetric(float64(first[len(first)/2].Microseconds())/1000, "first-p50-ms")
}

// agentsAtWork are threads so long that prompts have something to do, with a processor that serves them.
func agentsAtWork(b *testing.B, br *broker.Broker, c *config.Config) {
	b.Helper()
	p := serving(b, processor.Options{Config: c, Logger: zerolog.Nop(), Broker: br})
	for agent := range contextAgents {
		publishTurns(b, br, agent, 0, contextKept+20)
	}
	if err := p.Settled(within(b)); err != nil {
		b.Fatal(err)
	}
}

// What a thread's first prompt takes, its 20 messages read from the log, among 10,000 threads that take turns there, in
// milliseconds. Each is asked for when the one before it is there:
//
//	go test -run '^$' -bench FirstContext -benchtime 500x ./internal/processor
func BenchmarkFirstContext(b *testing.B) {
	const threads, messages = 10_000, 20
	br := openBroker(b, b.TempDir())
	p := serving(b, processor.Options{Config: settings(b), Logger: zerolog.Nop(), Broker: br})
	publishAll(b, br, threads*messages, func(i int) *nats.Msg { return saidBy(i%threads, i/threads) })
	if err := p.Settled(within(b)); err != nil {
		b.Fatal(err)
	}
	report := meter(b)
	took := make([]time.Duration, b.N)
	for i := range took {
		began := time.Now()
		promptOf(b, br, fmt.Sprintf("agent%d", i%threads), contextRequest)
		took[i] = time.Since(began)
	}
	report(b.N)
	reportQuantiles(b, took)
}

func reportQuantiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// askAmong asks for n prompts while the agents go on publishing, and gives how long each took.
func askAmong(b *testing.B, br *broker.Broker, n int) []time.Duration {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var publishers, readers sync.WaitGroup
	pace, asks := time.NewTicker(time.Second/contextRate), time.NewTicker(time.Second/contextRate)
	defer pace.Stop()
	defer asks.Stop()
	for agent := range contextAgents {
		publishers.Go(func() {
			for turn := contextKept + 20; ; turn++ {
				select {
				case <-ctx.Done():
					return
				case <-pace.C:
				}
				_, err := br.JetStream().PublishMsg(ctx, saidBy(agent, turn))
				if err != nil && !errors.Is(err, context.Canceled) {
					b.Errorf("publish: %v", err)
				}
			}
		})
	}
	todo := make(chan int, n)
	for i := range n {
		todo <- i
	}
	close(todo)
	took := make([]time.Duration, n)
	for range contextAgents {
		readers.Go(func() {
			for i := range todo {
				<-asks.C
				began := time.Now()
				promptOf(b, br, fmt.Sprintf("agent%d", i%contextAgents), contextRequest)
				took[i] = time.Since(began)
			}
		})
	}
	readers.Wait()
	stop()
	publishers.Wait()
	return took
}

func publishTurns(t testing.TB, br *broker.Broker, agent, from, to int) {
	t.Helper()
	pub, err := broker.NewPublisher(br.Conn(), broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	var msgs []*nats.Msg
	for turn := from; turn < to; turn++ {
		msgs = append(msgs, saidBy(agent, turn))
	}
	for _, ack := range pub.PublishBatch(within(t), msgs) {
		if ack.Err != nil {
			t.Fatal(ack.Err)
		}
	}
}

// saidBy is an agent's message of 400 characters; the user's and the assistant's take turns.
func saidBy(agent, turn int) *nats.Msg {
	role := []string{"user", "assistant"}[turn%2]
	text := strings.Repeat(fmt.Sprintf("Part %d of parser%d.go is done. ", turn, agent), 13)
	body := fmt.Sprintf(`{"message_id":"m%d","role":%q,"content":%q}`, turn, role, text)
	return &nats.Msg{Subject: fmt.Sprintf("thread.message.agent%d", agent), Data: []byte(body)}
}
