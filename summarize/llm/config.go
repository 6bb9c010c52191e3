package llm

import (
	"fmt"
	"net/url"
	"time"
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
