package fold

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/cut"
)

// Walk is what an event of a type does, in the order in which it does it (package handlers). A walk may be taken twice: an audit and
// a recovery first take it in a state that they discard.
type Walk func(ctx context.Context, s *Step)

// event is what a step has that folds an event of the log.
type event struct {
	in  thread.Input
	res thread.Result
	// decides: the walk decides what follows from the event. Otherwise that is on record, and is adopted; it is then decided as well
	// if it is rehearsed, or if only a part of the step is on record.
	decides bool
	// before is the event's message as cuts saw it before the event; nil if there was none.
	before *cut.Item
	output output
	// decided is what follows from the event's message itself.
	decided []events.Record
	// waiting are the stale summaries that the event recomputes.
	waiting []string
	// dropped are the compactions that a rewind took from the thread's tops.
	dropped []*thread.Summary
	// pinned is the message that the event pinned; nil if none.
	pinned *thread.Message
	// rejected are the codes of Outcome.Rejections.
	rejected []string
	// whole is all that the step has decided, for a watch or from a rehearsal; nil otherwise.
	whole []events.Record
}

// Outcome is what became of an event.
type Outcome struct {
	thread.Outcome
	Code string // of the event's own rejection
	// Rejections are the codes of what goes to REJECTED: of the event, and of earlier ones, edits whose message did not arrive in time.
	// What REJECTED has already, as while a lost store is made again, is not among them.
	Rejections []string
}

// Step folds one event of the log.
func (f *Fold) Step(ctx context.Context, d Delivery, walk Walk) (out Outcome, err error) {
	err = attempt(func() { out = f.event(ctx, d, walk) })
	return out, err
}

func (f *Fold) event(ctx context.Context, d Delivery, walk Walk) Outcome {
	// Adopt what took effect between the partition's last event and this one: usually a configuration.
	f.adoptUpTo(d.Seq-1, noEvent)
	f.adoptable(d.Seq)
	check(f.known())
	if to, parent, away := f.away(d.Raw); away {
		return f.handOver(d, to, parent)
	}
	in := f.input(d)
	name, ok := threadOf(in)
	if !ok {
		return f.stray(in, d)
	}
	begin := func() *Step {
		s := f.spare
		if f.spare = nil; s == nil {
			s = &Step{}
		}
		*s = Step{f: f, at: d, event: event{in: in}}
		s.load(name)
		return s
	}
	s := begin()
	known := f.onRecord(s.st, d.Seq)
	var first []*state.Staged    // the records of a step of which not all are stored
	if known && f.Watch == nil { // an audit reports what is missing instead
		first = f.cutShort(s.st, d.Seq)
	}
	s.decides = !known || f.Rehearse || len(first) > 0
	renewals := s.st.Header.Renewals
	f.begin(events.ByEvent)
	walk(ctx, s)
	switch {
	case begins(f.out, first):
		f.stored, known = first, false // what is missing of the step follows
	case known && s.decides:
		whole := f.emitted()
		if len(f.out) > 0 || renewals > 0 { // else the state is that of a step that decides nothing
			s = begin()
			f.begin(events.ByEvent)
			s.whole = whole
			walk(ctx, s)
		}
		s.whole, s.decides = whole, false
	}
	if known {
		s.adoptStep(ctx)
	} else {
		s.saveEvent(ctx)
	}
	f.applied = d.Seq
	if f.Watch == nil { // a watch may read it later
		f.part.Done(s.st)
	}
	out := s.outcome()
	*s = Step{} // an idle partition would keep the event and the texts that its step has read
	f.spare = s
	return out
}

// stray rejects an event whose subject names no thread: it has no state.
func (f *Fold) stray(in thread.Input, d Delivery) Outcome {
	out := Outcome{Outcome: thread.Rejected, Code: in.Reject.Code}
	sent, err := f.reject("", thread.Rejection{Seq: d.Seq, Reason: in.Reject, Raw: d.Raw}, d)
	check(err)
	if sent {
		out.Rejections = []string{out.Code}
	}
	f.applied = d.Seq // the next turn's decisions take effect after it, as a configuration does
	saving(func() { f.adoptUpTo(d.Seq, noEvent) })
	return out
}

// input decodes the event.
func (f *Fold) input(d Delivery) thread.Input {
	in := thread.Input{
		Seq: d.Seq, Time: d.Time, Raw: d.Raw,
		PendingEditEvents: f.config.Limits.PendingEditEvents,
	}
	ev, why := events.DecodeKept(d.Raw, events.Limits{EventBytes: f.config.Limits.EventBytes})
	if why != nil {
		in.Reject = why
		return in
	}
	in.Event = &ev
	if ev.Fork == nil {
		f.Log.Keep(d.Seq, &ev)
	}
	return in
}

// threadOf returns the thread that an event's subject names; false if the subject names none.
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

// load loads the thread's header, and of an edit the summaries made from its message.
func (s *Step) load(name string) {
	s.st = got(s.f.part.LoadEvent(name, s.in.Event))
	s.p, _ = s.f.policy(s.st, s.in.Event)
}

// IsOutput reports whether the event is a tool's output: a thread.message of role tool is one too.
func (s *Step) IsOutput() bool { return s.in.Event != nil && s.in.Event.Type == events.ToolResult }

// Load loads what the event and its consequences can touch besides: how far the thread is compacted, the compaction that stands for
// the event's message, and the summary of a tool output. The last is needed even if no summary is active, since the next one
// continues the slot's version numbers, and even for a duplicate: the slot gives the message's weight.
func (s *Step) Load() {
	if s.in.Event == nil {
		return
	}
	s.loadCompaction()
	s.loadOver(s.st.Message)
	if m := s.st.Message; m != nil && m.Tool {
		s.slot(events.ToolSlot(m.ID))
	}
}

// Apply folds the event into its thread: it counts, or is a duplicate, waits for its message, or is rejected. What decides on the next
// cut follows.
func (s *Step) Apply(ctx context.Context) {
	s.f.remember(ctx, s.st.Header)
	s.in.Measure = s.f.measure(s.p.Tokenizer)
	if s.st.Message != nil && s.st.Compaction != nil {
		it := s.item(s.st.Message)
		s.before = &it
	}
	after := s.afterItems()
	s.res = thread.Apply(s.st, s.in)
	if s.res.Pinned && s.st.Message.Pinned {
		m := *s.st.Message
		s.pinned = &m
	}
	if s.res.Rewound {
		s.rewind(after)
	}
	s.track()
	s.correctCut()
	if s.res.Forked { // last: what it inherits is not in the store yet
		s.inherit()
	}
}

// Record records what was decided about the event's message. First it gives up waiting summaries that no longer have a reason to be
// recomputed, which needs no record.
func (s *Step) Record() {
	s.waiting = s.waive()
	if !s.decides {
		return
	}
	for _, rec := range s.decided {
		s.emit(rec)
	}
}

// saveEvent saves an event and what was decided; only then is it in the open batch.
func (s *Step) saveEvent(ctx context.Context) {
	if s.f.Watch != nil {
		s.whole = s.f.emitted()
		s.stepped(ctx, false)
	}
	s.saveChanges()
	saving(func() { s.f.adoptUpTo(s.at.Seq, noEvent) }) // of other threads, and a configuration
}

// saveChanges writes what the event changed to the open batch. A failure from here on leaves the step half done.
func (s *Step) saveChanges() {
	for _, r := range s.res.Rejections {
		sent, err := s.f.reject(s.st.Header.Thread, r, s.at)
		check(halfDone(err))
		if sent {
			s.rejected = append(s.rejected, r.Reason.Code)
		}
	}
	s.put()
	s.lookLater()
	s.f.flush()
}

func (s *Step) outcome() Outcome {
	o := Outcome{Outcome: s.res.Outcome, Rejections: s.rejected}
	if s.res.Outcome == thread.Rejected {
		o.Code = s.res.Rejections[0].Reason.Code
	}
	return o
}

// reject puts a rejection in the outbox, unless REJECTED already has one of the same event from before a recovery, and reports whether it
// did.
func (f *Fold) reject(name string, r thread.Rejection, d Delivery) (sent bool, err error) {
	staged, err := f.part.TakeRejection(r.Seq)
	if err != nil {
		return false, err
	}
	if len(staged) > 0 {
		rec := Rejected(r)
		event, err := rec.EventDigest()
		if err != nil {
			return false, err
		}
		if slices.Contains(staged, event) {
			return false, nil
		}
	}
	token := events.NoThreadToken
	if name != "" {
		token = mustToken(name)
	}
	f.part.Send(&state.Outgoing{
		Type: events.EventRejected, ID: events.PositionEventID(events.EventRejected, f.part.ID(), r.Seq),
		Thread: name, Subject: string(events.EventRejected) + "." + token, Time: d.Time, Data: rejection(r, f.MaxPayload),
	})
	return true, nil
}

// envelopeBytes reserves room for our own headers, which count toward a message's size: a subject token up to three times.
const envelopeBytes = 4 << 10

// rejection returns the data of an event.rejected. It includes the body if the server accepts a message that large.
func rejection(r thread.Rejection, maxPayload int) []byte {
	rec := Rejected(r)
	data := encodeRejected(rec)
	if len(data)+envelopeBytes > maxPayload && rec.Shorten() {
		data = encodeRejected(rec)
	}
	return data
}

// Rejected returns the event.rejected of an event, byte for byte. It names the subject that the publisher used, without the partition
// that the event was stored under.
func Rejected(r thread.Rejection) events.Rejected {
	raw := r.Raw
	if t, token, ok := events.ParseSubject(raw.Subject); ok {
		raw.Subject = string(t) + "." + token
	}
	return events.NewRejected(raw, r.Seq, r.Reason, len(raw.Body))
}

func encodeRejected(rec events.Rejected) []byte {
	data, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("encode rejection: %v", err)) // NewRejected writes only valid UTF-8
	}
	return data
}
