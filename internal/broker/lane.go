package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
)

// lane hands out and flushes one ordered sequence. One goroutine owns it; the
// feed owns start and the sending end of the queue.
type lane struct {
	Lane
	cfg    SubscriberConfig
	topics *topics
	feed   *feed
	turns  <-chan func()
	log    zerolog.Logger
	timer  *time.Timer   // for pauses; stopped between them
	queue  chan item     // from the feed
	behind *waiting      // its part of the backlog
	poke   chan struct{} // capacity 1: the feed has announced progress
	start  uint64        // position when consuming started

	last     uint64    // complete up to here: the last acked message, or further if the lane is idle
	by       Mark      // of last, unless read holds that message
	read     item      // the last acked message, until a Flush takes its mark
	ahead    item      // taken from the queue, and of another topic than the hand before it; none if msg is nil
	batch    int       // acked messages and turns since the last Flush
	since    time.Time // when this batch began
	pending  uint64    // what the stream still held when it sent the last message
	reached  bool      // Reached was called
	rotation int       // between outputs of one topic
}

func newLane(s *Subscriber, l Lane) (*lane, error) {
	position, by, err := s.cfg.Lanes.Position(l.Name)
	if err != nil {
		return nil, fmt.Errorf("read position of lane %s: %w", l.Name, err)
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &lane{
		Lane: l, cfg: s.cfg, topics: s.topics, timer: timer,
		log:    s.cfg.Logger.With().Str("lane", l.Name).Logger(),
		turns:  s.cfg.Lanes.Turns(l.Name),
		behind: s.cfg.Backlog.lane(l.Name),
		queue:  make(chan item, s.cfg.PrefetchMessages), poke: make(chan struct{}, 1),
		start: position, last: position, by: by,
	}, nil
}

// run consumes until ctx ends or a fatal error occurs, which it returns.
func (l *lane) run(ctx context.Context) error {
	err := l.loop(ctx)
	if !errors.Is(err, errStopping) {
		return err // the open batch is in an unknown state: leave it to the next start
	}
	return l.flush(ctx)
}

func (l *lane) loop(ctx context.Context) error {
	for {
		it, err := l.next(ctx)
		if err != nil {
			return err
		}
		hand := l.hand(it)
		if err := l.take(ctx, hand); err != nil {
			return err
		}
		if err := l.flushFull(ctx); err != nil {
			return err
		}
		if err := l.waiting(ctx, len(hand)); err != nil {
			return err
		}
	}
}

// waiting runs turns that wait, n at most. Turns get as many chances as messages, however many messages a hand has.
func (l *lane) waiting(ctx context.Context, n int) error {
	for range n {
		select {
		case fn := <-l.turns:
			l.turn(fn)
			if err := l.flushFull(ctx); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// handBytes is the size at which a hand is full: large messages take long, and turns wait for the hand.
const handBytes = 64 << 10

// hand is a message with those of its topic that wait right behind it, as many as a hand and the batch have room for.
func (l *lane) hand(first item) []item {
	room := max(1, min(l.cfg.HandMessages, l.cfg.BatchMessages-l.batch, 1+len(l.queue)))
	hand, bytes := append(make([]item, 0, room), first), len(first.msg.Data)
	for topic := l.cfg.Topic(first.msg.Subject); len(hand) < room && bytes < handBytes; {
		it := <-l.queue
		if l.cfg.Topic(it.msg.Subject) != topic {
			l.ahead = it
			break
		}
		hand, bytes = append(hand, it), bytes+len(it.msg.Data)
	}
	l.feed.release(bytes)
	return hand
}

// take hands messages out until they are acked. A hand that is nacked is handed out again message by message: its handler
// skips those that it has applied, so that only one that can't be applied holds up what is behind it.
func (l *lane) take(ctx context.Context, hand []item) error {
	l.behind.oldest.Store(hand[0].ack.stamp)
	if len(hand) > 1 {
		acked, err := l.try(ctx, hand)
		if acked {
			l.acked(hand)
		}
		if acked || err != nil {
			return err
		}
	}
	for i := range hand {
		if ctx.Err() != nil {
			return errStopping
		}
		if err := l.deliver(ctx, hand[i:i+1]); err != nil {
			return err
		}
		l.acked(hand[i : i+1])
		if err := l.waiting(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

// acked notes that messages are applied.
func (l *lane) acked(hand []item) {
	last := hand[len(hand)-1]
	l.last, l.read, l.pending = last.ack.streamSeq, last, last.ack.pending
	l.behind.messages.Add(-int64(len(hand)))
	l.behind.oldest.Store(0)
	l.count(len(hand))
}

// flush makes the batch durable.
func (l *lane) flush(ctx context.Context) error {
	if l.batch == 0 {
		return nil
	}
	return l.commit(ctx)
}

// flushFull flushes a full batch.
func (l *lane) flushFull(ctx context.Context) error {
	if l.batch < l.cfg.BatchMessages {
		return nil
	}
	return l.commit(ctx)
}

func (l *lane) commit(ctx context.Context) error {
	// Durability must not depend on Close: no cancellation here.
	if l.read.msg != nil {
		l.by, l.read = MarkOf(received(l.read.msg, l.read.ack)), item{}
	}
	if err := l.cfg.Lanes.Flush(context.WithoutCancel(ctx), l.Name, l.last, l.by); err != nil {
		return fmt.Errorf("flush lane %s: %w", l.Name, err)
	}
	l.batch = 0
	l.report(reach{l.last, l.by})
	return nil
}

// report announces, once, that everything the stream held at the start is durable.
func (l *lane) report(at reach) {
	if at.seq >= l.feed.target && !l.reached {
		l.reached = true
		l.cfg.Lanes.Reached(l.Name, at.seq, at.by)
	}
}

// turn runs one unit of the processor's own work.
func (l *lane) turn(fn func()) {
	fn()
	l.count(1)
}

// count adds messages or turns to the batch.
func (l *lane) count(n int) {
	if l.batch == 0 {
		l.since = time.Now()
	}
	l.batch += n
}

// grace is how long a batch may wait for more in a pause. If no message is known
// to follow: not at all, so that a single event is durable at once. In a backlog
// that fills every lane's queue: until the batch is old, since no single event is
// urgent there, and the pause says more about the machine than about the log.
// Otherwise: until the batch is BatchWait old.
func (l *lane) grace() time.Duration {
	switch {
	case l.batch == 0 || l.pending == 0:
		return 0
	case l.backlog():
		return l.cfg.BatchWait + l.oldAge() - time.Since(l.since)
	default:
		return l.cfg.BatchWait - time.Since(l.since)
	}
}

// backlog reports whether the stream held a full queue for every lane when it sent the
// last message.
func (l *lane) backlog() bool {
	return l.pending >= uint64(l.cfg.PrefetchMessages*len(l.feed.lanes))
}

// oldAge is the maximum age of a batch in a backlog.
func (l *lane) oldAge() time.Duration { return 50 * l.cfg.BatchWait }

// advance records, in an idle lane, how far the feed has come. seen is the feed's
// progress from before the queue was found empty, so that no message up to there can
// still be in the queue.
func (l *lane) advance(ctx context.Context, seen reach) error {
	if seen.seq >= l.last+l.cfg.AdvanceEvery {
		l.last, l.by = seen.seq, seen.by
		if err := l.commit(ctx); err != nil {
			return err
		}
	}
	l.report(seen)
	return nil
}

// next returns the lane's next message. Between messages it runs turns, and
// flushes when a pause ends the batch.
func (l *lane) next(ctx context.Context) (item, error) {
	for {
		if ctx.Err() != nil { // select would choose at random between this and a message
			return item{}, errStopping
		}
		if it := l.ahead; it.msg != nil {
			l.ahead = item{}
			return it, nil
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
