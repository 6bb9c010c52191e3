package roster_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"precis/internal/roster"
	"precis/internal/thread"
)

// A configuration is reloaded while threads are read, and asked for again meanwhile: the next reading begins when the one before has ended, and
// what forgets that one takes nothing away from it.
func TestForgottenDuringReading(t *testing.T) {
	s := newStore()
	const threads = 60
	for i := range threads {
		s.write(i%partitions, &thread.Header{Thread: fmt.Sprint("t", i), Tokens: 1})
	}
	var inside atomic.Int32
	var once sync.Once
	begun, release := make(chan struct{}), make(chan struct{})
	s.reading = func() {
		if inside.Add(1) > 1 {
			t.Error("two readings at once")
		}
		once.Do(func() {
			close(begun)
			<-release
		})
		inside.Add(-1)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ask := func() { _, _ = s.index.List(gone, roster.Query{Sort: roster.Size, Limit: 1}) } // waits for nothing
	ask()
	<-begun
	var forgets sync.WaitGroup
	for range 3 {
		forgets.Go(s.index.Forget)
	}
	for range 10_000 {
		ask()
		runtime.Gosched()
	}
	close(release)
	p, err := s.index.List(t.Context(), roster.Query{Sort: roster.Size, Limit: threads})
	if err != nil || len(p.Threads) != threads {
		t.Errorf("%+v %v", p, err)
	}
	forgets.Wait()
	s.write(0, &thread.Header{Thread: "t0", Tokens: 9})
	if p, err = s.index.List(t.Context(), roster.Query{Sort: roster.Size, Limit: 1}); err != nil || p.Total != threads || p.Threads[0].Name != "t0" {
		t.Errorf("%+v %v", p, err)
	}
}
