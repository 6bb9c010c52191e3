package fold

import (
	"context"
	"slices"

	"precis/events"
	"precis/state"
	"precis/summarize/cut"
)

// calledAtOnce is how many messages are read at a time while a call is looked for: nearly always it is in the first.
const calledAtOnce = 16

// Called is a tool result as its call tells it. In the shape of OpenAI's messages a result has the id of its call and
// nothing else: its tool and arguments are then those of the last message before it that makes this call, as that was
// first published, among as many as a cut waits for a result.
func Called(ctx context.Context, view state.View, log Log, name string, ordinal uint64, m *events.Message) (*events.Message, error) {
	if m.ToolName != "" || m.ToolCallID == "" {
		return m, nil
	}
	for to, least := ordinal, max(ordinal, cut.Patience+1)-cut.Patience; to > least; {
		from := max(to, least+calledAtOnce) - calledAtOnce
		seq, err := callerBetween(view, name, from, to, m.ToolCallID)
		if err != nil {
			return nil, err
		}
		if seq > 0 {
			return calledAt(ctx, log, seq, m)
		}
		to = from
	}
	return m, nil
}

// callerBetween is where the last message between two ordinals that makes a call stands in the log; 0 where none does.
func callerBetween(view state.View, name string, from, to uint64, id string) (seq uint64, err error) {
	rows, err := view.Messages(name, from, to)
	for _, row := range slices.Backward(rows) {
		if slices.Contains(row.CallIDs, id) {
			return row.FirstSeq, nil
		}
	}
	return 0, err
}

func calledAt(ctx context.Context, log Log, seq uint64, m *events.Message) (*events.Message, error) {
	ev, err := eventOf(ctx, log, seq)
	if err != nil || ev == nil {
		return m, err
	}
	for _, call := range ev.Message.ToolCalls {
		if call.ID == m.ToolCallID {
			told := *m
			told.ToolName = call.Name
			if len(m.Arguments) == 0 {
				told.Arguments = call.Arguments
			}
			return &told, nil
		}
	}
	return m, nil
}
