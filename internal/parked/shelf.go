package parked

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/state"
)

// Stream is the stream's name.
const Stream = "PARKED"

const (
	root = "precis.parked."
	// partBytes is less than the largest message that a server for precis takes.
	partBytes = 512 << 10
	// partsHeader says in the first message of an object how many it has.
	partsHeader = "Precis-Parts"
	// mostParts is more than any object has.
	mostParts = 1 << 10
	// goneAfter is how long the empty message stands that replaces a deleted one.
	goneAfter = "1s"
)

// Shelf is the stream. Safe for concurrent use.
type Shelf struct {
	js  jetstream.JetStream
	pub *broker.Publisher
	log *broker.LogReader
}

// New returns the stream, which need not be there.
func New(js jetstream.JetStream, pub *broker.Publisher) *Shelf {
	return &Shelf{js: js, pub: pub, log: broker.NewLogReader(js, Stream)}
}

// Provision makes the stream, with so many replicas, if it is not there.
func (s *Shelf) Provision(ctx context.Context, replicas int) error {
	_, err := s.js.Stream(ctx, Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: Stream, Description: "rows of threads that nothing happens to", Subjects: []string{root + "*.*.*"},
			Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1,
			MaxMsgSize: -1, MaxConsumers: -1, Replicas: max(replicas, 1), AllowDirect: true, AllowMsgTTL: true,
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another processor was faster
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("make stream %s: %w", Stream, err)
	}
	return nil
}

func subject(partition int, object string, part int) string {
	return root + strconv.Itoa(partition) + "." + object + "." + strconv.Itoa(part)
}

func message(partition int, object string, part int, data []byte) *nats.Msg {
	return &nats.Msg{Subject: subject(partition, object, part), Data: data, Header: nats.Header{jetstream.ExpectedStreamHeader: {Stream}}}
}

// Put stores objects of a partition. It returns when the server has all of them, or with an error.
func (s *Shelf) Put(ctx context.Context, partition int, objects []*state.Packed) error {
	var msgs []*nats.Msg
	for _, o := range objects {
		rest, first := o.Data, len(msgs)
		for part := 0; part == 0 || len(rest) > 0; part++ {
			n := min(len(rest), partBytes)
			msgs = append(msgs, message(partition, o.Object, part, rest[:n]))
			rest = rest[n:]
		}
		msgs[first].Header.Set(partsHeader, strconv.Itoa(len(msgs)-first))
	}
	if err := s.publish(ctx, msgs); err != nil {
		return fmt.Errorf("put parked rows: %w", err)
	}
	return nil
}

func (s *Shelf) publish(ctx context.Context, msgs []*nats.Msg) (err error) {
	for _, ack := range s.pub.PublishBatch(ctx, msgs) {
		err = errors.Join(err, ack.Err)
	}
	return err
}

// Get implements state.Objects. The leader answers, which knows every acknowledged message.
func (s *Shelf) Get(ctx context.Context, partition int, object string) ([]byte, error) {
	first, parts, err := s.first(ctx, partition, object)
	if err != nil {
		return nil, err
	}
	data := first.Data
	for part := 1; part < parts; part++ {
		next, err := s.part(ctx, partition, object, part)
		if err != nil {
			return nil, err
		}
		data = append(data, next.Data...)
	}
	return data, nil
}

func (s *Shelf) first(ctx context.Context, partition int, object string) (m broker.Stored, parts int, err error) {
	if m, err = s.part(ctx, partition, object, 0); err != nil {
		return m, 0, err
	}
	parts, err = strconv.Atoi(m.Header.Get(partsHeader))
	if err != nil || parts < 1 || parts > mostParts { // deleted
		return m, 0, fmt.Errorf("%w: %s in stream %s", state.ErrNoObject, subject(partition, object, 0), Stream)
	}
	return m, parts, nil
}

func (s *Shelf) part(ctx context.Context, partition int, object string, part int) (broker.Stored, error) {
	m, err := s.log.Last(ctx, subject(partition, object, part))
	if errors.Is(err, broker.ErrGone) {
		err = fmt.Errorf("%w: %s in stream %s", state.ErrNoObject, subject(partition, object, part), Stream)
	}
	return m, err
}

// Delete removes an object. One that is not there is no error.
func (s *Shelf) Delete(ctx context.Context, partition int, object string) error {
	_, parts, err := s.first(ctx, partition, object)
	if errors.Is(err, state.ErrNoObject) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete parked rows: %w", err)
	}
	var msgs []*nats.Msg
	for part := parts - 1; part >= 0; part-- { // the first one is found again if it stays
		m := message(partition, object, part, nil)
		m.Header.Set(jetstream.MsgTTLHeader, goneAfter)
		msgs = append(msgs, m)
	}
	if err := s.publish(ctx, msgs); err != nil {
		return fmt.Errorf("delete parked rows: %w", err)
	}
	return nil
}

// Size is how many messages the stream has, and their bytes.
func (s *Shelf) Size(ctx context.Context) (msgs, bytes uint64, err error) {
	stream, err := s.js.Stream(ctx, Stream)
	if err != nil {
		return 0, 0, fmt.Errorf("read state of stream %s: %w", Stream, err)
	}
	at := stream.CachedInfo().State
	return at.Msgs, at.Bytes, nil
}
