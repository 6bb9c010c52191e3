package events

import "context"

// Receipt tracks one accepted event.
type Receipt struct {
	done chan struct{}
	seq  uint64
	err  error
}

// Done is closed when the event is stored, refused or dropped.
func (r *Receipt) Done() <-chan struct{} { return r.done }

// Wait returns the event's sequence in EVENTS once the server has stored it. It fails with ErrRefused if the server
// refuses the event permanently, with ErrPublisherClosed if the publisher was closed first, and with the context's
// error, which says nothing about the event.
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

// pending is an accepted event that is not settled.
type pending struct {
	Receipt
	subject string
	data    []byte
}
