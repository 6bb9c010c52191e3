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
	// outboxDuplicates is for other publishers of these streams: what the processor publishes does not depend on it.
	outboxDuplicates = 2 * time.Minute
	// transformSource matches every event subject except literal wildcard subjects,
	// which the server stores without transforming them.
	transformSource = "*.*.*"
)

// eventSubjects are the subjects on which agents publish, untransformed.
func eventSubjects() []string {
	return []string{"thread.message.*", "tool.result.*", "message.edited.*"}
}

func summarySubjects() []string {
	return []string{
		"summary.started.*", "summary.created.*", "summary.invalidated.*", "summary.failed.*",
		"usage.recorded.*", "config.applied.*", "partition.claimed.*",
	}
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
func StrayLane() Lane { return Lane{Name: "strays", Filters: eventSubjects()} }

// StreamSpec is what Provision creates and checks.
type StreamSpec struct {
	// Partitions of EVENTS, 1 to 1024. Fixed once the stream exists.
	Partitions int
	// MaxAge of events (the configuration's retention.events). 0: no limit.
	MaxAge time.Duration
	// Replicas of a stream that is created. Default 1.
	Replicas int
	// CheckOnly creates nothing: a missing stream is an error.
	CheckOnly bool
}

// configs are the three streams as Provision creates them. Deletes and purges stay
// possible: an auditor must be able to try tampering, which the chain reveals.
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
		Discard:            jetstream.DiscardOld, // never applies: there is no limit but MaxAge
		MaxMsgs:            -1,
		MaxBytes:           -1,
		MaxMsgsPerSubject:  -1,
		MaxMsgSize:         -1,
		MaxConsumers:       -1,
		Replicas:           max(s.Replicas, 1),
		Duplicates:         duplicates,
		AllowDirect:        true,
		AllowAtomicPublish: true, // the records of a step in SUMMARIES; one sync for a bulk publisher in EVENTS
	}
}
