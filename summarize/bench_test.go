package summarize_test

import (
	"fmt"
	"testing"

	"precis/summarize"
)

// The cost of finding a thread's policy among a hundred and checking a tool output against it.
func BenchmarkDecide(b *testing.B) {
	var policies []summarize.Policy
	for i := range 100 {
		p := summarize.Default()
		p.Name, p.Match.AgentID = fmt.Sprintf("p%d", i), fmt.Sprintf("agent-%d-*", i)
		policies = append(policies, p)
	}
	policies = append(policies, summarize.Default())
	b.ReportAllocs()
	for b.Loop() {
		p, _ := summarize.Resolve(policies, "", "somebody", "thread")
		if _, ok := p.ToolTrigger(1501, 400); !ok {
			b.Fatal("not over the threshold")
		}
	}
}
