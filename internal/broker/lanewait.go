package broker

import (
	"context"
	"time"
)

// next returns the lane's next message. Between messages it runs turns, and
// flushes when a pause ends the batch.
func (l *lane) next(ctx context.Context) (item, error) {
	for {
		if ctx.Err() != nil { // select would choose at random between this and a message
			return item{}, errStopping
		}
		seen := *l.feed.reached.Load()
		select {
		case it := <-l.queue:
			return it, nil
		case fn := <-l.turns:
			l.turn(fn)
			if err := l.flushFull(ctx); err != nil {
				return item{}, err
			}
		default:
			it, got, err := l.idle(ctx, seen)
			if got || err != nil {
				return it, err
			}
		}
	}
}

// idle is a pause: it ends the batch when its grace expires. got is false if
// something other than a message ended the pause.
func (l *lane) idle(ctx context.Context, seen reach) (it item, got bool, err error) {
	var expired <-chan time.Time
	if grace := l.grace(); grace > 0 {
		l.timer.Reset(grace)
		defer l.timer.Stop()
		expired = l.timer.C
	} else if err := l.settle(ctx, seen); err != nil {
		return it, false, err
	}
	select {
	case it = <-l.queue:
		return it, true, nil
	case fn := <-l.turns:
		l.turn(fn)
		return it, false, l.flushFull(ctx)
	case <-l.poke:
		return it, false, nil
	case <-ctx.Done():
		return it, false, errStopping
	case <-expired:
		l.pending = 0 // the expected message did not come: don't wait for it again
		return it, false, nil
	}
}

// settle flushes the open batch.
func (l *lane) settle(ctx context.Context, seen reach) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	return l.advance(ctx, seen)
}

// pause flushes and then waits for d, running turns. No message is in flight.
func (l *lane) pause(ctx context.Context, d time.Duration) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	return l.waitFor(ctx, nil, d)
}

// waitFor waits for wake, or for d (0: no limit), running turns and flushing them.
func (l *lane) waitFor(ctx context.Context, wake <-chan struct{}, d time.Duration) error {
	if d > 0 {
		l.timer.Reset(d)
		defer l.timer.Stop()
	}
	for {
		select {
		case <-wake:
			return nil
		case fn := <-l.turns:
			l.turn(fn)
			if err := l.flush(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return errStopping
		case <-l.timer.C:
			return nil
		}
	}
}
