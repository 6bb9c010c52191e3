package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

// streams are the states of the streams that a store must match.
type streams struct{ events, summaries broker.StreamState }

func (p *Processor) streams(ctx context.Context) (s streams, err error) {
	js := p.broker.JetStream()
	if s.events, err = broker.StateOf(ctx, js, broker.StreamEvents); err != nil {
		return s, err
	}
	s.summaries, err = broker.StateOf(ctx, js, broker.StreamSummaries)
	return s, err
}

// metas are where the store has partitions.
func (p *Processor) metas(ids []int) ([]state.Meta, error) {
	metas := make([]state.Meta, len(ids))
	for i, id := range ids {
		var err error
		if metas[i], err = p.store.View(id).Meta(); err != nil {
			return nil, err
		}
	}
	return metas, nil
}

// checkMarks verifies, before anything is read, that the streams hold what each partition has read.
func (p *Processor) checkMarks(ctx context.Context, ids []int) error {
	metas, err := p.metas(ids)
	if err != nil {
		return err
	}
	return recovery.CheckMarks(ctx, metas, p.readers())
}

// checkStore verifies that all that the store has is of these streams. A processor of a cluster that took only what its partitions are
// to be could join, and move partitions, before it found that it must not have any.
func (p *Processor) checkStore(ctx context.Context, at streams) error {
	metas, err := p.metas(p.all())
	if err != nil {
		return err
	}
	if err := recovery.CheckMarks(ctx, metas, p.readers()); err != nil {
		return err
	}
	for _, meta := range metas {
		if err := errors.Join(recovery.CheckLog(meta, at.events), recovery.CheckRecords(meta, at.summaries)); err != nil {
			return err
		}
	}
	return nil
}

// sameStreams verifies that the server has not lost, while it was away, what the store was made from.
func (p *Processor) sameStreams(ctx context.Context) error {
	parts := p.parts()
	metas := make([]state.Meta, len(parts))
	for i, part := range parts {
		metas[i] = *part.stands.Load()
	}
	return p.stillSame(ctx, metas)
}

func (p *Processor) readers() recovery.Readers {
	return recovery.Readers{Events: p.events, Summaries: p.summaries, Rejected: p.rejected}
}

// connections is the number of reconnects.
func (p *Processor) connections() uint64 { return p.broker.Conn().Stats().Reconnects }

// missing reports a gap in a stream. What is gone can't be waited for, so the work continues after it.
func (p *Processor) missing(m broker.Missing) {
	p.metrics.missing.WithLabelValues(m.Stream).Add(float64(m.Messages()))
	p.log.Error().Stringer("missing", m).
		Msg("the log has a gap: what stood there was deleted or can't be read, and is in no counter and no summary; processor replay says what it touches")
}

// foreign reports a message of SUMMARIES that no processor of these streams wrote, or not at that place.
func (p *Processor) foreign(f recovery.Foreign) {
	p.metrics.foreign.Inc()
	p.log.Error().Err(f.Why).Uint64("seq", f.Stored.Seq).Str("subject", f.Stored.Subject).
		Msg("SUMMARIES holds a foreign record: it is passed over; find out who can publish there, and see processor replay")
}

// holes reports the gaps that the server knows of, which may lie before everything that a start reads.
func (p *Processor) holes(name string, s broker.StreamState) {
	if n := s.Holes(); n > 0 {
		p.log.Error().Str("stream", name).Uint64("messages", n).
			Msg("messages of this stream were lost by the server or deleted; processor replay names them")
	}
	p.metrics.holes.WithLabelValues(name).Set(float64(s.Holes()))
}

// expectStreams refuses to continue if a stream from which the store was made is gone: recreated, it would take events
// while it is to be restored.
func (p *Processor) expectStreams(ctx context.Context) error {
	metas, err := p.metas(p.all())
	if err != nil || !slices.ContainsFunc(metas, func(m state.Meta) bool { return !m.EventsCreated.IsZero() }) {
		return err
	}
	_, err = p.streams(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %w: %s", recovery.ErrStreamGone, err, recovery.Advice)
	}
	return err
}
