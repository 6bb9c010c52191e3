package processor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

const (
	// waveRows is how many steps are in flight at once; of a thread it is never more than one.
	waveRows = 256
	// outboxRows is how many rows may wait before the partition stops taking events. Under fsync the
	// server stores about 4,000 records a second, so that it is a few seconds' worth.
	outboxRows = 16384
	// outboxBytes bounds the same by what they weigh: a rejection may hold an event of megabytes.
	outboxBytes = 16 << 20
	// Pauses between tries of a wave that the server did not take.
	retryMin, retryMax = 50 * time.Millisecond, 5 * time.Second
)

// ErrOtherWriter: another processor writes to these streams.
var ErrOtherWriter = recovery.ErrOtherWriter

// errPassed: foreign records stood where a row was to go; it goes behind them.
var errPassed = errors.New("foreign records passed")

// errUnpublished: no server takes the row, and the partition goes on without it.
var errUnpublished = errors.New("too large to publish")

// errSwallowed: the server calls a row a duplicate of a message that is not it.
var errSwallowed = errors.New("that is another message, or gone")

// outbox publishes one partition's decided rows, in order within each thread. The rows of a step, up to broker.MaxAtomic, are
// stored together or not at all: a recovery that finds one of them finds them all.
type outbox struct {
	partition  int
	partitions int // of the log
	pub        *broker.Publisher
	summaries  *broker.LogReader
	rejected   *broker.LogReader
	foreign    func(recovery.Foreign)
	stored     func(wave) // may not wait for the lane, which waits for the outbox
	// verify holds the store against the streams; verified is what connections said when it last did.
	verify      func(context.Context) error
	connections func() uint64
	verified    uint64
	maxPayload  func() int64 // of the connection, in bytes
	failpoint   func(string, int) error
	log         zerolog.Logger
	metrics     *metrics

	mu      sync.Mutex
	rows    []*state.Outgoing
	open    int            // rows that the lane has yet to note as stored, those in rows and others
	queued  map[string]int // how many of them a thread has
	bytes   int            // of their data
	failure error          // with which Run has ended
	changed chan struct{}  // closed and made anew when rows are added or taken
	// after is the last SUMMARIES sequence of threads that have rows whose After was read before the
	// store had noted their last delivery.
	after map[string]uint64
	// anew are rows, by number, that go without a Nats-Msg-Id: the server remembers theirs of a message that is
	// another one, or gone. What guards them keeps them from being stored twice.
	anew map[uint64]bool
	// unsure are rejections, by number, that may be stored although nothing says so, and the sequence of REJECTED behind
	// which they are then. The server's memory of their ids ends, so each is looked for before it is sent again.
	unsure map[uint64]uint64
	// rejectedTo is a sequence of REJECTED behind which what is sent from now on is stored.
	rejectedTo uint64
}

// wave is rows that the server has stored, and the sequences it gave them.
type wave struct {
	rows []*state.Outgoing
	seqs []uint64
	// Up to these SUMMARIES and REJECTED hold nothing of this partition that is not confirmed; zero: not told.
	summaries, rejected state.Mark
	// open says that the fate of a row is not known yet.
	open bool
}

func (w *wave) stored(row *state.Outgoing, seq uint64) {
	w.rows, w.seqs = append(w.rows, row), append(w.seqs, seq)
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

// drained returns when nothing is left to publish, or nothing is published any more.
func (o *outbox) drained(ctx context.Context) error {
	if !o.until(ctx.Done(), func() bool { return len(o.rows) == 0 || o.failure != nil }) {
		return ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failure
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
func (o *outbox) Run(ctx context.Context) (err error) {
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.failure = err
		o.signal()
	}()
	pause := retryMin
	for {
		steps := o.next(ctx)
		if steps == nil {
			return nil
		}
		err := o.publish(ctx, steps)
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

// step is the rows of one step, usually a single row.
type step []*state.Outgoing

// next waits for rows and returns the first step of each thread, waveRows at most; nil when ctx ends.
func (o *outbox) next(ctx context.Context) []step {
	for {
		o.mu.Lock()
		steps, changed := o.pick(), o.changed
		o.mu.Unlock()
		if len(steps) > 0 {
			return steps
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (o *outbox) pick() (steps []step) {
	of := map[string]int{} // where a thread's step is among them
	ended := map[string]bool{}
	most := min(len(o.rows), 4*waveRows)
	for i, row := range o.rows[:most] {
		if row.Type == events.ConfigApplied {
			// What was decided under another configuration stands on its other side in SUMMARIES too: that is
			// how a recovery tells records apart that took effect behind the same event.
			if i == 0 {
				return []step{{row}}
			}
			return steps
		}
		at, begun := of[row.Thread]
		switch {
		case row.Guarded && begun && !ended[row.Thread]:
			steps[at] = append(steps[at], row)
		case len(steps) == waveRows || row.Guarded && begun:
			continue
		default:
			steps = append(steps, step{row})
		}
		if row.Guarded {
			if !begun {
				at = len(steps) - 1
				of[row.Thread] = at
			}
			ended[row.Thread] = !row.More() || len(steps[at]) == broker.MaxAtomic
		}
	}
	for thread, at := range of {
		if !ended[thread] {
			steps[at] = o.whole(steps[at], most)
		}
	}
	return steps
}

// whole adds the rest of a step that goes on at or behind a place in the queue.
func (o *outbox) whole(s step, from int) step {
	for _, row := range o.rows[from:] {
		if !s[len(s)-1].More() || len(s) == broker.MaxAtomic || row.Type == events.ConfigApplied {
			break
		}
		if row.Guarded && row.Thread == s[0].Thread {
			s = append(s, row)
		}
	}
	return s
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
		if row.Guarded && w.seqs[i] > 0 {
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

// publish sends steps, and hands on what the server has stored.
func (o *outbox) publish(ctx context.Context, steps []step) error {
	if err := o.failpoint(FailSending, o.partition); err != nil {
		return err
	}
	if err := o.sameStreams(ctx); err != nil {
		return err
	}
	var single, several []step
	for _, s := range steps {
		if len(s) == 1 {
			single = append(single, s)
		} else {
			several = append(several, s)
		}
	}
	// The server makes a store of its own for an atomic batch, which takes as long as some ten single messages: these do
	// not wait for it.
	var each, whole wave
	err := o.timed(single, func() error { return o.publishEach(ctx, single, &each) })
	each.confirm(err == nil && len(several) == 0)
	o.handOn(each)
	if err != nil && !errors.Is(err, broker.ErrTransient) {
		return err
	}
	failed := o.timed(several, func() error { return o.publishWhole(ctx, several, &whole) })
	whole.confirm(err == nil && failed == nil && !each.open)
	o.handOn(whole)
	if failed != nil {
		return failed
	}
	return err
}

func (o *outbox) timed(steps []step, publish func() error) error {
	if len(steps) == 0 {
		return nil
	}
	began, rows := time.Now(), 0
	for _, s := range steps {
		rows += len(s)
	}
	err := publish()
	o.metrics.published(rows, time.Since(began))
	return err
}

// handOn removes stored rows from the queue and reports them to the lane.
func (o *outbox) handOn(w wave) {
	if len(w.rows) > 0 {
		o.take(w)
		o.stored(w)
	}
}

// publishEach publishes the first row of each step.
func (o *outbox) publishEach(ctx context.Context, steps []step, w *wave) (failed error) {
	first := make([]*state.Outgoing, len(steps))
	for i, s := range steps {
		first[i] = s[0]
		w.open = w.open || len(s) > 1
	}
	found, rows, err := o.unstored(ctx, first)
	if err != nil {
		return err
	}
	w.rows, w.seqs = append(w.rows, found.rows...), append(w.seqs, found.seqs...)
	w.open = w.open || len(found.rows)+len(rows) < len(first)
	msgs := make([]*nats.Msg, len(rows))
	for i, row := range rows {
		msgs[i] = o.message(row)
	}
	before := o.rejectedTo
	for i, ack := range o.pub.PublishBatch(ctx, msgs) {
		seq, err := o.fate(ctx, rows[i], ack)
		switch {
		case err == nil:
			w.stored(rows[i], seq)
			o.known(rows[i], seq)
		case errors.Is(err, errUnpublished):
			w.stored(rows[i], 0)
			o.known(rows[i], 0)
		case errors.Is(err, errPassed):
			o.doubt(rows[i], ack, before)
			w.open = true
		default:
			o.doubt(rows[i], ack, before)
			failed = err
		}
	}
	return failed
}

// publishWhole publishes steps so that of each all rows are stored, or none.
func (o *outbox) publishWhole(ctx context.Context, steps []step, w *wave) error {
	for len(steps) > 0 {
		n, rows, bytes := 0, 0, 0
		for n < len(steps) && (n == 0 || rows+len(steps[n]) <= broker.MaxAtomic && bytes < batchBytes) {
			rows += len(steps[n])
			for _, row := range steps[n] {
				bytes += len(row.Data)
			}
			n++
		}
		if err := o.publishTogether(ctx, steps[:n], w); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// publishTogether publishes steps as one atomic batch. If the server refuses it, each goes alone, and one that is refused
// alone is settled.
func (o *outbox) publishTogether(ctx context.Context, steps []step, w *wave) error {
	var msgs []*nats.Msg
	for _, s := range steps {
		msgs = append(msgs, o.message(s[0]))
		for _, row := range s[1:] {
			msgs = append(msgs, o.follower(row)) // nothing can come between
		}
	}
	acks := o.pub.PublishAtomic(ctx, msgs)
	switch err := acks[0].Err; {
	case err == nil:
		for _, s := range steps {
			for _, row := range s {
				delete(o.anew, row.Number)
				w.stored(row, acks[0].Seq)
				acks = acks[1:]
			}
		}
		return nil
	case errors.Is(err, broker.ErrTransient):
		return err
	case len(steps) == 1:
		return o.settleWhole(ctx, steps[0], err, w)
	}
	for i := range steps {
		if err := o.publishTogether(ctx, steps[i:i+1], w); err != nil {
			return err
		}
	}
	return nil
}

// doubt notes that a rejection may be stored: behind where REJECTED stood before it was sent, or where the server says.
func (o *outbox) doubt(row *state.Outgoing, ack broker.Ack, before uint64) {
	if row.Guarded {
		return
	}
	if from, ok := o.unsure[row.Number]; ok {
		before = from
	}
	if ack.Duplicate {
		before = min(before, ack.Seq-1)
	}
	o.unsure[row.Number] = before
}

// known forgets what was open about a row's fate.
func (o *outbox) known(row *state.Outgoing, seq uint64) {
	delete(o.anew, row.Number)
	delete(o.unsure, row.Number)
	if !row.Guarded {
		o.rejectedTo = max(o.rejectedTo, seq)
	}
}

// unstored finds out which of the unsure rejections are stored, and returns the rows that are to be sent. Of unsure ones
// that is one for each subject: the subject's last sequence guards it, so that a copy that is stored only now is not
// joined by another.
func (o *outbox) unstored(ctx context.Context, rows []*state.Outgoing) (found wave, send []*state.Outgoing, err error) {
	unsure := map[string]map[string]*state.Outgoing{} // by subject and id
	for _, row := range rows {
		if _, ok := o.unsure[row.Number]; !ok {
			continue
		}
		if unsure[row.Subject] == nil {
			unsure[row.Subject] = map[string]*state.Outgoing{}
		}
		unsure[row.Subject][row.ID] = row
	}
	if len(unsure) == 0 {
		return found, rows, nil
	}
	stored := map[uint64]uint64{} // sequences by row
	for subject, rows := range unsure {
		if err := o.lookFor(ctx, subject, rows, stored); err != nil {
			return found, nil, fmt.Errorf("%w: look up rejections: %w", broker.ErrTransient, err)
		}
	}
	taken := map[string]bool{}
	for _, row := range rows {
		_, ok := o.unsure[row.Number]
		switch seq := stored[row.Number]; {
		case seq > 0:
			found.rows, found.seqs = append(found.rows, row), append(found.seqs, seq)
			o.known(row, seq)
		case !ok || !taken[row.Subject]:
			send = append(send, row)
			taken[row.Subject] = true
		}
	}
	return found, send, nil
}

// lookFor notes which of a subject's rejections are stored, and that the others are not up to the subject's last message.
func (o *outbox) lookFor(ctx context.Context, subject string, rows map[string]*state.Outgoing, stored map[uint64]uint64) error {
	last, err := o.rejected.Last(ctx, subject)
	if err != nil && !errors.Is(err, broker.ErrGone) {
		return err
	}
	from := last.Seq
	for _, row := range rows {
		from = min(from, o.unsure[row.Number])
	}
	for from < last.Seq {
		m, err := o.rejected.Next(ctx, subject, from+1)
		if errors.Is(err, broker.ErrGone) {
			break
		}
		if err != nil {
			return err
		}
		if row := rows[m.Header.Get("ce-id")]; row != nil && recovery.Same(m, o.partition, row) {
			stored[row.Number] = m.Seq
		}
		from = m.Seq
	}
	for _, row := range rows {
		o.unsure[row.Number] = last.Seq
	}
	return nil
}

// settleWhole finds out why a step was refused: it is stored already, foreign records stand in its place, or the server knows
// one of its ids. Anything else (a row that is too large, a stream that takes no batches) shows in the fate of its first
// row alone.
func (o *outbox) settleWhole(ctx context.Context, s step, why error, w *wave) error {
	if !errors.Is(why, broker.ErrWrongLastSequence) && !errors.Is(why, broker.ErrBatchDuplicate) {
		return o.publishEach(ctx, []step{s}, w)
	}
	w.open = true
	seq, err := o.resolve(ctx, s[0])
	if errors.Is(err, errPassed) {
		for _, row := range s { // its guard keeps it from being stored twice
			o.anew[row.Number] = errors.Is(why, broker.ErrBatchDuplicate) || o.anew[row.Number]
		}
		return nil
	}
	if err != nil {
		return err
	}
	for _, row := range s {
		m, err := o.summaries.Next(ctx, row.Subject, seq)
		if err != nil || !recovery.Same(m, o.partition, row) {
			return nil // the next wave goes on with it
		}
		delete(o.anew, row.Number)
		w.stored(row, m.Seq)
		seq = m.Seq + 1
	}
	return nil
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

// fate is the sequence at which a row is stored.
func (o *outbox) fate(ctx context.Context, row *state.Outgoing, ack broker.Ack) (uint64, error) {
	switch {
	case errors.Is(ack.Err, broker.ErrWrongLastSequence) && row.Guarded:
		return o.resolve(ctx, row)
	case errors.Is(ack.Err, broker.ErrWrongLastSequence):
		return 0, errPassed
	case errors.Is(ack.Err, broker.ErrTooLarge):
		return 0, o.tooLarge(row, ack.Err)
	case ack.Err == nil && ack.Duplicate:
		err := o.stands(ctx, row, ack.Seq)
		if errors.Is(err, errSwallowed) {
			o.anew[row.Number], err = true, errPassed
		}
		return ack.Seq, err
	}
	return ack.Seq, ack.Err
}

// tooLarge is what follows where the server does not take a row. It may have been decided for another one that takes
// more: a rejection then goes without its event's body. Nothing else is decided that any server refuses; if it
// stands here all the same it is given up, since whatever comes behind it would wait for ever.
func (o *outbox) tooLarge(row *state.Outgoing, why error) error {
	if err := enoughPayload(o.maxPayload()); err != nil {
		return err
	}
	if data := shorter(row); data != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.bytes += len(data) - len(row.Data)
		row.Data = data
		return errPassed
	}
	o.metrics.unpublished.Inc()
	o.log.Error().Err(why).Str("thread_id", row.Thread).Str("id", row.ID).Int("bytes", len(row.Data)).
		Msg("a record is larger than the server takes, and is not published: processor replay shows the gap")
	return errUnpublished
}

// shorter is the data of a rejection without the event's body; nil where there is none to leave out.
func shorter(row *state.Outgoing) []byte {
	var rec events.Rejected
	if row.Type != events.EventRejected || json.Unmarshal(row.Data, &rec) != nil || !rec.Shorten() {
		return nil
	}
	data, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return data
}

// confirm says how far the streams are known, unless the fate of a row is open.
func (w *wave) confirm(known bool) {
	if !known || w.open {
		return
	}
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

// follower is a row that goes into a batch behind the one before it.
func (o *outbox) follower(row *state.Outgoing) *nats.Msg {
	msg := &nats.Msg{Subject: row.Subject, Data: row.Data, Header: recovery.Header(o.partition, row)}
	if o.anew[row.Number] {
		msg.Header.Del(nats.MsgIdHdr)
	}
	return msg
}

// message is the row as it is published: behind the thread's last record, and nowhere else.
func (o *outbox) message(row *state.Outgoing) *nats.Msg {
	msg := o.follower(row)
	if after, ok := o.unsure[row.Number]; ok {
		msg.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(after, 10))
	}
	if row.Guarded {
		msg.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(o.afterOf(row), 10))
		msg.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", recovery.ThreadRecords(row.Subject))
	}
	return msg
}

// resolve finds out what stands where a row was to go: the row itself, whose confirmation was lost; another
// writer's record; or foreign ones, which the row goes behind. The stream's leader answers: a replica may lag.
func (o *outbox) resolve(ctx context.Context, row *state.Outgoing) (uint64, error) {
	after, filter := o.afterOf(row), recovery.ThreadRecords(row.Subject)
	last := uint64(0)
	for from := uint64(1); ; from = last + 1 {
		m, err := o.summaries.Next(ctx, filter, max(from, after))
		if errors.Is(err, broker.ErrGone) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("%w: look up records of thread: %w", broker.ErrTransient, err)
		}
		if last = m.Seq; m.Seq <= after {
			continue
		}
		if recovery.Same(m, o.partition, row) {
			return m.Seq, nil
		}
		if err := o.passOver(m, row); err != nil {
			return 0, err
		}
	}
	if last < after {
		return 0, fmt.Errorf("%w: SUMMARIES has lost record %d, behind which %s was to go: %s",
			recovery.ErrRolledBack, after, row.ID, recovery.Advice)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.after[row.Thread] = last
	return 0, errPassed
}

// passOver looks at a record that stands where a row was to go. One that continues the thread's chain is another
// writer's: nothing else does.
func (o *outbox) passOver(m broker.Stored, row *state.Outgoing) error {
	var head events.Head
	if err := json.Unmarshal(row.Data, &head); err != nil {
		return fmt.Errorf("read outbox row %s: %w", row.ID, err)
	}
	claim, err := recovery.Recognize(m, o.partitions)
	if err == nil && claim.Follows(state.Link{ChainSeq: head.ChainSeq - 1, Chain: row.Prev}, m.Data) {
		return fmt.Errorf("%w: record %d where %s was to go: stop the other processor, or give this one streams of its own",
			ErrOtherWriter, m.Seq, row.ID)
	}
	if err == nil {
		err = recovery.ErrPlace
	}
	o.foreign(recovery.Foreign{Stored: m, Claim: claim, Why: err})
	return nil
}

// stands makes sure of a row that the server calls a duplicate. The server remembers an id for a while, even if the
// stream was purged or another client used the id first, so a message that it drops may be stored nowhere.
func (o *outbox) stands(ctx context.Context, row *state.Outgoing, seq uint64) error {
	log := o.rejected
	if row.Guarded {
		log = o.summaries
	}
	m, err := log.Next(ctx, row.Subject, seq)
	if err == nil && m.Seq == seq && recovery.Same(m, o.partition, row) {
		return nil
	}
	if err == nil || errors.Is(err, broker.ErrGone) {
		err = errSwallowed
	}
	return fmt.Errorf("%w: the server takes %s for a duplicate of message %d: %w", broker.ErrTransient, row.ID, seq, err)
}
