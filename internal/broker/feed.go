package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const (
	feedWindow = 2048    // messages requested ahead
	feedBytes  = 2 << 20 // and bytes
)

// feed reads the stream once, in order, and distributes its messages to the lanes.
//
// It uses one unfiltered consumer for all lanes, because the server's filtered reads are
// expensive (2.15, 256-byte events, CPU time per event, broker and subscriber
// together): 6.5 µs unfiltered, 11.5 µs with 16 consumers of one filter each,
// 260 µs with one consumer of 16 filters. The price: a lane that is blocked for
// longer than its queue lasts blocks the others.
type feed struct {
	sub    *Subscriber
	cfg    SubscriberConfig
	lanes  []*lane
	demux  *demux
	pull   *puller
	log    zerolog.Logger
	online chan nats.Status // status changes of the connection: each loses the requests in flight
	target uint64           // the stream's last sequence when consuming started
	end    ending           // the end to reach: target, or the stream's last sequence at the last heartbeat
	opened bool             // the consumer has been created before
	whole  unbroken         // for a feed without filters

	seq      uint64                // all up to here has been distributed
	reached  atomic.Pointer[reach] // the last progress announced to the lanes
	buffered atomic.Int64          // bytes in the lanes' queues
	room     chan struct{}         // capacity 1: buffered has shrunk
}

// reach is how far the stream has been distributed, and the mark of the last message up to there.
type reach struct {
	seq uint64
	by  Mark
}

// item is one message on its way to its lane.
type item struct {
	msg *nats.Msg
	ack ackReply
}

func newFeed(s *Subscriber, lanes []*lane, stream StreamState) *feed {
	f := &feed{
		sub: s, cfg: s.cfg, lanes: lanes, demux: newDemux(lanes), log: s.cfg.Logger,
		target: stream.Last, room: make(chan struct{}, 1),
	}
	least, furthest := lanes[0], lanes[0]
	var filters []string
	for _, l := range lanes {
		l.feed = f
		if l.last < least.last {
			least = l
		}
		if l.last > furthest.last {
			furthest = l
		}
		filters = append(filters, l.Filters...)
	}
	if len(filters) > 1 || s.cfg.Whole {
		filters = nil
	}
	if filters == nil {
		f.whole = unbroken{stream: s.cfg.Stream, next: max(least.last+1, stream.First), tell: s.cfg.Missing}
	}
	f.seq = least.last
	f.cfg.Backlog.through.Store(f.seq)
	f.reached.Store(&reach{least.last, least.by})
	f.end = ending{log: NewLogReader(s.js, s.cfg.Stream), filters: filters, at: stream}
	f.pull = newPuller(s.js, pullerConfig{
		stream: s.cfg.Stream, filters: filters, after: least.last, known: furthest.by, through: furthest.last, window: feedWindow, bytes: feedBytes,
	})
	return f
}

// run distributes messages until ctx ends or the stream is lost.
func (f *feed) run(ctx context.Context) error {
	f.online = f.sub.js.Conn().StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	defer f.sub.js.Conn().RemoveStatusListener(f.online)
	defer f.pull.drop()
	err := f.reopen(ctx, nil)
	for err == nil {
		err = f.step(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// step handles the next thing that the server sends.
func (f *feed) step(ctx context.Context) error {
	m, err := f.pull.receive(ctx, f.online)
	if err != nil {
		return f.reopen(ctx, err)
	}
	a, ok, broken := f.pull.accept(m)
	if ok { // even if requesting more failed: this message will not come again
		if err := f.deal(ctx, m, a); err != nil {
			return err
		}
	}
	if broken != nil {
		return f.reopen(ctx, broken)
	}
	switch {
	case f.pull.resting:
		return f.heartbeat(ctx)
	case ok && a.pending == 0:
		f.rest(ctx)
	}
	return nil
}

// rest handles a replica with nothing more to deliver. Before the target that is
// the end only if the leader confirms it.
func (f *feed) rest(ctx context.Context) {
	if f.seq >= f.target || f.end.owed > 0 { // already confirmed with the leader: wait for its messages or the next heartbeat
		return
	}
	if err := f.confirm(ctx); err != nil {
		f.log.Info().Err(err).Uint64("seq", f.pull.last).Msg("delivery rests before the log's end, waiting")
	}
}

// heartbeat handles pullHeartbeat without a delivery. If the replica has not
// delivered since the last heartbeat what the leader holds, the consumer is
// recreated and may be placed on another replica.
func (f *feed) heartbeat(ctx context.Context) error {
	if f.end.overdue(f.pull.last) {
		return f.reopen(ctx, fmt.Errorf("%w: it holds sequence %d", errLags, f.end.owed))
	}
	asking, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	now, err := StateOf(asking, f.sub.js, f.cfg.Stream)
	if err == nil {
		f.end.owed = 0
		f.end.at.Last = max(now.Last, f.target)
		if f.seq < f.end.at.Last {
			err = f.confirm(ctx)
		}
	}
	if errors.Is(err, ErrStreamLost) {
		return f.reopen(ctx, err)
	}
	if err != nil {
		f.log.Debug().Err(err).Uint64("seq", f.pull.last).Msg("delivery rests before the log's end, waiting")
	}
	return nil
}

// confirm asks the leader whether nothing more comes before the end.
func (f *feed) confirm(ctx context.Context) error {
	err := f.end.confirm(ctx, f.pull.last)
	if err == nil {
		f.whole.upTo(f.end.at.Last)
		f.progress(f.end.at.Last)
	}
	return err
}

// deal adds a message to its lane's queue, and waits for room there.
func (f *feed) deal(ctx context.Context, m *nats.Msg, a ackReply) error {
	f.whole.saw(a.streamSeq)
	l := f.demux.laneOf(m.Subject)
	if other := f.before(m); other != nil && other != l {
		if err := f.give(ctx, other, item{m, a}); err != nil {
			return err
		}
	}
	if l != nil {
		if err := f.give(ctx, l, item{m, a}); err != nil {
			return err
		}
	}
	f.progress(a.streamSeq)
	return nil
}

// before returns the lane that gets a message before its own does; nil if there is none.
func (f *feed) before(m *nats.Msg) *lane {
	if f.cfg.Before == nil {
		return nil
	}
	name := f.cfg.Before(m.Subject, m.Header, m.Data)
	if name == "" {
		return nil
	}
	at := slices.IndexFunc(f.lanes, func(l *lane) bool { return l.Name == name })
	if at < 0 {
		return nil
	}
	return f.lanes[at]
}

// give adds a message to a lane's queue, unless the lane was past it when consuming started.
func (f *feed) give(ctx context.Context, l *lane, it item) error {
	if it.ack.streamSeq <= l.start {
		return nil
	}
	if err := f.reserve(ctx, int64(len(it.msg.Data))); err != nil {
		return err
	}
	l.behind.messages.Add(1)
	select {
	case l.queue <- it:
		return nil
	default:
	}
	select {
	case l.queue <- it:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reserve waits until the queues have room for n bytes. A single message always has room.
func (f *feed) reserve(ctx context.Context, n int64) error {
	for {
		now := f.buffered.Add(n)
		if now <= int64(f.cfg.PrefetchBytes) || now == n {
			return nil
		}
		f.buffered.Add(-n)
		select {
		case <-f.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// release returns what reserve took. The lanes call it.
func (f *feed) release(n int) {
	f.buffered.Add(-int64(n))
	select {
	case f.room <- struct{}{}:
	default:
	}
}

// progress records that everything up to seq has been distributed, and announces it to
// the lanes at the target and every AdvanceEvery messages.
func (f *feed) progress(seq uint64) {
	before := f.seq
	if seq <= before && before != 0 {
		return
	}
	f.seq = seq
	f.cfg.Backlog.through.Store(seq)
	f.pull.through = max(f.pull.through, seq)
	if before < f.target && seq >= f.target || seq-f.reached.Load().seq >= f.cfg.AdvanceEvery {
		f.tell()
	}
}

func (f *feed) tell() {
	f.reached.Store(&reach{seq: f.seq, by: f.pull.mark()})
	for _, l := range f.lanes {
		select {
		case l.poke <- struct{}{}:
		default:
		}
	}
}

// reopen (re)creates the consumer, and retries until that succeeds, ctx ends, or the stream
// turns out to be a different one. cause is nil the first time.
func (f *feed) reopen(ctx context.Context, cause error) error {
	if cause != nil && ctx.Err() == nil {
		f.log.Warn().Err(cause).Uint64("seq", f.pull.last).Msg("delivery interrupted, resuming")
	}
	for wait := f.cfg.RetryWait; ; wait = min(2*wait, f.cfg.RetryMaxWait) {
		err := f.tryOpen(ctx)
		if err == nil && f.pull.pending == 0 {
			f.rest(ctx)
		}
		if err == nil || errors.Is(err, ErrStreamLost) {
			return err
		}
		if f.sub.js.Conn().IsClosed() {
			return fmt.Errorf("consume stream %s: %w", f.cfg.Stream, nats.ErrConnectionClosed)
		}
		f.log.Debug().Err(err).Msg("resume delivery")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.online:
		case <-time.After(wait):
		}
	}
}

func (f *feed) tryOpen(ctx context.Context) error {
	if !f.sub.js.Conn().IsConnected() {
		return nats.ErrDisconnected // a request would only wait in the reconnect buffer
	}
	ctx, end := f.attempt(ctx)
	defer end()
	if f.opened {
		if err := f.sameStream(ctx); err != nil {
			return err
		}
	}
	f.end.owed = 0
	err := f.pull.open(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %s was deleted", ErrStreamLost, f.cfg.Stream)
	}
	if err == nil && f.opened && f.cfg.Resumed != nil {
		err = f.cfg.Resumed(ctx)
	}
	f.opened = f.opened || err == nil
	return err
}

// attempt bounds requests by time and by the connection: in nats.go a request on a
// broken connection waits for its whole timeout.
func (f *feed) attempt(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	watcher := make(chan struct{})
	go func() {
		defer close(watcher)
		select {
		case <-f.online:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-watcher
	}
}

// sameStream verifies that sequences still refer to the same messages.
func (f *feed) sameStream(ctx context.Context) error {
	state, err := StateOf(ctx, f.sub.js, f.cfg.Stream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("%w: %s was deleted", ErrStreamLost, f.cfg.Stream)
	case err != nil:
		return err
	case !state.Created.Equal(f.sub.created):
		return fmt.Errorf("%w: %s was recreated at %s", ErrStreamLost, f.cfg.Stream, state.Created)
	case state.Last < f.pull.last:
		return fmt.Errorf("%w: %s ends at %d, before sequence %d that was delivered", ErrStreamLost, f.cfg.Stream, state.Last, f.pull.last)
	}
	return nil
}
