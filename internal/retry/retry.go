// Package retry publishes a rejected event again, when an operator asks for it: the same bytes and headers on the same subject.
package retry

import (
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

// Errors of a rejection that can't be published again.
var (
	// ErrGone: the rejection, or the event itself where it is too long for the rejection, is no longer there.
	ErrGone = errors.New("no longer in the log")
	// ErrRejection: it is not readable, or not of the event in the log.
	ErrRejection = errors.New("the rejection can't be used")
)

// Event is a rejected event as it came.
type Event struct {
	Thread string // empty: can't be told
	events.Raw
}

// Done says where the event stands now.
type Done struct {
	Subject  string
	EventSeq uint64
}

// Read reads the event of a rejection: from there, or, where its body did not fit there, from EVENTS, held against its hash.
func Read(ctx context.Context, js jetstream.JetStream, seq uint64) (*Event, error) {
	m, err := broker.NewLogReader(js, broker.StreamRejected).Get(ctx, seq)
	if errors.Is(err, broker.ErrGone) {
		return nil, fmt.Errorf("REJECTED has no event %d: %w", seq, ErrGone)
	}
	if err != nil {
		return nil, err
	}
	e, r := &Event{}, events.Rejected{}
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return nil, fmt.Errorf("%w: REJECTED %d is not readable: %w", ErrRejection, seq, err)
	}
	if _, token, ok := events.ParseSubject(m.Subject); ok {
		e.Thread, _ = events.ThreadOf(token) // an event of no thread has none
	}
	e.Raw, err = r.Raw()
	if errors.Is(err, events.ErrBodyGone) {
		e.Raw, err = inEvents(ctx, js, r)
		return e, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRejection, err)
	}
	return e, nil
}

func inEvents(ctx context.Context, js jetstream.JetStream, r events.Rejected) (events.Raw, error) {
	m, err := broker.NewLogReader(js, broker.StreamEvents).Get(ctx, r.StreamSeq)
	if errors.Is(err, broker.ErrGone) {
		return events.Raw{}, fmt.Errorf("the event itself (EVENTS %d) is %w", r.StreamSeq, ErrGone)
	}
	if err != nil {
		return events.Raw{}, err
	}
	if sum := sha256.Sum256(m.Data); r.BodySHA256 == nil || *r.BodySHA256 != hex.EncodeToString(sum[:]) {
		return events.Raw{}, fmt.Errorf("%w: EVENTS %d is not the event that was rejected: its hash differs", ErrRejection, r.StreamSeq)
	}
	return events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data}, nil
}

// Publish publishes the event again, and returns when it is stored.
func (e *Event) Publish(ctx context.Context, js jetstream.JetStream) (*Done, error) {
	subject := Subject(e.Subject)
	ack, err := js.PublishMsg(ctx, &nats.Msg{Subject: subject, Header: headers(e.Header), Data: e.Body})
	if err != nil {
		return nil, fmt.Errorf("publish again: %w", err)
	}
	return &Done{Subject: subject, EventSeq: ack.Sequence}, nil
}

// Subject is where an event was published: that under which it is stored, without the partition.
func Subject(stored string) string {
	t, token, ok := events.ParseSubject(stored)
	if !ok {
		return stored
	}
	return string(t) + "." + token
}

// headers keeps a message's headers but for those with which its publisher steered the server: an expected sequence would refuse the
// event.
func headers(of map[string][]string) nats.Header {
	kept := nats.Header{}
	for name, values := range of {
		if !strings.HasPrefix(name, "Nats-") {
			kept[name] = values
		}
	}
	return kept
}
