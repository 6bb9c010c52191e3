package events

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
)

// StreamSummaries is the stream that the processor publishes its records to.
const StreamSummaries = "SUMMARIES"

// Delivery is one record as it stands in SUMMARIES.
type Delivery struct {
	Type    Type
	Thread  string    // empty for config.applied
	ID      string    // the ce-id: the same for the same record, however often it is delivered
	Seq     uint64    // its sequence in SUMMARIES
	Time    time.Time // when SUMMARIES stored it
	Attempt uint64    // 1 for the first delivery to this subscription
	Data    []byte
}

// Record reads the data: a *Started, *Summary, *Invalidated, *Failed, *UsageRecord or *Config. It fails with
// ErrType for any other type.
func (d Delivery) Record() (Record, error) {
	record := newRecord(d.Type)
	if record == nil {
		return nil, fmt.Errorf("read record: %w: %q", ErrType, string(d.Type))
	}
	if err := json.Unmarshal(d.Data, record); err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	return record, nil
}

func newRecord(t Type) Record {
	switch t {
	case SummaryStarted:
		return new(Started)
	case SummaryCreated:
		return new(Summary)
	case SummaryInvalidated:
		return new(Invalidated)
	case SummaryFailed:
		return new(Failed)
	case UsageRecorded:
		return new(UsageRecord)
	case ConfigApplied:
		return new(Config)
	}
	return nil
}

// deliveryOf takes a message out of JetStream's terms.
func deliveryOf(msg jetstream.Msg) (Delivery, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Delivery{}, fmt.Errorf("read delivery: %w", err)
	}
	d := Delivery{Seq: meta.Sequence.Stream, Time: meta.Timestamp, Attempt: meta.NumDelivered, Data: msg.Data()}
	t, token, ok := ParseSubject(msg.Subject())
	if !ok {
		return Delivery{}, fmt.Errorf("read delivery: subject %q is no record's", msg.Subject())
	}
	d.Type = t
	if thread, err := ThreadOf(token); err == nil {
		d.Thread = thread
	}
	d.ID, _ = percentDecode(msg.Headers().Get("ce-id"))
	return d, nil
}

// summaryFilters are the subjects of some types of records, of one thread or, where it is empty, of all.
func summaryFilters(thread string, types []Type) ([]string, error) {
	token := "*"
	if thread != "" {
		var err error
		if token, err = Token(thread); err != nil {
			return nil, err
		}
	}
	var filters []string
	for _, t := range types {
		if newRecord(t) == nil {
			return nil, fmt.Errorf("%w: %q is not in %s", ErrType, string(t), StreamSummaries)
		}
		filters = append(filters, string(t)+"."+token)
	}
	return filters, nil
}
