package llm

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	"precis/summarize/pricing"
)

// Kinds of provider: whose wire format its API speaks.
const (
	OpenAI    = "openai" // also Azure, Ollama, vLLM and every other server that speaks it, by BaseURL
	Anthropic = "anthropic"
)

// ProviderConfig is a model's API and how it is used. The zero value of a limit is its default, and
// where that is 0, no limit.
type ProviderConfig struct {
	Kind    string
	BaseURL string // as the official SDKs take it: OpenAI's with its /v1, Anthropic's without; empty: theirs
	Model   string
	APIKey  string

	Timeout           time.Duration // of one attempt; default 30s
	MaxConcurrency    int           // default 4
	MaxAttempts       int           // default 3
	RequestsPerMinute int           // default 0, no limit
	// BudgetMicroUSDPerDay is for a UTC day; default 0, no limit.
	BudgetMicroUSDPerDay int64
}

// WithDefaults fills in what is not given.
func (c ProviderConfig) WithDefaults() ProviderConfig {
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MaxConcurrency <= 0 {
		c.MaxConcurrency = 4
	}
	if c.MaxAttempts <= 0 {
		c.MaxAttempts = 3
	}
	return c
}

// host is the server's name.
func (c ProviderConfig) host() string {
	if u, err := url.Parse(c.BaseURL); err == nil && u.Host != "" {
		return u.Hostname()
	}
	return "api." + c.Kind + ".com"
}

// NewProvider makes the client. Errors wrap ErrProvider and say what can't be. The clock is for dates
// in Retry-After and for latencies.
func NewProvider(c ProviderConfig, now func() time.Time) (Provider, error) {
	if c.Model == "" {
		return nil, fmt.Errorf("%w: no model", ErrProvider)
	}
	if u, err := url.Parse(c.BaseURL); err != nil || (c.BaseURL != "" && (u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"))) {
		return nil, fmt.Errorf("%w: base URL %q is not an http URL", ErrProvider, c.BaseURL)
	}
	switch c.Kind {
	case OpenAI:
		return newOpenAI(c, now), nil
	case Anthropic:
		return newAnthropic(c, now), nil
	}
	return nil, fmt.Errorf("%w: kind %q; allowed: %s, %s", ErrProvider, c.Kind, OpenAI, Anthropic)
}

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
