package broker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// finding is one setting with a wrong value.
type finding struct {
	setting string
	bad     bool
	value   any
	want    string
}

// checkSettings refuses an existing stream whose settings could lose, alter or hide an event.
func checkSettings(got, want jetstream.StreamConfig, spec StreamSpec) error {
	var errs []error
	for _, f := range losses(got, want, spec) {
		if f.bad {
			errs = append(errs, &SettingError{Stream: got.Name, Setting: f.setting, Value: fmt.Sprint(f.value), Want: f.want})
		}
	}
	return errors.Join(errs...)
}

// adviseOnSettings adds to ErrStreamSettings how to inspect and change them.
func adviseOnSettings(err error) error {
	if !errors.Is(err, ErrStreamSettings) {
		return err
	}
	return fmt.Errorf("%w\n\"processor streams\" shows each difference, \"processor streams --apply\" changes what can be changed", err)
}

// losses compares an existing stream with what precis would create, as far as a difference could lose, alter or hide
// an event.
func losses(got, want jetstream.StreamConfig, spec StreamSpec) []finding {
	findings := slices.Concat(limitFindings(got), storageFindings(got), feedFindings(got, want))
	if got.Name == StreamEvents {
		return append(findings, eventsFindings(got, want, spec)...)
	}
	if got.Name == StreamSummaries {
		findings = append(findings, finding{"allow_atomic", !got.AllowAtomicPublish, got.AllowAtomicPublish, "set it to true: the records of a step are stored together, or none of them"})
	}
	return append(findings,
		finding{"max_age", got.MaxAge != 0, got.MaxAge, "set it to 0: what precis published must stay"},
		finding{"subject_transform", got.SubjectTransform != nil, transformOf(got), "make the stream anew without one: its readers would not find what it holds"})
}

// limitFindings are settings that make the server drop old messages or refuse new ones.
func limitFindings(c jetstream.StreamConfig) []finding {
	const remove = "remove the limit (-1)"
	return []finding{
		{"max_msgs", c.MaxMsgs > 0, c.MaxMsgs, remove},
		{"max_bytes", c.MaxBytes > 0, c.MaxBytes, remove},
		{"max_msgs_per_subject", c.MaxMsgsPerSubject > 0, c.MaxMsgsPerSubject, remove},
		{"max_msg_size", c.MaxMsgSize > 0, c.MaxMsgSize, remove + ": what is too large is rejected where it can be seen"},
		{"retention", c.Retention != jetstream.LimitsPolicy, c.Retention, "make the stream anew with limits retention: others delete what was read"},
		{"allow_rollup_hdrs", c.AllowRollup, c.AllowRollup, "set it to false: a publisher's header could purge the log"},
		{"allow_msg_ttl", c.AllowMsgTTL, c.AllowMsgTTL, "make the stream anew without it: a publisher's header could expire an event"},
		{"subject_delete_marker_ttl", c.SubjectDeleteMarkerTTL != 0, c.SubjectDeleteMarkerTTL, "set it to 0"},
	}
}

// storageFindings are settings that make an acknowledged message not durable.
func storageFindings(c jetstream.StreamConfig) []finding {
	return []finding{
		{"storage", c.Storage != jetstream.FileStorage, c.Storage, "make the stream anew with file storage"},
		{"persist_mode", c.PersistMode != jetstream.DefaultPersistMode, c.PersistMode, "make the stream anew with the default mode: acknowledged means stored"},
		{"no_ack", c.NoAck, c.NoAck, "set it to false: publishers could not tell that an event was lost"},
		{"sealed", c.Sealed, c.Sealed, "make the stream anew: a sealed stream takes no events"},
	}
}

// feedFindings are settings that add to, alter or remove what publishers send.
func feedFindings(got, want jetstream.StreamConfig) []finding {
	subjects := slices.Clone(want.Subjects)
	slices.Sort(subjects)
	have := slices.Clone(got.Subjects)
	slices.Sort(have)
	return []finding{
		{"subjects", !slices.Equal(have, subjects), strings.Join(have, " "), "set them to " + strings.Join(subjects, " ")},
		{"mirror", got.Mirror != nil, mirrorName(got), "make the stream anew: a mirror takes no events"},
		{"sources", len(got.Sources) > 0, len(got.Sources), "remove them: sourced messages come past subjects and transform"},
		{"allow_msg_counter", got.AllowMsgCounter, got.AllowMsgCounter, "make the stream anew without it: counters change message bodies"},
		{"allow_msg_schedules", got.AllowMsgSchedules, got.AllowMsgSchedules, "make the stream anew without it: a scheduled event replaces the one before it"},
	}
}

func mirrorName(c jetstream.StreamConfig) string {
	if c.Mirror == nil {
		return ""
	}
	return c.Mirror.Name
}

func eventsFindings(got, want jetstream.StreamConfig, spec StreamSpec) []finding {
	ageOK := got.MaxAge == 0 || spec.MaxAge > 0 && got.MaxAge >= spec.MaxAge
	return []finding{
		{"max_age", !ageOK, got.MaxAge, ageAdvice(spec.MaxAge)},
		{
			"duplicate_window", got.Duplicates > eventsDuplicates, got.Duplicates,
			fmt.Sprintf("set it to %s: a reused Nats-Msg-Id would swallow an event", eventsDuplicates),
		},
		{
			"subject_transform", transformOf(got) != transformOf(want), transformOf(got),
			fmt.Sprintf("need %s: set partitions in the configuration to the stream's, or make the stream anew", transformOf(want)),
		},
	}
}

func ageAdvice(asked time.Duration) string {
	if asked == 0 {
		return "set it to 0, or ask for it with retention.events"
	}
	return fmt.Sprintf("set it to %s as retention.events asks, or to 0", asked)
}

func transformOf(c jetstream.StreamConfig) string {
	if c.SubjectTransform == nil {
		return "none"
	}
	return c.SubjectTransform.Source + " → " + c.SubjectTransform.Destination
}
