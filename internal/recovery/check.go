package recovery

import (
	"errors"
	"fmt"

	"precis/internal/broker"
	"precis/state"
)

// Errors at start that say that store and streams don't belong together.
var (
	// ErrRolledBack: the store knows more of a stream than the stream holds.
	ErrRolledBack = errors.New("the log is behind the store")
	// ErrStreamGone: a stream is missing that the store was made from.
	ErrStreamGone = errors.New("a stream is gone that the store was made from")
	// ErrOtherStream: a stream was made anew since the store was written.
	ErrOtherStream = errors.New("not the stream that the store was made from")
)

// Advice is what to do then. The rest of a data directory may hold the log itself: nobody is told to start
// with an empty one.
const Advice = "restore the stream, or move the store (state in the data directory) away: it is rebuilt from the log"

// CheckLog holds a partition's position against the stream.
func CheckLog(meta state.Meta, log broker.StreamState) error {
	if meta.Position == 0 {
		return nil
	}
	if !meta.EventsCreated.Equal(log.Created) {
		return fmt.Errorf("EVENTS is %w: it was made at %s, the store's at %s: %s",
			ErrOtherStream, log.Created, meta.EventsCreated, Advice)
	}
	if meta.Position > log.Last {
		return fmt.Errorf("%w: the store has applied event %d, EVENTS ends at %d: %s",
			ErrRolledBack, meta.Position, log.Last, Advice)
	}
	return nil
}

// CheckRecords holds what a partition has published against the stream: records behind lost ones would
// break the threads' chains.
func CheckRecords(meta state.Meta, records broker.StreamState) error {
	if meta.SummariesSeq == 0 {
		return nil
	}
	if !meta.SummariesCreated.IsZero() && !meta.SummariesCreated.Equal(records.Created) {
		return fmt.Errorf("SUMMARIES is %w: it was made at %s, the store's at %s: %s",
			ErrOtherStream, records.Created, meta.SummariesCreated, Advice)
	}
	if meta.SummariesSeq > records.Last || records.Msgs == 0 {
		return fmt.Errorf("%w: the store has seen record %d, SUMMARIES holds %d records and ends at %d: %s",
			ErrRolledBack, meta.SummariesSeq, records.Msgs, records.Last, Advice)
	}
	return nil
}

// CheckStaged refuses to go on where SUMMARIES speaks of events that the log does not hold.
func CheckStaged(part *state.Partition, log broker.StreamState) error {
	last, err := part.LastStaged()
	if err != nil || last <= log.Last {
		return err
	}
	return fmt.Errorf("%w: SUMMARIES holds a record made at event %d, EVENTS ends at %d: restore EVENTS", ErrRolledBack, last, log.Last)
}
