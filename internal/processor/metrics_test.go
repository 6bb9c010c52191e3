package processor

import (
	"maps"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/fold"
)

// What models cost is summed up by agent, policy and model; a call without a price counts apart.
func TestCostsInMetrics(t *testing.T) {
	m := newMetrics("")
	price := int64(1070)
	known := &events.UsageRecord{
		Model: "claude-haiku-4-5", Outcome: "used", Cost: events.Cost{AmountMicroUSD: &price},
		Usage: events.Usage{InputTokens: 1000, CachedInputTokens: 200, OutputTokens: 50},
	}
	unknown := &events.UsageRecord{Model: "llama", Outcome: "refused", Usage: events.Usage{InputTokens: 7}}
	for _, d := range []fold.Decided{
		{Record: known, Agent: "coder", Policy: "cheap"}, {Record: known, Agent: "coder", Policy: "cheap"},
		{Record: known, Agent: "reviewer", Policy: "cheap"}, {Record: unknown, Agent: "coder", Policy: "local"},
	} {
		m.decided(d)
	}
	want := map[string]float64{
		"precis_model_calls_of_unknown_cost_total agent=coder model=llama policy=local":       1,
		"precis_model_cost_microusd_total agent=coder model=claude-haiku-4-5 policy=cheap":    2140,
		"precis_model_cost_microusd_total agent=reviewer model=claude-haiku-4-5 policy=cheap": 1070,
	}
	if got := gathered(t, m, "cost"); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What an alarm looks at is there with 0 before it first counts: the increase from nothing to 1 is none.
func TestAlarmsBeginAtZero(t *testing.T) {
	m := newMetrics("")
	model := "llama"
	m.decided(fold.Decided{Record: &events.Started{Model: &model}, Agent: "coder", Policy: "local"})
	for word, want := range map[string]map[string]float64{
		"rejected": {
			"precis_rejected_events_total code=invalid_json": 0, "precis_rejected_events_total code=schema": 0,
			"precis_rejected_events_total code=thread_mismatch": 0, "precis_rejected_events_total code=type_mismatch": 0,
			"precis_rejected_events_total code=message_conflict": 0, "precis_rejected_events_total code=unknown_message": 0,
			"precis_rejected_events_total code=too_large": 0,
		},
		"log_missing": {
			"precis_log_missing_total stream=EVENTS": 0, "precis_log_missing_total stream=SUMMARIES": 0, "precis_log_missing_total stream=REJECTED": 0,
		},
		"unknown_cost": {"precis_model_calls_of_unknown_cost_total agent=coder model=llama policy=local": 0},
	} {
		if got := gathered(t, m, word); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// gathered are the counters whose name holds a word, by name and labels.
func gathered(t *testing.T, m *metrics, word string) map[string]float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if !strings.Contains(family.GetName(), word) {
			continue
		}
		for _, metric := range family.GetMetric() {
			key := family.GetName()
			for _, label := range metric.GetLabel() {
				key += " " + label.GetName() + "=" + label.GetValue()
			}
			found[key] = metric.GetCounter().GetValue()
		}
	}
	return found
}
