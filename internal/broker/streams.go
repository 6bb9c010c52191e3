package broker

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
)

// The streams of the contract.
const (
	StreamEvents    = events.StreamEvents
	StreamSummaries = events.StreamSummaries
	StreamRejected  = events.StreamRejected
)

const (
	// eventsDuplicates is the shortest duplicate window nats-server allows
	// (2.15 refuses less than 100ms, and takes 0 for its default of 2 minutes).
	eventsDuplicates = 100 * time.Millisecond
	// outboxDuplicates is for other publishers of these streams: what the processor publishes does not depend on it.
	outboxDuplicates = 2 * time.Minute
	// transformSource matches every event subject except literal wildcard subjects,
	// which the server stores without transforming them.
	transformSource = "*.*.*"
)

// subjects are those on which a stream's types are published, untransformed.
func subjects(stream string) (list []string) {
	for _, t := range events.Types() {
		if t.Stream() == stream {
			list = append(list, string(t)+".*")
		}
	}
	return list
}

// transformTarget is the subject under which an event is stored: <partition>.<type>.<thread>.
func transformTarget(partitions int) string {
	return fmt.Sprintf("{{partition(%d,3)}}.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}", partitions)
}

// PartitionOf returns the partition to which the server's transform maps a thread's token.
func PartitionOf(token string, partitions int) int {
	h := fnv.New32a()
	h.Write([]byte(token))
	return int(h.Sum32() % uint32(partitions))
}

// PartitionLane is the lane of one partition of EVENTS.
func PartitionLane(partition int) Lane {
	return Lane{Name: fmt.Sprintf("p%d", partition), Filters: []string{fmt.Sprintf("%d.>", partition)}}
}

// StrayLane is the lane of the events that were published to literal wildcard
// subjects, which the server stores without the partition transform.
func StrayLane() Lane { return Lane{Name: "strays", Filters: subjects(StreamEvents)} }

// StreamSpec is what Provision creates and checks.
type StreamSpec struct {
	// Partitions of EVENTS, 1 to 1024. Fixed once the stream exists.
	Partitions int
	// MaxAge of events (the configuration's retention.events). 0: no limit.
	MaxAge time.Duration
	// Replicas of each stream. 0: 1 where it is created, and any where it exists.
	Replicas int
	// CheckOnly creates nothing: a missing stream is an error.
	CheckOnly bool
}

// configs are the three streams as Provision creates them. Deletes and purges stay
// possible: an auditor must be able to try tampering, which the chain reveals.
func (s StreamSpec) configs() []jetstream.StreamConfig {
	incoming := s.base(StreamEvents, eventsDuplicates)
	incoming.Description = "what agents publish: the log of truth"
	incoming.MaxAge = s.MaxAge
	incoming.SubjectTransform = &jetstream.SubjectTransformConfig{
		Source: transformSource, Destination: transformTarget(s.Partitions),
	}
	summaries := s.base(StreamSummaries, outboxDuplicates)
	summaries.Description = "what precis publishes"
	rejected := s.base(StreamRejected, outboxDuplicates)
	rejected.Description = "events that could not be accepted, byte for byte"
	return []jetstream.StreamConfig{incoming, summaries, rejected}
}

func (s StreamSpec) base(name string, duplicates time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               name,
		Subjects:           subjects(name),
		Retention:          jetstream.LimitsPolicy,
		Storage:            jetstream.FileStorage,
		Discard:            jetstream.DiscardOld, // never applies: there is no limit but MaxAge
		MaxMsgs:            -1,
		MaxBytes:           -1,
		MaxMsgsPerSubject:  -1,
		MaxMsgSize:         -1,
		MaxConsumers:       -1,
		Replicas:           s.Replicas, // the server takes 0 for 1
		Duplicates:         duplicates,
		AllowDirect:        true,
		AllowAtomicPublish: true, // the records of a step in SUMMARIES; one sync for a bulk publisher in EVENTS
	}
}

// StreamState is the state that a stored position is checked against.
type StreamState struct {
	First   uint64 // first sequence held; Last+1 in an emptied stream
	Last    uint64 // last sequence assigned, even if its message is gone
	Msgs    uint64
	Created time.Time
	// LastTime is when Last was stored, even if its message is gone.
	LastTime time.Time
	Replicas int
	// MaxAge is how long the stream keeps a message; 0: no limit.
	MaxAge time.Duration
}

// Holes is the number of messages between first and last that the server knows to be gone.
func (s StreamState) Holes() uint64 {
	if s.First == 0 || s.Last < s.First { // nothing was ever stored, or everything is gone
		return 0
	}
	return s.Last - s.First + 1 - s.Msgs
}

// StateOf returns the current state from the stream's leader. If a stream has
// no leader, any replica may answer, even a lagging one: that is ErrNoLeader.
func StateOf(ctx context.Context, js jetstream.JetStream, stream string) (StreamState, error) {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return StreamState{}, fmt.Errorf("read state of stream %s: %w", stream, err)
	}
	info := s.CachedInfo()
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return StreamState{}, fmt.Errorf("read state of stream %s: %w", stream, ErrNoLeader)
	}
	return StateIn(info), nil
}

// StateIn returns the state in a server's answer.
func StateIn(info *jetstream.StreamInfo) StreamState {
	return StreamState{
		First: info.State.FirstSeq, Last: info.State.LastSeq,
		Msgs: info.State.Msgs, Created: info.Created, LastTime: info.State.LastTime, MaxAge: info.Config.MaxAge, Replicas: info.Config.Replicas,
	}
}

// Missing are sequences between a stream's first and last that it does not return: they were deleted, or the server
// can't read them. A running server silently skips a message that is damaged in its files (2.15); at startup it counts
// such a message as deleted, and lost.
type Missing struct {
	Stream   string
	From, To uint64
}

// Messages returns their number.
func (m Missing) Messages() uint64 { return m.To - m.From + 1 }

func (m Missing) String() string {
	if m.From == m.To {
		return fmt.Sprintf("%s %d", m.Stream, m.From)
	}
	return fmt.Sprintf("%s %d to %d", m.Stream, m.From, m.To)
}

// unbroken detects missing messages in a stream that is read completely and in order.
type unbroken struct {
	stream string
	next   uint64
	tell   func(Missing) // nil: don't report
}

// saw records a message: anything before it has been seen, or will not come.
func (u *unbroken) saw(seq uint64) {
	u.upTo(seq - 1)
	u.next = max(u.next, seq+1)
}

// upTo records that nothing more comes up to last.
func (u *unbroken) upTo(last uint64) {
	if last < u.next {
		return
	}
	if u.tell != nil {
		u.tell(Missing{Stream: u.stream, From: u.next, To: last})
	}
	u.next = last + 1
}
