package processor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

const (
	// waveRows is how many rows are in flight at once; of a thread it is never more than one.
	waveRows = 256
	// outboxRows is how many rows may wait before the partition stops taking events. Under fsync the
	// server stores about 4,000 records a second, so that it is a few seconds' worth.
	outboxRows = 16384
	// outboxBytes bounds the same by what they weigh: a rejection may hold an event of megabytes.
	outboxBytes = 16 << 20
	// Pauses between tries of a wave that the server did not take.
	retryMin, retryMax = 50 * time.Millisecond, 5 * time.Second
)

// ErrOtherWriter: somebody else writes this thread's records; two processors may not share the streams.
var ErrOtherWriter = errors.New("another writer's record stands in SUMMARIES")

// outbox publishes one partition's decided rows, in order within each thread.
type outbox struct {
	partition int
	pub       *broker.Publisher
	summaries *broker.LogReader
	stored    func(wave) // may not wait for the lane, which waits for the outbox
	// verify holds the store against the streams; verified is what connections said when it last did.
	verify      func(context.Context) error
	connections func() uint64
	verified    uint64
	failpoint   func(string, int) error
	log         zerolog.Logger
	metrics     *metrics

	mu      sync.Mutex
	rows    []*state.Outgoing
	open    int            // rows that the lane has yet to note as stored, those in rows and others
	queued  map[string]int // how many of them a thread has
	bytes   int            // of their data
	changed chan struct{}  // closed and made anew when rows are added or taken
	// after is the last SUMMARIES sequence of threads that have rows whose After was read before the
	// store had noted their last delivery.
	after map[string]uint64
}

// wave is rows that the server has stored, and the sequences it gave them.
type wave struct {
	rows []*state.Outgoing
	seqs []uint64
	// Up to these SUMMARIES and REJECTED hold nothing of this partition that is not confirmed; zero: not told.
	summaries, rejected state.Mark
}

// add queues durable rows; it never blocks.
func (o *outbox) add(rows []*state.Outgoing) {
	if len(rows) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows = append(o.rows, rows...)
	o.open += len(rows)
	for _, row := range rows {
		o.queued[row.Thread]++
		o.bytes += len(row.Data)
	}
	o.signal()
}

func (o *outbox) signal() {
	close(o.changed)
	o.changed = make(chan struct{})
	o.metrics.outbox(o.partition, len(o.rows))
}

// wait returns when there is room for more rows, or stopping is closed: what is left then waits in the
// store.
func (o *outbox) wait(stopping <-chan struct{}) {
	o.until(stopping, func() bool { return len(o.rows) < outboxRows && o.bytes < outboxBytes })
}

// drained returns when nothing is left to publish.
func (o *outbox) drained(ctx context.Context) error {
	if !o.until(ctx.Done(), func() bool { return len(o.rows) == 0 }) {
		return ctx.Err()
	}
	return nil
}

func (o *outbox) until(giveUp <-chan struct{}, holds func() bool) bool {
	for {
		o.mu.Lock()
		ok, changed := holds(), o.changed
		o.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-giveUp:
			return false
		}
	}
}

// Run publishes until ctx ends. It returns an error only where publishing can't go on.
func (o *outbox) Run(ctx context.Context) error {
	pause := retryMin
	for {
		rows := o.next(ctx)
		if rows == nil {
			return nil
		}
		w, err := o.publish(ctx, rows)
		if len(w.rows) > 0 {
			o.take(w)
			o.stored(w)
		}
		switch {
		case err == nil:
			pause = retryMin
			continue
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, broker.ErrTransient):
			return err
		}
		o.log.Warn().Err(err).Dur("retry_in", pause).Msg("server did not store records, they wait in the outbox")
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, retryMax)
	}
}

// next waits for rows and returns the first of each thread, waveRows at most; nil when ctx ends.
func (o *outbox) next(ctx context.Context) []*state.Outgoing {
	for {
		o.mu.Lock()
		rows, changed := o.pick(), o.changed
		o.mu.Unlock()
		if len(rows) > 0 {
			return rows
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (o *outbox) pick() []*state.Outgoing {
	var rows []*state.Outgoing
	taken := map[string]bool{}
	for i, row := range o.rows[:min(len(o.rows), 4*waveRows)] {
		if row.Type == events.ConfigApplied {
			// What was decided under another configuration stands on its other side in SUMMARIES too: that is
			// how a recovery tells records apart that took effect behind the same event.
			if i == 0 {
				rows = append(rows, row)
			}
			return rows
		}
		if row.Guarded && taken[row.Thread] {
			continue
		}
		taken[row.Thread] = taken[row.Thread] || row.Guarded
		rows = append(rows, row)
		if len(rows) == waveRows {
			break
		}
	}
	return rows
}

// take forgets rows that are stored.
func (o *outbox) take(w wave) {
	stored := make(map[uint64]bool, len(w.rows))
	for _, row := range w.rows {
		stored[row.Number] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, row := range w.rows {
		if row.Guarded {
			o.after[row.Thread] = w.seqs[i]
		}
	}
	o.remove(stored)
	o.signal()
}

// remove takes rows out of the queue. They stand at its beginning, as pick found them: thousands may wait behind
// them, and of a thread there is a wave for each.
func (o *outbox) remove(stored map[uint64]bool) {
	seen, found := 0, 0
	for ; found < len(stored) && seen < len(o.rows); seen++ {
		if stored[o.rows[seen].Number] {
			found++
		}
	}
	to := seen
	for i := seen - 1; i >= 0; i-- {
		row := o.rows[i]
		if !stored[row.Number] {
			to--
			o.rows[to] = row
			continue
		}
		o.bytes -= len(row.Data)
		if o.queued[row.Thread]--; o.queued[row.Thread] == 0 {
			delete(o.queued, row.Thread)
		}
	}
	clear(o.rows[:to])
	o.rows = o.rows[to:]
}

// noted says that the lane has noted so many rows as stored.
func (o *outbox) noted(rows int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open -= rows
}

// underWay says whether rows were given to the outbox that the lane has not noted as stored.
func (o *outbox) underWay() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open > 0
}

// settle forgets what the store has noted now: rows that are decided from here on know it from there.
func (o *outbox) settle(w wave) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, row := range w.rows {
		if o.queued[row.Thread] == 0 && o.after[row.Thread] == w.seqs[i] {
			delete(o.after, row.Thread)
		}
	}
}

func (o *outbox) afterOf(row *state.Outgoing) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(row.After, o.after[row.Thread])
}

// publish sends rows and returns those that the server has stored.
func (o *outbox) publish(ctx context.Context, rows []*state.Outgoing) (wave, error) {
	if err := o.failpoint(FailSending, o.partition); err != nil {
		return wave{}, err
	}
	if err := o.sameStreams(ctx); err != nil {
		return wave{}, err
	}
	msgs := make([]*nats.Msg, len(rows))
	for i, row := range rows {
		msgs[i] = o.message(row)
	}
	began := time.Now()
	acks := o.pub.PublishBatch(ctx, msgs)
	o.metrics.published(len(rows), time.Since(began))
	var w wave
	var failed error
	for i, ack := range acks {
		seq, err := ack.Seq, ack.Err
		if errors.Is(err, broker.ErrWrongLastSequence) {
			seq, err = o.resolve(ctx, rows[i])
		}
		if err == nil && ack.Duplicate && rows[i].Guarded {
			err = o.stands(ctx, rows[i], seq)
		}
		if err != nil {
			failed = err
			continue
		}
		w.rows, w.seqs = append(w.rows, rows[i]), append(w.seqs, seq)
	}
	if failed == nil {
		w.confirm()
	}
	return w, failed
}

// sameStreams makes sure, where the connection is another one than before, that the server has lost nothing meanwhile:
// what was decided from lost events may not be published.
func (o *outbox) sameStreams(ctx context.Context) error {
	now := o.connections()
	if now == o.verified {
		return nil
	}
	err := o.verify(ctx)
	if err == nil {
		o.verified = now
	} else if !errors.Is(err, recovery.ErrRewritten) {
		err = fmt.Errorf("%w: %w", broker.ErrTransient, err)
	}
	return err
}

// confirm says how far the streams are known, now that no row's fate is open.
func (w *wave) confirm() {
	summaries, rejected := -1, -1
	for i, row := range w.rows {
		last := &rejected
		if row.Guarded {
			last = &summaries
		}
		if *last < 0 || w.seqs[i] > w.seqs[*last] {
			*last = i
		}
	}
	w.summaries, w.rejected = w.mark(summaries), w.mark(rejected)
}

// mark is that of a row as it is stored, but for the time, which the server has not told; negative: of none.
func (w *wave) mark(row int) state.Mark {
	if row < 0 {
		return state.Mark{}
	}
	r := w.rows[row]
	return state.Mark(broker.MarkOf(broker.Stored{Subject: r.Subject, Data: r.Data, Seq: w.seqs[row]}))
}

// message is the row as it is published: behind the thread's last record, and nowhere else.
func (o *outbox) message(row *state.Outgoing) *nats.Msg {
	subject := row.Thread
	if subject == "" {
		subject = events.PartitionToken(o.partition)
	}
	msg := &nats.Msg{
		Subject: row.Subject, Data: row.Data,
		Header: events.Encode(row.Type, row.ID, subject, "precis", row.Time),
	}
	if row.Guarded {
		msg.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(o.afterOf(row), 10))
		msg.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", threadRecords(row.Subject))
	}
	return msg
}

// resolve finds out whose record stands where ours was to go: our own, whose confirmation was lost, or
// another writer's.
func (o *outbox) resolve(ctx context.Context, row *state.Outgoing) (uint64, error) {
	last, err := o.summaries.Last(ctx, threadRecords(row.Subject))
	if err != nil && !errors.Is(err, broker.ErrGone) {
		return 0, fmt.Errorf("%w: look up last record of thread: %w", broker.ErrTransient, err)
	}
	if err == nil && last.Header.Get(nats.MsgIdHdr) == row.ID {
		return last.Seq, nil
	}
	if after := o.afterOf(row); last.Seq < after {
		return 0, fmt.Errorf("%w: SUMMARIES has lost record %d, behind which %s was to go: %s",
			recovery.ErrRolledBack, after, row.ID, recovery.Advice)
	}
	return 0, fmt.Errorf("%w: record %d where %s was to go: stop the other processor, or give this one streams of its own",
		ErrOtherWriter, last.Seq, row.ID)
}

// stands makes sure of a record that the server calls a duplicate: the server remembers ids for a while
// also where SUMMARIES was purged meanwhile, and what it drops then stands nowhere.
func (o *outbox) stands(ctx context.Context, row *state.Outgoing, seq uint64) error {
	_, err := o.summaries.Get(ctx, seq)
	if err != nil {
		return fmt.Errorf("%w: the server takes %s for a duplicate of record %d: %w", broker.ErrTransient, row.ID, seq, err)
	}
	return nil
}

// threadRecords is the subject filter of all records of the thread that a record's subject names.
func threadRecords(subject string) string {
	for i := len(subject) - 1; i >= 0; i-- {
		if subject[i] == '.' {
			return "*.*" + subject[i:]
		}
	}
	return subject
}
