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

// ErrUnfinished: a loss was accepted, and not put on record for every partition.
var ErrUnfinished = errors.New("the acceptance of a loss was interrupted")

// lossOf is the accepted loss that a config.applied puts on record; nil where it does not. What does not decode is
// reported when it is adopted.
func lossOf(data []byte) *events.AcceptedLoss {
	var rec struct {
		AcceptedLoss *events.AcceptedLoss `json:"accepted_loss"`
	}
	if json.Unmarshal(data, &rec) != nil {
		return nil
	}
	return rec.AcceptedLoss
}

// Lost is what of the streams an accepted loss voids.
func Lost(rec *events.AcceptedLoss) state.Loss {
	return state.Loss{Events: rec.EventsSeq, Rejected: rec.RejectedSeq, At: rec.AcceptedAt}
}

// void voids what was staged of a partition before a config.applied that puts an accepted loss on record. It is done
// in batches, and not noted as read before all of it is done: a crash in the middle has it done again.
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

// accepted makes sure that every partition knows of the same losses.
func (t *Tail) accepted() error {
	var last time.Time
	for i, part := range t.parts {
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

// lost says whether what REJECTED says of an event, at a sequence of its own, is about one whose loss was accepted.
func lost(losses []state.Loss, event, rejected uint64) bool {
	for _, l := range losses {
		if event > l.Events && rejected <= l.Rejected {
			return true
		}
	}
	return false
}

// DigestOf is what an accepted loss says of the last event that is kept: the first 16 bytes, in hex, of a SHA-256 over its
// sequence, its time in Unix nanoseconds and the length of its subject, of 8 bytes each, big-endian, its subject and its data.
func DigestOf(m broker.Stored) string {
	mark := broker.MarkOf(m)
	return hex.EncodeToString(mark.Digest[:])
}
