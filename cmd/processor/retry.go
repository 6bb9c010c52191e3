package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
)

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
