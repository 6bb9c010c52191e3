package llm

import (
	"math/rand/v2"
	"time"

	"precis/summarize/pricing"
)

// Options are what a Ladder stands on. Zero values are the defaults.
type Options struct {
	Providers map[string]ProviderConfig
	Prices    *pricing.Table           // default: the built-in table
	Ledger    Ledger                   // default: in memory, from nothing
	Mask      func(text string) string // takes secrets out; never lengthens; default: none
	Now       func() time.Time         // default: time.Now
	Random    func() float64           // in [0, 1), for jitter; default: math/rand/v2

	Backoff        Backoff
	MaxRetryAfter  time.Duration // a provider that asks for more is passed over; default 1m
	MaxQueue       time.Duration // the longest wait for requests_per_minute; default 1m
	BreakerOpensAt int           // failures in a row; default 5
	BreakerDelay   time.Duration // until one call is let through to try; default 30s
}

// WithDefaults fills in what is not given.
func (o Options) WithDefaults() Options {
	if o.Prices == nil {
		o.Prices = pricing.Builtin()
	}
	if o.Ledger == nil {
		o.Ledger = &Spending{}
	}
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.BreakerOpensAt <= 0 {
		o.BreakerOpensAt = 5
	}
	o.Backoff = o.Backoff.withDefaults()
	o.MaxRetryAfter = orElse(o.MaxRetryAfter, time.Minute)
	o.MaxQueue = orElse(o.MaxQueue, time.Minute)
	o.BreakerDelay = orElse(o.BreakerDelay, 30*time.Second)
	return o
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// Backoff is how long to wait between attempts: First, doubled each time up to Most, of which a random
// part between half and all is taken, so that jobs that failed together don't come back together.
type Backoff struct {
	First time.Duration // default 500ms
	Most  time.Duration // default 20s
}

func (b Backoff) withDefaults() Backoff {
	b.First = orElse(b.First, 500*time.Millisecond)
	b.Most = orElse(b.Most, 20*time.Second)
	return b
}

// delay is the wait after a failed attempt, counted from 1. A provider's Retry-After is the least.
func (b Backoff) delay(attempt int, asked time.Duration, random float64) time.Duration {
	d := b.First
	for range attempt - 1 {
		if d *= 2; d >= b.Most {
			d = b.Most
			break
		}
	}
	jittered := d/2 + time.Duration(random*float64(d-d/2))
	return max(jittered, asked)
}
