package state_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"precis/internal/thread"
	"precis/state"
)

// Rows are found by id and by ordinal, in the order in which they were asked for, in the open batch and behind it.
func TestMessagesOf(t *testing.T) {
	part := newPartition(t)
	for n := range uint64(300) {
		part.Save(newMessage(n)) // thread-7 has 7, 107, 207
		if n == 150 {
			if _, err := part.Commit(state.NoSync); err != nil {
				t.Fatal(err)
			}
		}
	}
	part.Save(&thread.State{Header: thread.Header{Thread: "thread-70"}, Message: &thread.Message{ID: "m7", Ordinal: 900},
		Changes: thread.Changes{MessagePut: true}})

	rows, err := part.MessagesOf("thread-7", []string{"m207", "m", "m7", "m8", "m107", "m70"})
	wantOrdinals(t, rows, err, 207, 7, 107)
	rows, err = part.MessagesAt("thread-7", []uint64{107, 108, 7, 999})
	wantOrdinals(t, rows, err, 107, 7)
	rows, err = part.Messages("thread-7", 8, 207)
	wantOrdinals(t, rows, err, 107)
	rows, err = part.MessagesOf("thread-7", nil)
	wantOrdinals(t, rows, err)
}

// An ordinal whose message has no row is damage.
func TestMessagesWithoutRows(t *testing.T) {
	part := newPartition(t)
	st := newMessage(1)
	st.Changes.MessagePut = false
	part.Save(st)
	if _, err := part.Messages("thread-1", 1, 2); !errors.Is(err, state.ErrDamaged) {
		t.Fatal(err)
	}
}

func wantOrdinals(t *testing.T, rows []*thread.Message, err error, want ...uint64) {
	t.Helper()
	var have []uint64
	for _, m := range rows {
		have = append(have, m.Ordinal)
	}
	if err != nil || !slices.Equal(have, want) {
		t.Fatalf("%v, %v; want %v", have, err, want)
	}
}

// newPartition is an empty one, of a store in memory.
func newPartition(t *testing.T) *state.Partition {
	t.Helper()
	store, err := state.Open("store", state.Options{FS: state.Memory(), Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	part, err := store.Partition(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { part.Close() })
	return part
}
