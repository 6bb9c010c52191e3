package contents

import (
	"context"
	"sync"

	"precis/events"
	"precis/internal/broker"
)

// sharedBytes bounds the shared cache. The prompts of 50 agents with 100 messages each take a third of it.
const sharedBytes = 32 << 20

// Shared reads events by sequence for concurrent readers, recent ones from memory: an agent requests its prompt every
// turn, and all but its newest messages are those of the previous turn. It is safe for concurrent use; callers must not
// modify the events. It still returns an event that was deleted from the log by hand until the cache drops it.
type Shared struct {
	log   *broker.LogReader
	mu    sync.Mutex
	cache *Cache
}

// NewShared returns a shared cache over EVENTS.
func NewShared(log *broker.LogReader) *Shared {
	return &Shared{log: log, cache: sized(log, sharedBytes)}
}

// Event implements fold.Log. Two readers that miss the same event both read it from the log.
func (s *Shared) Event(ctx context.Context, seq uint64) (*events.Event, error) {
	if ev, ok := s.get(seq); ok {
		return ev, nil
	}
	ev, err := Read(ctx, s.log, seq)
	if err != nil {
		return nil, err
	}
	s.Keep(seq, ev)
	return ev, nil
}

func (s *Shared) get(seq uint64) (*events.Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cache.get(seq)
}

// Keep implements fold.Log.
func (s *Shared) Keep(seq uint64, ev *events.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache.Keep(seq, ev)
}

func (s *Shared) missing(seqs []uint64) (missing []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seq := range seqs {
		if !s.cache.has(seq) {
			missing = append(missing, seq)
		}
	}
	return missing
}

// Ahead implements fold.Log.
func (s *Shared) Ahead(ctx context.Context, seqs []uint64) {
	readAll(ctx, s.log, s.missing(seqs), s.Keep)
}
