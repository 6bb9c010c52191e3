package contents

import (
	"context"
	"errors"
	"fmt"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
)

// cacheBytes bounds the caches of all partitions together. Anything else is read from the log.
const cacheBytes = 24 << 20

// Cache reads events by sequence, recent ones from memory. It implements fold.Log, and has one owner.
//
// Every event of the log passes through it and few are read again, so an LRU list costs more than it saves. Instead
// there are two generations: when the young events reach half of the limit they become the old ones, and the previous
// old ones are dropped. An event that is read becomes young again.
type Cache struct {
	log        *broker.LogReader
	young, old map[uint64]*events.Event
	bytes      int // of the young events
	limit      int
	newest     uint64 // the last sequence kept: no later one has been
}

// New returns a cache over EVENTS, one of caches that share cacheBytes; fewer than 16 count as 16.
func New(log *broker.LogReader, caches int) *Cache { return sized(log, cacheBytes/max(caches, 16)) }

func sized(log *broker.LogReader, limit int) *Cache {
	return &Cache{log: log, young: map[uint64]*events.Event{}, old: map[uint64]*events.Event{}, limit: limit}
}

// Event implements fold.Log.
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

// Keep implements fold.Log.
func (c *Cache) Keep(seq uint64, ev *events.Event) {
	if seq > c.newest || !c.has(seq) {
		c.add(seq, ev)
	}
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

// decode reads an event that was accepted, regardless of the current limits.
func decode(m broker.Stored) (*events.Event, error) {
	raw := events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data}
	ev, why := events.Decode(raw, events.Limits{EventBytes: len(raw.Body)})
	if why != nil {
		return nil, fmt.Errorf("read event %d: %w", m.Seq, why)
	}
	return &ev, nil
}
