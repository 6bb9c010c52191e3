package parked

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

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

// ErrNoStream: the stream is not there.
var ErrNoStream = errors.New("there is no stream " + Stream)

// Provision makes the stream, with so many replicas, if it is not there, and returns how many it has. With none, it is not made.
func (s *Shelf) Provision(ctx context.Context, replicas int) (has int, err error) {
	stream, err := s.js.Stream(ctx, Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) && replicas == 0 {
		return 0, ErrNoStream
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: Stream, Description: "rows of threads that nothing happens to", Subjects: []string{root + "*.*.*"},
			Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1,
			MaxMsgSize: -1, MaxConsumers: -1, Replicas: replicas, AllowDirect: true, AllowMsgTTL: true,
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another processor was faster
			stream, err = s.js.Stream(ctx, Stream)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("make stream %s: %w", Stream, err)
	}
	return stream.CachedInfo().Config.Replicas, nil
}

func subject(partition int, object string, part int) string {
	return root + strconv.Itoa(partition) + "." + object + "." + strconv.Itoa(part)
}

// message is a part of an object; the one that it replaces has the sequence was, 0: none.
func message(partition int, object string, part int, data []byte, was uint64) *nats.Msg {
	return &nats.Msg{Subject: subject(partition, object, part), Data: data, Header: nats.Header{
		jetstream.ExpectedStreamHeader: {Stream}, jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(was, 10)},
	}}
}

// Place is where the stream has an object: the sequences of its messages.
type Place []uint64

// Put stores objects of a partition that are not there. It returns, by object, where they are when the server has all of them; nil for one that is being
// deleted. A message that is there is left as it is, since rows may have left for it: a new one would not be on the server's disk yet. Whether it is what is to be there,
// Settled tells.
func (s *Shelf) Put(ctx context.Context, partition int, objects []*state.Packed) ([]Place, error) {
	var msgs []*nats.Msg
	places := make([]Place, len(objects))
	for i, o := range objects {
		rest, first := o.Data, len(msgs)
		for part := 0; part == 0 || len(rest) > 0; part++ {
			n := min(len(rest), partBytes)
			msgs = append(msgs, message(partition, o.Object, part, rest[:n], 0))
			rest = rest[n:]
		}
		msgs[first].Header.Set(partsHeader, strconv.Itoa(len(msgs)-first))
		places[i] = make(Place, len(msgs)-first)
	}
	acks := s.pub.PublishBatch(ctx, msgs)
	for i, o := range objects {
		for part := range places[i] {
			ack := acks[0]
			acks = acks[1:]
			if errors.Is(ack.Err, broker.ErrWrongLastSequence) {
				ack.Seq, ack.Err = s.there(ctx, partition, o.Object, part)
			}
			if errors.Is(ack.Err, state.ErrNoObject) {
				ack.Seq, ack.Err = 0, nil
			}
			if ack.Err != nil {
				return nil, fmt.Errorf("put parked rows: %w", ack.Err)
			}
			places[i][part] = ack.Seq
		}
		if slices.Contains(places[i], 0) {
			places[i] = nil
		}
	}
	return places, nil
}

// there is the sequence of the message of a part that was there before.
func (s *Shelf) there(ctx context.Context, partition int, object string, part int) (uint64, error) {
	m, err := s.part(ctx, partition, object, part)
	if err == nil && m.Header.Get(jetstream.MsgTTLHeader) != "" {
		err = state.ErrNoObject // it is deleted
	}
	return m.Seq, err
}

var (
	// ErrMoved: an object is not where it was put.
	ErrMoved = errors.New("the object is not where it was put")
	// ErrYoung: an object does not stand for long enough.
	ErrYoung = errors.New("the object has not been there for long enough")
)

// Settled reports, with nil, that the stream still has an object where it was put, and had it at a time, by the server's clock, as it is to be. Anything but its own
// failure is ErrMoved or ErrYoung. The leader answers.
func (s *Shelf) Settled(ctx context.Context, partition int, object string, at Place, since time.Time) error {
	sum := state.NewObjectSum()
	for part, seq := range at {
		m, err := s.part(ctx, partition, object, part)
		switch {
		case errors.Is(err, state.ErrNoObject):
			return fmt.Errorf("%w: %w", ErrMoved, err)
		case err != nil:
			return fmt.Errorf("look at parked rows: %w", err)
		case m.Seq != seq || part == 0 && m.Header.Get(partsHeader) != strconv.Itoa(len(at)):
			return fmt.Errorf("%w: %s is at %d now, and was at %d", ErrMoved, m.Subject, m.Seq, seq)
		case m.Time.After(since):
			return fmt.Errorf("%w: %s came at %s", ErrYoung, m.Subject, m.Time.Format(time.RFC3339))
		}
		sum.Write(m.Data)
	}
	if len(at) == 0 || sum.Object() != object {
		return fmt.Errorf("%w: %s has other contents", ErrMoved, subject(partition, object, 0))
	}
	return nil
}

// Created is when the stream was made; ErrNoStream if it is not there.
func (s *Shelf) Created(ctx context.Context) (time.Time, error) {
	stream, err := s.js.Stream(ctx, Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return time.Time{}, ErrNoStream
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read state of stream %s: %w", Stream, err)
	}
	return stream.CachedInfo().Created, nil
}

// Now is the time by the clock of the stream's leader.
func (s *Shelf) Now(ctx context.Context) (time.Time, error) {
	stream, err := s.js.Stream(ctx, Stream)
	if err != nil {
		return time.Time{}, fmt.Errorf("read state of stream %s: %w", Stream, err)
	}
	return stream.CachedInfo().TimeStamp, nil
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

// Delete removes an object, unless somebody writes it meanwhile. One that is not there is no error.
func (s *Shelf) Delete(ctx context.Context, partition int, object string) error {
	first, parts, err := s.first(ctx, partition, object)
	if errors.Is(err, state.ErrNoObject) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete parked rows: %w", err)
	}
	var msgs []*nats.Msg
	for part := parts - 1; part >= 0; part-- { // the first one is found again if it stays
		was := first.Seq
		if part > 0 {
			was, err = s.there(ctx, partition, object, part)
		}
		if errors.Is(err, state.ErrNoObject) {
			continue
		}
		if err != nil {
			return fmt.Errorf("delete parked rows: %w", err)
		}
		m := message(partition, object, part, nil, was)
		m.Header.Set(jetstream.MsgTTLHeader, goneAfter)
		msgs = append(msgs, m)
	}
	for _, ack := range s.pub.PublishBatch(ctx, msgs) {
		err = errors.Join(err, ack.Err)
	}
	if err != nil {
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
