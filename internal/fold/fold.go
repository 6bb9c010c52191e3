package fold

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/ledger"
	"precis/summarize/tokens"
)

// Log reads events of the log by sequence. ErrGone says that one is no longer there. Keep offers an
// event that has just been read for reading again soon, and Ahead reads events that will be asked for next,
// many at once; one owner calls them.
type Log interface {
	Event(ctx context.Context, seq uint64) (*events.Event, error)
	Keep(seq uint64, ev *events.Event)
	Ahead(ctx context.Context, seqs []uint64)
}

// ErrGone: the log no longer holds that sequence.
var ErrGone = errors.New("no longer in the log")

// ErrRecord: what is on record can't be read.
var ErrRecord = errors.New("record not readable")

// ErrHalfDone: a step failed after it had begun to save; the open batch must be given up.
var ErrHalfDone = errors.New("step half done")

// Options of a fold.
type Options struct {
	Log Log
	// MaxPayload is the largest message that the server takes, in bytes: a rejected event's body goes
	// into its rejection where it fits.
	MaxPayload int
	// Partitions is how many share what is kept in memory; 0 and less than 16: 16.
	Partitions int
	// Mask takes secrets out of what summaries are made from, and out of what is published; nil takes none out.
	Mask func(text string) string
	// Observe is told of every record that is decided (not of those that are adopted); it may be nil.
	Observe func(Decided)
	// GivenUp is told of every stale summary that will not be made again since the log no longer holds what
	// it was made from; it may be nil.
	GivenUp func()
	// Spent is told what each call has cost that this process has not made: one that a former life lost, or that is taken
	// over from the record; day is 2006-01-02, UTC. It may be nil.
	Spent func(provider, day string, microUSD int64)
	// LeftOut is told of every record that can't be taken over; it may be nil.
	LeftOut func()
	// Watch sees a fold over records from inside; nil where nobody does.
	Watch Watch
	// Rehearse has the watch told all that would be decided, with what the rules say: every summary by
	// rules is made again.
	Rehearse bool
	Logger   zerolog.Logger
}

// Decided is a record with what an operator wants to sum it up by.
type Decided struct {
	Record events.Record
	Agent  string // of the thread's first event
	Policy string // empty for the partition's own records and for invalidations
}

// Fold is the fold of one partition. It has the partition's owner: one goroutine.
type Fold struct {
	part       *state.Partition
	log        Log
	masked     Log // what summaries are made from
	maxPayload int
	secrets    func(string) string
	observe    func(Decided)
	givenUp    func()
	leftOut    func()
	spent      func(provider, day string, microUSD int64)
	watch      Watch
	rehearses  bool
	logger     zerolog.Logger
	// next is where the first staged record took effect; 0 where that is not known.
	next uint64
	seen *seenCache
	// ledgers are the ones used last, and condenser makes new ones of them.
	ledgers   *ledgers
	condenser ledger.Condenser
	// out is what the step has decided, and is sent when nothing can fail any more.
	out []emission
	// prev is what the record that was sealed last follows on.
	prev string
	// applied is the partition's last EVENTS sequence that is in the state, the open batch included.
	applied uint64

	config      *Config
	fingerprint string
	sizes       sizes           // by the tokenizer used last
	judges      string          // of the configuration in force
	adopted     adopted         // of the event whose records are adopted
	more        bool            // what is decided next belongs to the same step
	stored      []*state.Staged // the first records of the step, which are on record
}

// New makes the fold of a partition, under the configuration that the partition has on record; under
// none where it has never run: Configure comes first then.
func New(part *state.Partition, o Options) (*Fold, error) {
	f := &Fold{
		part: part, log: o.Log, maxPayload: o.MaxPayload, secrets: o.Mask, watch: o.Watch, rehearses: o.Watch != nil && o.Rehearse, logger: o.Logger,
		config: &Config{}, applied: part.Meta().Position,
	}
	if f.observe = o.Observe; f.observe == nil {
		f.observe = func(Decided) {}
	}
	if f.givenUp = o.GivenUp; f.givenUp == nil {
		f.givenUp = func() {}
	}
	if f.leftOut = o.LeftOut; f.leftOut == nil {
		f.leftOut = func() {}
	}
	if f.spent = o.Spent; f.spent == nil {
		f.spent = func(string, string, int64) {}
	}
	if f.secrets == nil {
		f.secrets = func(text string) string { return text }
	}
	f.masked = Masked(f.log, f.secrets)
	var err error
	if f.seen, err = newSeenCache(o.Partitions); err != nil {
		return nil, err
	}
	if f.ledgers, err = newLedgers(o.Partitions); err != nil {
		return nil, err
	}
	data, err := part.Config()
	if err != nil || data == nil {
		return f, err
	}
	return f, f.use(data)
}

// use puts a configuration in force, as it stands on record.
func (f *Fold) use(data []byte) error {
	rec, c, err := readConfig(data)
	if err != nil {
		return err
	}
	f.fingerprint, f.config = rec.Fingerprint, c
	f.judges, err = c.judges()
	return err
}

// replace puts a configuration in force in the place of another. Where they judge differently the next sweep begins
// anew, also where the one before them comes back: what was made in between is judged by neither.
func (f *Fold) replace(data []byte) error {
	was := f.judges
	err := f.use(data)
	if err == nil && f.judges != was {
		f.part.SaveSweep(state.Sweep{Judges: f.judges})
	}
	return err
}

// Config is what is in force in the partition.
func (f *Fold) Config() *Config { return f.config }

// Applied is the last EVENTS sequence that the state is made from, or that a record took effect at.
func (f *Fold) Applied() uint64 { return f.applied }

// Delivery is one event as it stands in the log.
type Delivery struct {
	Seq  uint64
	Time time.Time // stream time
	Raw  events.Raw
}

// Outcome is what became of an event, and what was decided at it.
type Outcome struct {
	thread.Outcome
	Code string // of the event's own rejection
	// GivenUp are the codes of earlier events that are rejected with this one: edits whose message has
	// not come in time.
	GivenUp []string
}

// Step folds one event of the log.
func (f *Fold) Step(ctx context.Context, d Delivery) (Outcome, error) {
	// What took effect between the partition's last event and this one: a configuration, as a rule.
	if err := f.AdoptUpTo(d.Seq - 1); err != nil {
		return Outcome{}, err
	}
	if err := f.known(); err != nil {
		return Outcome{}, err
	}
	in := f.input(d)
	name, ok := threadOf(in)
	if !ok {
		if err := f.reject("", thread.Rejection{Seq: d.Seq, Reason: in.Reject, Raw: d.Raw}, d); err != nil {
			return Outcome{}, err
		}
		f.applied = d.Seq // what a turn decides next takes effect behind it, as a configuration does
		if err := f.AdoptUpTo(d.Seq); err != nil {
			return Outcome{}, fmt.Errorf("%w: %w", ErrHalfDone, err)
		}
		return Outcome{Outcome: thread.Rejected, Code: in.Reject.Code}, nil
	}
	st, err := f.load(name, in.Event)
	if err != nil {
		return Outcome{}, err
	}
	p, _ := f.policy(st, in.Event)
	known, err := f.onRecord(st, d.Seq)
	if err != nil {
		return Outcome{}, err
	}
	var cut []*state.Staged
	if known && f.watch == nil { // an audit says what is missing
		if cut, err = f.cutShort(st, d.Seq); err != nil {
			return Outcome{}, err
		}
	}
	facts, err := f.facts(ctx, st, in.Event, p, known && len(cut) == 0)
	if err != nil {
		return Outcome{}, err
	}
	if err := f.remember(ctx, st.Header); err != nil {
		return Outcome{}, err
	}
	in.Measure, err = f.measure(p.Tokenizer)
	if err != nil {
		return Outcome{}, err
	}
	res, drafts, err := f.apply(st, in, p, facts)
	if err != nil {
		return Outcome{}, err
	}
	var whole []events.Record
	if len(cut) > 0 || f.rehearses && known && f.mayDecide(st, res, drafts, p) {
		if whole, err = f.rehearse(ctx, st, d, decided{drafts: drafts, pinned: pinnedAt(st, res)}, p); err != nil {
			return Outcome{}, err
		}
		if begins(f.out, cut) {
			known, f.stored = false, cut
		}
		f.out = f.out[:0]
		if st, err = f.load(name, in.Event); err != nil {
			return Outcome{}, err
		}
		if res, drafts, err = f.apply(st, in, p, facts); err != nil {
			return Outcome{}, err
		}
	}
	err = f.finish(ctx, st, d, res, decided{drafts: drafts, whole: whole, pinned: pinnedAt(st, res), known: known}, p)
	f.stored = nil
	if err != nil {
		return Outcome{}, err
	}
	f.applied = d.Seq
	if f.watch == nil { // who watches may look at it later
		f.part.Done(st)
	}
	return outcomeOf(res), nil
}

// apply folds the event into its thread and says what follows from it.
func (f *Fold) apply(st *thread.State, in thread.Input, p *summarize.Policy, fs facts) (thread.Result, []draft, error) {
	before := weighed(st)
	res := thread.Apply(st, in)
	track(st, res, before, p)
	if err := f.settle(st, res, before, p); err != nil {
		return res, nil, err
	}
	return res, f.decide(st, in, res, p, fs), nil
}

// pinnedAt is the message that an event has pinned; nil where it has not.
func pinnedAt(st *thread.State, res thread.Result) *thread.Message {
	if !res.Pinned || !st.Message.Pinned {
		return nil
	}
	m := *st.Message
	return &m
}

// recovering says that records are staged: what is on record comes before what is decided now.
func (f *Fold) recovering() bool { return f.part.Meta().Staged > 0 }

// decided is what follows from an event: its drafts, and where the step was rehearsed, all that they
// come to.
type decided struct {
	drafts []draft
	whole  []events.Record
	// waiting are the stale summaries that the event makes again.
	waiting []string
	// pinned is the message that the event has pinned; nil where it has not.
	pinned *thread.Message
	// known says that all of it is on record.
	known bool
}

// load loads what the event and what follows from it can touch.
func (f *Fold) load(name string, ev *events.Event) (*thread.State, error) {
	st, err := f.part.LoadEvent(name, ev)
	if err != nil || ev == nil {
		return st, err
	}
	if err := f.part.LoadCompaction(st); err != nil {
		return nil, err
	}
	if err := f.loadOver(st, st.Message); err != nil || st.Message == nil {
		return st, err
	}
	if !st.Message.Tool {
		return st, nil
	}
	// Also where no summary is active now: the next one's version goes on behind the last one's. And also for
	// a copy: the slot is looked at to weigh the message, and what may be made again goes on behind it.
	return st, f.part.LoadSlot(st, toolSlot(st.Message.ID))
}

func outcomeOf(res thread.Result) Outcome {
	o := Outcome{Outcome: res.Outcome}
	earlier := res.Rejections
	if res.Outcome == thread.Rejected {
		o.Code, earlier = earlier[0].Reason.Code, earlier[1:]
	}
	for _, r := range earlier {
		o.GivenUp = append(o.GivenUp, r.Reason.Code)
	}
	return o
}

// finish saves what the event changed, and emits what was decided or adopts what is on record of it.
func (f *Fold) finish(ctx context.Context, st *thread.State, d Delivery, res thread.Result, dec decided, p *summarize.Policy) error {
	f.out = f.out[:0]
	var err error
	if dec.waiting, err = f.waive(st, p); err != nil {
		return err
	}
	if dec.known {
		return f.recover(ctx, st, d, res, dec)
	}
	for _, dr := range dec.drafts {
		f.emit(st, dr, d)
	}
	if err := f.follow(ctx, st, d, dec, p); err != nil {
		return err
	}
	if f.watch != nil {
		if err := f.stepped(ctx, st, d, res, decided{drafts: dec.drafts, whole: f.emitted()}, false); err != nil {
			return err
		}
	}
	for _, s := range f.stored {
		st.Header.SummariesSeq = max(st.Header.SummariesSeq, s.Seq)
	}
	if err := f.save(st, d, res); err != nil {
		return err
	}
	if err := f.AdoptUpTo(d.Seq); err != nil { // of other threads, and a configuration
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	return nil
}

// follow makes what an event calls for beside what is drafted: compactions, and then what is told of them.
func (f *Fold) follow(ctx context.Context, st *thread.State, d Delivery, dec decided, p *summarize.Policy) error {
	if err := f.compactions(ctx, st, d, dec, p); err != nil {
		return err
	}
	return f.histories(ctx, st, d, dec.drafts, historyDue(st, p), p)
}

// save writes a step to the open batch: from here on nothing may fail.
func (f *Fold) save(st *thread.State, d Delivery, res thread.Result) error {
	for _, r := range res.Rejections {
		if err := f.reject(st.Header.Thread, r, d); err != nil {
			return fmt.Errorf("%w: %w", ErrHalfDone, err)
		}
	}
	f.part.Save(st)
	f.lookLater(st)
	f.flush()
	return nil
}

// flush puts what was decided in the outbox, as one step or the end of one.
func (f *Fold) flush() {
	for i, e := range f.out {
		if i < len(f.stored) {
			f.part.Adopted(f.stored[i])
			continue
		}
		e.row.More = f.more || i < len(f.out)-1
		f.part.Send(e.row)
		f.observe(e.decided)
	}
	f.out = f.out[:0]
}

// emission is a record that is decided and not yet in the outbox.
type emission struct {
	row     *state.Outgoing
	decided Decided
}

// input decodes the event.
func (f *Fold) input(d Delivery) thread.Input {
	in := thread.Input{
		Seq: d.Seq, Time: d.Time, Raw: d.Raw,
		PendingEditEvents: f.config.Limits.PendingEditEvents,
	}
	ev, why := events.Decode(d.Raw, f.limits())
	if why != nil {
		in.Reject = why
		return in
	}
	in.Event = &ev
	f.log.Keep(d.Seq, &ev)
	return in
}

func (f *Fold) limits() events.Limits { return events.Limits{EventBytes: f.config.Limits.EventBytes} }

// threadOf is the thread that an event's subject names; an event whose thread can't be told has no state.
func threadOf(in thread.Input) (string, bool) {
	if in.Event != nil {
		return in.Event.Thread, true
	}
	_, token, ok := events.ParseSubject(in.Raw.Subject)
	if !ok {
		return "", false
	}
	name, err := events.ThreadOf(token)
	return name, err == nil && utf8.ValidString(name)
}

// policy is the one that serves the thread at this event, which may be the thread's first, and may name
// another one.
func (f *Fold) policy(st *thread.State, ev *events.Event) (*summarize.Policy, string) {
	requested, agent := st.Header.Policy, st.Header.FirstAgentID
	if ev != nil && ev.Message != nil && st.Message == nil {
		if ev.Message.Policy != "" {
			requested = ev.Message.Policy
		}
		if st.Header.Ordinals == 0 {
			agent = ev.Message.AgentID
		}
	}
	return summarize.Resolve(f.config.Policies, requested, agent, st.Header.Thread)
}

// measure is how texts are measured by a tokenizer. Nearly all threads have the same one.
func (f *Fold) measure(tokenizer string) (func(string) thread.Size, error) {
	if f.sizes.of != nil && f.sizes.tokenizer == tokenizer {
		return f.sizes.of, nil
	}
	counter, err := tokens.For(tokenizer)
	if err != nil {
		return nil, fmt.Errorf("count tokens: %w", err)
	}
	f.sizes = sizes{tokenizer: tokenizer, of: func(text string) thread.Size {
		return thread.Size{Chars: runes(text), Bytes: int64(len(text)), Tokens: int64(counter.Count(text))}
	}}
	return f.sizes.of, nil
}

// sizes are a tokenizer's.
type sizes struct {
	tokenizer string
	of        func(text string) thread.Size
}
