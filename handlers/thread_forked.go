package handlers

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"precis/internal/fold"
)

// ThreadForked takes a fork from its lane, or from the lane of the parent's partition.
func (h Handlers) ThreadForked(msg *message.Message) error { return h.take(msg, threadForked) }

// threadForked is what a fork does to the thread that begins with it. It decides nothing; in the parent's partition the fold hands
// over what the fork begins with, without a walk.
func threadForked(ctx context.Context, s *fold.Step) {
	s.Load()
	// The thread has its parent's messages and summaries; or the event is a duplicate or is rejected.
	s.Apply(ctx)
}
