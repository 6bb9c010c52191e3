package recovery

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// source is the ce-source of everything that a processor publishes.
const source = "precis"

// Reasons why a record of SUMMARIES is foreign.
var (
	// ErrNoRecord: no processor of these streams publishes such a record under that subject.
	ErrNoRecord = errors.New("not a processor's record")
	// ErrPlace: its thread's chain has another record at its position.
	ErrPlace = errors.New("out of the chain's order")
	// ErrLink: it does not continue the record before it.
	ErrLink = errors.New("does not continue the chain")
)

// Foreign is a message of SUMMARIES that is part of no thread's chain. It changes nothing, and the chain continues
// after it.
type Foreign struct {
	Stored broker.Stored
	Entry  Entry
	Why    error // ErrNoRecord, ErrPlace or ErrLink
}

// Entry is what a message of SUMMARIES says that it is.
type Entry struct {
	events.Head
	Type    events.Type
	Thread  string // empty: the partition itself
	Summary string // empty if it is about none
}

// Recognize reads a message of SUMMARIES as the record on which its subject, envelope and data agree. It fails with
// ErrNoRecord if they don't agree, or if no processor with that many partitions writes such a record. Follows tells
// whether it continues its thread's chain.
func Recognize(m broker.Stored, partitions int) (Entry, error) {
	var body struct {
		events.Head
		ID        string `json:"id"`
		SummaryID string `json:"summary_id"`
		Attempt   int    `json:"attempt"`
	}
	t, token, ok := events.ParseSubject(m.Subject)
	c := Entry{Type: t}
	if !ok || t.Incoming() || t == events.EventRejected {
		return c, fmt.Errorf("%w: subject %q", ErrNoRecord, m.Subject)
	}
	c.Thread, _ = events.ThreadOf(token)
	if err := json.Unmarshal(m.Data, &body); err != nil {
		return c, fmt.Errorf("%w: %w", ErrNoRecord, err)
	}
	c.Head, c.Summary = body.Head, body.ID+body.SummaryID
	if want := tokenOf(c.Head); token != want {
		return c, fmt.Errorf("%w: it is about %q, its subject about %q", ErrNoRecord, want, token)
	}
	if at := home(c.Head, token, partitions); c.Partition != at {
		return c, fmt.Errorf("%w: partition %d, its thread is in %d", ErrNoRecord, c.Partition, at)
	}
	for name, want := range map[string]string{"ce-type": string(t), "ce-source": source} {
		if got := m.Header.Get(name); got != want {
			return c, fmt.Errorf("%w: %s %q, not %q", ErrNoRecord, name, got, want)
		}
	}
	for _, name := range []string{"ce-id", nats.MsgIdHdr} {
		if got := m.Header.Get(name); (got != "" || name == "ce-id") && !slices.Contains(idsOf(c, body.Attempt), got) {
			return c, fmt.Errorf("%w: %s %q", ErrNoRecord, name, got)
		}
	}
	return c, nil
}

// tokenOf is the last token of the subject to which a record belongs; empty if there is none.
func tokenOf(head events.Head) string {
	if head.ThreadID == nil {
		return events.PartitionToken(head.Partition)
	}
	token, err := events.Token(*head.ThreadID)
	if err != nil {
		return ""
	}
	return token
}

// home is the partition to which a record belongs; -1 if none.
func home(head events.Head, token string, partitions int) int {
	switch {
	case head.ThreadID != nil:
		return broker.PartitionOf(token, partitions)
	case head.Partition >= 0 && head.Partition <= partitions: // the last one is that of strays
		return head.Partition
	}
	return -1
}

// idsOf are the ids that a record with these contents can have.
func idsOf(c Entry, attempt int) []string {
	switch c.Type {
	case events.UsageRecorded:
		return []string{events.UsageEventID(c.Summary, attempt)}
	case events.ConfigApplied, events.PartitionClaimed:
		id := events.PositionEventID(c.Type, c.Partition, c.EventSeq)
		return []string{id, fmt.Sprintf("%s/%d", id, c.ChainSeq)}
	}
	ids := []string{events.SummaryEventID(c.Type, c.Summary)}
	if c.Type == events.SummaryInvalidated {
		ids = append(ids, events.InheritedEventID(c.Type, c.Summary, tokenOf(c.Head)))
	}
	return ids
}

// Follows reports whether the record continues its thread's chain, which ends at end.
func (c Entry) Follows(end state.Link, data []byte) bool {
	if c.ChainSeq != end.ChainSeq+1 {
		return false
	}
	_, err := events.VerifyChain(end.Chain, data)
	return err == nil
}

// against is the reason why a record that does not continue its thread's chain is foreign.
func (c Entry) against(end state.Link) error {
	if c.ChainSeq == end.ChainSeq+1 {
		return fmt.Errorf("%w: record %d of its thread", ErrLink, c.ChainSeq)
	}
	return fmt.Errorf("%w: it claims to be record %d of its thread, the next one is %d", ErrPlace, c.ChainSeq, end.ChainSeq+1)
}

// Header is the envelope in which an outbox row is published.
func Header(partition int, row *state.Outgoing) nats.Header {
	subject := row.Thread
	if subject == "" {
		subject = events.PartitionToken(partition)
	}
	h := events.Encode(row.Type, row.ID, subject, source, row.Time)
	if row.Guarded {
		h[events.StepSize] = []string{strconv.Itoa(row.Size)}
	}
	return h
}

// left is how many records of its step follow a record of SUMMARIES.
func left(m broker.Stored, c Entry) int {
	size, err := strconv.Atoi(m.Header.Get(events.StepSize))
	if err != nil {
		return 0 // a copy without its headers
	}
	return max(size-c.Step.Index, 0)
}

// Same reports whether a stored message equals an outbox row, byte for byte. An id proves nothing: it is a function of
// the log, and the contents of a record (times, a model's text, usage) are not.
func Same(m broker.Stored, partition int, row *state.Outgoing) bool {
	if m.Subject != row.Subject || !bytes.Equal(m.Data, row.Data) {
		return false
	}
	for name, values := range Header(partition, row) {
		if name == nats.MsgIdHdr && m.Header.Get(name) == "" {
			continue // published again while the server remembered the id
		}
		if !slices.Equal(m.Header[name], values) {
			return false
		}
	}
	return true
}

// ThreadRecords is the subject filter of all records of the thread that a record's subject names.
func ThreadRecords(subject string) string {
	return "*.*" + subject[strings.LastIndexByte(subject, '.'):]
}
