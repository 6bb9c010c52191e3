package processor

import (
	"strconv"
	"testing"

	"precis/internal/service"
)

// The same for prompts: an agent with each model that its threads name.
func TestSeriesOfPromptsAreBounded(t *testing.T) {
	m := newMetrics("v1")
	for i := range 3 * mostUsers {
		m.served(service.Served{Policy: "default", Outcome: service.ServedPrompt, Agent: "agent-" + strconv.Itoa(i%7), Model: "m" + strconv.Itoa(i), Held: 2, Whole: 5})
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums, series := map[string]float64{}, 0
	for _, f := range families {
		if f.GetName() != "precis_prompt_tokens_total" {
			continue
		}
		series = len(f.GetMetric())
		for _, of := range f.GetMetric() {
			label := map[string]string{}
			for _, l := range of.GetLabel() {
				label[l.GetName()] = l.GetValue()
			}
			sums[label["side"]] += of.GetCounter().GetValue()
			if label["agent"] == others && label["side"] == "held" && of.GetCounter().GetValue() != 2*2*mostUsers {
				t.Error(of)
			}
		}
	}
	if series != 2*(mostUsers+1) || sums["held"] != 6*mostUsers || sums["whole"] != 15*mostUsers {
		t.Error(series, sums)
	}
}

// Agents are named by what they publish: however many there are, the series are bounded.
func TestSeriesOfAgentsAreBounded(t *testing.T) {
	m := newMetrics("v1")
	for i := range 3 * mostAgents {
		id := "agent-" + strconv.Itoa(i)
		for range 2 {
			m.unknownCost.WithLabelValues(m.agent(id), "default", "m").Inc()
		}
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, f := range families {
		seen[f.GetName()] = len(f.GetMetric())
		if f.GetName() != "precis_model_calls_of_unknown_cost_total" {
			continue
		}
		for _, series := range f.GetMetric() {
			for _, label := range series.GetLabel() {
				if label.GetValue() == others && series.GetCounter().GetValue() != 4*mostAgents {
					t.Errorf("%v calls of other agents", series.GetCounter().GetValue())
				}
			}
		}
	}
	if n := seen["precis_model_calls_of_unknown_cost_total"]; n != mostAgents+1 {
		t.Errorf("%d series", n)
	}
	if n := seen["precis_build_info"]; n != 1 {
		t.Errorf("%d build infos", n)
	}
}
