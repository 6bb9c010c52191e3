package main

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What was acknowledged and is not in EVENTS is told from what is there.
func TestLedger(t *testing.T) {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	nc, err := connect(srv.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "EVENTS", Subjects: []string{"thread.message.*"}, SubjectTransform: &jetstream.SubjectTransformConfig{Source: "*.*.*", Destination: "{{partition(4,3)}}.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var l ledger
	publish := func(text string) (*nats.Msg, *jetstream.PubAck) {
		m := &nats.Msg{Subject: "thread.message.t", Data: []byte(text)}
		by, err := js.PublishMsg(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		return m, by
	}
	for _, text := range []string{"a", "b", "a", "c"} { // an event may be published twice
		m, by := publish(text)
		l.acked(m, by)
	}
	check := func(name string, want ...string) {
		t.Helper()
		lost, err := l.lost(t.Context(), nc)
		if err != nil {
			t.Fatal(err)
		}
		if len(lost) != len(want) {
			t.Fatalf("%s: lost %q, want %q", name, lost, want)
		}
		for i := range want {
			if !strings.Contains(lost[i], want[i]) {
				t.Errorf("%s: lost %q, want %q", name, lost[i], want[i])
			}
		}
	}
	check("all there")
	if err := stream.DeleteMsg(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	check("one is gone", "acknowledged at 2 of EVENTS, which holds nothing there")
	m, by := publish("e")
	l.acked(m, &jetstream.PubAck{Sequence: by.Sequence + 1})
	check("behind the end", "at 2 of", "acknowledged at 6 of EVENTS, and is at 5")
	l.acked(&nats.Msg{Subject: m.Subject, Data: []byte("f")}, by)
	check("another event there", "at 2 of", "acknowledged at 5 of EVENTS, which holds another event there", "at 6 of")
}
