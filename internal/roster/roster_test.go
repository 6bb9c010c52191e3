package roster_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"precis/internal/roster"
	"precis/internal/thread"
)

const partitions = 3

// store is what an index reads: the headers that batches have written.
type store struct {
	mu      sync.Mutex
	headers [partitions]map[string]*thread.Header
	index   *roster.Index
	fails   error
	reading func() // within a reading
}

func newStore() *store {
	s := &store{}
	for i := range s.headers {
		s.headers[i] = map[string]*thread.Header{}
	}
	s.index = roster.New(roster.Options{Partitions: partitions, Read: s.read, Policy: policy})
	return s
}

func policy(h *thread.Header) string { return cmp.Or(h.Policy, "default") }

func (s *store) read(partition int, each func(*thread.Header) (bool, error)) error {
	s.mu.Lock()
	list, fails := maps.Clone(s.headers[partition]), s.fails
	s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if s.reading != nil {
			s.reading()
		}
		if more, err := each(list[name]); err != nil || !more {
			return err
		}
	}
	return fails
}

// write is a batch: what it writes is in the store before the index hears of it.
func (s *store) write(partition int, headers ...*thread.Header) {
	s.mu.Lock()
	for _, h := range headers {
		s.headers[partition][h.Thread] = h
	}
	s.mu.Unlock()
	s.index.Wrote(partition, slices.Values(headers))
}

// want is the page by sorting everything.
func (s *store) want(q roster.Query) (names []string, total int) {
	var list []*thread.Header
	for _, m := range s.headers {
		for name, h := range m {
			if name == "" || !strings.HasPrefix(name, q.Prefix) {
				continue
			}
			total++
			if strings.Contains(strings.ToLower(name), strings.ToLower(q.Search)) && (q.Agent == nil || *q.Agent == h.FirstAgentID) &&
				(q.Policy == nil || *q.Policy == policy(h)) && (!q.Stale || h.SummariesStale > 0) {
				list = append(list, h)
			}
		}
	}
	key := func(h *thread.Header) int64 {
		return map[string]int64{
			roster.Recent: h.LastAt / 1e9, roster.Size: h.Tokens, roster.Prompt: h.TokensLive, roster.Cost: h.CostMicroUSD, roster.Stale: int64(h.SummariesStale),
		}[q.Sort]
	}
	slices.SortFunc(list, func(a, b *thread.Header) int {
		c := cmp.Compare(key(b), key(a))
		if q.Ascending {
			c = -c
		}
		return cmp.Or(c, strings.Compare(a.Thread, b.Thread))
	})
	for _, h := range list {
		names = append(names, h.Thread)
	}
	return names, total
}

func header(t *rapid.T, i int) *thread.Header {
	name := rapid.SampledFrom([]string{"", "a", "team/", "Team/x", "t", "<script>"}).Draw(t, "kind") + fmt.Sprint(i)
	return &thread.Header{
		Thread: name, FirstAgentID: rapid.SampledFrom([]string{"", "fixer", "planner"}).Draw(t, "agent"), Policy: rapid.SampledFrom([]string{"", "terse"}).Draw(t, "policy"),
		LastAt: rapid.Int64Range(0, 5e9).Draw(t, "at"), Tokens: rapid.Int64Range(0, 4).Draw(t, "tokens"), TokensLive: rapid.Int64Range(0, 4).Draw(t, "live"),
		CostMicroUSD: rapid.Int64Range(0, 3).Draw(t, "cost"), SummariesStale: rapid.Uint64Range(0, 2).Draw(t, "stale"), SummariesActive: rapid.Uint64Range(0, 2).Draw(t, "active"),
	}
}

// Pages, one after the other, are what sorting all threads gives, whatever was written before the first query and since; so are the sums.
func TestPagesAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore()
		write := func(n int) {
			for range n {
				i := rapid.IntRange(0, 300).Draw(t, "thread")
				s.write(i%partitions, header(t, i))
			}
			s.write(0, &thread.Header{Thread: "", Tokens: 99}) // the partition's own chain is no thread
		}
		write(rapid.IntRange(0, 120).Draw(t, "before"))
		if err := s.index.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		write(rapid.IntRange(0, 120).Draw(t, "after"))
		if rapid.Bool().Draw(t, "forget") {
			s.index.Forget()
			write(3)
		}
		q := roster.Query{
			Sort: rapid.SampledFrom(roster.Sorts).Draw(t, "sort"), Ascending: rapid.Bool().Draw(t, "ascending"), Limit: rapid.IntRange(1, 50).Draw(t, "limit"),
			Prefix: rapid.SampledFrom([]string{"", "team/", "zz"}).Draw(t, "prefix"), Search: rapid.SampledFrom([]string{"", "1", "TEAM", "script>2"}).Draw(t, "search"),
			Stale: rapid.Bool().Draw(t, "stale only"),
		}
		if agent := rapid.SampledFrom([]string{"any", "", "fixer"}).Draw(t, "of"); agent != "any" {
			q.Agent = &agent
		}
		if by := rapid.SampledFrom([]string{"any", "default", "terse"}).Draw(t, "by"); by != "any" {
			q.Policy = &by
		}
		want, total := s.want(q)
		got := []string{}
		for {
			p, err := s.index.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if p.Matched != len(want) || p.Total != total || len(p.Threads) > q.Limit {
				t.Fatalf("%d threads, matched %d of %d, want %d of %d", len(p.Threads), p.Matched, p.Total, len(want), total)
			}
			for _, th := range p.Threads {
				if s.headers[th.Partition][th.Name] == nil {
					t.Fatalf("%q is not in partition %d", th.Name, th.Partition)
				}
				got = append(got, th.Name)
			}
			if q.After = p.Next; p.Next == "" {
				break
			}
		}
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Fatalf("%+v\n got %q\nwant %q", q, got, want)
		}
		s.checkSums(t)
	})
}

func (s *store) checkSums(t *rapid.T) {
	want := map[roster.Group]roster.Sums{}
	for _, m := range s.headers {
		for name, h := range m {
			if name == "" {
				continue
			}
			g := roster.Group{Agent: h.FirstAgentID, Policy: policy(h)}
			sum := want[g]
			sum.Threads++
			sum.Tokens += uint64(h.Tokens)
			sum.Live += uint64(h.TokensLive)
			sum.CostMicroUSD += uint64(h.CostMicroUSD)
			sum.Active += h.SummariesActive
			sum.Stale += h.SummariesStale
			want[g] = sum
		}
	}
	got, err := s.index.Sums(t.Context())
	if err != nil || !maps.Equal(got, want) {
		t.Fatalf("%v\n got %v\nwant %v", err, got, want)
	}
}

// A batch that is applied while the store is read is not undone by what was read before it.
func TestBatchDuringReading(t *testing.T) {
	s := newStore()
	for i := range 50 {
		s.write(0, &thread.Header{Thread: fmt.Sprint("t", i), Tokens: 1})
	}
	n := 0
	s.reading = func() {
		if n == 25 {
			s.write(0, &thread.Header{Thread: "t49", Tokens: 7}, &thread.Header{Thread: "t0", Tokens: 8}, &thread.Header{Thread: "new", Tokens: 9})
		}
		n++
	}
	p, err := s.index.List(t.Context(), roster.Query{Sort: roster.Size, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Threads, p.Total); got != "[{new 0} {t0 0} {t49 0}] 51" {
		t.Error(got)
	}
}

// A reading that fails, or that no query waits for, does not stand in the way of the next one.
func TestReadingAgain(t *testing.T) {
	s := newStore()
	s.write(1, &thread.Header{Thread: "t", Tokens: 1})
	s.fails = errors.New("damaged")
	if _, err := s.index.List(t.Context(), roster.Query{Sort: roster.Size, Limit: 3}); !errors.Is(err, s.fails) {
		t.Error(err)
	}
	s.mu.Lock()
	s.fails = nil
	s.mu.Unlock()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.index.List(over, roster.Query{Sort: roster.Size, Limit: 3}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if p, err := s.index.List(t.Context(), roster.Query{Sort: roster.Size, Limit: 3}); err != nil || p.Total != 1 {
		t.Error(p, err)
	}
	for _, after := range []string{"x", "AA", "gAAAAAAAAAAAdA", "////"} {
		if _, err := s.index.List(t.Context(), roster.Query{Sort: roster.Size, Limit: 3, After: after}); !errors.Is(err, roster.ErrCursor) {
			t.Errorf("%q: %v", after, err)
		}
	}
}

// Agents can name themselves without end.
func TestManyAgents(t *testing.T) {
	s := newStore()
	if err := s.index.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	const n = 70_000
	for i := range n {
		s.index.Wrote(0, slices.Values([]*thread.Header{{Thread: fmt.Sprint(i), FirstAgentID: fmt.Sprint("agent", i), Tokens: 1}}))
	}
	sums, err := s.index.Sums(t.Context())
	if err != nil || len(sums) > 1<<16 || sums[roster.Group{}].Threads != n-(1<<16-1) {
		t.Errorf("%d groups, %v, %v", len(sums), sums[roster.Group{}], err)
	}
}

// What a page of 1,000,000 threads takes, and a batch that writes 64 of them.
func BenchmarkList(b *testing.B) {
	s, n := newStore(), 1_000_000
	if err := s.index.Ready(b.Context()); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		s.index.Wrote(i%partitions, slices.Values([]*thread.Header{{
			Thread: fmt.Sprintf("team-%d/thread-%d", i%100, i), FirstAgentID: fmt.Sprint("agent", i%50), LastAt: int64(i) * 1e9, Tokens: int64(i*7919) % 100_003,
		}}))
	}
	for name, q := range map[string]roster.Query{
		"recent": {Sort: roster.Recent}, "idle": {Sort: roster.Recent, Ascending: true}, "size": {Sort: roster.Size}, "search": {Sort: roster.Size, Search: "d-99999"}, "cost": {Sort: roster.Cost},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				q.Limit = 100
				if p, err := s.index.List(b.Context(), q); err != nil || p.Total != n {
					b.Fatal(p, err)
				}
			}
		})
	}
	b.Run("batch", func(b *testing.B) {
		headers := make([]*thread.Header, 64)
		for i := range headers {
			at := i * 15_000 * partitions
			headers[i] = &thread.Header{Thread: fmt.Sprintf("team-%d/thread-%d", at%100, at), FirstAgentID: fmt.Sprint("agent", at%50), Tokens: 5}
		}
		for b.Loop() {
			s.index.Wrote(0, slices.Values(headers))
		}
	})
}
