package contents

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
)

// cacheBytes bounds what one cache holds: with 16 partitions 64 MiB. What is not there is read from the
// log.
const cacheBytes = 4 << 20

// Cache reads events by sequence, the last ones from memory. It implements fold.Log, and has one owner.
type Cache struct {
	log   *broker.LogReader
	cache *simplelru.LRU[uint64, *events.Event]
	bytes int
	limit int
}

// New makes a cache over EVENTS.
func New(log *broker.LogReader) (*Cache, error) { return sized(log, cacheBytes) }

func sized(log *broker.LogReader, limit int) (*Cache, error) {
	c := &Cache{log: log, limit: limit}
	cache, err := simplelru.NewLRU(1<<16, func(_ uint64, ev *events.Event) { c.bytes -= weight(ev) })
	c.cache = cache
	return c, err
}

// Event implements fold.Log.
func (c *Cache) Event(ctx context.Context, seq uint64) (*events.Event, error) {
	if ev, ok := c.cache.Get(seq); ok {
		return ev, nil
	}
	ev, err := Read(ctx, c.log, seq)
	if err != nil {
		return nil, err
	}
	c.Keep(seq, ev)
	return ev, nil
}

// Keep implements fold.Log.
func (c *Cache) Keep(seq uint64, ev *events.Event) {
	if c.cache.Contains(seq) {
		return
	}
	c.cache.Add(seq, ev)
	for c.bytes += weight(ev); c.bytes > c.limit && c.cache.Len() > 1; {
		c.cache.RemoveOldest()
	}
}

func weight(ev *events.Event) int {
	const fixed = 512 // structs, map and list entries
	if ev.Edit != nil {
		return fixed + len(ev.Edit.Content.Text())
	}
	n := fixed + len(ev.Message.Content.Text()) + len(ev.Message.Arguments) + len(ev.Message.Metadata)
	for _, call := range ev.Message.ToolCalls {
		n += len(call.Arguments)
	}
	return n
}

// Read reads an accepted event from the log.
func Read(ctx context.Context, log *broker.LogReader, seq uint64) (*events.Event, error) {
	stored, err := log.Get(ctx, seq)
	if errors.Is(err, broker.ErrGone) {
		return nil, fold.ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("read event %d: %w", seq, err)
	}
	return decode(stored)
}

// decode reads an event that was accepted, whatever the limits are by now.
func decode(m broker.Stored) (*events.Event, error) {
	raw := events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data}
	ev, why := events.Decode(raw, events.Limits{EventBytes: len(raw.Body)})
	if why != nil {
		return nil, fmt.Errorf("read event %d: %w", m.Seq, why)
	}
	return &ev, nil
}
