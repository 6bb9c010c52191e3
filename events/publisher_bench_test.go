package events_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"precis/events"
)

// BenchmarkPublisher publishes 256-byte events of one thread to a server that syncs every write, one by one and in
// batches.
func BenchmarkPublisher(b *testing.B) {
	data := make([]byte, 256)
	for i := range data {
		data[i] = 'x'
	}
	for name, batch := range map[string]int{"one by one": 1, "batches": 256} {
		b.Run(name, func(b *testing.B) {
			srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: b.TempDir(), NoLog: true, NoSigs: true, SyncAlways: true})
			if err != nil {
				b.Fatal(err)
			}
			srv.Start()
			defer srv.Shutdown()
			if !srv.ReadyForConnections(patience) {
				b.Fatal("server is not ready")
			}
			nc, err := events.Connect(srv.ClientURL())
			if err != nil {
				b.Fatal(err)
			}
			defer nc.Close()
			makeStream(b, nc, eventsStream())
			p, err := events.NewPublisher(nc, events.PublisherOptions{BatchEvents: batch})
			if err != nil {
				b.Fatal(err)
			}
			ctx := within(b)
			b.ResetTimer()
			for range b.N { // not Loop: an event counts only once it is stored
				if _, err := p.Publish(ctx, events.ToolResult, "t", data); err != nil {
					b.Fatal(err)
				}
			}
			if err := p.Close(ctx); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
