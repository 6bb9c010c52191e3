package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/broker/brokertest"
)

// reject stores a rejection as a processor writes it.
func reject(t *testing.T, b *broker.Broker, raw events.Raw, seq uint64, maxBody int) {
	t.Helper()
	r := events.NewRejected(raw, seq, &events.RejectError{Code: events.CodeSchema, Field: "message_id", Message: "required"}, maxBody)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	_, token, ok := events.ParseSubject(raw.Subject)
	if _, err := events.ThreadOf(token); !ok || err != nil {
		token = events.NoThreadToken
	}
	publish(t, b.JetStream(), "event.rejected."+token, string(data))
}

func TestRejectedLists(t *testing.T) {
	b := newServer(t)
	command(t, b, "", "rejected").wants(t, exitDone, "", "0 rejected")
	reject(t, b, events.Raw{Subject: "2.tool.result.t1", Body: []byte("{\"content\":\n\"\x1b[31m\"}")}, 7, 1000)
	reject(t, b, events.Raw{Subject: "thread.message.*", Body: make([]byte, 50)}, 8, 10)
	got := command(t, b, "", "rejected")
	got.wants(t, exitDone, "schema            message_id: required · 2.tool.result.t1 · EVENTS 7\n        {\"content\": \"\uFFFD[31m\"}\n", "2 rejected")
	got.wants(t, exitDone, "(too long to be kept here; it stands in EVENTS)", "")
	asJSON := command(t, b, "", "rejected", "--json")
	asJSON.wants(t, exitDone, `{"seq":1,"thread_id":"t1","code":"schema"`, "")
	asJSON.wants(t, exitDone, `{"seq":2,"thread_id":null,"code":"schema"`, "")
}

func TestRejectedRetry(t *testing.T) {
	b := newServer(t)
	body := "not \xff JSON"
	raw := events.Raw{
		Subject: "2.tool.result.t=2Ex", Body: []byte(body),
		Header: map[string][]string{"ce-id": {"1", "2"}, "X": {"a\xff"}, jetstream.ExpectedLastSeqHeader: {"99"}},
	}
	reject(t, b, raw, 7, 1000)
	command(t, b, "", "rejected", "--retry", "1").wants(t, exitDone, "Published 10 bytes again on tool.result.t=2Ex, now EVENTS 1.", "")
	if got, want := stored(t, b, broker.StreamEvents), []string{"tool.result.t=2Ex " + body}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	msg := lastEvent(t, b)
	if !slices.Equal(msg.Header["ce-id"], []string{"1", "2"}) || msg.Header.Get("X") != "a\xff" {
		t.Errorf("headers %q", msg.Header)
	}
	command(t, b, "", "rejected", "--retry", "1", "--json").wants(t, exitDone, `{"subject":"tool.result.t=2Ex","event_seq":2}`, "")
	command(t, b, "", "rejected", "--retry", "5").wants(t, exitWrong, "", "REJECTED has no event 5")
}

// A body that did not fit into the rejection comes from the log, and only if it is the same.
func TestRejectedRetryOfALongBody(t *testing.T) {
	b := newServer(t)
	body := fmt.Sprintf(`{"content":"%0100d"}`, 0)
	seq := publish(t, b.JetStream(), "tool.result.t1", body)
	other := publish(t, b.JetStream(), "tool.result.t1", "another")
	reject(t, b, events.Raw{Subject: "0.tool.result.t1", Body: []byte(body)}, seq, 10)
	reject(t, b, events.Raw{Subject: "0.tool.result.t1", Body: []byte(body)}, other, 10)
	reject(t, b, events.Raw{Subject: "0.tool.result.t1", Body: []byte(body)}, 99, 10)
	command(t, b, "", "rejected", "--retry", "1").wants(t, exitDone, "now EVENTS 3", "")
	if got, want := sha256.Sum256(lastEvent(t, b).Data), sha256.Sum256([]byte(body)); got != want {
		t.Errorf("got %s", hex.EncodeToString(got[:]))
	}
	command(t, b, "", "rejected", "--retry", "2").wants(t, exitWrong, "", "its hash differs")
	command(t, b, "", "rejected", "--retry", "3").wants(t, exitWrong, "", "no longer in the log")
}

// The replica that is asked first may lag behind the stream's leader: its no is none.
func TestRejectedRetryOnAReplicaThatLags(t *testing.T) {
	cluster := brokertest.StartCluster(t)
	b, err := broker.Open(t.Context(), broker.Options{URL: cluster.URL(), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, b) })
	if _, err := broker.Provision(t.Context(), b.JetStream(), broker.StreamSpec{Partitions: 1, Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	cluster.HoldBack(t, b.Conn(), broker.StreamEvents, broker.StreamRejected)
	body := fmt.Sprintf(`{"content":"%0100d"}`, 0)
	seq := publish(t, b.JetStream(), "tool.result.t1", body)
	reject(t, b, events.Raw{Subject: "0.tool.result.t1", Body: []byte(body)}, seq, 10)
	t.Setenv("NATS_URL", cluster.HeldURL())
	program(t, "", "rejected", "--retry", "1").wants(t, exitDone, "now EVENTS 2", "")
}

func lastEvent(t *testing.T, b *broker.Broker) *jetstream.RawStreamMsg {
	t.Helper()
	stream, err := b.JetStream().Stream(t.Context(), broker.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(t.Context(), stream.CachedInfo().State.LastSeq)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}
