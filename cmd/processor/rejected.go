package main

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

	"precis/events"
	"precis/internal/broker"
)

// rejectedCmd lists what was rejected, or publishes one of it again.
type rejectedCmd struct {
	serverFlags
	Retry *uint64 `placeholder:"SEQ" help:"Publish the event of this rejection again, byte for byte, on its original subject."`
}

// Help shows the command used.
func (rejectedCmd) Help() string {
	return `Lists each rejection with its number, the reason, the subject and the beginning of the event. Retry an event once the reason is gone: a limit was raised, or the message of an edit has arrived.

Examples:

    processor rejected
    processor rejected --retry 12`
}

// Run lists or retries.
func (c *rejectedCmd) Run(ctx context.Context, a *app) error {
	if c.Retry != nil && *c.Retry == 0 {
		return usage("--retry 0: rejections count from 1; \"processor rejected\" lists them with their numbers")
	}
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		if c.Retry != nil {
			return c.retry(ctx, a, s, *c.Retry)
		}
		return c.list(ctx, a, s)
	})
}

func (c *rejectedCmd) list(ctx context.Context, a *app, s *server) error {
	log, err := s.read(ctx, broker.StreamRejected, nil, jetstream.DeliverAllPolicy)
	if err != nil {
		return err
	}
	defer log.close()
	buffer := bufio.NewWriter(a.stdout)
	count := 0
	err = log.rest(ctx, func(e entry) error {
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
		a.note("%s rejected", grouped(count))
	}
	return nil
}

// listed is a rejection with its place, for programs.
type listed struct {
	Seq      uint64  `json:"seq"`
	ThreadID *string `json:"thread_id"`
	events.Rejected
}

func (c *rejectedCmd) write(out *bufio.Writer, e entry) error {
	var r events.Rejected
	if err := json.Unmarshal(e.raw.Body, &r); err != nil {
		return wrong("REJECTED %d is not readable: %w", e.seq, err)
	}
	if c.JSON {
		line, err := json.Marshal(listed{Seq: e.seq, ThreadID: nonEmpty(e.thread), Rejected: r})
		if err != nil {
			return fmt.Errorf("write rejection: %w", err)
		}
		_, err = out.Write(append(line, '\n'))
		return err
	}
	_, err := fmt.Fprintf(out, "%6d  %s  %-16s %s\n        %s\n", e.seq, e.time.Local().Format("2006-01-02 15:04:05"), r.Code, why(r), preview(r))
	return err
}

func why(r events.Rejected) string {
	message := r.Message
	if r.Field != nil && *r.Field != "" {
		message = *r.Field + ": " + message
	}
	return printable(fmt.Sprintf("%s · %s · EVENTS %d", message, r.Subject, r.StreamSeq))
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
		return clip(printable(string(raw.Body)), previewChars)
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
func (c *rejectedCmd) retry(ctx context.Context, a *app, s *server, seq uint64) error {
	rejection, err := s.rejection(ctx, seq)
	if err != nil {
		return err
	}
	raw, err := s.original(ctx, rejection)
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: published(raw.Subject), Header: againHeaders(raw.Header), Data: raw.Body}
	ack, err := s.js.PublishMsg(ctx, msg)
	if err != nil {
		return serverError("publish again", err)
	}
	if c.JSON {
		a.json(retried{Subject: msg.Subject, EventSeq: ack.Sequence})
		return nil
	}
	a.printf("Published %d bytes again on %s, now EVENTS %d.\n", len(msg.Data), printable(msg.Subject), ack.Sequence)
	a.note("If it is rejected again, \"processor rejected\" has the reason.")
	return nil
}

func (s *server) rejection(ctx context.Context, seq uint64) (events.Rejected, error) {
	var r events.Rejected
	msg, err := broker.NewLogReader(s.js, broker.StreamRejected).Get(ctx, seq)
	if errors.Is(err, broker.ErrGone) {
		return r, wrong("REJECTED has no event %d; \"processor rejected\" lists them", seq)
	}
	if err != nil {
		return r, serverError("read REJECTED", err)
	}
	if err := json.Unmarshal(msg.Data, &r); err != nil {
		return r, wrong("REJECTED %d is not readable: %w", seq, err)
	}
	return r, nil
}

// original is a rejected event as it came: from the rejection, or, where its body did not fit there, from
// EVENTS, held against its hash.
func (s *server) original(ctx context.Context, r events.Rejected) (events.Raw, error) {
	raw, err := r.Raw()
	if err == nil {
		return raw, nil
	}
	if !errors.Is(err, events.ErrBodyGone) {
		return raw, wrong("the rejection is not readable: %w", err)
	}
	msg, err := broker.NewLogReader(s.js, broker.StreamEvents).Get(ctx, r.StreamSeq)
	if errors.Is(err, broker.ErrGone) {
		return raw, wrong("the event itself (EVENTS %d) is no longer in the log", r.StreamSeq)
	}
	if err != nil {
		return raw, serverError("read EVENTS", err)
	}
	if sum := sha256.Sum256(msg.Data); r.BodySHA256 == nil || *r.BodySHA256 != hex.EncodeToString(sum[:]) {
		return raw, wrong("EVENTS %d is not the event that was rejected: its hash differs", r.StreamSeq)
	}
	return events.Raw{Subject: msg.Subject, Header: msg.Header, Body: msg.Data}, nil
}

// published is the subject that a stored one came from: what the partition transform put before it goes.
func published(subject string) string {
	t, token, ok := events.ParseSubject(subject)
	if !ok {
		return subject
	}
	return string(t) + "." + token
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
