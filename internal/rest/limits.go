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

// places bound the open streams, in all and of one token.
type places struct {
	all, each int

	mu    sync.Mutex
	taken int
	of    map[string]int
}

// enter takes a place; leave gives it back. It is nil where none is free.
func (p *places) enter(name string) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.all || p.of[name] >= p.each {
		return nil
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.taken++
	p.of[name]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if p.of[name]--; p.of[name] == 0 {
			delete(p.of, name)
		}
	}
}
