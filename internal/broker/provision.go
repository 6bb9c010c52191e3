package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

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
