package content

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/thread"
	"precis/state"
)

// RecordOf returns the data of a summary's summary.created: its row's or, of a replaced summary, that in SUMMARIES or the outbox, where
// the thread has made it itself. It is ErrGone where SUMMARIES no longer holds it.
func RecordOf(ctx context.Context, view state.View, summaries *broker.LogReader, name string, sum *thread.Summary) (jsontext.Value, error) {
	if len(sum.Record) > 0 {
		return sum.Record, nil
	}
	if sum.Inherited { // its place is in the chain of the thread that made it, which serves it
		return nil, fmt.Errorf("record of summary %s, of another thread: %w", sum.ID, ErrGone)
	}
	seq, waiting, err := view.Recorded(name, sum.ChainSeq)
	switch {
	case err != nil:
		return nil, err
	case waiting != nil && !isOf(waiting, sum.ID):
		return nil, fmt.Errorf("%w: the record that waits to be published is not that of summary %s", state.ErrDamaged, sum.ID)
	case waiting != nil:
		return waiting, nil
	case seq == 0:
		return nil, fmt.Errorf("record of summary %s: %w", sum.ID, ErrGone)
	}
	m, err := summaries.Get(ctx, seq)
	if errors.Is(err, broker.ErrGone) {
		return nil, fmt.Errorf("record %d of SUMMARIES, of summary %s: %w", seq, sum.ID, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("read record %d: %w", seq, err)
	}
	if !MadeBy(m, sum.ID) {
		return nil, fmt.Errorf("%w: record %d of SUMMARIES is not that of summary %s", state.ErrDamaged, seq, sum.ID)
	}
	return m.Data, nil
}

// MadeBy reports whether a message of SUMMARIES is the summary.created of a summary.
func MadeBy(m broker.Stored, id string) bool {
	typ, _, ok := events.ParseSubject(m.Subject)
	return ok && typ == events.SummaryCreated && isOf(m.Data, id)
}

func isOf(data []byte, id string) bool {
	var rec struct {
		ID string `json:"id"`
	}
	return json.Unmarshal(data, &rec) == nil && rec.ID == id
}
