package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// StreamDifference is a stream setting that differs from the configuration.
type StreamDifference struct {
	Setting string `json:"setting"` // name in the server's stream configuration
	Value   string `json:"value"`   // the current value
	Want    string `json:"want"`    // the configured value
	// Loses: events could be lost, altered or hidden. A processor does not start on such a stream.
	Loses bool `json:"loses_events"`
	// Applies: ApplyStreams can change it. Any other setting needs a new stream.
	Applies bool `json:"can_be_applied"`
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
	Differences []StreamDifference `json:"differences"`
}

// CompareStreams reports the three streams of the contract. It changes nothing.
func CompareStreams(ctx context.Context, js jetstream.JetStream, spec StreamSpec) ([]StreamReport, error) {
	var reports []StreamReport
	for _, want := range spec.configs() {
		report, _, err := compareStream(ctx, js, want)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, nil
}

func compareStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (StreamReport, jetstream.StreamConfig, error) {
	report := StreamReport{Name: want.Name, Differences: []StreamDifference{}}
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return report, want, nil
	}
	if err != nil {
		return report, want, fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	info := s.CachedInfo()
	report.Exists, report.Created, report.Replicas = true, info.Created, info.Config.Replicas
	report.Messages, report.Bytes = info.State.Msgs, info.State.Bytes
	report.FirstSeq, report.LastSeq = info.State.FirstSeq, info.State.LastSeq
	report.Differences = differences(info.Config, want)
	return report, info.Config, nil
}

// ApplyStreams creates the missing streams and sets the settings that can be changed to the configured values. The
// server deletes events beyond a new, shorter retention at once. ApplyStreams returns the resulting streams.
func ApplyStreams(ctx context.Context, js jetstream.JetStream, spec StreamSpec) ([]StreamReport, error) {
	for _, want := range spec.configs() {
		report, config, err := compareStream(ctx, js, want)
		if err != nil {
			return nil, err
		}
		if !report.Exists {
			_, err = js.CreateStream(ctx, want)
		} else if changed := apply(&config, want, report.Differences); changed {
			_, err = js.UpdateStream(ctx, config)
		}
		if err != nil {
			return nil, fmt.Errorf("apply the configuration to stream %s: %w", want.Name, err)
		}
	}
	return CompareStreams(ctx, js, spec)
}

// streamSetting is one setting that ApplyStreams can change.
type streamSetting struct {
	name string
	show func(jetstream.StreamConfig) string
	set  func(to *jetstream.StreamConfig, want jetstream.StreamConfig)
}

// streamSettings are the settings that the server can change without touching stored messages.
var streamSettings = []streamSetting{
	{"subjects", func(c jetstream.StreamConfig) string {
		return strings.Join(slices.Sorted(slices.Values(c.Subjects)), " ")
	}, func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.Subjects = want.Subjects }},
	{"max_age", func(c jetstream.StreamConfig) string { return ageOf(c.MaxAge) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.MaxAge = want.MaxAge }},
	{"max_msgs", func(c jetstream.StreamConfig) string { return limitOf(c.MaxMsgs) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.MaxMsgs = want.MaxMsgs }},
	{"max_bytes", func(c jetstream.StreamConfig) string { return limitOf(c.MaxBytes) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.MaxBytes = want.MaxBytes }},
	{"max_msgs_per_subject", func(c jetstream.StreamConfig) string { return limitOf(c.MaxMsgsPerSubject) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) {
			to.MaxMsgsPerSubject = want.MaxMsgsPerSubject
		}},
	{"max_msg_size", func(c jetstream.StreamConfig) string { return limitOf(int64(c.MaxMsgSize)) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.MaxMsgSize = want.MaxMsgSize }},
	{"duplicate_window", func(c jetstream.StreamConfig) string { return c.Duplicates.String() },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.Duplicates = want.Duplicates }},
	{"allow_rollup_hdrs", func(c jetstream.StreamConfig) string { return strconv.FormatBool(c.AllowRollup) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.AllowRollup = want.AllowRollup }},
	{"allow_direct", func(c jetstream.StreamConfig) string { return strconv.FormatBool(c.AllowDirect) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.AllowDirect = want.AllowDirect }},
	{"allow_atomic", func(c jetstream.StreamConfig) string { return strconv.FormatBool(c.AllowAtomicPublish) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) {
			to.AllowAtomicPublish = want.AllowAtomicPublish
		}},
	{"no_ack", func(c jetstream.StreamConfig) string { return strconv.FormatBool(c.NoAck) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.NoAck = want.NoAck }},
	{"subject_delete_marker_ttl", func(c jetstream.StreamConfig) string { return c.SubjectDeleteMarkerTTL.String() },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) {
			to.SubjectDeleteMarkerTTL = want.SubjectDeleteMarkerTTL
		}},
	{"sources", func(c jetstream.StreamConfig) string { return strconv.Itoa(len(c.Sources)) },
		func(to *jetstream.StreamConfig, want jetstream.StreamConfig) { to.Sources = want.Sources }},
}

// differences returns the settings that differ, including those that could lose events.
func differences(got, want jetstream.StreamConfig) []StreamDifference {
	found := []StreamDifference{}
	spec := StreamSpec{MaxAge: want.MaxAge}
	losing := map[string]bool{}
	for _, f := range losses(got, want, spec) {
		losing[f.setting] = losing[f.setting] || f.bad
	}
	known := map[string]bool{}
	for _, s := range streamSettings {
		known[s.name] = true
		if s.show(got) != s.show(want) {
			found = append(found, StreamDifference{Setting: s.name, Value: s.show(got), Want: s.show(want), Loses: losing[s.name], Applies: true})
		}
	}
	for _, f := range losses(got, want, spec) {
		if f.bad && !known[f.setting] {
			found = append(found, StreamDifference{Setting: f.setting, Value: fmt.Sprint(f.value), Want: f.want, Loses: true})
		}
	}
	return found
}

// apply sets the differing settings that can be changed, and reports whether any changed.
func apply(config *jetstream.StreamConfig, want jetstream.StreamConfig, found []StreamDifference) bool {
	changed := false
	for _, s := range streamSettings {
		if slices.ContainsFunc(found, func(d StreamDifference) bool { return d.Setting == s.name && d.Applies }) {
			s.set(config, want)
			changed = true
		}
	}
	return changed
}

// limitOf formats a limit; 0 and -1 mean none to the server.
func limitOf(n int64) string {
	if n <= 0 {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}

func ageOf(d time.Duration) string {
	if d == 0 {
		return "unlimited"
	}
	return d.String()
}
