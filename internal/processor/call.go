package processor

import (
	"context"
	"fmt"

	"precis/internal/fold"
)

// errEnding: the partition takes no more turns.
var errEnding = fmt.Errorf("%w: the processor is ending", fold.ErrNotReady)

// errElsewhere: another processor of the cluster has the partition.
var errElsewhere = fmt.Errorf("%w: another processor has the partition", fold.ErrNotReady)

// errGivenUp: the partition gets no further. It is another processor's, or made again.
var errGivenUp = fmt.Errorf("%w: the partition is given up", fold.ErrNotReady)

// call runs work in the lane's goroutine and returns when its changes are durable. Failed work changes nothing, and
// its error is returned; a fatal error ends the processor too.
func (p *partition) call(ctx context.Context, work func() error) error {
	_, err := answer(ctx, p, func() (struct{}, error) { return struct{}{}, work() })
	return err
}

// answer is call for work that returns something.
func answer[T any](ctx context.Context, p *partition, work func() (T, error)) (v T, err error) {
	answers := make(chan func() (T, error), 1) // the lane may send after ctx has ended
	p.turn(func() error {
		v, err := work()
		send := func() { answers <- func() (T, error) { return v, err } }
		if err != nil || !p.part.Changed() {
			send()
		} else {
			p.onCommit(send)
		}
		if err != nil && fatal(err) {
			return err
		}
		p.rowsLost(err)
		return nil
	})
	select {
	case answer := <-answers:
		return answer()
	case <-ctx.Done():
		return v, ctx.Err()
	case <-p.ended:
		return v, errEnding
	}
}
