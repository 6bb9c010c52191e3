package standby_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/fold"
	"precis/internal/standby"
	"precis/state"
)

// A partition that can't be followed is left alone for a while after each try. After some failures its owner need not wait for it any more:
// what can't be followed can still be taken over.
func TestNotFollowed(t *testing.T) {
	now, tries, left := time.Unix(1, 0), 0, 0
	f := standby.New(standby.Options{
		Strays: 4, Same: func(context.Context, []state.Meta) error { return nil }, Now: func() time.Time { return now }, Logger: zerolog.Nop(),
		Enter: func(int) bool { return true }, Leave: func(int) { left++ },
		Open: func(context.Context, int) (*state.Partition, *fold.Fold, error) {
			tries++
			return nil, nil, errors.New("no rows")
		},
	})
	round := func(to map[int]uint64) {
		t.Helper()
		if more, err := f.Round(t.Context(), to); more || err != nil {
			t.Fatal(more, err)
		}
		if left != tries {
			t.Fatalf("%d of %d partitions left", left, tries)
		}
	}
	for want := 1; want <= 3; want++ {
		if near := f.Near(); len(near) > 0 {
			t.Errorf("near after %d failures: %v", want-1, near)
		}
		round(map[int]uint64{2: 10})
		round(map[int]uint64{2: 10}) // at once: not tried
		if tries != want {
			t.Fatalf("%d tries, %d were due", tries, want)
		}
		now = now.Add(time.Minute)
	}
	if near := f.Near(); !slices.Equal(near, []int{2}) {
		t.Errorf("near: %v", near)
	}
	round(nil)
	if near := f.Near(); len(near) > 0 {
		t.Errorf("near, and not to be followed: %v", near)
	}
}
