package fold

import (
	"context"
	"fmt"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"precis/internal/content"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/rules/words"
)

// earlierWithSeen is how many messages before a tool output the rules read if the identifiers of all earlier ones are known;
// docs/rules.md has the measurement.
const earlierWithSeen = 20

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
	seen  *words.Seen
}

// past reads what precedes the message at an ordinal. For an edited message, which may be anywhere in its thread, it reads only
// the newest messages before it. Either way the result is a function of the log.
func (f *Fold) past(ctx context.Context, name string, ordinal uint64, edited bool) (p past) {
	newest := uint64(content.EarlierAlone)
	if !edited {
		newest, p.seen = earlierWithSeen, f.seenBefore(ctx, name, ordinal)
	}
	p.texts = got(content.Earlier(ctx, f.part.View, f.Log, name, ordinal, newest))
	return p
}

// seenThread holds the identifiers of a thread's messages up to an ordinal, as first published, so that it does not matter when
// they were read.
type seenThread struct {
	seen   *words.Seen
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
func (f *Fold) seenBefore(ctx context.Context, name string, ordinal uint64) *words.Seen {
	t := f.seenThread(name)
	if t.upTo >= ordinal {
		return nil
	}
	texts := got(content.Between(ctx, f.part.View, f.Log, name, t.upTo+1, ordinal))
	f.seen.lru.Remove(name) // put counts it again
	for _, text := range texts {
		t.seen.Add(text)
	}
	t.upTo = ordinal - 1
	if t.upTo-t.stored >= seenEvery {
		// It does not depend on the step's outcome: it is a function of the log.
		f.part.SaveSeen(name, t.upTo, got(t.seen.MarshalBinary()))
		t.stored = t.upTo
	}
	f.seen.put(name, t)
	return t.seen
}

func (f *Fold) seenThread(name string) *seenThread {
	if t, ok := f.seen.lru.Get(name); ok {
		return t
	}
	upTo, data, err := f.part.Seen(name)
	check(err)
	t := &seenThread{seen: &words.Seen{}, upTo: upTo, stored: upTo}
	if data == nil {
		return t
	}
	if err := t.seen.UnmarshalBinary(data); err != nil {
		check(fmt.Errorf("%w: seen identifiers of thread %q: %w", state.ErrDamaged, name, err))
	}
	return t
}

// remember keeps a thread's identifiers from lagging far behind, so that no tool output has to read a long thread at once.
func (f *Fold) remember(ctx context.Context, h thread.Header) {
	if h.Outputs() > 0 && h.Ordinals%seenEvery == 0 {
		f.seenBefore(ctx, h.Thread, h.Ordinals)
	}
}
