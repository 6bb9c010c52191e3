package tracing

import (
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// Headers of the W3C's trace context, as clients of NATS send them.
const (
	headerTraceparent = "traceparent"
	headerTracestate  = "tracestate"
)

const (
	// tracedEvents is how many events of a partition have their trace context kept, and how many jobs. A job may end long after its event.
	tracedEvents = 1024
	// tracestateBytes is what a tracestate may have; the W3C asks for at least 512 to be passed on.
	tracestateBytes = 512
)

// traceparent is the only form of version 00; the all-zero ids that it excludes say nothing to anybody and do no harm.
var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// parent is an event's trace context, or that of the span which continues it.
type parent struct{ parent, state string }

// Contexts keeps the trace contexts of a partition's latest events, and makes its spans. It is safe for concurrent use, except for Begin,
// Decided, End and Batch, which are the lane's, and Carry and Stored, which are the outbox's. A nil one keeps none.
type Contexts struct {
	tracer    *Tracer
	partition int
	recent    *lru.Cache[uint64, parent] // by sequence
	jobs      *lru.Cache[string, parent] // by summary; those with a span
	any       atomic.Bool                // one was noted
	batch     []trace.SpanContext        // recorded events of the open batch
	event     *Span                      // of the event that is folded
	running   sync.Map                   // *Span of a job by summary
	sending   map[uint64]*Span           // of a record that is on its way, by the row's number
}

// New keeps nothing yet. tracer may be nil: then contexts are passed on, and no spans are made.
func New(tracer *Tracer, partition int) *Contexts {
	recent, err := lru.New[uint64, parent](tracedEvents)
	if err != nil {
		panic(err) // the size is not positive
	}
	jobs, err := lru.New[string, parent](tracedEvents)
	if err != nil {
		panic(err)
	}
	return &Contexts{tracer: tracer, partition: partition, recent: recent, jobs: jobs, sending: map[uint64]*Span{}}
}

// Note keeps an event's trace context, if it has a valid one.
func (c *Contexts) Note(seq uint64, header map[string][]string) {
	if of := parentIn(header); of.parent != "" {
		c.recent.Add(seq, of)
		c.any.Store(true)
	}
}

func parentIn(header map[string][]string) (of parent) {
	values := header[headerTraceparent]
	if len(values) != 1 || !traceparent.MatchString(values[0]) {
		return of
	}
	of.parent = values[0]
	if state := header[headerTracestate]; len(state) == 1 && len(state[0]) <= tracestateBytes {
		of.state = state[0]
	}
	return of
}

// Begin begins the span of an event; nil where it is not recorded.
func (c *Contexts) Begin(seq uint64, subject string, header map[string][]string) *Span {
	if c.tracer == nil {
		return nil
	}
	c.event = c.tracer.eventSpan(parentIn(header), subject, c.partition, seq)
	return c.event
}

// Decided notes a record that the event leads to at once, or the summary of a job.
func (c *Contexts) Decided(record any) {
	if c.tracer == nil {
		return
	}
	if rec, ok := record.(*events.Summary); ok {
		if s, ok := c.running.Load(rec.ID); ok {
			s.(*Span).SetAttributes(sizes(rec)...)
		}
	}
	if c.event != nil {
		c.event.decided(record)
	}
}

// End ends the span of an event.
func (c *Contexts) End(s *Span, outcome thread.Outcome, code string, err error) {
	if s != nil {
		c.event = nil
		s.stepped(outcome, code, err)
	}
}

// Applied notes an event that was applied: what follows from it continues its span, or else its trace.
func (c *Contexts) Applied(s *Span, seq uint64, header map[string][]string) {
	if s == nil {
		c.Note(seq, header)
		return
	}
	c.recent.Add(seq, headers(s.SpanContext()))
	c.any.Store(true)
	if len(c.batch) < mostLinks {
		c.batch = append(c.batch, s.SpanContext())
	}
}

// Batch takes the recorded events of the batch that is closed.
func (c *Contexts) Batch() (batch []trace.SpanContext) {
	batch, c.batch = c.batch, nil
	return batch
}

// Committed makes the span of a batch that has become durable.
func (c *Contexts) Committed(batch []trace.SpanContext, count int, began, ended time.Time) {
	if len(batch) > 0 {
		c.tracer.commitSpan(batch, c.partition, count, began, ended)
	}
}

// Job begins the span of a job, below that of the event it follows from; nil where it is not recorded.
func (c *Contexts) Job(job *thread.Job) *Span {
	if c == nil || c.tracer == nil {
		return nil
	}
	var of parent
	if follows(&job.Started.Head) {
		of, _ = c.recent.Get(job.Started.EventSeq)
	}
	s := c.tracer.jobSpan(of, job, *job.Started.ThreadID)
	if s != nil {
		c.jobs.Add(job.ID(), headers(s.SpanContext()))
		c.running.Store(job.ID(), s)
		c.any.Store(true)
	}
	return s
}

// JobEnded ends the span of a job.
func (c *Contexts) JobEnded(s *Span, job *thread.Job, method, model, failure string) {
	if s != nil {
		c.running.Delete(job.ID())
		s.summarized(method, model, failure)
	}
}

// follows reports whether a record follows from the event at which it was decided.
func follows(h *events.Head) bool {
	return h.Step.Cause == events.ByEvent || h.Step.Cause == events.ByResult
}

// Carry gives a record the trace context of the event that it follows from: at once, or as the result of a job. What a
// request, a sweep or a clock led to belongs to no event's trace; a rejection has its event's headers in its data.
func (c *Contexts) Carry(row *state.Outgoing, header nats.Header) {
	if c == nil || !c.any.Load() || !row.Guarded || row.Thread == "" {
		return
	}
	var rec struct {
		events.Head
		ID        string `json:"id"`
		SummaryID string `json:"summary_id"`
	}
	if json.Unmarshal(row.Data, &rec) != nil || !follows(&rec.Head) {
		return
	}
	of, ok := parent{}, false
	if rec.Step.Cause == events.ByResult {
		of, ok = c.jobs.Get(rec.ID + rec.SummaryID) // it has one of them
	}
	if !ok {
		of, ok = c.recent.Get(rec.EventSeq)
	}
	if !ok {
		return
	}
	if s := c.send(of, row); s != nil {
		of = headers(s.SpanContext())
	}
	header[headerTraceparent] = []string{of.parent}
	if of.state != "" {
		header[headerTracestate] = []string{of.state}
	}
}

// send begins the span of a record that is sent, or sent again; nil where it is not recorded.
func (c *Contexts) send(of parent, row *state.Outgoing) *Span {
	if c.tracer == nil {
		return nil
	}
	if before := c.sending[row.Number]; before != nil {
		before.unsent()
	}
	s := c.tracer.sendSpan(of, row)
	if s == nil {
		delete(c.sending, row.Number)
		return nil
	}
	c.sending[row.Number] = s
	return s
}

// Stored ends the span of a record that the server has stored at a sequence; 0: not told.
func (c *Contexts) Stored(row *state.Outgoing, seq uint64) {
	if c == nil || len(c.sending) == 0 {
		return
	}
	if s := c.sending[row.Number]; s != nil {
		delete(c.sending, row.Number)
		s.sent(seq)
	}
}
