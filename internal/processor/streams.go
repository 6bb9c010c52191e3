package processor

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/internal/recovery"
)

// streams is what a store has to fit to.
type streams struct{ events, summaries broker.StreamState }

func (p *Processor) streams(ctx context.Context) (s streams, err error) {
	js := p.broker.JetStream()
	if s.events, err = broker.StateOf(ctx, js, broker.StreamEvents); err != nil {
		return s, err
	}
	s.summaries, err = broker.StateOf(ctx, js, broker.StreamSummaries)
	return s, err
}

// expectStreams refuses to go on where a stream is gone that the store was made from: made anew, it would
// take events while it is to be restored.
func (p *Processor) expectStreams(ctx context.Context) error {
	meta, err := p.store.View(0).Meta()
	if err != nil || meta.EventsCreated.IsZero() {
		return err
	}
	_, err = p.streams(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %w: %s", recovery.ErrStreamGone, err, recovery.Advice)
	}
	return err
}
