package roster

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

// Orders of a page: the most first, or with Query.Ascending the least.
const (
	Recent = "recent" // the last event's time
	Size   = "size"   // tokens of all messages
	Prompt = "prompt" // tokens of the prompt
	Cost   = "cost"
	Stale  = "stale" // stale summaries
)

// Sorts are all orders.
var Sorts = []string{Recent, Size, Prompt, Cost, Stale}

// Query says which threads, and in which order.
type Query struct {
	Sort      string // one of Sorts
	Ascending bool
	Prefix    string // of the ids
	Search    string // a part of the ids, with ASCII letters of either case
	Agent     *string
	Policy    *string
	Stale     bool // only threads with a stale summary
	Limit     int
	After     string // Page.Next of the page before
}

// Thread is a thread of a page, and where its rows are.
type Thread struct {
	Name      string
	Partition int
}

// Page is the threads of a query.
type Page struct {
	Threads []Thread
	Next    string // empty: there are no more
	Matched int    // in all, whatever page
	Total   int    // threads with the prefix
}

// ErrCursor is a Query.After that is of no page of the same order.
var ErrCursor = errors.New("not the cursor of a page in this order")

// found is a thread that matches.
type found struct {
	key   uint64 // the greatest comes first
	shard int
	name  string // in the shard's names, whose bytes never change
}

// before orders threads with the same key by name.
func before(a, b *found) int {
	return cmp.Or(cmp.Compare(b.key, a.key), strings.Compare(a.name, b.name))
}

// List returns a page. It looks at every thread.
func (x *Index) List(ctx context.Context, q Query) (*Page, error) {
	from, err := cursorOf(q)
	if err != nil {
		return nil, err
	}
	var p *Page
	var best nearest
	err = x.with(ctx, func() error {
		p, best = &Page{}, nearest{most: q.Limit + 1}
		for id, s := range x.shards {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.match(q, id, from, &best, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := best.sorted()
	if len(list) > q.Limit {
		list = list[:q.Limit]
		p.Next = cursor(q, &list[len(list)-1])
	}
	for _, f := range list {
		p.Threads = append(p.Threads, Thread{strings.Clone(f.name), f.shard})
	}
	return p, nil
}

// match looks at the threads of a shard, those first that are mostly the first in the order too. Threads that began late had the latest events.
// Where many are equal, names decide, in which a reading of the store has its threads.
func (s *shard) match(q Query, id int, from *found, best *nearest, p *Page) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	kinds := make([]bool, len(s.kinds))
	for i, k := range s.kinds {
		kinds[i] = (q.Agent == nil || *q.Agent == k.Agent) && (q.Policy == nil || *q.Policy == k.Policy)
	}
	search := strings.ToLower(q.Search)
	backwards := q.Sort == Recent && !q.Ascending
	for row := range s.rows {
		if backwards {
			row = len(s.rows) - 1 - row
		}
		c := &s.rows[row]
		if q.Prefix != "" && !strings.HasPrefix(s.name(row), q.Prefix) {
			continue
		}
		p.Total++
		if !kinds[c.kind] || q.Stale && c.stale == 0 || search != "" && !contains(s.name(row), search) {
			continue
		}
		p.Matched++
		f := found{key: c.key(q), shard: id}
		if from != nil && f.key > from.key || best.full() && f.key < best.last().key {
			continue
		}
		f.name = s.name(row)
		if from != nil && before(from, &f) >= 0 || best.full() && before(&f, best.last()) >= 0 {
			continue
		}
		best.add(f)
	}
}

// key is what a thread is sorted by.
func (c *columns) key(q Query) uint64 {
	var n uint32
	switch q.Sort {
	case Size:
		n = c.tokens
	case Prompt:
		n = c.live
	case Cost:
		n = c.cost
	case Stale:
		n = c.stale
	default:
		n = c.recent
	}
	if q.Ascending {
		n = ^n
	}
	return uint64(n)
}

// contains searches for a text in lower case.
func contains(name, lower string) bool {
	for at := 0; at+len(lower) <= len(name); at++ {
		same := true
		for i := 0; i < len(lower); i++ {
			c := name[at+i]
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			if c != lower[i] {
				same = false
				break
			}
		}
		if same {
			return true
		}
	}
	return false
}

// nearest keeps the first of what it is given: a heap with the last of them at its root.
type nearest struct {
	most int
	heap []found
}

func (n *nearest) full() bool   { return len(n.heap) == n.most }
func (n *nearest) last() *found { return &n.heap[0] }

func (n *nearest) add(f found) {
	if n.full() {
		n.heap[0] = f
		n.down(0)
		return
	}
	n.heap = append(n.heap, f)
	for i := len(n.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if before(&n.heap[i], &n.heap[up]) <= 0 {
			break
		}
		n.heap[i], n.heap[up] = n.heap[up], n.heap[i]
		i = up
	}
}

func (n *nearest) down(i int) {
	for {
		last := i
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if c < len(n.heap) && before(&n.heap[c], &n.heap[last]) > 0 {
				last = c
			}
		}
		if last == i {
			return
		}
		n.heap[i], n.heap[last] = n.heap[last], n.heap[i]
		i = last
	}
}

func (n *nearest) sorted() []found {
	slices.SortFunc(n.heap, func(a, b found) int { return before(&a, &b) })
	return n.heap
}

// A cursor is the order, and the key and name of the last thread of its page.
func cursor(q Query, f *found) string {
	b := []byte{order(q)}
	b = binary.BigEndian.AppendUint64(b, f.key)
	return base64.RawURLEncoding.EncodeToString(append(b, f.name...))
}

func cursorOf(q Query) (*found, error) {
	if q.After == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(q.After)
	if err != nil || len(b) < 10 || b[0] != order(q) {
		return nil, ErrCursor
	}
	return &found{key: binary.BigEndian.Uint64(b[1:]), name: string(b[9:])}, nil
}

func order(q Query) byte {
	n := byte(slices.Index(Sorts, q.Sort))
	if q.Ascending {
		n |= 0x80
	}
	return n
}

// Sums returns the sums of all groups with a thread.
func (x *Index) Sums(ctx context.Context) (map[Group]Sums, error) {
	var all map[Group]Sums
	err := x.with(ctx, func() error {
		all = map[Group]Sums{}
		for _, s := range x.shards {
			s.addTo(all)
		}
		return nil
	})
	return all, err
}

func (s *shard) addTo(all map[Group]Sums) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, k := range s.kinds {
		if s.sums[i].Threads > 0 {
			sum := all[k.Group]
			sum.add(s.sums[i])
			all[k.Group] = sum
		}
	}
}
