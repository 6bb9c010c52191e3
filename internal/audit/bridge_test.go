package audit

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/state"
)

// Places holds each thread of a partition, as it is, to the summary that its prompts have.
func Places(part *state.Partition) ([]Finding, error) {
	a := &auditor{lane: &lane{part: part}, replay: &replay{tally: newTally(Filter{}, &retained{})}}
	err := a.places()
	return a.tally.report().Findings, err
}

// Configurations counts the configurations that runs would find on record, by partition.
func Configurations(ctx context.Context, js jetstream.JetStream, kept *Applied) (map[int]int, error) {
	list, err := readConfigs(ctx, kept, broker.NewLogReader(js, broker.StreamSummaries), nil)
	counts := map[int]int{}
	for partition, of := range list {
		counts[partition] = len(of)
	}
	return counts, err
}
