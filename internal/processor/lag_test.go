package processor

import (
	"strconv"
	"testing"
)

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
				if label.GetValue() == otherAgents && series.GetCounter().GetValue() != 4*mostAgents {
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
