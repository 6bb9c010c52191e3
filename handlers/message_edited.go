package handlers

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"precis/internal/fold"
)

// MessageEdited takes an edit from its lane.
func (h Handlers) MessageEdited(msg *message.Message) error { return h.take(msg, messageEdited) }

// messageEdited is what an edit does: a new content, a deletion, a message that is pinned, or a rewind to a message.
func messageEdited(ctx context.Context, s *fold.Step) {
	// How far the thread is compacted, and the summaries that the message has or stands in.
	s.Load()
	// If the new text of a tool output may want a summary: its call, and what the thread had seen before it.
	s.ReadOutput(ctx)
	// The message has a new revision; or the edit is a duplicate, changes nothing, waits for its message, or is rejected.
	s.Apply(ctx)
	// What was made from the old text is no longer true, causes before effects.
	s.Invalidate()
	// The policy says whether a tool output's summary is made again.
	s.SummarizeOutput()
	s.Record()
	// The leaf that holds the message and what stands above it are recomputed, then what else waits.
	s.Compact(ctx)
	s.TellHistory(ctx)
}
