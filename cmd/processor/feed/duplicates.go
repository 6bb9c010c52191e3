package feed

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/micro"

	"precis/api"
	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
)

const (
	// askPatience bounds what a run waits in all for the threads' counters where nothing was told to wait for the processor: there may be none.
	askPatience = 2 * time.Second
	// askThreads limits how many threads are asked about then.
	askThreads = 100
)

// duplicates counts which of the published events precis knew, by the threads' counters: an ack says only that an event is stored. What precis had
// not decided when the publishing began is waited for, so that it does not count. A duplicate that another publisher sends at the same time does.
type duplicates struct {
	server   *remote.Server
	wait     bool          // the processor answers, however long that takes
	patience time.Duration // what is left of askPatience
	from     uint64        // the last event that stood in EVENTS at the beginning
	begun    bool
	before   map[string]uint64 // what a thread's counter said before its first event
	unknown  bool
}

func newDuplicates(s *remote.Server, wait bool) *duplicates {
	return &duplicates{server: s, wait: wait, patience: askPatience, before: map[string]uint64{}}
}

// begin reads a thread's counter before its first event is published.
func (d *duplicates) begin(ctx context.Context, thread string) {
	if _, asked := d.before[thread]; asked || d.unknown {
		return
	}
	if !d.wait && len(d.before) == askThreads {
		d.unknown = true
		return
	}
	ctx, done := d.bounded(ctx)
	defer done()
	if !d.begun {
		d.begun, d.from = true, lastEvent(ctx, d.server)
	}
	counters, err := countersOf(ctx, d.server, thread, d.from)
	if d.unknown = err != nil; !d.unknown {
		d.before[thread] = counters.Duplicates
	}
}

// bounded ends a request that nothing was told to wait for when the run's patience is used up.
func (d *duplicates) bounded(ctx context.Context) (_ context.Context, done func()) {
	if d.wait {
		return context.WithTimeout(ctx, decidedPatience)
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	return ctx, func() {
		cancel()
		d.patience -= time.Since(begun)
	}
}

// lastEvent is the last sequence of EVENTS; 0 where this user may not ask for it, as an agent may not: what precis has not decided yet counts, then.
func lastEvent(ctx context.Context, s *remote.Server) (last uint64) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	_ = s.Refusable(ctx, func(ctx context.Context) error {
		state, err := broker.StateOf(ctx, s.JS, broker.StreamEvents)
		last = state.Last
		return err
	})
	return last
}

// count returns how many of the published events up to seq were known; nil where that can't be told. after is what is known of the threads then.
func (d *duplicates) count(ctx context.Context, seq uint64, published int64, after map[string]api.ThreadReply) *int64 {
	if d.unknown {
		return nil
	}
	ctx, done := d.bounded(ctx)
	defer done()
	var n int64
	for thread, before := range d.before {
		counters, known := after[thread]
		if !known {
			var err error
			if counters, err = countersOf(ctx, d.server, thread, seq); err != nil {
				return nil
			}
		}
		n += int64(max(counters.Duplicates, before) - before)
	}
	n = min(n, published)
	return &n
}

// countersOf are a thread's counters once the event at seq is decided; none of a thread that is not there.
func countersOf(ctx context.Context, s *remote.Server, thread string, seq uint64) (counters api.ThreadReply, err error) {
	token, err := events.Token(thread)
	if err != nil {
		return counters, nil // no event of such a thread is published
	}
	request := []byte(`{"min_event_seq":` + strconv.FormatUint(seq, 10) + `}`)
	reply, err := s.Conn.RequestWithContext(ctx, api.ThreadGet+token, request)
	if err != nil {
		return counters, remote.Explain("ask the processor", err)
	}
	if reply.Header.Get(micro.ErrorCodeHeader) == strconv.Itoa(http.StatusNotFound) {
		return counters, nil
	}
	if err := remote.ReplyError(reply); err != nil {
		return counters, err
	}
	if err := json.Unmarshal(reply.Data, &counters); err != nil {
		return counters, console.Unreachable("read the processor's answer: %w", err)
	}
	return counters, nil
}
