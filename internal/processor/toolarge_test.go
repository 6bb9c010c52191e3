package processor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
)

// stored reads a stream.
func stored(t *testing.T, b *broker.Broker, stream string) (list []broker.Stored) {
	t.Helper()
	err := broker.NewLogReader(b.JetStream(), stream).Scan(within(t), 1, nil, func(m broker.Stored) error {
		list = append(list, m)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A summary that no record can hold is on record as one that failed. What comes behind it goes on, and so do a rebuild and
// a replay.
func TestSummaryTooLarge(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions, c.Limits.EventBytes = 1, 4<<20
	c.Policies[0].ToolOutput.MaxSummaryChars = 3_000_000
	c.Policies[0].Tokenizer = "estimate"
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	var text strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&text, "chapter %d tells how part %d came about\n", i, i*i)
	}
	put(t, b.Conn(), "tool.result.t1", fmt.Sprintf(`{"message_id":"m1","tool_name":"read_file","content":%q}`, text.String()))
	put(t, b.Conn(), "tool.result.t1", toolResult("m2", 100))
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	told := func() (list []string) {
		for _, m := range stored(t, b, broker.StreamSummaries) {
			if name, _, _ := strings.Cut(m.Subject, ".t1"); name != m.Subject {
				list = append(list, name)
			}
		}
		return list
	}
	want := []string{string(events.SummaryStarted), string(events.SummaryFailed), string(events.SummaryCreated)}
	if got := told(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("SUMMARIES holds %q, want %q", got, want)
	}
	for _, f := range replayed(t, b) {
		t.Errorf("replay: %+v", f)
	}
	again := *c
	again.DataDir = t.TempDir()
	p = start(t, processor.Options{Config: &again, Logger: logger(t), Broker: b})
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	if got := told(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("a rebuild made it %q, want %q", got, want)
	}
}

// A server that takes less than a record may have is refused with what to do, before anything is decided.
func TestServerWithSmallPayload(t *testing.T) {
	srv, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		MaxPayload: 1<<20 - 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	}()
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	c := settings(t)
	c.NATS.URL = srv.ClientURL()
	_, err = processor.Open(t.Context(), processor.Options{Config: c, Logger: logger(t)})
	if !errors.Is(err, broker.ErrPayload) || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("got %v", err)
	}
}

// A configuration that no record can hold is refused, at a start and at a reload.
func TestConfigTooLarge(t *testing.T) {
	c := settings(t)
	c.Policies[0].Prompts = map[string]string{"history": strings.Repeat("Tell what was decided. ", 50_000)}
	if _, err := processor.FoldConfig(c, "dev"); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
