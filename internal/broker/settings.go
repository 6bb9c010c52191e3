package broker

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
)

// setting is one setting of a stream that precis compares with what it would create.
type setting struct {
	name    string // in the server's stream configuration JSON
	applies bool   // the server can change it without touching stored messages
	advice  string // for a value that could lose, alter or hide an event; %s is the wanted one
	// loses reports whether a value that differs is such a one; nil: every one is.
	loses func(got, want jetstream.StreamConfig) bool
}

const remove = "remove the limit (-1)"

// settings are those of every stream.
var settings = []setting{
	// The server drops old messages, or refuses new ones.
	{"max_msgs", true, remove, nil},
	{"max_bytes", true, remove, nil},
	{"max_msgs_per_subject", true, remove, nil},
	{"max_msg_size", true, remove + ": what is too large is rejected where it can be seen", nil},
	{"retention", false, "recreate the stream with limits retention: any other deletes what was read", nil},
	{"allow_rollup_hdrs", true, "set it to false: a publisher's header could purge the log", nil},
	{"allow_msg_ttl", false, "recreate the stream without it: a publisher's header could expire an event", nil},
	{"subject_delete_marker_ttl", true, "set it to 0", nil},
	// An acknowledged message is not durable.
	{"storage", false, "recreate the stream with file storage", nil},
	{"persist_mode", false, "recreate the stream with the default mode: acknowledged must mean stored", nil},
	{"no_ack", true, "set it to false: publishers could not tell that an event was lost", nil},
	{"sealed", false, "recreate the stream: a sealed stream accepts no events", nil},
	// They add to, alter or remove what publishers send.
	{"subjects", true, "set them to %s", func(got, want jetstream.StreamConfig) bool { return !lacksForks(got, want) }},
	{"mirror", false, "recreate the stream: a mirror accepts no events", nil},
	{"sources", true, "remove them: sourced messages come past subjects and transform", nil},
	{"allow_msg_counter", false, "recreate the stream without it: counters change message bodies", nil},
	{"allow_msg_schedules", false, "recreate the stream without it: a scheduled event replaces the one before it", nil},
	{"allow_atomic", true, "set it to true: the records of a step are stored together, or none of them", func(got, _ jetstream.StreamConfig) bool { return got.Name == StreamSummaries }},
	{"allow_direct", true, "", never},
	{"num_replicas", true, "", never},
}

func never(_, _ jetstream.StreamConfig) bool { return false }

var eventsSettings = []setting{
	{"max_age", true, "set it to %s, as retention.events asks, or change retention.events", func(got, want jetstream.StreamConfig) bool {
		return got.MaxAge != 0 && (want.MaxAge == 0 || got.MaxAge < want.MaxAge)
	}},
	{"duplicate_window", true, "set it to %s: a reused Nats-Msg-Id would swallow an event", func(got, want jetstream.StreamConfig) bool { return got.Duplicates > want.Duplicates }},
	{"subject_transform", false, "want %s: set partitions in the configuration to the stream's, or recreate the stream", nil},
}

// lacksForks reports whether a stream has every subject but that of forks, which streams of earlier programs lack. Nothing is lost: a fork
// that is published gets no ack.
func lacksForks(got, want jetstream.StreamConfig) bool {
	forks := string(events.ThreadForked) + ".*"
	without := slices.DeleteFunc(slices.Clone(want.Subjects), func(s string) bool { return s == forks })
	slices.Sort(without)
	return slices.Equal(slices.Sorted(slices.Values(got.Subjects)), without)
}

// publishedSettings are those of the streams that precis publishes to.
var publishedSettings = []setting{
	{"max_age", true, "set it to 0: what precis published must stay", nil},
	{"duplicate_window", true, "", never},
	{"subject_transform", false, "recreate the stream without one: its readers would not find what it holds", nil},
}

// StreamDifference is a stream setting that differs from the configuration.
type StreamDifference struct {
	Setting string `json:"setting"` // name in the server's stream configuration
	Value   string `json:"value"`   // the current value
	Want    string `json:"want"`    // the configured value, or what to do
	// Loses: events could be lost, altered or hidden. A processor does not start on such a stream.
	Loses bool `json:"loses_events"`
	// Applies: ApplyStreams can change it. Any other setting needs a new stream.
	Applies bool `json:"can_be_applied"`

	advice string
}

// differences returns the settings of a stream that differ from those that precis would create it with.
func differences(got, want jetstream.StreamConfig) []StreamDifference {
	found, all := []StreamDifference{}, slices.Concat(settings, publishedSettings)
	if got.Name == StreamEvents {
		all = slices.Concat(settings, eventsSettings)
	}
	for _, s := range all {
		value, wanted := shown(&got, s.name), shown(&want, s.name)
		if value == wanted || s.name == "num_replicas" && want.Replicas == 0 {
			continue
		}
		d := StreamDifference{Setting: s.name, Value: value, Want: wanted, Applies: s.applies, advice: s.advice}
		if strings.Contains(s.advice, "%s") {
			d.advice = fmt.Sprintf(s.advice, wanted)
		}
		if d.Loses = s.loses == nil || s.loses(got, want); !d.Applies {
			d.Want = d.advice
		}
		found = append(found, d)
	}
	return found
}

// checkSettings refuses an existing stream whose settings could lose, alter or hide an event.
func checkSettings(got, want jetstream.StreamConfig) error {
	var errs []error
	for _, d := range differences(got, want) {
		if d.Loses {
			errs = append(errs, &SettingError{Stream: got.Name, Setting: d.Setting, Value: d.Value, Want: d.advice})
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

// apply sets the differing settings that can be changed, and reports whether any changed.
func apply(config, want *jetstream.StreamConfig, found []StreamDifference) (changed bool) {
	for _, d := range found {
		if d.Applies {
			field(config, d.Setting).Set(field(want, d.Setting))
			changed = true
		}
	}
	return changed
}

// field is a setting's field, by its name in JSON.
func field(c *jetstream.StreamConfig, name string) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == name {
			return v.Field(i)
		}
	}
	panic("no stream setting " + name) // only our tables name them
}

// shown formats a setting. 0 and -1 mean no limit to the server.
func shown(c *jetstream.StreamConfig, name string) string {
	const unlimited = "unlimited"
	switch v := field(c, name).Interface().(type) {
	case time.Duration:
		if v == 0 && name == "max_age" {
			return unlimited
		}
		return v.String()
	case int64, int32:
		if n := reflect.ValueOf(v).Int(); n > 0 {
			return strconv.FormatInt(n, 10)
		}
		return unlimited
	case []string:
		return strings.Join(slices.Sorted(slices.Values(v)), " ")
	case []*jetstream.StreamSource:
		return strconv.Itoa(len(v))
	case *jetstream.StreamSource:
		if v == nil {
			return "none"
		}
		return v.Name
	case *jetstream.SubjectTransformConfig:
		if v == nil {
			return "none"
		}
		return v.Source + " → " + v.Destination
	default:
		return fmt.Sprint(v)
	}
}
