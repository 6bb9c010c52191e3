package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// evidence is an event that EVENTS held: its sequence, and when it was stored.
type evidence struct {
	seq uint64
	at  time.Time
	of  string // the thread
}

// evidenceOf is the event at which a record was decided; ok is false if the record does not say, or is void.
func evidenceOf(s *state.Staged) (e evidence, ok bool) {
	var head events.Head
	if s.Void || s.Thread == "" || json.Unmarshal(s.Data, &head) != nil || head.EventAt == nil {
		return e, false
	}
	return evidence{seq: head.EventSeq, at: *head.EventAt, of: s.Thread}, true
}

// holds reports whether EVENTS holds the event. known is false if its sequence is empty: retention removes a stream's
// first messages, and damage any. The stream's leader answers.
func (e evidence) holds(ctx context.Context, log *broker.LogReader, last uint64) (holds, known bool, err error) {
	if e.seq > last {
		return false, true, nil
	}
	m, err := log.Next(ctx, ">", e.seq)
	if errors.Is(err, broker.ErrGone) {
		return false, false, nil
	}
	if err != nil || m.Seq != e.seq {
		return false, false, err
	}
	return m.Time.Equal(e.at), true, nil
}

// CheckBasis verifies that EVENTS still holds the events at which the staged records of the partitions, some of which may be nil, were decided:
// with an empty or older store nothing else reveals a log that was rolled back and has grown again. A log that holds
// the last such event holds all before it.
func CheckBasis(ctx context.Context, parts []*state.Partition, log *broker.LogReader) error {
	at, err := log.State(ctx)
	if err != nil {
		return err
	}
	var newest []evidence
	for _, part := range parts {
		if part == nil || part.Meta().Staged == 0 { // adopted records leave marks of deletion behind: a look would go through all of them
			continue
		}
		last, err := part.LastStaged()
		if err != nil {
			return err
		}
		if last > at.Last {
			return fmt.Errorf("%w: SUMMARIES holds a record made at event %d, EVENTS ends at %d: %s", ErrRolledBack, last, at.Last, Advice)
		}
		e, found, err := newestOf(part)
		if err != nil {
			return err
		}
		if found {
			newest = append(newest, e)
		}
	}
	slices.SortFunc(newest, func(a, b evidence) int { return cmp.Compare(b.seq, a.seq) })
	for _, e := range newest {
		holds, known, err := e.holds(ctx, log, at.Last)
		if err != nil {
			return err
		}
		if known && !holds {
			return fmt.Errorf("%w: SUMMARIES holds a record of thread %q that was decided at event %d, stored at %s, and EVENTS has another event there: %s",
				ErrRewritten, e.of, e.seq, e.at.Format(time.RFC3339Nano), Advice)
		}
		if known {
			return nil
		}
	}
	return nil
}

// newestOf is the last event at which a staged record of the partition was decided.
func newestOf(part *state.Partition) (newest evidence, found bool, err error) {
	err = part.EachStagedBack(func(s *state.Staged) (bool, error) {
		if s.EffectiveSeq < newest.seq {
			return false, nil // no record before it was decided later
		}
		if e, ok := evidenceOf(s); ok && e.seq > newest.seq {
			newest, found = e, true
		}
		return true, nil
	})
	return newest, found, err
}
