package handlers

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"precis/internal/fold"
)

// ThreadMessage takes a message of a user, an assistant or a system from its lane.
func (h Handlers) ThreadMessage(msg *message.Message) error { return h.take(msg, threadMessage) }

// threadMessage is what a message does. Nothing is made from it alone, but it may be the one at which its thread is compacted, and it
// uses the thread: what waits there is recomputed.
func threadMessage(ctx context.Context, s *fold.Step) {
	if s.IsOutput() { // a message of role tool
		toolResult(ctx, s)
		return
	}
	// How far the thread is compacted, and the compaction that stands for the message if it is a duplicate.
	s.Load()
	// It counts, or is a duplicate, or is rejected; edits that came before it are applied.
	s.Apply(ctx)
	s.Record()
	// Stale summaries are recomputed, then messages that the policy lets go are compacted.
	s.Compact(ctx)
	// Every so many messages, a summary for people.
	s.TellHistory(ctx)
}
