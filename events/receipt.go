package events

import "context"

// Receipt follows one accepted event.
type Receipt struct {
	done chan struct{}
	seq  uint64
	err  error
}

// Done is closed when the event's fate is known.
func (r *Receipt) Done() <-chan struct{} { return r.done }

// Wait returns the event's sequence in EVENTS once the server has stored it. It fails with ErrRefused where the
// server won't ever take the event, with ErrPublisherClosed where the publisher was closed before, and with the
// context's error, which says nothing about the event.
func (r *Receipt) Wait(ctx context.Context) (seq uint64, err error) {
	select {
	case <-r.done:
		return r.seq, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (r *Receipt) settle(seq uint64, err error) {
	r.seq, r.err = seq, err
	close(r.done)
}

// pending is an accepted event on its way.
type pending struct {
	Receipt
	subject string
	data    []byte
}
