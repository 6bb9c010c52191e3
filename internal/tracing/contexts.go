package tracing

import (
	"regexp"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/state"
)

// Headers of the W3C's trace context, as clients of NATS send them.
const (
	headerTraceparent = "traceparent"
	headerTracestate  = "tracestate"
)

const (
	// tracedEvents is how many events of a partition have their trace context kept. A job may end long after its event.
	tracedEvents = 1024
	// tracestateBytes is what a tracestate may have; the W3C asks for at least 512 to be passed on.
	tracestateBytes = 512
)

// traceparent is the only form of version 00; the all-zero ids that it excludes say nothing to anybody and do no harm.
var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// trace is an event's trace context.
type trace struct{ parent, state string }

// Contexts keeps the trace contexts of a partition's latest events. It is safe for concurrent use. A nil one keeps none.
type Contexts struct {
	recent *lru.Cache[uint64, trace] // by sequence
	any    atomic.Bool               // one was noted
}

// New keeps nothing yet.
func New() *Contexts {
	recent, err := lru.New[uint64, trace](tracedEvents)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &Contexts{recent: recent}
}

// Note keeps an event's trace context, if it has a valid one.
func (c *Contexts) Note(seq uint64, header map[string][]string) {
	parent := header[headerTraceparent]
	if len(parent) != 1 || !traceparent.MatchString(parent[0]) {
		return
	}
	of := trace{parent: parent[0]}
	if state := header[headerTracestate]; len(state) == 1 && len(state[0]) <= tracestateBytes {
		of.state = state[0]
	}
	c.recent.Add(seq, of)
	c.any.Store(true)
}

// Carry gives a record the trace context of the event that it follows from: at once, or as the result of a job. What a
// request, a sweep or a clock led to belongs to no event's trace; a rejection has its event's headers in its data.
func (c *Contexts) Carry(row *state.Outgoing, header nats.Header) {
	if c == nil || !c.any.Load() || !row.Guarded || row.Thread == "" {
		return
	}
	var head events.Head
	if json.Unmarshal(row.Data, &head) != nil {
		return
	}
	if cause := head.Step.Cause; cause != events.ByEvent && cause != events.ByResult {
		return
	}
	of, ok := c.recent.Get(head.EventSeq)
	if !ok {
		return
	}
	header[headerTraceparent] = []string{of.parent}
	if of.state != "" {
		header[headerTracestate] = []string{of.state}
	}
}
