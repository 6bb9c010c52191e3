package handlers

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/state"
)

// Steps takes events through their walk in their lane's partition, one after the other, up to the first that fails. It skips
// those that are applied already.
type Steps interface {
	Steps(ctx context.Context, lane string, hand iter.Seq[fold.Delivery], walk fold.Walk) error
}

// Of returns the walk of an event by its subject. Who folds the log without the router, in bulk or in an audit, takes the same ones.
func Of(subject string) fold.Walk {
	switch t, _, _ := events.ParseSubject(subject); t {
	case events.ToolResult:
		return toolResult
	case events.MessageEdited:
		return messageEdited
	case events.ThreadForked:
		return threadForked
	}
	return threadMessage
}

// ErrPanic: a handler panicked; trying again would panic again.
var ErrPanic = errors.New("handler panicked")

// Handlers are the consumers of the log.
type Handlers struct {
	Steps  Steps
	Logger zerolog.Logger
}

// Register adds a handler for each topic to a router.
func (h Handlers) Register(r *message.Router, sub message.Subscriber) {
	for topic, handle := range map[events.Type]message.NoPublishHandlerFunc{
		events.ToolResult:    h.ToolResult,
		events.ThreadMessage: h.ThreadMessage,
		events.MessageEdited: h.MessageEdited,
		events.ThreadForked:  h.ThreadForked,
	} {
		added := r.AddConsumerHandler(string(topic), string(topic), sub, handle)
		added.AddMiddleware(retry)
	}
}

// retry tries a step that failed for a while again. Watermill's own middleware makes its timers and counters
// before it knows that they are needed: most steps don't fail. Of several events, the lane finds the one that fails: it hands them
// out again one by one.
func retry(h message.HandlerFunc) message.HandlerFunc {
	again := middleware.Retry{
		MaxRetries: 5, InitialInterval: 20 * time.Millisecond, MaxInterval: time.Second, Multiplier: 2,
		ShouldRetry: func(p middleware.RetryParams) bool { return transient(p.Err) },
	}.Middleware(h)
	return func(msg *message.Message) ([]*message.Message, error) {
		out, err := h(msg)
		if err == nil || !transient(err) || broker.HandSize(msg) > 1 {
			return out, err
		}
		return again(msg)
	}
}

// transient says whether trying again can help: not where half a step is in the batch, and not where
// the same code will meet the same panic. Rows that a server has are waited for by the lane, which has turns meanwhile.
func transient(err error) bool {
	return !errors.Is(err, state.ErrParked) && !errors.Is(err, fold.ErrHalfDone) && !errors.Is(err, ErrPanic) && !errors.Is(err, context.Canceled)
}

// take has the walk of a message's events taken in their partition.
func (h Handlers) take(msg *message.Message, walk fold.Walk) (err error) {
	lane := broker.DeliveryOf(msg).Lane
	var at uint64 // the event that is under way
	defer func() {
		if r := recover(); r != nil {
			h.Logger.Error().Uint64("seq", at).Str("lane", lane).Bytes("stack", debug.Stack()).Msg("handler panicked")
			err = fmt.Errorf("%w at event %d: %v", ErrPanic, at, r)
		}
	}()
	err = h.Steps.Steps(msg.Context(), lane, func(yield func(fold.Delivery) bool) {
		for d := range broker.HandOf(msg) {
			at = d.Seq
			if !yield(fold.Delivery{Seq: d.Seq, Time: d.Time, Raw: events.Raw{Subject: d.Subject, Header: d.Header, Body: d.Data}}) {
				return
			}
		}
	}, walk)
	// It is tried again, and holds up what stands behind it: not in silence.
	if err != nil && msg.Context().Err() == nil {
		h.Logger.Warn().Err(err).Uint64("seq", at).Str("lane", lane).Msg("event not applied")
	}
	return err
}

// Topic is the topic of a stored subject: its event type, also for a stray that the partition
// transform did not match.
func Topic(subject string) string {
	t, _, _ := events.ParseSubject(subject)
	return string(t)
}
