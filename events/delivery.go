package events

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
)

// The streams: what agents publish, and what the processor does.
const (
	StreamEvents    = "EVENTS"
	StreamSummaries = "SUMMARIES"
	StreamRejected  = "REJECTED"
)

// Delivery is one record from SUMMARIES, or a rejection from REJECTED.
type Delivery struct {
	Type    Type
	Thread  string    // empty for a partition's own records, and for a rejection that belongs to no thread
	ID      string    // the ce-id: the same on every delivery of the record
	Seq     uint64    // its sequence in its stream
	Time    time.Time // when its stream stored it
	Attempt uint64    // 1 for the first delivery to this subscription
	Data    []byte
}

// Record reads the data: a *Started, *Summary, *Invalidated, *Failed, *UsageRecord, *Config or *Claimed. It fails with
// ErrType for any other type; Rejected reads an event.rejected.
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

// Rejected reads the data of an event.rejected. It fails with ErrType for any other type.
func (d Delivery) Rejected() (*Rejected, error) {
	if d.Type != EventRejected {
		return nil, fmt.Errorf("read rejection: %w: %q", ErrType, string(d.Type))
	}
	rejected := &Rejected{}
	if err := json.Unmarshal(d.Data, rejected); err != nil {
		return nil, fmt.Errorf("read rejection: %w", err)
	}
	return rejected, nil
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
	case PartitionClaimed:
		return new(Claimed)
	}
	return nil
}

// deliveryOf converts a JetStream message.
func deliveryOf(msg jetstream.Msg) (Delivery, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Delivery{}, fmt.Errorf("read delivery: %w", err)
	}
	d := Delivery{Seq: meta.Sequence.Stream, Time: meta.Timestamp, Attempt: meta.NumDelivered, Data: msg.Data()}
	t, token, ok := ParseSubject(msg.Subject())
	if !ok {
		return Delivery{}, fmt.Errorf("read delivery: subject %q is not a record's", msg.Subject())
	}
	d.Type = t
	if thread, err := ThreadOf(token); err == nil {
		d.Thread = thread
	}
	d.ID, _ = percentDecode(msg.Headers().Get("ce-id"))
	return d, nil
}

// recordFilters returns the subjects of record types by stream, for one thread or, if it is empty, for all.
func recordFilters(thread string, types []Type) (map[string][]string, error) {
	token := "*"
	if thread != "" {
		var err error
		if token, err = Token(thread); err != nil {
			return nil, err
		}
	}
	filters := map[string][]string{}
	for _, t := range types {
		stream := StreamSummaries
		switch {
		case t == EventRejected:
			stream = StreamRejected
		case newRecord(t) == nil:
			return nil, fmt.Errorf("%w: %q is neither in %s nor in %s", ErrType, string(t), StreamSummaries, StreamRejected)
		}
		if subject := string(t) + "." + token; !slices.Contains(filters[stream], subject) {
			filters[stream] = append(filters[stream], subject)
		}
	}
	return filters, nil
}
