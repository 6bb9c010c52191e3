package events_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
)

func TestUsageAndCost(t *testing.T) {
	for want, value := range map[string]any{
		`{"input_tokens":0,"output_tokens":0,"cached_input_tokens":0,"cache_creation_input_tokens":0,"attempts":0,"latency_ms":0,"source":null}`:       events.Usage{},
		`{"input_tokens":1,"output_tokens":2,"cached_input_tokens":3,"cache_creation_input_tokens":0,"attempts":4,"latency_ms":5,"source":"provider"}`: events.Usage{InputTokens: 1, OutputTokens: 2, CachedInputTokens: 3, Attempts: 4, LatencyMS: 5, Source: "provider"},
		`{"amount_microusd":null,"currency":"USD","price_table":null}`:                                                                                 events.Cost{Currency: "USD"},
		`{"amount_microusd":0,"currency":"USD","price_table":"p"}`:                                                                                     events.Cost{AmountMicroUSD: new(int64), Currency: "USD", PriceTable: "p"},
	} {
		got, err := json.Marshal(value)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	var u events.Usage
	if err := json.Unmarshal([]byte(`{"source":null,"attempts":2}`), &u); err != nil || u != (events.Usage{Attempts: 2}) {
		t.Errorf("%+v, %v", u, err)
	}
}
