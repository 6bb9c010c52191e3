package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"precis/internal/race"
)

// suite gives each test of Watermill's suite its own stream, created with its
// first pair: a lane is the whole stream, so tests must not share one.
type suite struct {
	broker *Broker
	// shared: all subscribers of one test resume from one durable position, as
	// processors taking over from each other do. Else each starts at the beginning.
	shared bool
	files  bool // streams outlive the server

	mu    sync.Mutex
	lanes map[string]*memoryLanes
}

func (s *suite) pair(t *testing.T) (message.Publisher, message.Subscriber) {
	name, lanes := s.stream(t)
	// No close at the end of the test: the suite closes what it needs closed.
	p, err := NewPublisher(s.broker.Conn(), PublisherConfig{AckTimeout: time.Second})
	require.NoError(t, err)
	sub, err := NewSubscriber(s.broker.JetStream(), SubscriberConfig{
		Stream: name, Lanes: lanes,
		Topic: func(subject string) string { _, topic, _ := strings.Cut(subject, "."); return topic },
		// The suite nacks hundreds of times, and closes with an unacked message.
		RetryWait: time.Millisecond, RetryMaxWait: time.Millisecond, CloseTimeout: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close(); _ = sub.Close() })
	return suitePublisher{p, name}, sub
}

// suitePublisher publishes the suite's messages. Their ids are unique in the stream: the suite publishes the same UUIDs
// on several topics, and JetStream's duplicate window ignores topics.
type suitePublisher struct {
	*Publisher
	stream string
}

func (p suitePublisher) Publish(topic string, messages ...*message.Message) error {
	var out []*nats.Msg
	for _, m := range messages {
		msg := &nats.Msg{Subject: p.stream + "." + topic, Data: m.Payload, Header: nats.Header{}}
		for k, v := range m.Metadata {
			msg.Header[k] = []string{v}
		}
		msg.Header.Set(nats.MsgIdHdr, topic+"/"+m.UUID)
		msg.Header.Set(headerUUID, m.UUID)
		out = append(out, msg)
	}
	var errs []error
	for _, a := range p.PublishBatch(context.Background(), out) {
		errs = append(errs, a.Err)
	}
	return errors.Join(errs...)
}

func (s *suite) stream(t *testing.T) (string, *memoryLanes) {
	sum := sha256.Sum256([]byte(t.Name()))
	name := "S" + hex.EncodeToString(sum[:8])
	storage := jetstream.MemoryStorage
	if s.files {
		storage = jetstream.FileStorage
	}
	_, err := s.broker.JetStream().CreateOrUpdateStream(testContext(t), jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, Storage: storage,
	})
	require.NoError(t, err)
	lane := Lane{Name: "all", Filters: []string{name + ".>"}}
	if !s.shared {
		return name, newMemoryLanes(lane)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes[name] == nil {
		s.lanes[name] = newMemoryLanes(lane)
	}
	return name, s.lanes[name]
}

func (s *suite) run(t *testing.T, f tests.Features) {
	f.GuaranteedOrder = true
	f.Persistent = true
	f.ForceShort = testing.Short() || race.Enabled // thousands of messages more find nothing more
	tests.TestPubSub(t, f, s.pair, func(t *testing.T, _ string) (message.Publisher, message.Subscriber) { return s.pair(t) })
}

func TestWatermillSuiteFromTheStart(t *testing.T) {
	s := &suite{broker: openBroker(t), lanes: map[string]*memoryLanes{}}
	s.run(t, tests.Features{NewSubscriberReceivesOldMessages: true})
}

func TestWatermillSuiteFromTheDurablePosition(t *testing.T) {
	s := &suite{broker: openBroker(t), lanes: map[string]*memoryLanes{}, shared: true}
	s.run(t, tests.Features{})
}
