package content

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"precis/events"
	"precis/internal/broker"
)

// Memory of the caches, in bytes; anything else is read from the log.
const (
	// foldBytes bounds the caches of all partitions' folds together.
	foldBytes = 24 << 20
	// sharedBytes bounds the cache of the service. The prompts of 50 agents with 100 messages each take a third of it.
	sharedBytes = 32 << 20
)

// Cache reads events by sequence, recent ones from memory: the messages before a tool output are read with it, and an agent requests
// its prompt every turn, of which all but the newest messages are those of the previous one. It is safe for concurrent use; callers
// must not modify the events. It still returns an event that the log has lost since: Forget drops those before the log's first.
//
// Every event of the log passes through it and few are read again, so an LRU list costs more than it saves. Instead
// there are two generations: when the young events reach half of the limit they become the old ones, and the previous
// old ones are dropped. An event that is read becomes young again.
type Cache struct {
	log   *broker.LogReader
	limit int

	mu         sync.Mutex
	young, old map[uint64]*events.Event
	bytes      int    // of the young events
	newest     uint64 // the last sequence kept: no later one has been
	first      uint64 // the log's first sequence, as far as it is known
}

// New returns a cache over EVENTS, one of caches that share their memory; fewer than 16 count as 16.
func New(log *broker.LogReader, caches int) *Cache { return sized(log, foldBytes/max(caches, 16)) }

// NewShared returns a cache over EVENTS for all requests.
func NewShared(log *broker.LogReader) *Cache { return sized(log, sharedBytes) }

func sized(log *broker.LogReader, limit int) *Cache {
	return &Cache{log: log, young: map[uint64]*events.Event{}, old: map[uint64]*events.Event{}, limit: limit}
}

// Event implements Log. Two readers that miss the same event both read it from the log.
func (c *Cache) Event(ctx context.Context, seq uint64) (*events.Event, error) {
	if ev, ok := c.get(seq); ok {
		return ev, nil
	}
	ev, err := Read(ctx, c.log, seq)
	if err != nil {
		return nil, err
	}
	c.Keep(seq, ev)
	return ev, nil
}

func (c *Cache) get(seq uint64) (*events.Event, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ev, ok := c.young[seq]; ok {
		return ev, true
	}
	ev, ok := c.old[seq]
	if ok {
		delete(c.old, seq)
		c.add(seq, ev)
	}
	return ev, ok
}

func (c *Cache) has(seq uint64) bool {
	return c.young[seq] != nil || c.old[seq] != nil
}

// Keep implements Log.
func (c *Cache) Keep(seq uint64, ev *events.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq >= c.first && (seq > c.newest || !c.has(seq)) {
		c.add(seq, ev)
	}
}

// Forget drops the events before the log's first sequence, which retention has removed.
func (c *Cache) Forget(first uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.first
	if c.first = first; first <= before {
		return
	}
	for seq, ev := range c.young {
		if seq < first {
			delete(c.young, seq)
			c.bytes -= weight(ev)
		}
	}
	maps.DeleteFunc(c.old, func(seq uint64, _ *events.Event) bool { return seq < first })
}

// add makes an event young, even a single one that exceeds the limit of all others together.
func (c *Cache) add(seq uint64, ev *events.Event) {
	w := weight(ev)
	if c.bytes+w > c.limit/2 {
		clear(c.old)
		c.young, c.old, c.bytes = c.old, c.young, 0
	}
	c.young[seq] = ev
	c.bytes += w
	c.newest = max(c.newest, seq)
}

// Ahead implements Log.
func (c *Cache) Ahead(ctx context.Context, seqs []uint64) {
	if missing := c.Missing(seqs); len(missing) > 1 {
		readAll(ctx, c.log, missing, c.Keep)
	}
}

// Missing returns those of some events that are not in memory.
func (c *Cache) Missing(seqs []uint64) (missing []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, seq := range seqs {
		if !c.has(seq) {
			missing = append(missing, seq)
		}
	}
	return missing
}

// weight is about what an event takes in memory.
func weight(ev *events.Event) int {
	const fixed = 512 // structs, map and list entries
	if ev.Edit != nil {
		return fixed + ev.Edit.Content.Memory()
	}
	m := ev.Message
	n := fixed + m.Content.Memory() + len(m.Arguments) + len(m.Metadata) + len(m.Native)
	for _, call := range m.ToolCalls {
		n += fixed/4 + len(call.Arguments) + len(call.Raw)
	}
	return n
}

// Uncached reads every event from the log, for many concurrent readers that share nothing. It implements Log.
type Uncached struct{ Log *broker.LogReader }

// Event implements Log.
func (u Uncached) Event(ctx context.Context, seq uint64) (*events.Event, error) {
	return Read(ctx, u.Log, seq)
}

// Keep implements Log.
func (Uncached) Keep(uint64, *events.Event) {}

// Ahead implements Log.
func (Uncached) Ahead(context.Context, []uint64) {}

// Read reads an accepted event from the log.
func Read(ctx context.Context, log *broker.LogReader, seq uint64) (*events.Event, error) {
	stored, err := log.Get(ctx, seq)
	if errors.Is(err, broker.ErrGone) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("read event %d: %w", seq, err)
	}
	return decode(stored)
}

// decode reads an event that was accepted, regardless of the current limits.
func decode(m broker.Stored) (*events.Event, error) {
	raw := events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data}
	ev, why := events.Decode(raw, events.Limits{EventBytes: len(raw.Body)})
	if why != nil {
		return nil, fmt.Errorf("read event %d: %w", m.Seq, why)
	}
	if ev.Fork != nil { // only on a log that was rolled back and has grown again: no message's content is there
		return nil, ErrGone
	}
	return &ev, nil
}
