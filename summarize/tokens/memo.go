package tokens

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// memoTexts bounds what a Memo remembers: some 8 MB.
	memoTexts = 1 << 16
	// memoBytes is the length from which on a text is worth remembering: a shorter one is counted as fast.
	memoBytes = 64
)

// Memo counts like a Counter and remembers what it has counted last: all but the newest messages of a prompt
// are those of the prompt before. It knows texts by a hash whose seed is secret, and keeps none of them.
// It is safe for concurrent use; a nil Memo remembers nothing.
type Memo struct {
	seed   maphash.Seed
	mu     sync.Mutex
	counts *simplelru.LRU[memoKey, int]
}

type memoKey struct {
	tokenizer string
	hash      uint64
	bytes     int
}

// NewMemo makes one that remembers nothing yet.
func NewMemo() (*Memo, error) {
	counts, err := simplelru.NewLRU[memoKey, int](memoTexts, nil)
	if err != nil {
		return nil, fmt.Errorf("make memo of token counts: %w", err)
	}
	return &Memo{seed: maphash.MakeSeed(), counts: counts}, nil
}

// For is the named tokenizer's Count. An unknown name is ErrUnknown.
func (m *Memo) For(name string) (func(string) int, error) {
	counter, err := For(name)
	if err != nil {
		return nil, err
	}
	if m == nil || name == Estimate { // which is no slower than a hash
		return counter.Count, nil
	}
	return func(text string) int {
		if len(text) < memoBytes {
			return counter.Count(text)
		}
		return m.count(memoKey{name, maphash.String(m.seed, text), len(text)}, text, counter)
	}, nil
}

func (m *Memo) count(key memoKey, text string, counter Counter) int {
	m.mu.Lock()
	n, ok := m.counts.Get(key)
	m.mu.Unlock()
	if ok {
		return n
	}
	n = counter.Count(text)
	m.mu.Lock()
	m.counts.Add(key, n)
	m.mu.Unlock()
	return n
}
