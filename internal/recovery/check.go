package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/state"
)

// Errors at start: the store and the streams do not belong together.
var (
	// ErrRolledBack: the store knows more of a stream than the stream holds.
	ErrRolledBack = errors.New("the log is behind the store")
	// ErrStreamGone: a stream from which the store was made is missing.
	ErrStreamGone = errors.New("a stream is gone that the store was made from")
	// ErrRewritten: a stream was rolled back, and has grown again past the store's position.
	ErrRewritten = errors.New("the log is not the one that the store was made from")
	// ErrOtherStream: a stream was recreated after the store was written.
	ErrOtherStream = errors.New("not the stream that the store was made from")
)

// Advice is what to do about these errors. The rest of a data directory may hold the log itself, so the advice is
// never to start with an empty directory.
const Advice = "restore the stream from a newer backup; if there is none, run \"processor recover\", which reports what is lost and with --accept-loss continues without it; " +
	"if EVENTS has lost nothing, or \"processor restore\" made the streams, move the state in the data directory away and start again"

// CheckLog compares a partition's position with the stream.
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

// CheckRecords compares what a partition has published with the stream: records after lost ones would break the
// threads' chains.
func CheckRecords(meta state.Meta, records broker.StreamState) error {
	if meta.SummariesSeq == 0 {
		return nil
	}
	if !meta.SummariesCreated.IsZero() && !meta.SummariesCreated.Equal(records.Created) {
		return fmt.Errorf("SUMMARIES is %w: it was made at %s, the store's at %s: %s",
			ErrOtherStream, records.Created, meta.SummariesCreated, Advice)
	}
	// Nothing of what was seen is left: retention takes no records, and a processor that has none of them begins new chains.
	if purged := records.Msgs == 0 || records.First > meta.SummariesSeq; purged || meta.SummariesSeq > records.Last {
		return fmt.Errorf("%w: the store has seen record %d, SUMMARIES holds %d records, begins at %d and ends at %d: %s",
			ErrRolledBack, meta.SummariesSeq, records.Msgs, records.First, records.Last, Advice)
	}
	return nil
}

// Readers read the three streams; those that are not read are nil.
type Readers struct{ Events, Summaries, Rejected *broker.LogReader }

// ReadersOf returns the readers of a server's streams.
func ReadersOf(js jetstream.JetStream) Readers {
	return Readers{
		Events: broker.NewLogReader(js, broker.StreamEvents), Summaries: broker.NewLogReader(js, broker.StreamSummaries),
		Rejected: broker.NewLogReader(js, broker.StreamRejected),
	}
}

// CheckMarks verifies that the streams still hold the messages at which the partitions stand. It fails with
// ErrRewritten if one does not.
func CheckMarks(ctx context.Context, metas []state.Meta, log Readers) error {
	type place struct {
		mark    state.Mark
		through uint64
	}
	for _, s := range []struct {
		log *broker.LogReader
		at  func(state.Meta) place
	}{
		{log.Events, func(m state.Meta) place { return place{m.EventsMark, m.Position} }},
		{log.Summaries, func(m state.Meta) place { return place{m.SummariesMark, m.SummariesSeq} }},
		{log.Rejected, func(m state.Meta) place { return place{m.RejectedMark, m.RejectedSeq} }},
	} {
		if s.log == nil {
			continue
		}
		held := map[place]bool{} // idle partitions share a position
		for _, m := range metas {
			at := s.at(m)
			if held[at] {
				continue
			}
			held[at] = true
			if err := s.log.Holds(ctx, broker.Mark(at.mark), at.through); err != nil {
				return Explain(err)
			}
		}
	}
	return nil
}

// Explain adds Advice to the error of a stream that is no longer the one that was read.
func Explain(err error) error {
	if !errors.Is(err, broker.ErrStreamLost) || errors.Is(err, ErrRewritten) {
		return err
	}
	return fmt.Errorf("%w: %w: %s", ErrRewritten, err, Advice)
}

// Furthest is the furthest position of any partition in each stream.
func Furthest(metas []state.Meta) (to state.Meta) {
	for _, m := range metas {
		if m.EventsMark.Seq > to.EventsMark.Seq {
			to.EventsMark, to.Position = m.EventsMark, m.Position
		}
		if m.SummariesMark.Seq > to.SummariesMark.Seq {
			to.SummariesMark, to.SummariesSeq = m.SummariesMark, m.SummariesSeq
		}
		if m.RejectedMark.Seq > to.RejectedMark.Seq {
			to.RejectedMark, to.RejectedSeq = m.RejectedMark, m.RejectedSeq
		}
	}
	return to
}
