package processor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"precis/internal/broker"
	"precis/internal/processor"
)

// A start reads SUMMARIES and REJECTED from where the last of the partitions stands: those that have no records of their
// own, as strays never have, move on with the others while the processor runs, and to the very end when it stops.
func TestPartitionsWithoutRecordsKeepUp(t *testing.T) {
	const every = 50
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 3
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b, KeepUp: every})
	tools, broken := make([]string, 4*every), make([]string, 4*every)
	for i := range tools {
		tools[i], broken[i] = toolResult(fmt.Sprint("r", i), 100), `{"message_id":"broken"`
	}
	put(t, b.Conn(), "tool.result.t1", tools...)
	put(t, b.Conn(), "tool.result.t1", broken...)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	for id := range c.Partitions + 1 {
		reached(within(t), t, p, id, broker.StreamSummaries, every)
		reached(within(t), t, p, id, broker.StreamRejected, every)
	}
	p.end()
	store := verifyStore(t, c, b)
	for id := range c.Partitions + 1 {
		m, err := store.View(id).Meta()
		if err != nil {
			t.Fatal(err)
		}
		for stream, at := range map[string]uint64{broker.StreamSummaries: m.SummariesSeq, broker.StreamRejected: m.RejectedSeq} {
			if log, err := broker.StateOf(t.Context(), b.JetStream(), stream); err != nil || at != log.Last {
				t.Errorf("partition %d stopped at %d of %s, which ends at %d: %v", id, at, stream, log.Last, err)
			}
		}
	}
}

// reached waits until a partition is no more than so many records behind the end of a stream.
func reached(ctx context.Context, t *testing.T, p *running, id int, stream string, every uint64) {
	t.Helper()
	log, err := broker.StateOf(ctx, p.Broker().JetStream(), stream)
	if err != nil {
		t.Fatal(err)
	}
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		m, err := p.View(id).Meta()
		if err != nil || ctx.Err() != nil {
			t.Fatalf("partition %d stands at %d and %d; %s ends at %d: %v", id, m.SummariesSeq, m.RejectedSeq, stream, log.Last, err)
		}
		at := m.SummariesSeq
		if stream == broker.StreamRejected {
			at = m.RejectedSeq
		}
		if at+every >= log.Last {
			return
		}
	}
}
