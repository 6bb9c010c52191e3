package audit

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

func readSummary(data []byte) (*events.Summary, error) {
	rec := new(events.Summary)
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	return rec, nil
}

// digestOf is the digest over messages at their current revisions, and summaries.
func digestOf(rows []*thread.Message, summaries []string) string {
	var sources []summarize.Source
	for _, m := range rows {
		sources = append(sources, summarize.Source{ID: m.ID, Revision: m.Revision, Digest: m.Digest})
	}
	for _, id := range summaries {
		sources = append(sources, summarize.Source{ID: id})
	}
	return summarize.SourceDigest(sources)
}
