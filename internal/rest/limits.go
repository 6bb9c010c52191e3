package rest

import (
	"sync"

	"golang.org/x/time/rate"
)

// rates bound the requests of each token.
type rates struct {
	perSecond int // 0: no limit

	mu sync.Mutex
	of map[string]*rate.Limiter
}

// maxRates bounds the names that rates remembers; names come from the tokens file alone, over its reloads.
const maxRates = 10_000

func (r *rates) allow(name string) bool {
	if r.perSecond == 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil || len(r.of) > maxRates {
		r.of = map[string]*rate.Limiter{}
	}
	l := r.of[name]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(r.perSecond), r.perSecond)
		r.of[name] = l
	}
	return l.Allow()
}

// places bound the open streams, or the bytes of bodies in memory, in all and of one token.
type places struct {
	all, each int

	mu    sync.Mutex
	taken int
	of    map[string]int
}

// enter takes n places; leave gives them back. It is nil where so many are not free.
func (p *places) enter(name string, n int) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken+n > p.all || p.of[name]+n > p.each {
		return nil
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.taken += n
	p.of[name] += n
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken -= n
		if p.of[name] -= n; p.of[name] == 0 {
			delete(p.of, name)
		}
	}
}
