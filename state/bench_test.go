package state_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rs/zerolog"

	"precis/internal/thread"
	"precis/state"
)

// commitBatch is how many events a full batch holds.
const commitBatch = 512

// A batch of 512 new messages made durable, against Pebble alone with the same number of rows and one
// sync: what is over is our rows, their index in the open batch, and the headers.
func BenchmarkCommit(b *testing.B) {
	b.Run("precis", func(b *testing.B) {
		store, err := state.Open(b.TempDir(), state.Options{Logger: zerolog.Nop()})
		if err != nil {
			b.Fatal(err)
		}
		defer store.Close()
		part, err := store.Partition(0)
		if err != nil {
			b.Fatal(err)
		}
		defer part.Close()
		n := uint64(0)
		for b.Loop() {
			for range commitBatch {
				n++
				part.Save(newMessage(n))
			}
			if _, err := part.Commit(state.Sync); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*commitBatch)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("pebble", func(b *testing.B) {
		db, err := pebble.Open(b.TempDir(), &pebble.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		value, n := make([]byte, 180), 0
		for b.Loop() {
			batch := db.NewBatch()
			for range 3 * commitBatch { // header, message, order
				n++
				if err := batch.Set(fmt.Appendf(nil, "k%012d", n), value, nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := batch.Commit(pebble.Sync); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*commitBatch)/b.Elapsed().Seconds(), "events/s")
	})
}

func newMessage(n uint64) *thread.State {
	name := fmt.Sprintf("thread-%d", n%100)
	st := &thread.State{Header: thread.Header{Thread: name, Events: n, Messages: n, Ordinals: n}}
	st.Message = &thread.Message{ID: fmt.Sprintf("m%d", n), Ordinal: n, Role: "user", FirstSeq: n, Seq: n}
	st.Changes = thread.Changes{MessagePut: true, MessageNew: true}
	return st
}
