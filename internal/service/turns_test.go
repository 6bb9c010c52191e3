package service

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"precis/events"
	"precis/internal/content"
)

// A prompt waits for its turn, but not for longer than its patience; one that went without a turn frees none.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make(turns, 1)
		take := func() (end func(), after time.Duration) {
			t.Helper()
			began, one := time.Now(), &turn{of: all}
			if err := one.take(t.Context()); err != nil {
				t.Fatal(err)
			}
			return one.end, time.Since(began)
		}
		first, after := take()
		if after != 0 {
			t.Errorf("the first waits for %s", after)
		}
		without, after := take()
		if after != patience {
			t.Errorf("the second gives up waiting after %s", after)
		}
		without()
		if len(all) != 1 {
			t.Error("the end of one without a turn ends another's")
		}
		time.AfterFunc(patience/2, first)
		last, after := take()
		if after != patience/2 {
			t.Errorf("the third has its turn after %s", after)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if err := (&turn{of: all}).take(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that ends while it waits: %v", err)
		}
		if last(); len(all) != 0 {
			t.Error("a turn has not ended")
		}
		if err := new(turn).take(ctx); err != nil {
			t.Errorf("without turns: %v", err)
		}
		for _, c := range []struct {
			cold []uint64
			free bool // meanwhile
		}{{nil, false}, {[]uint64{2}, true}, {[]uint64{1, 2}, true}} {
			one, log := &turn{of: all, cold: func([]uint64) []uint64 { return c.cold }}, &asked{of: all}
			if err := errors.Join(one.take(t.Context()), one.read(t.Context(), log, []uint64{1, 2})); err != nil {
				t.Fatal(err)
			}
			if log.free != c.free || !slices.Equal(log.read, c.cold) || len(all) != 1 {
				t.Errorf("of 1 and 2 with %v to be read: read %v, others had their turn: %v, turns taken behind it: %d", c.cold, log.read, log.free, len(all))
			}
			one.end()
		}
	})
}

// asked is a log that notes what it is asked for, and whether a turn was free.
type asked struct {
	content.Uncached
	of   turns
	read []uint64
	free bool
}

func (l *asked) Ahead(_ context.Context, seqs []uint64) {
	if l.free = len(l.of) == 0; len(seqs) > 1 { // as the cache's
		l.read = seqs
	}
}

func (l *asked) Event(_ context.Context, seq uint64) (*events.Event, error) {
	l.read, l.free = append(l.read, seq), len(l.of) == 0
	return nil, nil
}
