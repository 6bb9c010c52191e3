package savings

import (
	"time"

	"precis/internal/thread"
	"precis/summarize/pricing"
)

// DefaultCacheFor is how long providers hold a prompt that is not used again: Anthropic five minutes, OpenAI five to ten.
const DefaultCacheFor = 5 * time.Minute

// Options of savings.
type Options struct {
	// Prices are those of the agents' models. precis's own calls cost what is on record.
	Prices *pricing.Table
	// Model is the one that a thread is taken to use as long as its messages name none; empty: its price is unknown.
	Model string
	// CacheFor is how long a provider's cache holds a prompt; 0: there is no cache, and nothing is written to it either.
	CacheFor time.Duration
	// Takes says what is counted; nil: everything.
	Takes func(thread, agent, policy string, at time.Time) bool
}

// Ledger adds up the turns of threads.
type Ledger struct {
	opts   Options
	byName map[string]*account
	models map[string]string // one copy of each name
}

// NewLedger returns an empty ledger.
func NewLedger(o Options) *Ledger {
	if o.Takes == nil {
		o.Takes = func(string, string, string, time.Time) bool { return true }
	}
	return &Ledger{opts: o, byName: map[string]*account{}, models: map[string]string{}}
}

// account is what a ledger has of a thread.
type account struct {
	progress
	agent string
	sums  []entry // few: a thread seldom changes its model or policy, or goes on for many days
}

// entry are the sums of a thread under one model and policy on one day.
type entry struct {
	model, policy string
	day           time.Time // its beginning
	Sums
}

func (l *Ledger) account(name string) *account {
	a := l.byName[name]
	if a == nil {
		a = &account{}
		l.byName[name] = a
	}
	return a
}

func (l *Ledger) intern(name string) string {
	if have, ok := l.models[name]; ok {
		return have
	}
	l.models[name] = name
	return name
}

// entry returns the sums under a model and a policy on the day of a time.
func (a *account) entry(l *Ledger, model, policy string, at time.Time) *Sums {
	day := at.UTC().Truncate(24 * time.Hour)
	for i := len(a.sums) - 1; i >= 0; i-- { // the day is mostly the latest
		if a.sums[i].model == model && a.sums[i].policy == policy && a.sums[i].day.Equal(day) {
			return &a.sums[i].Sums
		}
	}
	a.sums = append(a.sums, entry{model: l.intern(model), policy: l.intern(policy), day: day})
	return &a.sums[len(a.sums)-1].Sums
}

// turn counts a turn, if it is to be counted.
func (a *account) turn(l *Ledger, t *Turn, at time.Time, h *thread.Header, policy string) {
	a.agent = l.intern(h.FirstAgentID)
	if !l.opts.Takes(h.Thread, h.FirstAgentID, policy, at) {
		return
	}
	sums := a.entry(l, t.Model, policy, t.At)
	if p, known := t.price(l.opts.Prices, l.opts.CacheFor > 0); known {
		sums.turn(t, &p)
	} else {
		sums.turn(t, nil)
	}
}

// spent counts what precis's own calls cost.
func (a *account) spent(l *Ledger, o own, h *thread.Header, model, policy string, at time.Time) {
	a.agent = l.intern(h.FirstAgentID)
	if !l.opts.Takes(h.Thread, h.FirstAgentID, policy, at) {
		return
	}
	sums := a.entry(l, model, policy, at)
	add(&sums.OwnMicroUSD, o.microUSD)
	add(&sums.OwnInput, o.input)
	add(&sums.OwnOutput, o.output)
	sums.OwnUnknown += o.unknown
}

// unpriced reports whether the thread has turns, and none of a known price.
func (a *account) unpriced() bool {
	var turns, unpriced uint64
	for i := range a.sums {
		turns += a.sums[i].Turns
		unpriced += a.sums[i].TurnsUnpriced
	}
	return turns > 0 && unpriced == turns
}

// sent says which prompts the thread's agent sent.
func (a *account) sent() string {
	var r Reported
	for i := range a.sums {
		r.FitPrecis += a.sums[i].Reported.FitPrecis
		r.FitOwn += a.sums[i].Reported.FitOwn
	}
	return r.Sent()
}
