package contents

import (
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	"precis/internal/broker"
)

// What a reader of a thread has asked for ahead is in memory, edits between it and beyond one request's room too;
// what it has not asked for, and other threads' events, are not.
func TestAheadOfOneThread(t *testing.T) {
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Sync: "2m", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(t.Context()) })
	if _, err := broker.Provision(t.Context(), b.JetStream(), broker.StreamSpec{Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	publish := func(subject, body string) uint64 {
		ack, err := b.JetStream().Publish(t.Context(), subject, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return ack.Sequence
	}
	var asked, unasked []uint64
	for i := range 40 {
		asked = append(asked, publish("thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"%d"}`, i, i)))
		unasked = append(unasked, publish("thread.message.u", `{"message_id":"m","role":"user","content":""}`))
		for range 2 {
			unasked = append(unasked, publish("message.edited.t", `{"message_id":"m0","content":"x"}`))
		}
	}
	asked = append(asked, unasked[len(unasked)-1], 1<<40) // an edit that stands, and what is not there

	shared := NewShared(broker.NewLogReader(b.JetStream(), broker.StreamEvents))
	shared.Of("0.*.*.t").Ahead(t.Context(), asked)
	if missing := shared.missing(asked); len(missing) != 1 || missing[0] != 1<<40 {
		t.Fatalf("missing of %d: %v", len(asked), missing)
	}
	if n := len(shared.missing(unasked)); n != len(unasked)-1 {
		t.Fatalf("%d of %d events are missing that nobody asked for", n, len(unasked))
	}
	for i, seq := range asked[:40] {
		ev, err := shared.Event(t.Context(), seq)
		if err != nil || ev.Message.Content.Text() != fmt.Sprint(i) {
			t.Fatalf("event %d: %+v, %v", seq, ev, err)
		}
	}
}
