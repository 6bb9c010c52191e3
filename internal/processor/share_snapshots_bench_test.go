package processor_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/internal/broker"
	"precis/internal/processor"
)

var snapshotEvents = flag.Int("cluster.snapshot-events", 4000, "how many events the partition has in TestSnapshotInsteadOfTheLog")

// A processor without a store takes a partition from the log, and one takes it from a snapshot. It logs how long either took, and what the
// snapshot costs.
func TestSnapshotInsteadOfTheLog(t *testing.T) {
	s, c := newServer(t), settings(t)
	c.Partitions, c.Cluster.Name, c.Cluster.Standbys = 1, "flock", 0
	join := func(every time.Duration) (*running, time.Duration) {
		member := *c
		member.Cluster.Snapshots, member.DataDir, member.NATS.URL = every, t.TempDir(), s.URL()
		began := time.Now()
		p := start(t, processor.Options{Config: &member, Logger: logger(t), Broker: s.Broker, BulkFrom: 1000})
		awaited(t, "it does not take all", func() bool { return len(p.Owned()) == c.Partitions+1 })
		return p, time.Since(began)
	}
	first, _ := join(0) // makes the streams
	first.end()
	publishMany(t, s.Conn(), *snapshotEvents)
	first, _ = join(0) // makes what is on record
	awaited(t, "it does not settle", func() bool { return first.Settled(within(t)) == nil })
	first.end()

	second, whole := join(time.Millisecond) // there are no snapshots yet, and it makes some only when it has caught up
	stands, err := second.Stands(0)
	if err != nil || int(stands) < *snapshotEvents*9/10 { // the strays' partition and this one move on together
		t.Fatal(stands, err)
	}
	began := time.Now()
	awaited(t, "there is no snapshot", func() bool { return valueOf(t, second.Processor, "precis_snapshots_total", "made") >= 2 })
	made, bytes := time.Since(began), valueOf(t, second.Processor, "precis_snapshot_bytes", "0")
	second.end()

	third, restored := join(time.Hour)
	if n := valueOf(t, third.Processor, "precis_snapshots_total", "used"); n < 1 {
		t.Errorf("%v snapshots are used", n)
	}
	if got, err := third.Stands(0); err != nil || got < stands {
		t.Errorf("from a snapshot it stands at %d, from the log at %d: %v", got, stands, err)
	}
	third.end()
	t.Logf("%d events: from the log %s, from a snapshot %s (%.1f times faster), of %.0f bytes (%.0f an event), made in %s",
		*snapshotEvents, whole.Round(time.Millisecond), restored.Round(time.Millisecond), whole.Seconds()/restored.Seconds(), bytes, bytes/float64(*snapshotEvents), made.Round(time.Millisecond))
}

// publishMany publishes messages and tool outputs of a thousand threads; one event in twenty is summarized.
func publishMany(t *testing.T, nc *nats.Conn, n int) {
	t.Helper()
	pub, err := broker.NewPublisher(nc, broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	text := "The build fails in the third step, since the generated file is older than its source; I look at the rule that makes it, and run it again."
	for sent := 0; sent < n; {
		var msgs []*nats.Msg
		for range min(1000, n-sent) {
			thread, id := fmt.Sprint("t", sent%1000), fmt.Sprint("m", sent)
			m := &nats.Msg{Subject: "thread.message." + thread, Data: fmt.Appendf(nil, `{"message_id":%q,"role":"assistant","content":%q}`, id, text)}
			if sent%20 == 19 {
				m = &nats.Msg{Subject: "tool.result." + thread, Data: []byte(toolResult(id, 40))}
			}
			msgs, sent = append(msgs, m), sent+1
		}
		for _, ack := range pub.PublishBatch(within(t), msgs) {
			if ack.Err != nil {
				t.Fatal(ack.Err)
			}
		}
	}
}

// awaited waits for as long as the test may take.
func awaited(t *testing.T, what string, holds func() bool) {
	t.Helper()
	every := time.NewTicker(5 * time.Millisecond)
	defer every.Stop()
	for !holds() {
		select {
		case <-every.C:
		case <-t.Context().Done():
			t.Fatal(what)
		}
	}
}
