package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

// readChains returns the end of every chain in SUMMARIES, by token, as a recovery from an empty store finds them, and
// the number of records in the chains.
func readChains(ctx context.Context, o Options, at broker.StreamState) (ends map[string]state.Link, records uint64, err error) {
	strays, err := Partitions(ctx, o.JetStream)
	if err != nil {
		return nil, 0, err
	}
	var parts []*state.Partition
	for id := range strays + 1 {
		part, err := o.Scratch.Partition(id)
		if err != nil {
			return nil, 0, err
		}
		parts = append(parts, part)
	}
	t, err := recovery.NewTail(parts)
	if err != nil {
		return nil, 0, err
	}
	t.Unfinished = true // the head may be in the middle of an acceptance
	log := &headLog{
		LogReader: broker.NewLogReader(o.JetStream, broker.StreamSummaries), state: at, ends: map[string]state.Link{}, progress: o.Progress,
	}
	t.Foreign = func(recovery.Foreign) { log.foreign = true }
	err = t.Read(ctx, log, emptyLog{})
	for _, part := range parts {
		err = errors.Join(err, part.Close())
	}
	return log.ends, log.records, err
}

// headLog is SUMMARIES as of the sequence state.Last. It notes the records that its reader accepts.
type headLog struct {
	*broker.LogReader
	state    broker.StreamState
	progress func(seq, last uint64) // may be nil
	foreign  bool                   // the last message read is foreign
	ends     map[string]state.Link
	records  uint64
}

// State implements recovery.Log.
func (l *headLog) State(context.Context) (broker.StreamState, error) { return l.state, nil }

// Next implements recovery.Log.
func (l *headLog) Next(ctx context.Context, filter string, from uint64) (broker.Stored, error) {
	m, err := l.LogReader.Next(ctx, filter, from)
	if err == nil && m.Seq > l.state.Last {
		return broker.Stored{}, broker.ErrGone
	}
	return m, err
}

// Scan implements recovery.Log.
func (l *headLog) Scan(ctx context.Context, from uint64, filters []string, each func(broker.Stored) error, progress func(seq, last uint64)) error {
	err := l.LogReader.Scan(ctx, from, filters, func(m broker.Stored) error {
		if m.Seq > l.state.Last {
			return errEnough
		}
		l.foreign = false
		if err := each(m); err != nil || l.foreign {
			return err
		}
		return l.accepted(m)
	}, func(seq, last uint64) {
		progress(seq, last)
		if l.progress != nil {
			l.progress(seq, last)
		}
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// accepted notes a record as the end of its chain.
func (l *headLog) accepted(m broker.Stored) error {
	var head events.Head
	if err := json.Unmarshal(m.Data, &head); err != nil {
		return fmt.Errorf("read record %d: %w", m.Seq, err)
	}
	_, token, _ := events.ParseSubject(m.Subject)
	l.ends[token] = state.Link{ChainSeq: head.ChainSeq, Chain: head.Chain}
	l.records++
	return nil
}

// emptyLog stands for REJECTED, whose messages are in no chain.
type emptyLog struct{}

// Scan implements recovery.Log.
func (emptyLog) Scan(context.Context, uint64, []string, func(broker.Stored) error, func(seq, last uint64)) error {
	return nil
}

// Next implements recovery.Log.
func (emptyLog) Next(context.Context, string, uint64) (broker.Stored, error) {
	return broker.Stored{}, broker.ErrGone
}

// State implements recovery.Log.
func (emptyLog) State(context.Context) (broker.StreamState, error) { return broker.StreamState{}, nil }

// stateAt is the state that SUMMARIES had when last was its last sequence, apart from what was deleted since. Gaps
// after that sequence must not change which records continue their chains before it.
func stateAt(ctx context.Context, js jetstream.JetStream, log broker.StreamState, last uint64) (broker.StreamState, error) {
	if last >= log.Last {
		return log, nil
	}
	gone := uint64(0)
	if log.Holes() > 0 {
		s, err := js.Stream(ctx, broker.StreamSummaries)
		if err != nil {
			return log, fmt.Errorf("look at stream %s: %w", broker.StreamSummaries, err)
		}
		info, err := s.Info(ctx, jetstream.WithDeletedDetails(true))
		if err != nil {
			return log, fmt.Errorf("look at stream %s: %w", broker.StreamSummaries, err)
		}
		for _, seq := range info.State.Deleted {
			if seq <= last {
				gone++
			}
		}
	}
	log.Last, log.Msgs = last, 0
	if log.First <= last {
		log.Msgs = last - log.First + 1 - gone
	}
	return log, nil
}
