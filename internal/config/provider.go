package config

import "time"

// Kinds of provider: whose wire format its API speaks.
const (
	KindOpenAI    = "openai"
	KindAnthropic = "anthropic"
)

// Names that providers have by default. A policy's summarizer that is not configured is main.
const (
	ProviderMain       = "main"
	ProviderSummarizer = "summarizer"
)

// builtInKinds are the kinds of these two, where a file names none.
var builtInKinds = map[string]string{ProviderMain: KindOpenAI, ProviderSummarizer: KindAnthropic}

// DefaultProvider is what a provider of a kind starts from; the models are seed 0's.
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

// ProviderFor resolves the provider that a policy names: where there is none of that name, main serves.
func (c *Config) ProviderFor(name string) (string, Provider, bool) {
	if p, ok := c.Providers[name]; ok {
		return name, p, true
	}
	p, ok := c.Providers[ProviderMain]
	return ProviderMain, p, ok
}
