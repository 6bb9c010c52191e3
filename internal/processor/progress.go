package processor

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/broker"
)

// tellEvery is the interval at which a processor logs how far it has caught up.
const tellEvery = 5 * time.Second

// catching is how far the processor was behind when it started.
type catching struct {
	from, to uint64 // EVENTS sequences
	began    time.Time
}

// behind is what the partitions have to catch up with.
func behind(parts []*partition, log broker.StreamState, now time.Time) catching {
	c := catching{from: log.Last, to: log.Last, began: now}
	for _, part := range parts {
		c.from = min(c.from, part.last)
	}
	c.from = max(c.from, max(log.First, 1)-1) // what retention has removed does not come
	return c
}

// tell logs the progress from time to time, until the log is caught up or ctx ends. The returned function waits for
// that.
func (p *Processor) tell(ctx context.Context, every <-chan time.Time) (ended func()) {
	var wg sync.WaitGroup
	if p.catching.from < p.catching.to {
		wg.Go(func() { p.tellUntilReady(ctx, every) })
	}
	return wg.Wait
}

func (p *Processor) tellUntilReady(ctx context.Context, every <-chan time.Time) {
	for {
		select {
		case <-p.ready.done:
			p.reached(p.log.Info(), p.catching.to).Msg("caught up with the log")
			return
		case <-every:
			p.reached(p.log.Info(), p.furthest()).Msg("catching up with the log")
		case <-ctx.Done():
			return
		}
	}
}

// furthest is the last durable event of any partition: the log is read once for all of them.
func (p *Processor) furthest() (seq uint64) {
	for _, part := range p.parts() {
		seq = max(seq, part.position.now())
	}
	return min(seq, p.catching.to)
}

func (p *Processor) reached(e *zerolog.Event, seq uint64) *zerolog.Event {
	c := p.catching
	done, took := max(seq, c.from)-c.from, p.opts.Now().Sub(c.began)
	return e.Uint64("seq", seq).Uint64("of", c.to).Uint64("percent", 100*done/(c.to-c.from)).
		Uint64("events_per_second", uint64(float64(done)/max(took.Seconds(), 1e-3)))
}

// readiness tracks whether every lane has applied what the log held when the processor started.
type readiness struct {
	mu      sync.Mutex
	missing map[string]bool
	done    chan struct{} // closed when nothing is missing
}

func newReadiness(lanes []string) *readiness {
	r := &readiness{missing: make(map[string]bool, len(lanes)), done: make(chan struct{})}
	for _, lane := range lanes {
		r.missing[lane] = true
	}
	return r
}

func (r *readiness) reached(lane string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.missing[lane] {
		return
	}
	delete(r.missing, lane)
	if len(r.missing) == 0 {
		close(r.done)
	}
}

// ready reports whether the log is caught up.
func (r *readiness) ready() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
