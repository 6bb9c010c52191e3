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
