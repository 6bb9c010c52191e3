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
// nothing else: its tool and arguments are then those of the last message before it that makes this call, as that was
// first published, among as many as a cut waits for a result. A message that was deleted by the event at has no calls.
func Called(ctx context.Context, view state.View, log Log, name string, ordinal, at uint64, m *events.Message) (*events.Message, error) {
	if m.ToolName != "" || m.ToolCallID == "" {
		return m, nil
	}
	answered := 0 // results of this id between the call and this one: where it is used twice, each has its own
	for to, least := ordinal, max(ordinal, cut.Patience+1)-cut.Patience; to > least; {
		from := max(to, least+calledAtOnce) - calledAtOnce
		rows, err := view.Messages(name, from, to)
		if err != nil {
			return nil, err
		}
		for _, row := range slices.Backward(rows) {
			if row.CallID == m.ToolCallID {
				answered++
			}
			if slices.Contains(row.CallIDs, m.ToolCallID) {
				return calledBy(ctx, log, row, at, answered, m)
			}
		}
		to = from
	}
	return m, nil
}

// calledBy is m as a message that makes its call tells it.
func calledBy(ctx context.Context, log Log, row *thread.Message, at uint64, answered int, m *events.Message) (*events.Message, error) {
	if row.Deleted && row.Seq <= at {
		return m, nil
	}
	ev, err := eventOf(ctx, log, row.FirstSeq)
	if err != nil || ev == nil {
		return m, err
	}
	told := *m
	for _, call := range ev.Message.ToolCalls {
		if call.ID != m.ToolCallID {
			continue
		}
		if told.ToolName = call.Name; len(m.Arguments) == 0 {
			told.Arguments = call.Arguments
		}
		if answered--; answered < 0 {
			break
		}
	}
	return &told, nil
}
