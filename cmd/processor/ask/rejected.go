package ask

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
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
	_, err := fmt.Fprintf(out, "%6d  %s  %-16s %s\n        %s\n", e.Seq, console.Time(e.Time), r.Code, remote.Why(r), preview(r))
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
	rejection, err := rejectionAt(ctx, s, seq)
	if err != nil {
		return err
	}
	raw, err := original(ctx, s, rejection)
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: remote.Published(raw.Subject), Header: againHeaders(raw.Header), Data: raw.Body}
	ack, err := s.JS.PublishMsg(ctx, msg)
	if err != nil {
		return remote.Explain("publish again", err)
	}
	if c.JSON {
		a.JSON(retried{Subject: msg.Subject, EventSeq: ack.Sequence})
		return nil
	}
	a.Printf("Published %d bytes again on %s, now EVENTS %d.\n", len(msg.Data), console.Printable(msg.Subject), ack.Sequence)
	a.Note("If it is rejected again, \"processor rejected\" has the reason.")
	return nil
}

func rejectionAt(ctx context.Context, s *remote.Server, seq uint64) (events.Rejected, error) {
	var r events.Rejected
	msg, err := broker.NewLogReader(s.JS, broker.StreamRejected).Get(ctx, seq)
	if errors.Is(err, broker.ErrGone) {
		return r, console.Wrong("REJECTED has no event %d; \"processor rejected\" lists them", seq)
	}
	if err != nil {
		return r, remote.Explain("read REJECTED", err)
	}
	if err := json.Unmarshal(msg.Data, &r); err != nil {
		return r, console.Wrong("REJECTED %d is not readable: %w", seq, err)
	}
	return r, nil
}

// original is a rejected event as it came: from the rejection, or, where its body did not fit there, from
// EVENTS, held against its hash.
func original(ctx context.Context, s *remote.Server, r events.Rejected) (events.Raw, error) {
	raw, err := r.Raw()
	if err == nil {
		return raw, nil
	}
	if !errors.Is(err, events.ErrBodyGone) {
		return raw, console.Wrong("the rejection is not readable: %w", err)
	}
	msg, err := broker.NewLogReader(s.JS, broker.StreamEvents).Get(ctx, r.StreamSeq)
	if errors.Is(err, broker.ErrGone) {
		return raw, console.Wrong("the event itself (EVENTS %d) is no longer in the log", r.StreamSeq)
	}
	if err != nil {
		return raw, remote.Explain("read EVENTS", err)
	}
	if sum := sha256.Sum256(msg.Data); r.BodySHA256 == nil || *r.BodySHA256 != hex.EncodeToString(sum[:]) {
		return raw, console.Wrong("EVENTS %d is not the event that was rejected: its hash differs", r.StreamSeq)
	}
	return events.Raw{Subject: msg.Subject, Header: msg.Header, Body: msg.Data}, nil
}

// againHeaders keeps a message's headers but for those with which its publisher steered the server: an
// expected sequence would refuse the retry.
func againHeaders(headers map[string][]string) nats.Header {
	kept := nats.Header{}
	for name, values := range headers {
		if !strings.HasPrefix(name, "Nats-") {
			kept[name] = values
		}
	}
	return kept
}
