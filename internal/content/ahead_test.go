package content

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"precis/internal/broker"
)

// Events that Ahead reads are in memory, whether close together or far apart; events between them are not.
func TestAhead(t *testing.T) {
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Sync: "2m", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) }) // the test's own context has ended, and the server is to end before its directory
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
	var said, asked, unasked []uint64
	for i := range 80 {
		said = append(said, publish("thread.message.t", fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"%d"}`, i, i)))
		for range 1 + i/40*apart { // the second half is far apart
			unasked = append(unasked, publish("thread.message.u", `{"message_id":"m","role":"user","content":""}`))
		}
	}
	for _, i := range rand.Perm(len(said)) {
		asked = append(asked, said[i])
	}
	asked = append(asked, asked[0], 1<<40) // a duplicate, and a sequence that does not exist

	shared := NewShared(broker.NewLogReader(b.JetStream(), broker.StreamEvents))
	shared.Ahead(t.Context(), asked)
	if missing := shared.Missing(asked); len(missing) != 1 || missing[0] != 1<<40 {
		t.Fatalf("missing of %d: %v", len(asked), missing)
	}
	if n := len(shared.Missing(unasked)); n != len(unasked) {
		t.Fatalf("%d of %d events are missing that nobody asked for", n, len(unasked))
	}
	for i, seq := range said {
		ev, err := shared.Event(t.Context(), seq)
		if err != nil || ev.Message.Content.Text() != fmt.Sprint(i) {
			t.Fatalf("event %d: %+v, %v", seq, ev, err)
		}
	}
}

func TestSpans(t *testing.T) {
	for _, tt := range []struct {
		seqs []uint64
		want []span
	}{
		{nil, nil},
		{[]uint64{7}, []span{{0, 1}}},
		{[]uint64{1, 2, 3}, []span{{0, 1}, {1, 2}, {2, 3}}},
		{[]uint64{1, 2, 3, 6}, []span{{0, 4}}},
		{[]uint64{1, 2, 3, 7}, []span{{0, 1}, {1, 2}, {2, 3}, {3, 4}}},
		{[]uint64{5, 10, 11, 14, 16, 20}, []span{{0, 1}, {1, 5}, {5, 6}}},
	} {
		if got := spansOf(tt.seqs); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v", tt.seqs, got)
		}
	}
}
