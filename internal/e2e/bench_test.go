package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkLatency measures, at a fixed rate, from the publish call until a client has the record.
func BenchmarkLatency(b *testing.B) {
	const rate = 5 * time.Millisecond // 200 tool outputs a second
	w := begin(b, "")
	for _, c := range []struct {
		name, subject string
		publish       func(thread string)
	}{
		{"summary.created", "summary.created.*", func(name string) { w.result(name, "m", output(name)) }},
		{"summary.invalidated", "summary.invalidated.*", func(name string) { w.edit(name, "m", output("edited "+name)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			run := fmt.Sprint("lat-", b.N, "-")
			made, f := w.follow("SUMMARIES", "summary.created.*"), w.follow("SUMMARIES", c.subject)
			took := make([]time.Duration, 0, b.N)
			tick := time.NewTicker(rate)
			defer tick.Stop()
			for i := range b.N {
				name := fmt.Sprint(run, c.name[8:11], "-", i)
				if c.name == "summary.invalidated" {
					w.result(name, "m", output(name))
					made.until(about(name))
				}
				<-tick.C
				began := time.Now()
				c.publish(name)
				f.until(about(name))
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// about says whether a record is of a thread.
func about(name string) func(stored) bool {
	return func(m stored) bool { return strings.HasSuffix(m.subject, "."+token(name)) }
}
