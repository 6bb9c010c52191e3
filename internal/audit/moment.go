package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
)

// upToSeq ends the fold at an event.
func (s *Source) upToSeq(seq uint64) {
	s.Partial, s.UpTo = true, nil
	for range s.Strays + 1 {
		s.UpTo = append(s.UpTo, seq)
	}
}

// upToTime ends the fold at the last event of a time. It leaves out what jobs recorded later, even if that took effect
// right after that event.
func (s *Source) upToTime(ctx context.Context, t time.Time, l *openedLog) error {
	seq, err := s.Events.SeqAt(ctx, l.events.First, l.events.Last, t)
	if err != nil {
		return fmt.Errorf("find the last event of %s: %w", t.UTC().Format(time.RFC3339), err)
	}
	s.upToSeq(seq)
	if records, ok := s.Summaries.(tap); ok {
		records.leave = func(m broker.Stored) bool { return m.Time.After(t) && byJob(m) }
		s.Summaries = records
	}
	return nil
}

// byJob reports whether the end of a job made a record: when its work was done, not when its event was folded.
func byJob(m broker.Stored) bool {
	var head events.Head
	return json.Unmarshal(m.Data, &head) == nil && head.Step.Cause == events.ByResult
}
