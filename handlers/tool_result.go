package handlers

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"precis/internal/fold"
)

// ToolResult takes a tool's output from its lane.
func (h Handlers) ToolResult(msg *message.Message) error { return h.take(msg, toolResult) }

// toolResult is what a tool's output does. It is decoded and checked; if its step is on record already, nothing is decided, and what
// is on record is adopted. The end of the walk saves the thread and its records.
func toolResult(ctx context.Context, s *fold.Step) {
	// How far the thread is compacted, and for a duplicate the summary and the compaction that stand for its message.
	s.Load()
	// If a policy may want a summary: the call that asked for the output, and what the thread has seen before it.
	s.ReadOutput(ctx)
	// It counts, or is a duplicate, or is rejected; edits that came before it are applied.
	s.Apply(ctx)
	// Over the policy's threshold it is summarized: by the rules at once, or as the start of a model's job.
	s.SummarizeOutput()
	s.Record()
	// Stale summaries that wait for the thread to be used are recomputed, and messages that the policy lets go are compacted.
	s.Compact(ctx)
	s.TellHistory(ctx)
}
