package audit

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
)

// openedLog describes what there is to read.
type openedLog struct {
	partitions int
	events     broker.StreamState
	// Filters of the streams; nil reads all.
	eventFilters, summaryFilters, rejectedFilters []string
}

// openLog inspects the streams. If a thread is given, only its messages and the partitions' own records are read.
func openLog(ctx context.Context, js jetstream.JetStream, thread string) (*openedLog, error) {
	stream, err := js.Stream(ctx, broker.StreamEvents)
	if err != nil {
		return nil, fmt.Errorf("look at stream %s: %w", broker.StreamEvents, err)
	}
	info := stream.CachedInfo()
	l := &openedLog{events: broker.StateIn(info)}
	if l.partitions, err = partitionsOf(info.Config); err != nil || thread == "" {
		return l, err
	}
	token, err := events.Token(thread)
	if err != nil {
		return nil, fmt.Errorf("thread: %w", err)
	}
	l.eventFilters = []string{"*.*.*." + token}
	l.summaryFilters = []string{"*.*." + token, string(events.ConfigApplied) + ".*", string(events.PartitionClaimed) + ".*"}
	l.rejectedFilters = []string{string(events.EventRejected) + "." + token}
	return l, nil
}

// Partitions is the number of partitions of EVENTS, without the one for strays.
func Partitions(ctx context.Context, js jetstream.JetStream) (int, error) {
	l, err := openLog(ctx, js, "")
	if err != nil {
		return 0, err
	}
	return l.partitions, nil
}

var partitionCount = regexp.MustCompile(`\{\{partition\((\d+),`)

// partitionsOf reads the number of partitions from a stream's subject transform.
func partitionsOf(c jetstream.StreamConfig) (int, error) {
	if c.SubjectTransform != nil {
		if m := partitionCount.FindStringSubmatch(c.SubjectTransform.Destination); m != nil {
			return strconv.Atoi(m[1])
		}
	}
	return 0, fmt.Errorf("stream %s has no partitions: no processor made it", c.Name)
}
