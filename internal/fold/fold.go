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
	"precis/summarize/tokens"
)

// Log reads events by sequence. Event returns ErrGone for one that the log no longer holds. Keep offers an event that was just
// read, since it may soon be read again. Ahead reads events in bulk that will be requested next. A Log has one owner and need
// not be safe for concurrent use.
type Log interface {
	Event(ctx context.Context, seq uint64) (*events.Event, error)
	Keep(seq uint64, ev *events.Event)
	Ahead(ctx context.Context, seqs []uint64)
}

// ErrGone: the log no longer holds that sequence.
var ErrGone = errors.New("no longer in the log")

// ErrRecord: a record can't be read.
var ErrRecord = errors.New("record not readable")

// ErrHalfDone: a step failed after it began to save; the open batch must be discarded.
var ErrHalfDone = errors.New("step half done")

// Options of a fold.
type Options struct {
	Log Log
	// MaxPayload is the largest message that the server accepts, in bytes: a rejection includes the event's body if that fits.
	MaxPayload int
	// Partitions is how many partitions share the memory for caches; fewer than 16 count as 16.
	Partitions int
	// Mask removes secrets from the sources of summaries and from what is published; nil removes none.
	Mask func(text string) string
	// Observe is called for every record that is decided (not for adopted ones); it may be nil.
	Observe func(Decided)
	// GivenUp is called for every stale summary that will not be recomputed because the log no longer holds its source; it may
	// be nil.
	GivenUp func()
	// Spent is called with the cost of each call that this process did not make: a call lost with an earlier process, or one
	// adopted from the record. day is 2006-01-02, UTC. It may be nil.
	Spent func(provider, day string, microUSD int64)
	// LeftOut is called for every record that can't be adopted; it may be nil.
	LeftOut func()
	// Watch observes a fold over records; it may be nil.
	Watch Watch
	// Rehearse gives the watch everything that would be decided, including the rules' output: every summary by rules is
	// recomputed.
	Rehearse bool
	Logger   zerolog.Logger
}

// Decided is a record with the dimensions that metrics group it by.
type Decided struct {
	Record events.Record
	Agent  string // of the thread's first event
	Policy string // empty for the partition's own records and for invalidations
}

// Fold is the fold of one partition. Only the goroutine that owns the partition uses it.
type Fold struct {
	part       *state.Partition
	log        Log
	masked     Log // log for the sources of summaries
	maxPayload int
	secrets    func(string) string
	observe    func(Decided)
	givenUp    func()
	leftOut    func()
	spent      func(provider, day string, microUSD int64)
	watch      Watch
	rehearses  bool
	logger     zerolog.Logger
	// next is where the first staged record took effect; 0 if unknown.
	next    uint64
	seen    *seenCache
	ledgers *ledgers
	// cause is what made the fold take the step, and out what the step has decided; it is sent once nothing can fail any more.
	cause events.StepCause
	out   []emission
	// prev is the chain value that the last sealed record follows.
	prev string
	// applied is the last EVENTS sequence of the partition that the state includes, the open batch too.
	applied uint64

	config      *Config
	fingerprint string
	sizes       sizes           // of the tokenizer used last
	judges      string          // of the configuration in force
	adopted     adopted         // at the event whose records are being adopted
	stored      []*state.Staged // the leading records of the step that are on record; until the next flush
}

// New returns the fold of a partition, under the configuration that the partition has on record. A partition that has never run
// has none: call Configure first.
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

// use puts a recorded configuration in force.
func (f *Fold) use(data []byte) error {
	rec, c, err := readConfig(data)
	if err != nil {
		return err
	}
	f.fingerprint, f.config = rec.Fingerprint, c
	f.judges, err = c.judges()
	return err
}

// replace puts another configuration in force. If its judges differ, the next sweep starts over, even if it equals an earlier
// configuration: summaries made in between were compared with neither.
func (f *Fold) replace(data []byte) error {
	was := f.judges
	err := f.use(data)
	if err == nil && f.judges != was {
		f.part.SaveSweep(state.Sweep{Judges: f.judges})
	}
	return err
}

// Config returns the configuration in force in the partition.
func (f *Fold) Config() *Config { return f.config }

// Applied returns the last EVENTS sequence that the state includes, or at which a record took effect.
func (f *Fold) Applied() uint64 { return f.applied }

// Delivery is one event as stored in the log.
type Delivery struct {
	Seq  uint64
	Time time.Time // stream time
	Raw  events.Raw
}

// Outcome is what became of an event.
type Outcome struct {
	thread.Outcome
	Code string // of the event's own rejection
	// GivenUp are the codes of earlier events that are rejected with this one: edits whose message did not arrive in time.
	GivenUp []string
}

// Step folds one event of the log.
func (f *Fold) Step(ctx context.Context, d Delivery) (Outcome, error) {
	// Adopt what took effect between the partition's last event and this one: usually a configuration.
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
		f.applied = d.Seq // the next turn's decisions take effect after it, as a configuration does
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
	if known && f.watch == nil { // an audit reports what is missing instead
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
	var stored []*state.Staged
	if len(cut) > 0 || f.rehearses && known && f.mayDecide(st, res, drafts, p) {
		if whole, err = f.rehearse(ctx, st, d, decided{drafts: drafts, pinned: pinnedAt(st, res)}, p); err != nil {
			return Outcome{}, err
		}
		if begins(f.out, cut) {
			known, stored = false, cut
		}
		f.out = f.out[:0]
		if st, err = f.load(name, in.Event); err != nil {
			return Outcome{}, err
		}
		if res, drafts, err = f.apply(st, in, p, facts); err != nil {
			return Outcome{}, err
		}
	}
	err = f.finish(ctx, st, d, res, decided{drafts: drafts, whole: whole, pinned: pinnedAt(st, res), known: known, stored: stored}, p)
	if err != nil {
		return Outcome{}, err
	}
	f.applied = d.Seq
	if f.watch == nil { // a watch may read it later
		f.part.Done(st)
	}
	return outcomeOf(res), nil
}

// apply folds the event into its thread and decides what follows from it.
func (f *Fold) apply(st *thread.State, in thread.Input, p *summarize.Policy, fs facts) (thread.Result, []draft, error) {
	before := weighed(st)
	res := thread.Apply(st, in)
	track(st, res, before, p)
	if err := f.settle(st, res, before, p); err != nil {
		return res, nil, err
	}
	return res, f.decide(st, in, res, p, fs), nil
}

// pinnedAt returns the message that an event has pinned; nil if it pinned none.
func pinnedAt(st *thread.State, res thread.Result) *thread.Message {
	if !res.Pinned || !st.Message.Pinned {
		return nil
	}
	m := *st.Message
	return &m
}

// recovering reports whether records are staged: they take precedence over new decisions.
func (f *Fold) recovering() bool { return f.part.Meta().Staged > 0 }

// decided is what follows from an event: its drafts and, if the step was rehearsed, all records that result.
type decided struct {
	drafts []draft
	whole  []events.Record
	// waiting are the stale summaries that the event recomputes.
	waiting []string
	// pinned is the message that the event pinned; nil if none.
	pinned *thread.Message
	// known: all of it is on record.
	known bool
	// stored are its first records, where the server has lost the others.
	stored []*state.Staged
}

// load loads what the event and its consequences can touch.
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
	// Needed even if no summary is active: the next one continues the slot's version numbers. And even for a duplicate: the slot
	// gives the message's weight and the version of a recomputed summary.
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

// finish saves what the event changed, and either emits what was decided or adopts what is on record.
func (f *Fold) finish(ctx context.Context, st *thread.State, d Delivery, res thread.Result, dec decided, p *summarize.Policy) error {
	f.begin(events.ByEvent)
	f.stored = dec.stored
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
	if err := f.save(st, d, res); err != nil {
		return err
	}
	if err := f.AdoptUpTo(d.Seq); err != nil { // of other threads, and a configuration
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	return nil
}

// follow makes what an event calls for besides the drafts: compactions, then histories.
func (f *Fold) follow(ctx context.Context, st *thread.State, d Delivery, dec decided, p *summarize.Policy) error {
	if err := f.compactions(ctx, st, d, dec, p); err != nil {
		return err
	}
	return f.histories(ctx, st, d, dec.drafts, historyDue(st, p), p)
}

// save writes a step to the open batch. A failure from here on leaves the step half done.
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

// threadOf returns the thread that an event's subject names; false if the subject names none: such an event has no state.
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

// policy returns the policy that serves the thread at this event, which may be the thread's first and may name another policy.
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

// measure returns the size function of a tokenizer. Nearly all threads use the same one.
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

// sizes is the size function of one tokenizer.
type sizes struct {
	tokenizer string
	of        func(text string) thread.Size
}
