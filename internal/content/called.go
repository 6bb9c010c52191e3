package content

import (
	"context"
	"math"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/cut"
)

// calledAtOnce is how many messages the search for a call reads at a time: the first batch nearly always has it.
const calledAtOnce = 16

// calledOver bounds how many messages it reads where a rewind has removed most of them.
const calledOver = 50 * cut.Patience

// Now stands for the current state, where an EVENTS sequence is expected.
const Now = math.MaxUint64

// Called completes a tool result from its call. In OpenAI's message format a result has only the id of its call. Its tool and
// arguments are then those of the last turn before it that makes this call, as first published, within as many messages as a cut
// waits for a result; those that a rewind had removed by then do not count. If the turn makes the call several times, as clients do that restart their numbering in each message,
// results match calls in order. Calls of an earlier turn without a result count as abandoned. A message that was deleted at or
// before the event at has no calls.
func Called(ctx context.Context, view state.View, log Log, name string, ordinal, at uint64, m *events.Message) (*events.Message, error) {
	answers := m.Answers()
	if m.ToolName != "" || len(answers) == 0 {
		return m, nil
	}
	t, came, left := turn{id: answers[0]}, at, cut.Patience
	for to := ordinal + 1; to > 1 && left > 0 && ordinal-to+1 < calledOver && !t.whole; {
		from := max(to, calledAtOnce+1) - calledAtOnce
		rows, err := view.Messages(name, from, to)
		if err != nil {
			return nil, err
		}
		for _, row := range slices.Backward(rows) {
			switch {
			case row.Ordinal == ordinal:
				came = min(came, row.FirstSeq)
			case row.Rewound && row.Seq <= came: // the result came after the rewind
			case left > 0:
				calls, err := callsAt(ctx, log, row, at)
				if err != nil {
					return nil, err
				}
				t.before(row, calls)
				left--
			}
		}
		to = from
	}
	row, nth := t.caller()
	if row == nil || row.Deleted && row.Seq <= at {
		return m, nil
	}
	return calledBy(ctx, log, row, t.id, nth, m)
}

// callsAt returns the ids of a message's calls at an EVENTS sequence: as first published where it was edited behind that.
func callsAt(ctx context.Context, log Log, row *thread.Message, at uint64) (ids []string, err error) {
	if row.Revision == 0 || row.Seq <= at || row.Role != events.RoleAssistant {
		return row.Calls(), nil
	}
	ev, err := eventOf(ctx, log, row.FirstSeq)
	if err != nil || ev == nil || ev.Message == nil {
		return row.Calls(), err
	}
	for _, call := range ev.Message.Calls() {
		ids = append(ids, call.ID)
	}
	return ids, nil
}

// turn collects the calls of one id before a result, reading backwards.
type turn struct {
	id       string
	answered int               // results between the calls and the result in question
	callers  []*thread.Message // one entry per call, last call first
	whole    bool              // earlier messages do not belong to the turn
}

// before adds the next earlier message. The messages of a turn that have calls are adjacent.
func (t *turn) before(row *thread.Message, calls []string) {
	if t.whole = t.whole || len(t.callers) > 0 && len(calls) == 0; t.whole {
		return
	}
	for _, id := range calls {
		if id == t.id {
			t.callers = append(t.callers, row)
		}
	}
	if len(t.callers) == 0 && slices.Contains(row.Results(), t.id) {
		t.answered++
	}
}

// caller returns the message that makes the first call without a result, or else the last call, and which of its calls with that
// id it is; nil if there is none.
func (t *turn) caller() (row *thread.Message, nth int) {
	if len(t.callers) == 0 {
		return nil, 0
	}
	slices.Reverse(t.callers)
	at := min(t.answered, len(t.callers)-1)
	return t.callers[at], at - slices.Index(t.callers, t.callers[at])
}

// calledBy returns m with the tool and arguments of the nth call of its id in a message, or in the edit that added it.
func calledBy(ctx context.Context, log Log, row *thread.Message, id string, nth int, m *events.Message) (*events.Message, error) {
	ev, err := eventOf(ctx, log, row.FirstSeq)
	if err != nil || ev == nil || ev.Message == nil {
		return m, err
	}
	told, call := *m, nthCall(ev.Message.Calls(), id, nth)
	if call.ID == "" && row.Seq != row.FirstSeq {
		now, err := Current(ctx, log, row)
		if err != nil {
			return m, err
		}
		call = nthCall(now.Calls(), id, nth)
	}
	if told.ToolName = call.Name; len(m.Arguments) == 0 {
		told.Arguments = call.Arguments
	}
	return &told, nil
}

// nthCall returns the nth call with an id.
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
