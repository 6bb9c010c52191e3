package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/internal/tracing"
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

// ErrOtherWriter: another processor has claimed a partition, or writes to these streams.
var ErrOtherWriter = recovery.ErrOtherWriter

// errAgain: the row is not stored, and goes again in another form.
var errAgain = errors.New("to be published again")

// errUnpublished: no server takes the row, and the partition goes on without it.
var errUnpublished = errors.New("too large to publish")

// errSwallowed: the server calls a row a duplicate of a message that is not it.
var errSwallowed = errors.New("that is another message, or gone")

// outbox publishes one partition's decided rows, in order within each thread. The rows of a step, up to broker.MaxAtomic, are
// stored together or not at all: a recovery that finds one of them finds them all.
type outbox struct {
	partition int
	pub       *broker.Publisher
	summaries *broker.LogReader
	rejected  *broker.LogReader
	stored    func(wave) // may not wait for the lane, which waits for the outbox
	// verify holds the store against the streams; verified is what connections said when it last did.
	verify      func(context.Context) error
	connections func() uint64
	verified    uint64
	maxPayload  func() int64 // of the connection, in bytes
	failpoint   func(string, int) error
	log         zerolog.Logger
	metrics     *metrics
	traces      *tracing.Contexts

	watched // changes when rows are added or taken
	rows    []*state.Outgoing
	open    int   // rows that the lane has yet to note as stored, those in rows and others
	bytes   int   // of their data
	failure error // with which Run has ended
	// anew are rows, by number, that go without a Nats-Msg-Id: the server remembers theirs of a message that is
	// another one, or gone.
	anew map[uint64]bool
	// doubtful are steps to be settled: nothing says whether they are stored.
	doubtful []step
	claims   claims
	position func() uint64 // of the durable state
	// unsure are rejections, by number, that may be stored although nothing says so, and the sequence behind which they are
	// then. The server's memory of their ids ends, so each is looked for before it is sent again, on condition that nothing has
	// come behind the place up to which it was looked for.
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
	own                 state.Own // where the partition's own chain ends up to there
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
		o.bytes += len(row.Data)
	}
	o.signal()
}

func (o *outbox) signal() {
	o.tell()
	o.metrics.outbox(o.partition, len(o.rows))
}

// wait returns when there is room for more rows, or stopping is closed: what is left then waits in the
// store.
func (o *outbox) wait(stopping <-chan struct{}) {
	_, _ = o.until(stopping, func() (bool, error) { return o.hasRoom(), nil })
}

func (o *outbox) hasRoom() bool { return len(o.rows) < outboxRows && o.bytes < outboxBytes }

// full reports whether the lane would wait.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.hasRoom()
}

// drained returns when nothing is left to publish, or nothing is published any more.
func (o *outbox) drained(ctx context.Context) error {
	ok, err := o.until(ctx.Done(), func() (bool, error) { return len(o.rows) == 0, o.failure })
	if !ok && err == nil {
		return ctx.Err()
	}
	return err
}

// published returns when the records of a thread that wait at the call are published.
func (o *outbox) published(ctx context.Context, name string) error {
	last := o.lastOf(name)
	ok, err := o.until(ctx.Done(), func() (bool, error) {
		waits := func(row *state.Outgoing) bool { return row.Guarded && row.Thread == name && row.Number <= last }
		return !slices.ContainsFunc(o.rows, waits), o.failure
	})
	if !ok && err == nil {
		return context.Cause(ctx)
	}
	return err
}

// lastOf is the number of a thread's last record that waits; zero if none does.
func (o *outbox) lastOf(name string) (last uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, row := range o.rows {
		if row.Guarded && row.Thread == name {
			last = row.Number
		}
	}
	return last
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
func (o *outbox) next(ctx context.Context) (steps []step) {
	_, _ = o.until(ctx.Done(), func() (bool, error) {
		steps = o.pick()
		return len(steps) > 0, nil
	})
	return steps
}

func (o *outbox) pick() (steps []step) {
	of := map[string]int{} // where a thread's step is among them
	ended := map[string]bool{}
	unsure := map[string]bool{} // subjects of unsure rejections: their conditions exclude one another
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
		if _, ok := o.unsure[row.Number]; ok {
			if unsure[row.Subject] {
				continue
			}
			unsure[row.Subject] = true
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
	}
	clear(o.rows[:to])
	o.rows = o.rows[to:]
}

// effective is the EVENTS sequence at which a claim takes effect: not behind a configuration that waits to follow it in the
// partition's own chain.
func (o *outbox) effective() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return claimedAt(o.position(), o.rows)
}

func claimedAt(position uint64, waiting []*state.Outgoing) uint64 {
	for _, row := range waiting {
		var head events.Head
		if row.Type == events.ConfigApplied && json.Unmarshal(row.Data, &head) == nil {
			return min(position, head.EffectiveSeq)
		}
	}
	return position
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

// publish sends steps, and hands on what the server has stored.
func (o *outbox) publish(ctx context.Context, steps []step) error {
	if err := o.failpoint(FailSending, o.partition); err != nil {
		return err
	}
	if err := o.sameStreams(ctx); err != nil {
		return err
	}
	if len(o.doubtful) > 0 { // the server did not answer when they were to be settled
		return o.settle(ctx)
	}
	var single, several []step
	for _, d := range steps {
		if len(d) > 1 || o.claims.together && d[0].Guarded && d[0].Type != events.ConfigApplied {
			several = append(several, d)
		} else {
			single = append(single, d)
		}
	}
	// The server makes a store of its own for an atomic batch, which takes as long as some ten single messages: these do
	// not wait for it.
	err := o.timed(single, func() error { return o.publishEach(ctx, single) })
	if len(o.doubtful) == 0 && (err == nil || errors.Is(err, broker.ErrTransient)) {
		err = errors.Join(err, o.timed(several, func() error { return o.publishWhole(ctx, several) }))
	}
	if len(o.doubtful) == 0 || err != nil && !errors.Is(err, broker.ErrTransient) {
		return err
	}
	return errors.Join(err, o.settle(ctx))
}

func (o *outbox) timed(steps []step, publish func() error) error {
	if len(steps) == 0 {
		return nil
	}
	began, rows := time.Now(), 0
	for _, s := range steps {
		rows += len(s)
	}
	if err := publish(); err != nil {
		return err
	}
	o.metrics.published(rows, time.Since(began))
	return nil
}

// handOn removes stored rows from the queue and reports them to the lane.
func (o *outbox) handOn(w wave) {
	if len(w.rows) == 0 && w.summaries.Seq == 0 {
		return
	}
	w.own = o.claims.own
	o.take(w)
	o.stored(w)
}

// publishEach publishes the first row of each step.
func (o *outbox) publishEach(ctx context.Context, steps []step) (failed error) {
	rows, msgs := make([]*state.Outgoing, len(steps)), make([]*nats.Msg, len(steps))
	for i, s := range steps {
		var err error
		if rows[i], msgs[i], err = o.message(s[0]); err != nil {
			return err
		}
	}
	before := o.rejectedTo
	var w, records wave // of rejections, and of records for SUMMARIES
	for i, ack := range o.pub.PublishBatch(ctx, msgs) {
		row := rows[i]
		seq, err := o.fate(ctx, row, ack)
		switch {
		case errors.Is(err, errUnpublished):
			w.stored(row, 0)
			o.known(row, 0)
		case err == nil && row.Guarded:
			records.stored(row, seq)
		case err == nil:
			w.stored(row, seq)
			o.known(row, seq)
		case errors.Is(err, errAgain):
		case unclear(err):
			o.doubt(row, ack, before)
		default:
			failed = err
		}
	}
	if o.uncertain() { // what stands behind a doubtful record can't be noted as read
		for _, row := range records.rows {
			o.doubtful = append(o.doubtful, step{row})
		}
		records = wave{}
	}
	for i, row := range records.rows {
		w.stored(row, records.seqs[i])
		o.known(row, records.seqs[i])
	}
	w.confirm(len(o.unsure) == 0)
	o.handOn(w)
	return failed
}

// uncertain reports whether a record for SUMMARIES is doubtful.
func (o *outbox) uncertain() bool {
	return slices.ContainsFunc(o.doubtful, func(s step) bool { return s[0].Guarded })
}

// unclear reports whether a row may be stored although its acknowledgement does not say so, or another message stands where its
// condition looks.
func unclear(err error) bool {
	return errors.Is(err, broker.ErrTransient) || errors.Is(err, broker.ErrWrongLastSequence)
}

// publishWhole publishes steps so that of each all rows are stored, or none.
func (o *outbox) publishWhole(ctx context.Context, steps []step) error {
	for len(steps) > 0 {
		n, rows, bytes := 0, 0, 0
		for n < len(steps) && (n == 0 || rows+len(steps[n]) <= broker.MaxAtomic && bytes < batchBytes) {
			rows += len(steps[n])
			for _, row := range steps[n] {
				bytes += len(row.Data)
			}
			n++
		}
		if err := o.publishTogether(ctx, steps[:n]); err != nil || len(o.doubtful) > 0 {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// publishTogether publishes steps as one atomic batch, whose first message holds the condition. If the server refuses it, each
// goes alone; what is wrong with one that is refused alone (a row that is too large) shows in the fate of its first row.
func (o *outbox) publishTogether(ctx context.Context, steps []step) error {
	var msgs []*nats.Msg
	var rows []*state.Outgoing
	for _, d := range steps {
		for _, row := range d {
			row, msg, err := o.message(row)
			if err != nil {
				return err
			}
			if len(msgs) > 0 {
				msg.Header.Del("Nats-Expected-Last-Subject-Sequence")
				msg.Header.Del("Nats-Expected-Last-Subject-Sequence-Subject")
			}
			rows, msgs = append(rows, row), append(msgs, msg)
		}
	}
	acks := o.pub.PublishAtomic(ctx, msgs)
	switch err := acks[0].Err; {
	case err == nil && !acks[0].Duplicate:
		var w wave
		for i, row := range rows {
			w.stored(row, acks[i].Seq)
			o.known(row, acks[i].Seq)
		}
		w.confirm(false)
		o.handOn(w)
		return nil
	case unclear(err):
		o.doubtful = append(o.doubtful, steps...)
		return nil
	case errors.Is(err, broker.ErrBatchDuplicate): // they are not stored, or it would be known
		for _, row := range rows {
			o.anew[row.Number] = true
		}
		return nil
	case len(steps) == 1:
		return o.publishEach(ctx, steps)
	}
	for i := range steps {
		if err := o.publishTogether(ctx, steps[i:i+1]); err != nil || len(o.doubtful) > 0 {
			return err
		}
	}
	return nil
}

// settle finds out which of the doubtful steps are stored. Another claim comes first: what is in flight for SUMMARIES is in front of
// it then, or refused.
func (o *outbox) settle(ctx context.Context) error {
	var w wave
	from := o.claims.last
	if o.uncertain() {
		claim, err := o.claims.claim(ctx)
		if err != nil {
			return err
		}
		if err := o.failpoint(FailClaimed, o.partition); err != nil {
			return err
		}
		w.summaries = state.Mark(broker.MarkOf(broker.Stored{Subject: claim.Subject, Data: claim.Data, Seq: o.claims.own.Seq}))
	}
	for _, s := range o.doubtful {
		seq, err := o.onRecord(ctx, s[0], from)
		if err != nil {
			return fmt.Errorf("%w: look up records: %w", broker.ErrTransient, err)
		}
		for i, row := range s {
			if seq > 0 {
				w.stored(row, seq+uint64(i)) // the rows of an atomic batch follow one another
				o.known(row, 0)
			}
		}
	}
	o.doubtful, o.claims.last = nil, max(from, w.summaries.Seq)
	o.handOn(w)
	return nil
}

// onRecord returns where a doubtful row is stored, or 0: a record behind the sequence from and in front of the claim, a rejection
// up to the last message of its subject, behind which it goes if it is sent again.
func (o *outbox) onRecord(ctx context.Context, row *state.Outgoing, from uint64) (uint64, error) {
	log, to := o.summaries, o.claims.own.Seq
	if !row.Guarded {
		last, err := o.rejected.Last(ctx, row.Subject)
		if err != nil && !errors.Is(err, broker.ErrGone) {
			return 0, err
		}
		log, from, to = o.rejected, o.unsure[row.Number], last.Seq
	}
	for from < to {
		m, err := log.Next(ctx, row.Subject, from+1)
		if errors.Is(err, broker.ErrGone) || err == nil && m.Seq > to {
			break
		}
		if err != nil {
			return 0, err
		}
		if recovery.Same(m, o.partition, row) {
			return m.Seq, nil
		}
		from = m.Seq
	}
	if !row.Guarded {
		o.unsure[row.Number] = to
	}
	return 0, nil
}

// doubt notes a row that may be stored. A rejection is then stored behind where REJECTED stood before it was sent, or where
// the server says.
func (o *outbox) doubt(row *state.Outgoing, ack broker.Ack, before uint64) {
	o.doubtful = append(o.doubtful, step{row})
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
	o.traces.Stored(row, seq)
	if row.Guarded {
		o.claims.published(row, seq)
	} else {
		o.rejectedTo = max(o.rejectedTo, seq)
	}
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
	case errors.Is(ack.Err, broker.ErrTooLarge):
		return 0, o.tooLarge(row, ack.Err)
	case ack.Err == nil && ack.Duplicate:
		err := o.stands(ctx, row, ack.Seq)
		if errors.Is(err, errSwallowed) {
			o.anew[row.Number], err = true, errAgain
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
		return errAgain
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

// confirm says how far the streams are known: REJECTED not while the fate of a rejection is open.
func (w *wave) confirm(rejections bool) {
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
	w.summaries = w.mark(summaries)
	if rejections {
		w.rejected = w.mark(rejected)
	}
}

// mark is that of a row as it is stored, but for the time, which the server has not told; negative: of none.
func (w *wave) mark(row int) state.Mark {
	if row < 0 {
		return state.Mark{}
	}
	r := w.rows[row]
	return state.Mark(broker.MarkOf(broker.Stored{Subject: r.Subject, Data: r.Data, Seq: w.seqs[row]}))
}

// message is the row as it is published. In SUMMARIES it is stored only while the claim stands.
func (o *outbox) message(row *state.Outgoing) (*state.Outgoing, *nats.Msg, error) {
	row, _, err := row.Sealed(o.claims.own)
	if err != nil {
		return nil, nil, err
	}
	msg := &nats.Msg{Subject: row.Subject, Data: row.Data, Header: recovery.Header(o.partition, row)}
	o.traces.Carry(row, msg.Header)
	if o.anew[row.Number] {
		msg.Header.Del(nats.MsgIdHdr)
	}
	if after, ok := o.unsure[row.Number]; ok {
		recovery.Expect(msg, row.Subject, after)
	}
	if row.Guarded {
		recovery.Expect(msg, recovery.ClaimSubject(o.partition), o.claims.seq)
	}
	return row, msg, nil
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
