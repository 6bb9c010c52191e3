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

	"precis/events"
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
	var found [3]*jetstream.StreamInfo
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
		streams.Created[want.Name] = found[i].Created
		streams.Differences[want.Name] = differences(found[i].Config, want)
	}
	return streams, nil
}

// lookUp returns a stream's info; nil if it does not exist.
func lookUp(ctx context.Context, js jetstream.JetStream, name string) (*jetstream.StreamInfo, error) {
	s, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", name, err)
	}
	return s.CachedInfo(), nil
}

// findStream returns an existing stream with valid settings; nil if it is missing and may be created.
func findStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, spec StreamSpec) (*jetstream.StreamInfo, error) {
	info, err := lookUp(ctx, js, want.Name)
	if err != nil {
		return nil, err
	}
	if info == nil && spec.CheckOnly {
		return nil, fmt.Errorf("%w: %s (create it, or run without --no-provision)", ErrStreamMissing, want.Name)
	}
	if info == nil {
		return nil, nil
	}
	return info, checkSettings(info.Config, want)
}

func createStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, spec StreamSpec) (*jetstream.StreamInfo, error) {
	s, err := js.CreateStream(ctx, want)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return findStream(ctx, js, want, spec) // another instance was faster; its settings are checked like any other's
	}
	if err != nil {
		return nil, fmt.Errorf("create stream %s: %w", want.Name, err)
	}
	return s.CachedInfo(), nil
}

// StreamReport compares a stream with the configuration.
type StreamReport struct {
	Name        string             `json:"name"`
	Exists      bool               `json:"exists"`
	Created     time.Time          `json:"created,omitzero"`
	Messages    uint64             `json:"messages"`
	Bytes       uint64             `json:"bytes"`
	FirstSeq    uint64             `json:"first_seq"`
	LastSeq     uint64             `json:"last_seq"`
	Replicas    int                `json:"replicas"`
	Leader      string             `json:"leader,omitzero"`    // the server that leads a stream of a cluster; empty: none does, or there is no cluster
	Leaderless  bool               `json:"leaderless"`         // a stream of a cluster that no server leads: it takes no messages
	Followers   []StreamFollower   `json:"followers,omitzero"` // the servers with the other replicas
	Differences []StreamDifference `json:"differences"`
}

// StreamFollower is a replica of a stream beside the leader's.
type StreamFollower struct {
	Server  string `json:"server"`
	Current bool   `json:"current"` // it has what the leader had at its last heartbeat
	Offline bool   `json:"offline"`
	Lag     uint64 `json:"lag"` // operations of the stream that it has yet to take
}

func (r *StreamReport) placed(c *jetstream.ClusterInfo) {
	if c == nil {
		return
	}
	r.Leader, r.Leaderless = c.Leader, c.Leader == ""
	for _, p := range c.Replicas {
		r.Followers = append(r.Followers, StreamFollower{Server: p.Name, Current: p.Current, Offline: p.Offline, Lag: p.Lag})
	}
}

// CompareStreams reports the three streams of the contract. It changes nothing.
func CompareStreams(ctx context.Context, js jetstream.JetStream, spec StreamSpec) ([]StreamReport, error) {
	var reports []StreamReport
	for _, want := range spec.configs() {
		info, err := lookUp(ctx, js, want.Name)
		if err != nil {
			return nil, err
		}
		report := StreamReport{Name: want.Name, Differences: []StreamDifference{}}
		if info != nil {
			report = StreamReport{
				Name: want.Name, Exists: true, Created: info.Created, Replicas: info.Config.Replicas,
				Messages: info.State.Msgs, Bytes: info.State.Bytes, FirstSeq: info.State.FirstSeq, LastSeq: info.State.LastSeq,
				Differences: differences(info.Config, want),
			}
			report.placed(info.Cluster)
		}
		reports = append(reports, report)
	}
	return reports, nil
}

// ApplyStreams creates the missing streams and sets the settings that can be changed to the configured values. The
// server deletes events beyond a new, shorter retention at once. ApplyStreams returns the resulting streams.
func ApplyStreams(ctx context.Context, js jetstream.JetStream, spec StreamSpec) ([]StreamReport, error) {
	for _, want := range spec.configs() {
		info, err := lookUp(ctx, js, want.Name)
		if err != nil {
			return nil, err
		}
		if info == nil {
			_, err = js.CreateStream(ctx, want)
		} else if apply(&info.Config, &want, differences(info.Config, want)) {
			_, err = js.UpdateStream(ctx, info.Config)
		}
		if err != nil {
			return nil, fmt.Errorf("apply the configuration to stream %s: %w", want.Name, err)
		}
	}
	return CompareStreams(ctx, js, spec)
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
			errs[i] = checkStream(ctx, js, want, found.Created[want.Name])
			if subject := writeProbes[want.Name]; errs[i] == nil && subject != "" {
				errs[i] = checkWrite(ctx, js.Conn(), want.Name, subject)
			}
		})
	}
	wg.Wait()
	return adviseOnSettings(errors.Join(errs...))
}

func checkStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, created time.Time) error {
	info, err := lookUp(ctx, js, want.Name)
	if err != nil {
		return err
	}
	if info == nil {
		return fmt.Errorf("%w: %s", ErrStreamMissing, want.Name)
	}
	if info.Cluster != nil && info.Cluster.Leader == "" {
		return fmt.Errorf("look up stream %s: %w", want.Name, ErrNoLeader)
	}
	if !info.Created.Equal(created) {
		return fmt.Errorf("%w: %s was recreated at %s", ErrStreamLost, want.Name, info.Created.Format(time.RFC3339))
	}
	return checkSettings(info.Config, want)
}

// writeProbes are the streams that the processor writes to, each with a probe subject. Its token is never that of a
// thread or a partition: in escaped thread tokens two hexadecimal digits follow each "=".
var writeProbes = map[string]string{
	StreamSummaries: string(events.ConfigApplied) + ".=ready",
	StreamRejected:  string(events.EventRejected) + ".=ready",
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
