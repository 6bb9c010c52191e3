package recovery

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// ErrUnfinished: a loss was accepted, and not recorded for every partition.
var ErrUnfinished = errors.New("the acceptance of a loss was interrupted")

// lossOf is the accepted loss that a config.applied records; nil if none. Data that does not decode is reported when
// the record is adopted.
func lossOf(data []byte) *events.AcceptedLoss {
	var rec struct {
		AcceptedLoss *events.AcceptedLoss `json:"accepted_loss"`
	}
	if json.Unmarshal(data, &rec) != nil {
		return nil
	}
	return rec.AcceptedLoss
}

// Lost is the part of the streams that an accepted loss voids.
func Lost(rec *events.AcceptedLoss) state.Loss {
	return state.Loss{Events: rec.EventsSeq, Rejected: rec.RejectedSeq, At: rec.AcceptedAt}
}

// void voids the records of a partition that were staged before a config.applied that records an accepted loss. It
// works in batches, and nothing is noted as read before all are done: after a crash it starts again.
func (t *Tail) void(part *state.Partition, m broker.Stored) error {
	rec := lossOf(m.Data)
	if rec == nil {
		return nil
	}
	if position := part.Meta().Position; position > rec.EventsSeq {
		return fmt.Errorf("%w: the store has applied event %d, and the loss of what came behind event %d was accepted: move the store (state in the data directory) away: it is rebuilt from the log",
			ErrRewritten, position, rec.EventsSeq)
	}
	if m.Seq > 0 && m.Seq != ^uint64(0) {
		t.reached(m.Seq-1, 0)
	}
	for n := commitRecords; n == commitRecords; {
		if err := t.commit(state.NoSync); err != nil {
			return err
		}
		var err error
		if n, err = part.Void(rec.EventsSeq, commitRecords); err != nil {
			return err
		}
		t.Voided += uint64(n)
	}
	meta := part.Meta()
	meta.Losses = append(meta.Losses[:len(meta.Losses):len(meta.Losses)], Lost(rec))
	part.SetMeta(meta)
	return nil
}

// accepted verifies that all partitions know the same losses.
func (t *Tail) accepted() error {
	var last time.Time
	for i, part := range t.read {
		losses, at := part.Meta().Losses, time.Time{}
		if len(losses) > 0 {
			at = losses[len(losses)-1].At
		}
		if i > 0 && !at.Equal(last) && !t.Unfinished {
			return fmt.Errorf("%w: it is on record for some partitions alone: run \"processor recover --accept-loss\" again", ErrUnfinished)
		}
		last = at
	}
	return nil
}

// lost reports whether a rejection, at a sequence of REJECTED, is about an event whose loss was accepted.
func lost(losses []state.Loss, event, rejected uint64) bool {
	for _, l := range losses {
		if event > l.Events && rejected <= l.Rejected {
			return true
		}
	}
	return false
}

// DigestOf identifies the last event that an accepted loss keeps: the first 16 bytes, in hex, of a SHA-256 over its
// sequence, its time in Unix nanoseconds and the length of its subject (8 bytes each, big-endian), its subject and its
// data.
func DigestOf(m broker.Stored) string {
	mark := broker.MarkOf(m)
	return hex.EncodeToString(mark.Digest[:])
}
