package llm

import (
	"sync"
	"time"
)

// Ledger says what was spent already. The caller restores it from its usage records after a restart. It is safe
// for concurrent use.
type Ledger interface {
	// Spent is the sum for a provider on a UTC day (2006-01-02), in micro-dollars.
	Spent(provider, day string) int64
	// Add books a call that was just made. It is not durable by itself: the Outcome's Calls are.
	Add(provider, day string, microUSD int64)
}

// Spending is a Ledger in memory.
type Spending struct {
	mu  sync.Mutex
	sum map[[2]string]int64
}

// Spent gives the sum.
func (s *Spending) Spent(provider, day string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum[[2]string{provider, day}]
}

// Add books an amount; it is also how a caller restores what was spent before.
func (s *Spending) Add(provider, day string, microUSD int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sum == nil {
		s.sum = map[[2]string]int64{}
	}
	s.sum[[2]string{provider, day}] += microUSD
}

// purse keeps one provider within its daily budget. Calls in flight hold what they may cost, so that
// many at once can't pass the budget together.
type purse struct {
	provider string
	limit    int64 // 0: none
	ledger   Ledger

	mu   sync.Mutex
	held map[string]int64 // by day
}

// hold sets aside what a call may cost, or says no.
func (p *purse) hold(day string, most int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit > 0 && p.ledger.Spent(p.provider, day)+p.held[day]+most > p.limit {
		return false
	}
	if p.held == nil {
		p.held = map[string]int64{}
	}
	p.held[day] += most
	return true
}

// settle books what the call did cost in place of what was held for it.
func (p *purse) settle(day string, most, cost int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[day] -= most; p.held[day] <= 0 {
		delete(p.held, day)
	}
	p.ledger.Add(p.provider, day, cost)
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }
