package recovery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
	"precis/summarize/pricing"
)

// ErrDisturbed: something else wrote to SUMMARIES while a loss was being recorded.
var ErrDisturbed = errors.New("something else writes to SUMMARIES")

// Accept records a loss. It claims all partitions, which ends what still publishes there, appends to each thread's chain what agents have to know of void records, then a
// config.applied for each partition, in the order of their numbers; the expected last sequence guards each message. If
// it ends before all are stored, the next FindLoss reports what is left. It does nothing if no loss was found. stored
// receives the number of messages stored so far.
func (l *Loss) Accept(ctx context.Context, js jetstream.JetStream, now time.Time, stored func(n uint64)) error {
	if !l.Found {
		return nil
	}
	if l.config == nil {
		return nil // no partition has anything on record, so nothing can be void
	}
	if l.newer != nil {
		// Recording it again would drop what this program does not know.
		return fmt.Errorf("accept loss: the configuration in force can't be put on record again: %w: run precis %s, or a newer one", l.newer, l.config.ProgramVersion)
	}
	pub, err := broker.NewPublisher(js.Conn(), broker.PublisherConfig{})
	if err != nil {
		return err
	}
	defer func() { _ = pub.Close() }()
	log, err := broker.StateOf(ctx, js, broker.StreamSummaries)
	if err != nil {
		return err
	}
	w := &acceptance{Loss: l, pub: pub, last: log.Last, now: now.UTC(), at: now.UTC(), stored: stored}
	if l.accepted != nil {
		w.at, l.rejected = l.accepted.AcceptedAt, l.accepted.RejectedSeq
	}
	if err := w.run(ctx); err != nil {
		return fmt.Errorf("put loss on record: %w", err)
	}
	return nil
}

// acceptance appends records to the ends of their chains.
type acceptance struct {
	*Loss
	pub     *broker.Publisher
	last    uint64 // of SUMMARIES
	n       uint64
	stored  func(uint64)
	now, at time.Time
}

func (w *acceptance) run(ctx context.Context) error {
	for _, own := range w.Partitions {
		if err := w.claim(ctx, own); err != nil {
			return err
		}
	}
	for _, own := range w.Partitions {
		for _, v := range own.voids {
			if err := w.tell(ctx, own, v); err != nil {
				return err
			}
		}
	}
	for _, own := range w.Partitions {
		if own.accepted {
			continue
		}
		if err := w.loss(ctx, own); err != nil {
			return err
		}
	}
	return nil
}

// claim claims a partition.
func (w *acceptance) claim(ctx context.Context, own *PartitionLoss) error {
	epoch, at := own.chains[""].ChainSeq+1, own.claimed
	rec := &events.Claimed{
		Epoch: epoch, Owner: Owner(), ProgramVersion: w.config.ProgramVersion, RulesVersion: w.config.RulesVersion, Fingerprint: w.config.Fingerprint,
	}
	rec.Head = events.Head{EventSeq: at, EffectiveSeq: at}
	return w.publish(ctx, own, "", events.PartitionClaimed, ClaimID(own.Partition, at, epoch), rec)
}

// tell records what agents have to know of a void record. It takes effect where the void record did, so it is void as
// well, and no state ever depends on it.
func (w *acceptance) tell(ctx context.Context, own *PartitionLoss, v voidRecord) error {
	var rec events.Record
	typ := events.SummaryInvalidated
	if v.ended {
		typ = events.SummaryFailed
		rec = &events.Failed{
			SummaryID: v.id, Kind: v.kind, Code: events.FailedSuperseded, Action: events.ActionTrim, Cost: events.Cost{AmountMicroUSD: new(int64), Currency: pricing.Currency},
			Message: fmt.Sprintf("it rests on events that are lost: EVENTS holds what was applied up to event %d", w.EventsSeq),
		}
	} else {
		setting, from, to := events.SettingAcceptedLoss, strconv.FormatUint(v.head.EventSeq, 10), strconv.FormatUint(w.EventsSeq, 10)
		rec = &events.Invalidated{
			SummaryID: v.id, Kind: v.kind, Reason: events.ReasonSourceDeleted, Cause: events.Cause{Setting: &setting, Old: &from, New: &to},
			Action: events.ActionTrim, Meanwhile: events.MeanwhileRaw, InvalidatedAt: w.now,
		}
	}
	*rec.Common() = v.head
	own.Records[string(typ)]++
	return w.publish(ctx, own, v.thread, typ, events.SummaryEventID(typ, v.id), rec)
}

// loss records the loss for a partition, under the configuration in force.
func (w *acceptance) loss(ctx context.Context, own *PartitionLoss) error {
	rec := *w.config
	rec.ConfigVersion, rec.AppliedAt = rec.Version(), w.at
	rec.AcceptedLoss = &events.AcceptedLoss{
		EventsSeq: w.EventsSeq, EventsDigest: events.OrNull(w.digest), AppliedSeq: own.AppliedSeq, RejectedSeq: w.rejected, AcceptedAt: w.at,
	}
	for _, n := range own.Records {
		rec.AcceptedLoss.RecordsVoided += n
	}
	rec.Head = events.Head{EventSeq: w.EventsSeq, EffectiveSeq: w.EventsSeq}
	id := fmt.Sprintf("%s/%d", events.PositionEventID(events.ConfigApplied, own.Partition, w.EventsSeq), own.chains[""].ChainSeq+1)
	return w.publish(ctx, own, "", events.ConfigApplied, id, &rec)
}

// publish appends a record to its thread's chain, as the stream's next message.
func (w *acceptance) publish(ctx context.Context, own *PartitionLoss, name string, typ events.Type, id string, rec events.Record) error {
	end, partition := own.chains[name], own.Partition
	h := rec.Common()
	h.Partition, h.ChainSeq, h.Chain = partition, end.ChainSeq+1, ""
	h.Step = events.Step{Cause: events.ByRecovery, Index: 1}
	if typ == events.PartitionClaimed {
		h.Step.Cause = events.ByClaim
	}
	token := events.PartitionToken(partition)
	if name != "" {
		var err error
		if token, err = events.Token(name); err != nil {
			return err
		}
	}
	data, chain, err := events.Seal(end.Chain, rec)
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: string(typ) + "." + token, Data: data}
	m.Header = Header(partition, &state.Outgoing{Type: typ, ID: id, Thread: name, Time: w.now, Guarded: true, Index: 1, Size: 1})
	m.Header.Del(nats.MsgIdHdr) // the expected last sequence guards it
	m.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(w.last, 10))
	ack := w.pub.PublishBatch(ctx, []*nats.Msg{m})[0]
	if errors.Is(ack.Err, broker.ErrWrongLastSequence) {
		return fmt.Errorf("%w: stop every processor of these streams, then run this again", ErrDisturbed)
	}
	if ack.Err != nil {
		return ack.Err
	}
	w.n++
	w.stored(w.n)
	w.last, own.chains[name] = ack.Seq, state.Link{ChainSeq: h.ChainSeq, Chain: chain}
	return nil
}
