package processor_test

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/race"
)

// publishFiles publishes event files as they stand and returns how many events they hold.
func publishFiles(t testing.TB, nc *nats.Conn, files []string) (count int, last uint64) {
	t.Helper()
	pub, err := broker.NewPublisher(nc, broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	var msgs []*nats.Msg
	send := func() {
		for _, ack := range pub.PublishBatch(within(t), msgs) {
			if ack.Err != nil {
				t.Fatal(ack.Err)
			}
			last = max(last, ack.Seq)
		}
		count += len(msgs)
		msgs = msgs[:0]
	}
	eachEvent(t, files, func(ev events.FileEvent) {
		subject, err := ev.Subject()
		if err != nil {
			t.Fatal(err)
		}
		if msgs = append(msgs, &nats.Msg{Subject: subject, Data: ev.Data}); len(msgs) == 500 {
			send()
		}
	})
	send()
	return count, last
}

// eachEvent reads event files.
func eachEvent(t testing.TB, files []string, each func(events.FileEvent)) {
	t.Helper()
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		r := events.NewFileReader(f)
		for {
			ev, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			each(ev)
		}
		_ = f.Close()
	}
}

func TestRealTranscripts(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	files := transcripts(t)
	c := settings(t)
	b := openBroker(t, t.TempDir())
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	count, last := publishFiles(t, b.Conn(), files)
	t.Logf("%d events, last %d", count, last)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	state, err := broker.StateOf(t.Context(), b.JetStream(), broker.StreamSummaries)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("SUMMARIES %+v", state)
	state, _ = broker.StateOf(t.Context(), b.JetStream(), broker.StreamRejected)
	t.Logf("REJECTED %+v", state)
}
