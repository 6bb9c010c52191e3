package audit_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/processor"
	"precis/summarize"
)

// With max_summary_chars: auto a summary has the room that its own output earns, an edit's what the new content does. The audit
// makes the same summaries again, also from a log that began with a number.
func TestSummariesBySizeOfTheOutput(t *testing.T) {
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "step %d: linked lib%d.so\n", i, i*i)
	}
	w := newWorld(t)
	w.config.Policies[0].ToolOutput.MaxSummaryChars, w.config.Policies[1].ToolOutput.MaxSummaryChars = 900, 900
	w.run(func(*processor.Processor) { w.put([2]string{"tool.result.t", output("m0", 400, "")}) })
	w.config.Policies[0].ToolOutput.MaxSummaryChars, w.config.Policies[1].ToolOutput.MaxSummaryChars = summarize.Auto, summarize.Auto
	w.run(func(*processor.Processor) {
		w.put(
			[2]string{"tool.result.t", output("m1", 60, "")},
			[2]string{"tool.result.t", output("m2", 400, "")},
			[2]string{"tool.result.t", output("m3", 3000, "")},
			[2]string{"tool.result.t", output("m4", 60, "")},
			[2]string{"message.edited.t", `{"message_id":"m4","edit_id":"e1","content":` + fmt.Sprintf("%q", long.String()) + `}`},
		)
	})
	size := map[string]int{}
	for _, r := range w.rows(audit.Filter{Thread: "t"}, events.SummaryCreated) {
		s := r.Record.(*events.Summary)
		size[s.SourceMessageIDs[0]] = utf8.RuneCountInString(s.Content) // the last one of each output
	}
	for id, room := range map[string][2]int{
		"m1": {700, 1_000}, "m2": {2_000, 2_600}, "m3": {3_800, 4_000}, "m4": {3_800, 4_000},
	} {
		if n := size[id]; n < room[0] || n > room[1] {
			t.Errorf("%s: %d characters, want %v", id, n, room)
		}
	}
	w.proved()
}
