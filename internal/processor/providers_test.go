package processor

import (
	"testing"
	"time"

	"precis/internal/config"
	"precis/summarize/llm"
)

// Every limit that the configuration has reaches the ladder.
func TestLimitsReachTheLadder(t *testing.T) {
	c := config.Default()
	c.Providers = map[string]config.Provider{
		"own": {
			Kind: config.KindOpenAI, BaseURL: "http://llm.test/v1", Model: "m", APIKey: "k", APIKeyEnv: "K",
			Timeout: time.Second, MaxConcurrency: 2, MaxAttempts: 5, RequestsPerMinute: 7, BudgetUSDPerDay: 0.5,
		},
		"no key":  {Kind: config.KindAnthropic, Model: "m", APIKeyEnv: "NONE"},
		"keyless": {Kind: config.KindOpenAI, BaseURL: "http://localhost:11434/v1", Model: "llama3.1"},
	}
	got := (&Processor{}).ladderProviders(c)
	want := llm.ProviderConfig{
		Kind: llm.OpenAI, BaseURL: "http://llm.test/v1", Model: "m", APIKey: "k",
		Timeout: time.Second, MaxConcurrency: 2, MaxAttempts: 5, RequestsPerMinute: 7, BudgetMicroUSDPerDay: 500_000,
	}
	if got["own"] != want {
		t.Errorf("got %+v, want %+v", got["own"], want)
	}
	if _, ok := got["keyless"]; !ok || len(got) != 2 {
		t.Errorf("providers %v", got)
	}
}
