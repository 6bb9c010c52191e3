package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/retry"
)

// Rejected lists what was rejected, or publishes one of it again.
type Rejected struct {
	remote.Flags
	Retry *uint64 `placeholder:"SEQ" help:"Publish the event of this rejection again, byte for byte, on its original subject."`
}

// Help shows the command used.
func (Rejected) Help() string {
	return `Lists each rejection with its number, the reason, the subject and the beginning of the event. Retry an event once the reason is gone: a limit was raised, or the message of an edit has arrived.

Examples:

    processor rejected
    processor rejected --retry 12`
}

// Run lists or retries.
func (c *Rejected) Run(ctx context.Context, a *console.App) error {
	if c.Retry != nil && *c.Retry == 0 {
		return console.Usage("--retry 0: rejections count from 1; \"processor rejected\" lists them with their numbers")
	}
	return c.With(ctx, a, func(ctx context.Context, s *remote.Server) error {
		if c.Retry != nil {
			return c.retry(ctx, a, s, *c.Retry)
		}
		return c.list(ctx, a, s)
	})
}

func (c *Rejected) list(ctx context.Context, a *console.App, s *remote.Server) error {
	log, err := s.Read(ctx, broker.StreamRejected, nil, jetstream.DeliverAllPolicy)
	if err != nil {
		return err
	}
	defer log.Close()
	buffer := bufio.NewWriter(a.Stdout)
	count := 0
	err = log.Rest(ctx, func(e remote.Entry) error {
		count++
		return c.write(buffer, e)
	})
	if err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	if !c.JSON {
		a.Note("%s rejected", console.Grouped(count))
	}
	return nil
}

// listed is a rejection with its place, for programs.
type listed struct {
	Seq      uint64  `json:"seq"`
	ThreadID *string `json:"thread_id"`
	events.Rejected
}

func (c *Rejected) write(out *bufio.Writer, e remote.Entry) error {
	var r events.Rejected
	if err := json.Unmarshal(e.Raw.Body, &r); err != nil {
		return console.Wrong("REJECTED %d is not readable: %w", e.Seq, err)
	}
	if c.JSON {
		line, err := json.Marshal(listed{Seq: e.Seq, ThreadID: nonEmpty(e.Thread), Rejected: r})
		if err != nil {
			return fmt.Errorf("write rejection: %w", err)
		}
		_, err = out.Write(append(line, '\n'))
		return err
	}
	_, err := fmt.Fprintf(out, "%s  %s  %s  %s\n        %s\n", console.Right(fmt.Sprint(e.Seq), 6), console.Time(e.Time), console.Left(r.Code, 16), remote.Why(r), preview(r))
	return err
}

// previewChars is how much of a rejected event is shown.
const previewChars = 100

func preview(r events.Rejected) string {
	raw, err := r.Raw()
	switch {
	case errors.Is(err, events.ErrBodyGone):
		return "(too long to be kept here; it stands in EVENTS)"
	case err != nil:
		return "(not readable)"
	default:
		return console.Clip(console.Printable(string(raw.Body)), previewChars)
	}
}

func nonEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// retried is where an event stands now.
type retried struct {
	Subject  string `json:"subject"`
	EventSeq uint64 `json:"event_seq"`
}

// retry publishes a rejected event again: the same bytes and headers on the same subject.
func (c *Rejected) retry(ctx context.Context, a *console.App, s *remote.Server, seq uint64) error {
	e, err := retry.Read(ctx, s.JS, seq)
	var done *retry.Done
	if err == nil {
		done, err = e.Publish(ctx, s.JS)
	}
	switch {
	case errors.Is(err, retry.ErrGone), errors.Is(err, retry.ErrRejection):
		return console.Wrong("%w; \"processor rejected\" lists what can be retried", err)
	case err != nil:
		return remote.Explain("retry", err)
	}
	if c.JSON {
		a.JSON(retried{Subject: done.Subject, EventSeq: done.EventSeq})
		return nil
	}
	a.Printf("Published %s again on %s, now EVENTS %d.\n", console.Counted(len(e.Body), "byte"), console.Printable(done.Subject), done.EventSeq)
	a.Note("If it is rejected again, \"processor rejected\" has the reason.")
	return nil
}
