package recovery

import (
	"context"
	"errors"
	"fmt"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// Check verifies that SUMMARIES holds the end of the partition's own chain that rows know, and that no loss was accepted behind it that takes away
// what they were made from. Nothing removes a claim, so that one that is missing is a contradiction. The stream's leader answers.
func (o OwnChain) Check(ctx context.Context, meta state.Meta) error {
	m, err := o.Log.Next(ctx, OwnRecords(o.Partition), meta.Own.Seq)
	if err != nil && !errors.Is(err, broker.ErrGone) {
		return fmt.Errorf("read claims of partition %d: %w", o.Partition, err)
	}
	e, unknown := Recognize(m, o.Strays)
	if err != nil || meta.Own.Seq == 0 || m.Seq != meta.Own.Seq || unknown != nil || e.Chain != meta.Own.Chain {
		return fmt.Errorf("%w: SUMMARIES does not hold the claim of partition %d at record %d", ErrRewritten, o.Partition, meta.Own.Seq)
	}
	_, _, err = o.Follow(ctx, meta.Own, func(m broker.Stored, e Entry) error {
		if e.Type != events.ConfigApplied {
			return nil
		}
		if loss := lossOf(m.Data); loss != nil && meta.Position > loss.EventsSeq {
			return fmt.Errorf("%w: the loss of what came behind event %d was accepted", ErrRewritten, loss.EventsSeq)
		}
		return nil
	})
	return err
}
