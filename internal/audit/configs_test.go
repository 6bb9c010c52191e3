package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/race"
)

// A configuration that was forged in one partition is found there, whichever it is and whether anything was decided
// under it, with a store and without one.
func TestForgedConfiguration(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.story()
	store, original := w.store(), w.messages(broker.StreamSummaries)
	for partition := range w.config.Partitions + 1 {
		list := slices.Clone(original)
		at := slices.IndexFunc(list, func(m broker.Stored) bool {
			return m.Subject == string(events.ConfigApplied)+"."+events.PartitionToken(partition)
		})
		list[at].Data = set(t, list[at].Data, map[string]any{"program_version": "another"})
		reseal(t, list)
		w.rewrite(broker.StreamSummaries, list)
		for _, rep := range []*audit.Report{w.replay(), w.replay(func(o *audit.Options) { o.Store = store })} {
			if !slices.ContainsFunc(rep.Findings, func(f audit.Finding) bool {
				return f.Check == audit.CheckConfig && strings.HasSuffix(f.Got, fmt.Sprintf("of partition %d", partition))
			}) {
				t.Errorf("partition %d: %+v", partition, rep.Findings)
			}
		}
	}
}
