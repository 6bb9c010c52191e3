package broker

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The streams of the contract.
const (
	StreamEvents    = "EVENTS"
	StreamSummaries = "SUMMARIES"
	StreamRejected  = "REJECTED"
)

const (
	// eventsDuplicates is the shortest duplicate window nats-server allows
	// (2.15 refuses less than 100ms, and takes 0 for its default of 2 minutes).
	eventsDuplicates = 100 * time.Millisecond
	// outboxDuplicates covers a crash between a publish and its ack; what comes
	// later is guarded by the expected last sequence.
	outboxDuplicates = 2 * time.Minute
	// transformSource matches every event subject; literal wildcard subjects
	// are the ones the server stores past it.
	transformSource = "*.*.*"
)

// eventSubjects are what agents publish, untransformed.
func eventSubjects() []string {
	return []string{"thread.message.*", "tool.result.*", "message.edited.*"}
}

func summarySubjects() []string {
	return []string{
		"summary.started.*", "summary.created.*", "summary.invalidated.*", "summary.failed.*",
		"usage.recorded.*", "config.applied.*",
	}
}

// transformTarget is where an event is stored: <partition>.<type>.<thread>.
func transformTarget(partitions int) string {
	return fmt.Sprintf("{{partition(%d,3)}}.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}", partitions)
}

// PartitionOf is the partition that the server's transform stores a thread's token under.
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
// subjects, which the server stores past the partition transform.
func StrayLane() Lane { return Lane{Name: "strays", Filters: eventSubjects()} }

// StreamSpec is what Provision makes and checks.
type StreamSpec struct {
	// Partitions of EVENTS, 1 to 1024. Fixed once the stream is made.
	Partitions int
	// MaxAge of events (the configuration's retention.events). 0 keeps all.
	MaxAge time.Duration
	// Replicas of a stream that is made. Default 1.
	Replicas int
	// CheckOnly makes nothing: a missing stream is an error.
	CheckOnly bool
}

// configs are the three streams as Provision makes them. Deletes and purges stay
// possible: whoever audits must be able to try tampering, and the chain shows it.
func (s StreamSpec) configs() []jetstream.StreamConfig {
	events := s.base(StreamEvents, eventSubjects(), eventsDuplicates)
	events.Description = "what agents publish: the log of truth"
	events.MaxAge = s.MaxAge
	events.SubjectTransform = &jetstream.SubjectTransformConfig{
		Source: transformSource, Destination: transformTarget(s.Partitions),
	}
	summaries := s.base(StreamSummaries, summarySubjects(), outboxDuplicates)
	summaries.Description = "what precis publishes"
	rejected := s.base(StreamRejected, []string{"event.rejected.*"}, outboxDuplicates)
	rejected.Description = "events that could not be accepted, byte for byte"
	return []jetstream.StreamConfig{events, summaries, rejected}
}

func (s StreamSpec) base(name string, subjects []string, duplicates time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               name,
		Subjects:           subjects,
		Retention:          jetstream.LimitsPolicy,
		Storage:            jetstream.FileStorage,
		Discard:            jetstream.DiscardOld, // never comes to it: there is no limit but MaxAge
		MaxMsgs:            -1,
		MaxBytes:           -1,
		MaxMsgsPerSubject:  -1,
		MaxMsgSize:         -1,
		MaxConsumers:       -1,
		Replicas:           max(s.Replicas, 1),
		Duplicates:         duplicates,
		AllowDirect:        true,
		AllowAtomicPublish: true, // one sync for a whole batch of a bulk publisher
	}
}
