package processor_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/processor"
	"precis/summarize"
)

// With EVENTS whole, what rules made is made again under the same ids, wherever it was lost.
func TestSummariesAreMadeAgain(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 12}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 4}
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	for thread := range 3 {
		token := fmt.Sprint("t", thread)
		for n := range 40 {
			put(t, b.Conn(), "thread.message."+token, message(fmt.Sprint("m", n)))
		}
		put(t, b.Conn(), "tool.result."+token, toolResult("r1", 100), toolResult("r2", 90))
		put(t, b.Conn(), "message.edited."+token, `{"message_id":"r1","content":"short","edit_id":"e"}`,
			`{"message_id":"m3","deleted":true,"edit_id":"d"}`)
	}
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	before := decided(t, b)
	if len(before) < 12 {
		t.Fatalf("only %d records to lose", len(before))
	}
	if err := b.JetStream().DeleteStream(t.Context(), broker.StreamSummaries); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(processor.StoreDir(c.DataDir)); err != nil {
		t.Fatal(err)
	}
	again := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	if err := again.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	again.end()
	if after := decided(t, b); !slices.Equal(before, after) {
		t.Errorf("before %d records: %v\nafter %d: %v", len(before), before, len(after), after)
	}
	verifyStore(t, c, b)
}

// A store that is made from what retention has left does not ask for a check of leaves whose messages are gone, or are counted from elsewhere: none would find anything.
func TestLeavesOfMessagesThatAreGone(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 12}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 4}
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	for n := range 60 {
		put(t, b.Conn(), "thread.message.t", message(fmt.Sprint("m", n)))
	}
	put(t, b.Conn(), "thread.forked.f", `{"parent_thread_id":"t","fork_id":"f"}`)
	for n := range 30 {
		put(t, b.Conn(), "thread.message.f", message(fmt.Sprint("f", n)))
	}
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	stream, err := b.JetStream().Stream(within(t), broker.StreamEvents)
	if err == nil {
		err = stream.Purge(within(t), jetstream.WithPurgeSequence(23))
	}
	if err = errors.Join(err, os.RemoveAll(processor.StoreDir(c.DataDir))); err != nil {
		t.Fatal(err)
	}
	var said logged
	again := start(t, processor.Options{Config: c, Logger: logger(t).Output(&said).Level(zerolog.DebugLevel), Broker: b})
	if err := again.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	again.end()
	gone := 0
	for _, line := range said.all() {
		switch {
		case strings.Contains(line, "no longer has") && strings.Contains(line, "leaf"):
			gone++
		case strings.Contains(line, "has no span") || strings.Contains(line, "run processor"):
			t.Error(line)
		}
	}
	if gone == 0 {
		t.Error("each leaf has its messages")
	}
}

// logged are the lines of a log.
type logged struct {
	mu  sync.Mutex
	log []string
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, string(line))
	return len(line), nil
}

func (l *logged) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.log)
}

// decided are the ids of the records about summaries, sorted.
func decided(t *testing.T, b *broker.Broker) (ids []string) {
	t.Helper()
	err := broker.NewLogReader(b.JetStream(), broker.StreamSummaries).Scan(within(t), 1, nil, func(m broker.Stored) error {
		if id := m.Header.Get(nats.MsgIdHdr); strings.HasPrefix(id, "summary.") {
			ids = append(ids, id)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}
