package ui

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/thread"
	"precis/internal/timeline"
)

// Of a thread whose outputs were edited again and again the page reads the records of the summaries that it shows, not those of all that were replaced.
func TestRecordsOfShownSummaries(t *testing.T) {
	const messages, versions = 500, 4
	s := &audit.Story{Sketch: true}
	for m := range messages {
		id := fmt.Sprintf("m%d", m)
		s.Entries = append(s.Entries, &audit.Entry{EventSeq: uint64(m + 1), Type: events.ToolResult, MessageID: id, Unread: true})
		for v := range versions {
			s.Summaries = append(s.Summaries, &audit.Standing{
				ID: fmt.Sprintf("s%d.%d", m, v), Status: thread.Replaced, Unread: v > 0 || m%2 == 0, Record: jsontext.Value(fmt.Sprintf(`{"source_message_ids":[%q]}`, id)),
			})
		}
	}
	got := unreadCards(s, timeline.Options{Last: shownEntries, Summary: "s0.0"})
	if len(got) < 50 || len(got) > 100 || !got["s0.0"] || !got["s499.3"] || got["s499.0"] || got["s1.1"] {
		t.Errorf("%d records are read of %d summaries: the chosen one's %t, the latest one's %t, one's that is there %t, an old one's %t",
			len(got), len(s.Summaries), got["s0.0"], got["s499.3"], got["s499.0"], got["s1.1"])
	}
}
