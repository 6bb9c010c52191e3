package contents

import (
	"context"
	"errors"
	"fmt"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
)

// cacheBytes bounds what one cache holds: with 16 partitions 64 MiB. What is not there is read from the
// log.
const cacheBytes = 4 << 20

// Cache reads events by sequence, the last ones from memory. It implements fold.Log, and has one owner.
//
// Every event of the log goes through it, and few are asked for again: a list in the order of use costs more than it
// saves. There are the young ones, and when they weigh half of what may be held, they become the old ones, and
// those are forgotten. What is asked for is young again.
type Cache struct {
	log        *broker.LogReader
	young, old map[uint64]*events.Event
	bytes      int // of the young
	limit      int
	newest     uint64 // the last one kept: what is behind it has not been
}

// New makes a cache over EVENTS.
func New(log *broker.LogReader) *Cache { return sized(log, cacheBytes) }

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

// add makes an event young, the one alone that is heavier than all others may be together too.
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

// decode reads an event that was accepted, whatever the limits are by now.
func decode(m broker.Stored) (*events.Event, error) {
	raw := events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data}
	ev, why := events.Decode(raw, events.Limits{EventBytes: len(raw.Body)})
	if why != nil {
		return nil, fmt.Errorf("read event %d: %w", m.Seq, why)
	}
	return &ev, nil
}
