package config

import (
	"time"

	"precis/summarize"
)

// Kinds of provider: the wire format of its API.
const (
	KindOpenAI    = "openai"
	KindAnthropic = "anthropic"
)

// Names of the default providers.
const (
	ProviderMain       = summarize.ProviderMain
	ProviderSummarizer = summarize.ProviderSummarizer
)

// builtInKinds are the kinds of the default providers, unless a file sets one.
var builtInKinds = map[string]string{ProviderMain: KindOpenAI, ProviderSummarizer: KindAnthropic}

// DefaultProvider returns the defaults of a provider kind; the models are seed 0's.
func DefaultProvider(kind string) Provider {
	p := Provider{Kind: kind, Timeout: 30 * time.Second, MaxConcurrency: 4, MaxAttempts: 3}
	switch kind {
	case KindOpenAI:
		p.Model, p.APIKeyEnv = "gpt-4.1-mini", "OPENAI_API_KEY"
	case KindAnthropic:
		p.Model, p.APIKeyEnv = "claude-haiku-4-5-20251001", "ANTHROPIC_API_KEY"
	}
	return p
}

// ProviderFor returns the provider that a policy names, or main if there is none of that name.
func (c *Config) ProviderFor(name string) (string, Provider, bool) {
	if p, ok := c.Providers[name]; ok {
		return name, p, true
	}
	p, ok := c.Providers[ProviderMain]
	return ProviderMain, p, ok
}
