package recovery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// ErrOtherWriter: another processor has claimed the partition, or has written to its chains. Two processors must not share the
// streams.
var ErrOtherWriter = errors.New("another processor writes to these streams")

// TakenOver is the error of a processor whose partition another one has claimed, with the record seq of SUMMARIES.
func TakenOver(partition int, owner string, seq uint64) error {
	return fmt.Errorf("%w: %s has claimed partition %d (record %d of SUMMARIES): stop one of the two, or give it streams of its own",
		ErrOtherWriter, owner, partition, seq)
}

// OwnRecords is the subject filter of a partition's own records: claims and configurations.
func OwnRecords(partition int) string { return "*.*." + events.PartitionToken(partition) }

// ClaimSubject is the subject of a partition's claims.
func ClaimSubject(partition int) string {
	return string(events.PartitionClaimed) + "." + events.PartitionToken(partition)
}

// Expect makes a message conditional on the last sequence of a subject or filter.
func Expect(m *nats.Msg, subject string, seq uint64) {
	m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(seq, 10))
	m.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", subject)
}

// NewClaim is a claim behind the end of the partition's own chain, as an outbox row, and the end that it makes.
func NewClaim(rec events.Claimed, partition int, end state.Own, effective uint64, at time.Time) (*state.Outgoing, state.Own, error) {
	rec.Epoch = end.ChainSeq + 1
	rec.Head = events.Head{Partition: partition, EventSeq: effective, EffectiveSeq: effective, ChainSeq: rec.Epoch, Step: events.Step{Cause: events.ByClaim, Index: 1}}
	data, chain, err := events.Seal(end.Chain, &rec)
	if err != nil {
		return nil, end, fmt.Errorf("claim partition %d: %w", partition, err)
	}
	row := &state.Outgoing{Type: events.PartitionClaimed, ID: ClaimID(partition, effective, rec.Epoch), Subject: ClaimSubject(partition), Time: at.UTC(), Data: data, Guarded: true, Index: 1, Size: 1}
	return row, state.Own{ChainSeq: rec.Epoch, Chain: chain}, nil
}

// ClaimID is a claim's ce-id.
func ClaimID(partition int, effective, epoch uint64) string {
	id := events.PositionEventID(events.PartitionClaimed, partition, effective)
	if epoch > 1 {
		id += "/" + strconv.FormatUint(epoch, 10)
	}
	return id
}

// Owner names a process in claims: to people, and apart from every other one.
func Owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()[:8])
}

// OwnChain reads how a partition's own chain goes on in SUMMARIES.
type OwnChain struct {
	Log       *broker.LogReader
	Partition int
	Strays    int           // the number of the last partition
	Foreign   func(Foreign) // receives what does not continue the chain; it may be nil
}

// Follow calls each with the records that continue the chain behind end, and returns where it ends then, with the sequence of
// the last message on the partition's own subjects, which may be foreign. The stream's leader answers.
func (o OwnChain) Follow(ctx context.Context, end state.Own, each func(m broker.Stored, e Entry) error) (state.Own, uint64, error) {
	filter := OwnRecords(o.Partition)
	last, err := o.Log.Last(ctx, filter)
	if errors.Is(err, broker.ErrGone) {
		return end, 0, nil
	}
	if err != nil {
		return end, 0, fmt.Errorf("read claims of partition %d: %w", o.Partition, err)
	}
	for at := end.Seq; at < last.Seq; {
		m, err := o.Log.Next(ctx, filter, at+1)
		if errors.Is(err, broker.ErrGone) {
			break
		}
		if err != nil {
			return end, 0, fmt.Errorf("read claims of partition %d: %w", o.Partition, err)
		}
		at, last.Seq = m.Seq, max(last.Seq, m.Seq)
		e, err := Recognize(m, o.Strays)
		switch {
		case err == nil && e.Follows(end.Link(), m.Data):
			if err := each(m, e); err != nil {
				return end, 0, err
			}
			end = state.Own{Seq: m.Seq, ChainSeq: e.ChainSeq, Chain: e.Chain}
		case o.Foreign != nil:
			if err == nil {
				err = e.against(end.Link())
			}
			o.Foreign(Foreign{Stored: m, Entry: e, Why: err})
		}
	}
	return end, last.Seq, nil
}

// OwnerOf is the owner that a claim names; empty for any other record.
func OwnerOf(m broker.Stored, e Entry) string {
	var rec events.Claimed
	if e.Type != events.PartitionClaimed || json.Unmarshal(m.Data, &rec) != nil {
		return ""
	}
	return rec.Owner
}
