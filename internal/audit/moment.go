package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// upToTime ends the fold at the last event of a time. What a job brought later is not taken over, also
// where it took effect behind that event.
func (s *Source) upToTime(ctx context.Context, t time.Time, l *openedLog) error {
	seq, err := seqAt(ctx, s.Events, l.events.First, l.events.Last, t)
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

// byJob says whether a record is a job's: it came when its work was done, not when its event was folded.
func byJob(m broker.Stored) bool {
	switch t, _, _ := events.ParseSubject(m.Subject); t {
	case events.UsageRecorded, events.SummaryFailed:
		return true
	case events.SummaryCreated:
		rec, err := readSummary(m.Data)
		return err == nil && (rec.Usage.Attempts > 0 || rec.EventSeq != rec.EffectiveSeq)
	}
	return false
}

// seqAt is the last sequence whose message came at a time or before; 0 where none did. Times go up with
// the sequences, so that halving finds it; where one is missing, the one before it serves.
func seqAt(ctx context.Context, log *broker.LogReader, first, last uint64, t time.Time) (uint64, error) {
	low, high := max(first, 1)-1, last // low is known to be early enough, what is above high is not
	for low < high {
		mid := low + (high-low+1)/2
		at, found, err := timeAtOrBefore(ctx, log, mid, low)
		if err != nil {
			return 0, err
		}
		if !found || !at.After(t) {
			low = mid
			continue
		}
		high = mid - 1
	}
	return low, nil
}

// timeAtOrBefore is the time of a message, or of the last one before it that is there and above low.
func timeAtOrBefore(ctx context.Context, log *broker.LogReader, seq, low uint64) (time.Time, bool, error) {
	for ; seq > low; seq-- {
		m, err := log.Get(ctx, seq)
		if err == nil {
			return m.Time, true, nil
		}
		if !errors.Is(err, broker.ErrGone) {
			return time.Time{}, false, err
		}
	}
	return time.Time{}, false, nil
}
