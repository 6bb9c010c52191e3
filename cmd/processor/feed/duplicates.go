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
)

const (
	// askPatience bounds the wait for a thread's counter where nothing was told to wait for the processor: there may be none.
	askPatience = 2 * time.Second
	// askThreads is of how many threads the counters are asked for then.
	askThreads = 100
)

// duplicates counts which of the published events precis knew, by the threads' counters: an ack says only that an event is stored. A duplicate that
// another publisher sends at the same time counts, too.
type duplicates struct {
	server  *remote.Server
	wait    bool              // the processor answers, however long that takes
	before  map[string]uint64 // what a thread's counter said before its first event
	unknown bool
}

func newDuplicates(s *remote.Server, wait bool) *duplicates {
	return &duplicates{server: s, wait: wait, before: map[string]uint64{}}
}

// begin reads a thread's counter before its first event is published.
func (d *duplicates) begin(ctx context.Context, thread string) {
	if _, asked := d.before[thread]; asked || d.unknown {
		return
	}
	if !d.wait {
		if len(d.before) == askThreads {
			d.unknown = true
			return
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askPatience)
		defer cancel()
	}
	counters, err := countersOf(ctx, d.server, thread, 0)
	if d.unknown = err != nil; !d.unknown {
		d.before[thread] = counters.Duplicates
	}
}

// count returns how many of the published events up to seq were known; nil where that can't be told.
func (d *duplicates) count(ctx context.Context, seq uint64, published int64) *int64 {
	if d.unknown {
		return nil
	}
	patience := askPatience
	if d.wait {
		patience = decidedPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var n int64
	for thread, before := range d.before {
		counters, err := countersOf(ctx, d.server, thread, seq)
		if err != nil {
			return nil
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
