package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Streams says when each stream was created, since a stored position is only valid
// for the stream it was taken from, and how it differs from the configuration.
type Streams struct {
	// Created is the server's creation time of each stream, by stream name.
	Created map[string]time.Time
	// Differences are harmless, or Provision would have refused the stream; by stream name.
	Differences map[string][]StreamDifference
}

// Provision creates the missing streams and checks the existing ones.
// An existing stream is never changed: one that would lose events is an error
// (ErrStreamSettings, with a *SettingError for each setting).
func Provision(ctx context.Context, js jetstream.JetStream, spec StreamSpec) (Streams, error) {
	if spec.Partitions < 1 || spec.Partitions > 1024 {
		return Streams{}, fmt.Errorf("%w: partitions %d is not within 1 to 1024", ErrInvalidOptions, spec.Partitions)
	}
	// Check all before creating any: a refused start leaves nothing behind.
	wants := spec.configs()
	var found [3]jetstream.Stream
	var errs []error
	for i, want := range wants {
		var err error
		found[i], err = findStream(ctx, js, want, spec)
		errs = append(errs, err)
	}
	if err := adviseOnSettings(errors.Join(errs...)); err != nil {
		return Streams{}, err
	}
	streams := Streams{Created: map[string]time.Time{}, Differences: map[string][]StreamDifference{}}
	for i, want := range wants {
		if found[i] == nil {
			var err error
			if found[i], err = createStream(ctx, js, want, spec); err != nil {
				return Streams{}, err
			}
		}
		info := found[i].CachedInfo()
		streams.Created[want.Name] = info.Created
		streams.Differences[want.Name] = differences(info.Config, want)
	}
	return streams, nil
}

// findStream returns an existing stream with valid settings; nil if it is missing and may be created.
func findStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, spec StreamSpec) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, want.Name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && spec.CheckOnly:
		return nil, fmt.Errorf("%w: %s (make it, or run with provisioning)", ErrStreamMissing, want.Name)
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	return s, checkSettings(s.CachedInfo().Config, want, spec)
}

func createStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, spec StreamSpec) (jetstream.Stream, error) {
	s, err := js.CreateStream(ctx, want)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return findStream(ctx, js, want, spec) // another instance was faster; its settings are checked like any other's
	}
	if err != nil {
		return nil, fmt.Errorf("make stream %s: %w", want.Name, err)
	}
	return s, nil
}

// Check compares the streams with what Provision found, and verifies that those the processor writes to accept messages.
// It stores and changes nothing. Its errors name the stream: ErrStreamMissing, ErrStreamLost (it was recreated),
// ErrStreamSettings (see SettingError), ErrNoLeader, or why a write is refused. ctx bounds it: Check waits that long for
// a server that does not answer, or that drops a message because this user may not publish it.
func Check(ctx context.Context, js jetstream.JetStream, spec StreamSpec, found Streams) error {
	wants := spec.configs()
	errs := make([]error, len(wants))
	var wg sync.WaitGroup
	for i, want := range wants {
		wg.Go(func() {
			errs[i] = checkStream(ctx, js, want, spec, found.Created[want.Name])
			if subject := writeProbes[want.Name]; errs[i] == nil && subject != "" {
				errs[i] = checkWrite(ctx, js.Conn(), want.Name, subject)
			}
		})
	}
	wg.Wait()
	return adviseOnSettings(errors.Join(errs...))
}

func checkStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, spec StreamSpec, created time.Time) error {
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %s", ErrStreamMissing, want.Name)
	}
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	info := s.CachedInfo()
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return fmt.Errorf("look up stream %s: %w", want.Name, ErrNoLeader)
	}
	if !info.Created.Equal(created) {
		return fmt.Errorf("%w: %s was made anew at %s", ErrStreamLost, want.Name, info.Created.Format(time.RFC3339))
	}
	return checkSettings(info.Config, want, spec)
}

// writeProbes are the streams that the processor writes to, each with a probe subject. Its token is never that of a
// thread or a partition: in escaped thread tokens two hexadecimal digits follow each "=".
var writeProbes = map[string]string{
	StreamSummaries: "config.applied.=ready",
	StreamRejected:  "event.rejected.=ready",
}

// checkWrite publishes a message that the stream must refuse because of its expected last sequence. Only the stream's
// leader gives that refusal, and only if it accepts messages at all. A single server checks the stream's limits
// later (nats-server 2.15): the settings cover them.
func checkWrite(ctx context.Context, nc *nats.Conn, stream, subject string) error {
	probe := nats.NewMsg(subject)
	probe.Header.Set(jetstream.ExpectedStreamHeader, stream)
	probe.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.Itoa(math.MaxInt64))
	reply, err := nc.RequestMsgWithContext(ctx, probe)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("write to stream %s: no answer; may this user publish %s? (%w)", stream, subject, err)
	}
	if err != nil {
		return fmt.Errorf("write to stream %s: %w", stream, err)
	}
	ack := parseAck(reply)
	if ack.Err == nil {
		return fmt.Errorf("write to stream %s: it stored message %d, which expects another last sequence", stream, ack.Seq)
	}
	if !errors.Is(ack.Err, ErrWrongLastSequence) {
		return fmt.Errorf("write to stream %s: %w", stream, ack.Err)
	}
	return nil
}
