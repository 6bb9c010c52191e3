package config_test

import (
	"testing"

	"precis/internal/config"
)

func TestProviders(t *testing.T) {
	const keys = "OPENAI_API_KEY=o"
	for _, c := range []struct {
		name, file    string
		wantName      string
		want          config.Provider
		keyOfProvider string
	}{
		{
			name: "the built-in main, by name", file: "policies: [{mode: llm, provider: main}]",
			wantName: "main", want: config.DefaultProvider(config.KindOpenAI), keyOfProvider: "o",
		},
		{
			name: "no summarizer falls back to main", file: "policies: [{mode: llm}]\nproviders: {main: {kind: openai, model: m}}",
			wantName: "main", want: withModel(config.DefaultProvider(config.KindOpenAI), "m"), keyOfProvider: "o",
		},
		{
			name: "rules need no key", file: "policies: [{mode: rules}]",
			wantName: "summarizer", want: config.DefaultProvider(config.KindAnthropic),
		},
		{
			name: "a policy that is off needs no key", file: "policies: [{mode: llm, enabled: false}]",
			wantName: "summarizer", want: config.DefaultProvider(config.KindAnthropic),
		},
		{
			name: "a kind's defaults", file: "policies: [{mode: rules}]\nproviders: {summarizer: {kind: anthropic}}",
			wantName: "summarizer", want: config.DefaultProvider(config.KindAnthropic),
		},
		{
			name: "main without its kind", file: "policies: [{mode: llm}]\nproviders: {main: {model: m}}",
			wantName: "main", want: withModel(config.DefaultProvider(config.KindOpenAI), "m"), keyOfProvider: "o",
		},
		{
			name: "summarizer without its kind", file: "policies: [{mode: rules}]\nproviders: {summarizer: {model: m}}",
			wantName: "summarizer", want: withModel(config.DefaultProvider(config.KindAnthropic), "m"),
		},
		{
			name: "main of another kind", file: "policies: [{mode: rules}]\nproviders: {main: {kind: anthropic}}",
			wantName: "main", want: config.DefaultProvider(config.KindAnthropic),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := load(t, config.Sources{File: write(t, c.file), Env: []string{keys}})
			name, got, ok := cfg.ProviderFor(cfg.Policies[0].Provider)
			c.want.APIKey = c.keyOfProvider
			if !ok || name != c.wantName || got != c.want {
				t.Errorf("got %s %+v, want %s %+v", name, got, c.wantName, c.want)
			}
		})
	}
}

func TestProviderWithoutKey(t *testing.T) {
	load(t, config.Sources{File: write(t, `
policies: [{mode: llm, provider: local}]
providers: {local: {kind: openai, base_url: "http://localhost:11434/v1", model: small, api_key_env: ""}}
`)})
}

func withModel(p config.Provider, model string) config.Provider {
	p.Model = model
	return p
}
