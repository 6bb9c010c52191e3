package fold

import (
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/content"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/tokens"
)

// ErrRecord: a record can't be read.
var ErrRecord = errors.New("record not readable")

// ErrHalfDone: a step failed after it began to save; the open batch must be discarded.
var ErrHalfDone = errors.New("step half done")

// Options of a fold.
type Options struct {
	// Log has one owner and need not be safe for concurrent use.
	Log content.Log
	// First is the first sequence that the log has, as far as that is known: what threads counted before it is not counted again.
	First uint64
	// MaxPayload is the largest message that the server accepts, in bytes: a rejection includes the event's body if that fits.
	MaxPayload int
	// Partitions is how many partitions share the memory for caches; fewer than 16 count as 16.
	Partitions int
	// Home returns the partition of a thread; nil: this one has all.
	Home func(thread string) int
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
	// Saving is called with every thread before it is saved, while the partition still has its former rows. at is the event that
	// changed the thread, or the place and time of a change without one, for which ev is nil. Saving may be nil.
	Saving func(st *thread.State, at Delivery, ev *events.Event)
	// Rehearse gives the watch everything that would be decided, including the rules' output: every summary by rules is
	// recomputed.
	Rehearse bool
	// HeldAt returns what the prompt behind the message of an event held, by the tokenizer. held is what the fold's own state says,
	// which differs under another configuration than the one under which the prompt was made. It may be nil.
	HeldAt func(seq uint64, held int64) int64
	Logger zerolog.Logger
}

func (o Options) withDefaults() Options {
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	if o.Observe == nil {
		o.Observe = func(Decided) {}
	}
	if o.GivenUp == nil {
		o.GivenUp = func() {}
	}
	if o.Spent == nil {
		o.Spent = func(string, string, int64) {}
	}
	if o.LeftOut == nil {
		o.LeftOut = func() {}
	}
	o.Rehearse = o.Rehearse && o.Watch != nil
	return o
}

// Decided is a record with the dimensions that metrics group it by.
type Decided struct {
	Record events.Record
	Agent  string // of the thread's first event
	Policy string // empty for the partition's own records and for invalidations
}

// Fold is the fold of one partition. Only the goroutine that owns the partition uses it.
type Fold struct {
	Options
	part   *state.Partition
	masked content.Log // the log for the sources of summaries
	// next is where the first staged record took effect; 0 if unknown.
	next    uint64
	seen    *seenCache
	ledgers *ledgers
	// cause is what made the fold take the step, and out what the step has decided; it is sent once nothing can fail any more.
	cause events.StepCause
	out   []emission
	spare *Step // of an earlier event, for the next one
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
	f := &Fold{part: part, Options: o.withDefaults(), config: &Config{}, applied: part.Meta().Position}
	f.masked = content.Masked(f.Log, f.Mask)
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
	rec, c, err := readConfig(data)
	if err != nil {
		return f, err
	}
	return f, f.use(rec, c)
}

// use puts a recorded configuration in force.
func (f *Fold) use(rec *events.Config, c *Config) (err error) {
	f.fingerprint, f.config = rec.Fingerprint, c
	f.judges, err = c.judges()
	return err
}

// replace puts another configuration in force. If its judges differ, the next sweep starts over, even if it equals an earlier
// configuration: summaries made in between were compared with neither.
func (f *Fold) replace(rec *events.Config, c *Config) error {
	was := f.judges
	err := f.use(rec, c)
	if err == nil && f.judges != was {
		f.part.SaveSweep(state.Sweep{Judges: f.judges})
	}
	return err
}

// put saves the thread of a step.
func (s *Step) put() {
	if s.f.Saving != nil {
		s.f.Saving(s.st, s.at, s.in.Event)
	}
	s.f.part.Save(s.st)
}

// Config returns the configuration in force in the partition.
func (f *Fold) Config() *Config { return f.config }

// Delivery is one event as stored in the log. Texts share the memory of its body, which must not change.
type Delivery struct {
	Seq  uint64
	Time time.Time // stream time
	Raw  events.Raw
}

// recovering reports whether records are staged: they take precedence over new decisions.
func (f *Fold) recovering() bool { return f.part.Meta().Staged > 0 }

// policy returns the policy that serves the thread at this event, which may be the thread's first and may name another policy.
func (f *Fold) policy(st *thread.State, ev *events.Event) (p *summarize.Policy, unresolved string) {
	requested, agent := st.Header.Policy, st.Header.FirstAgentID
	if ev != nil && ev.Message != nil && st.Message == nil {
		if ev.Message.Policy != "" {
			requested = ev.Message.Policy
		}
		agent = st.Header.AgentWith(ev.Message)
	}
	return summarize.Resolve(f.config.Policies, requested, agent, st.Header.Thread)
}

// unresolved returns the policy that the thread names and the configuration lacks; empty if there is none.
func (f *Fold) unresolved(st *thread.State) string {
	_, name := f.policy(st, nil)
	return name
}

// measure returns the size function of a tokenizer. Nearly all threads use the same one.
func (f *Fold) measure(tokenizer string) func(string) thread.Size {
	if f.sizes.of == nil || f.sizes.tokenizer != tokenizer {
		counter := counterOf(tokenizer)
		f.sizes = sizes{tokenizer: tokenizer, of: func(text string) thread.Size {
			return thread.Size{Chars: runes(text), Bytes: int64(len(text)), Tokens: int64(counter.Count(text))}
		}}
	}
	return f.sizes.of
}

// sizes is the size function of one tokenizer.
type sizes struct {
	tokenizer string
	of        func(text string) thread.Size
}

func counterOf(tokenizer string) tokens.Counter {
	counter, err := tokens.For(tokenizer)
	if err != nil {
		check(fmt.Errorf("count tokens: %w", err))
	}
	return counter
}
