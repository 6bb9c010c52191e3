package contents

import (
	"context"
	"slices"
	"sync"

	"precis/events"
	"precis/internal/broker"
)

// sharedBytes bounds what readers share. 50 agents' prompts of 100 messages take a third of it.
const sharedBytes = 32 << 20

// Shared reads events by sequence for many readers at once, the last ones from memory: an agent asks for
// its prompt every turn, and all but the newest messages of it are those of the turn before. It is safe for
// concurrent use; what it returns is not to be changed. What is removed from the log by hand is served until it
// has gone by here too.
type Shared struct {
	log   *broker.LogReader
	mu    sync.Mutex
	cache *Cache
}

// NewShared makes one over EVENTS.
func NewShared(log *broker.LogReader) *Shared {
	return &Shared{log: log, cache: sized(log, sharedBytes)}
}

// Of reads one thread's events, which are stored under subjects that match filter.
func (s *Shared) Of(filter string) *OneThread { return &OneThread{Shared: s, filter: filter} }

// Event implements fold.Log. Two readers that miss the same event both read it.
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

// OneThread is a Shared for the reader of one thread. It implements fold.Log.
type OneThread struct {
	*Shared
	filter string
}

const (
	// together is how many missing events are worth a request for several: it has a subscription of its own.
	together = 4
	// besides is how many other events of the thread, edits mostly, a request makes room for.
	besides = 16
	// requests bounds how often it is asked for more of them.
	requests = 16
)

// Ahead implements fold.Log. A prompt that nobody has asked for lately needs a hundred events, and each by itself
// is a round trip: its reader would wait for that, and all others for the processor's time.
func (t *OneThread) Ahead(ctx context.Context, seqs []uint64) {
	missing := t.missing(seqs)
	slices.Sort(missing)
	for range requests {
		if len(missing) < together {
			return
		}
		last := t.read(ctx, missing)
		behind, _ := slices.BinarySearch(missing, last+1)
		if missing = missing[behind:]; last == 0 {
			return // whoever asks for them is told why
		}
	}
}

// read keeps what it finds of some events, and says how far it came in the log.
func (t *OneThread) read(ctx context.Context, seqs []uint64) (last uint64) {
	_ = t.log.NextOf(ctx, t.filter, seqs[0], len(seqs)+besides, func(m broker.Stored) {
		last = m.Seq
		if _, wanted := slices.BinarySearch(seqs, m.Seq); !wanted {
			return
		}
		if ev, err := decode(m); err == nil {
			t.Keep(m.Seq, ev)
		}
	})
	return last
}
