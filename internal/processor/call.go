package processor

import (
	"context"
	"fmt"

	"precis/internal/fold"
)

// errEnding: the partition takes no more turns.
var errEnding = fmt.Errorf("%w: the processor is ending", fold.ErrNotReady)

// call runs work in the lane's goroutine and returns when its changes are durable. Failed work changes nothing, and
// its error is returned; a fatal error ends the processor too.
func (p *partition) call(ctx context.Context, work func() error) error {
	answer := make(chan error, 1)
	p.turn(func() error {
		err := work()
		if err != nil || !p.part.Changed() {
			answer <- err
		} else {
			p.onCommit(func() { answer <- nil })
		}
		if err != nil && fatal(err) {
			return err
		}
		return nil
	})
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		return errEnding
	}
}
