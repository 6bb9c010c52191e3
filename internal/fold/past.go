package fold

import (
	"context"
	"fmt"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"precis/internal/thread"
	"precis/state"
	"precis/summarize/rules"
)

// How many messages before a tool output the rules read; docs/rules.md has the measurement.
const (
	// earlierWithSeen is enough if the identifiers of all earlier messages are known.
	earlierWithSeen = 20
	// EarlierAlone applies if they are not: for an edited output, and for a model's job.
	EarlierAlone = 200
)

const (
	// seenEvery is how many messages a thread's stored identifiers may lag: the most that a restart reads again per thread, and
	// the interval between writes.
	seenEvery = 256
	// seenCached bounds the identifiers that all partitions together hold in memory: some 40 MB.
	seenCached = 800_000
)

// past is what precedes a tool output in its thread.
type past struct {
	texts []string
	seen  *rules.Seen
}

// past reads what precedes the message at an ordinal. For an edited message, which may be anywhere in its thread, it reads only
// the newest messages before it. Either way the result is a function of the log.
func (f *Fold) past(ctx context.Context, name string, ordinal uint64, edited bool) (past, error) {
	var p past
	var err error
	if edited {
		p.texts, err = Earlier(ctx, f.part.View, f.log, name, ordinal, EarlierAlone)
		return p, err
	}
	if p.seen, err = f.seenBefore(ctx, name, ordinal); err != nil {
		return p, err
	}
	p.texts, err = Earlier(ctx, f.part.View, f.log, name, ordinal, earlierWithSeen)
	return p, err
}

// seenThread holds the identifiers of a thread's messages up to an ordinal, as first published, so that it does not matter when
// they were read.
type seenThread struct {
	seen   *rules.Seen
	upTo   uint64
	stored uint64 // upTo at the last write
}

// seenCache holds the threads that had tool outputs most recently.
type seenCache struct {
	lru   *simplelru.LRU[string, *seenThread]
	marks int
	most  int
}

func newSeenCache(partitions int) (*seenCache, error) {
	c := &seenCache{most: seenCached / max(partitions, 16)}
	lru, err := simplelru.NewLRU(c.most, func(_ string, t *seenThread) { c.marks -= t.seen.Len() })
	c.lru = lru
	return c, err
}

func (c *seenCache) put(name string, t *seenThread) {
	c.lru.Remove(name)
	c.lru.Add(name, t)
	for c.marks += t.seen.Len(); c.marks > c.most && c.lru.Len() > 1; {
		c.lru.RemoveOldest()
	}
}

// seenBefore returns the identifiers of the messages before an ordinal; nil if those of later ones are already included, which
// does not happen for a new message.
func (f *Fold) seenBefore(ctx context.Context, name string, ordinal uint64) (*rules.Seen, error) {
	t, err := f.seenThread(name)
	if err != nil || t.upTo >= ordinal {
		return nil, err
	}
	texts, err := f.firstTexts(ctx, name, t.upTo+1, ordinal)
	if err != nil {
		return nil, err
	}
	f.seen.lru.Remove(name) // put counts it again
	for _, text := range texts {
		t.seen.Add(text)
	}
	t.upTo = ordinal - 1
	if t.upTo-t.stored >= seenEvery {
		if err := f.saveSeen(name, t); err != nil {
			return nil, err
		}
	}
	f.seen.put(name, t)
	return t.seen, nil
}

// saveSeen writes a thread's identifiers to the open batch. They don't depend on the step's outcome: they are a function of the
// log.
func (f *Fold) saveSeen(name string, t *seenThread) error {
	data, err := t.seen.MarshalBinary()
	if err != nil {
		return err
	}
	f.part.SaveSeen(name, t.upTo, data)
	t.stored = t.upTo
	return nil
}

func (f *Fold) seenThread(name string) (*seenThread, error) {
	if t, ok := f.seen.lru.Get(name); ok {
		return t, nil
	}
	upTo, data, err := f.part.Seen(name)
	t := &seenThread{seen: &rules.Seen{}, upTo: upTo, stored: upTo}
	if err != nil || data == nil {
		return t, err
	}
	if err := t.seen.UnmarshalBinary(data); err != nil {
		return nil, fmt.Errorf("%w: seen identifiers of thread %q: %w", state.ErrDamaged, name, err)
	}
	return t, nil
}

// firstTexts reads the messages with ordinals from (inclusive) to to (exclusive) as first published.
func (f *Fold) firstTexts(ctx context.Context, name string, from, to uint64) ([]string, error) {
	rows, err := f.part.Messages(name, from, to)
	if err != nil {
		return nil, err
	}
	var texts []string
	err = eachRead(ctx, f.log, rows, func(m *thread.Message) error {
		text, err := textOf(ctx, f.log, firstOf(m))
		texts = append(texts, text)
		return err
	})
	return texts, err
}

// remember keeps a thread's identifiers from lagging far behind, so that no tool output has to read a long thread at once.
func (f *Fold) remember(ctx context.Context, h thread.Header) error {
	if h.ToolResults == 0 || h.Ordinals%seenEvery != 0 {
		return nil
	}
	_, err := f.seenBefore(ctx, h.Thread, h.Ordinals)
	return err
}
