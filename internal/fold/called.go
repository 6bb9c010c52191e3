package fold

import (
	"context"
	"math"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/cut"
)

// calledAtOnce is how many messages are read at a time while a call is looked for: nearly always it is in the first.
const calledAtOnce = 16

// Now is the moment of whoever asks what the state says now.
const Now = math.MaxUint64

// Called is a tool result as its call tells it. In the shape of OpenAI's messages a result has the id of its call and
// nothing else: its tool and arguments are then those of the last turn before it that makes this call, as that was
// first published, among as many messages as a cut waits for a result. Where the turn makes it several times, as those
// that number their calls anew in each message do, results have them in turn. What an earlier turn called by that id
// and never had is taken for abandoned. A message that was deleted by the event at has no calls.
func Called(ctx context.Context, view state.View, log Log, name string, ordinal, at uint64, m *events.Message) (*events.Message, error) {
	if m.ToolName != "" || m.ToolCallID == "" {
		return m, nil
	}
	t := turn{id: m.ToolCallID}
	for to, least := ordinal, max(ordinal, cut.Patience+1)-cut.Patience; to > least && !t.whole; {
		from := max(to, least+calledAtOnce) - calledAtOnce
		rows, err := view.Messages(name, from, to)
		if err != nil {
			return nil, err
		}
		for _, row := range slices.Backward(rows) {
			t.before(row)
		}
		to = from
	}
	row, nth := t.caller()
	if row == nil || row.Deleted && row.Seq <= at {
		return m, nil
	}
	return calledBy(ctx, log, row, nth, m)
}

// turn is what is known of the calls of one id before a result, read backwards.
type turn struct {
	id       string
	answered int               // results between the calls and this one
	callers  []*thread.Message // one for each call, the last call first
	whole    bool              // nothing more belongs to it
}

// before takes in the message before those that were taken in. A turn's messages with calls stand one behind the other.
func (t *turn) before(row *thread.Message) {
	if t.whole = t.whole || len(t.callers) > 0 && len(row.CallIDs) == 0; t.whole {
		return
	}
	for _, id := range row.CallIDs {
		if id == t.id {
			t.callers = append(t.callers, row)
		}
	}
	if row.CallID == t.id && len(t.callers) == 0 {
		t.answered++
	}
}

// caller is the message that makes the first call without a result, or the last one, and which of its calls with the id
// that is; nil where there is none.
func (t *turn) caller() (row *thread.Message, nth int) {
	if len(t.callers) == 0 {
		return nil, 0
	}
	slices.Reverse(t.callers)
	at := min(t.answered, len(t.callers)-1)
	return t.callers[at], at - slices.Index(t.callers, t.callers[at])
}

// calledBy is m as the nth call of its id in a message tells it.
func calledBy(ctx context.Context, log Log, row *thread.Message, nth int, m *events.Message) (*events.Message, error) {
	ev, err := eventOf(ctx, log, row.FirstSeq)
	if err != nil || ev == nil {
		return m, err
	}
	told, call := *m, nthCall(ev.Message.ToolCalls, m.ToolCallID, nth)
	if told.ToolName = call.Name; len(m.Arguments) == 0 {
		told.Arguments = call.Arguments
	}
	return &told, nil
}

// nthCall is the nth of the calls with an id.
func nthCall(calls []events.ToolCall, id string, nth int) (call events.ToolCall) {
	for _, c := range calls {
		if c.ID != id {
			continue
		}
		if call = c; nth == 0 {
			break
		}
		nth--
	}
	return call
}
