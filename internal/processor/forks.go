package processor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/recovery"
	"precis/state"
)

// A thread.forked goes to two partitions: first to the parent's, which hands over what the fork begins with, then to its own, which
// waits until that is durable and the parent's records are published. Both waits end: the first is for a smaller sequence than that of any
// event behind it, and everything up to there has been dealt to the partition that is waited for; the second is for an outbox, which
// waits for no lane.

// home returns the partition of a thread.
func (p *Processor) home(thread string) int {
	token, err := events.Token(thread)
	if err != nil {
		return -1 // a decoded event names none such
	}
	return broker.PartitionOf(token, p.opts.Config.Partitions)
}

// forkedFrom returns the partition that hands over what an event's thread begins with; negative if none does.
func (p *Processor) forkedFrom(raw events.Raw) int {
	strays := p.opts.Config.Partitions
	parent := events.ForkParent(raw)
	if parent == "" || recovery.PartitionOf(raw.Subject, strays) == strays {
		return -1
	}
	return p.home(parent)
}

// before is broker.SubscriberConfig.Before.
func (p *Processor) before(subject string, header map[string][]string, body []byte) string {
	from := p.forkedFrom(events.Raw{Subject: subject, Header: header, Body: body})
	if from < 0 {
		return ""
	}
	return p.laneOf(from).Name
}

// handed waits until what an event of a partition begins its thread with is handed over, durable, and on record. It returns at once for
// any event but a fork.
func (p *Processor) handed(ctx context.Context, to *partition, d fold.Delivery) error {
	from := p.forkedFrom(d.Raw)
	if from < 0 || recovery.PartitionOf(d.Raw.Subject, p.opts.Config.Partitions) != to.id {
		return nil
	}
	parent := to
	if from != to.id {
		if parent = p.part(from); parent == nil {
			return p.apart(ctx, from, to.id)
		}
		var rest context.CancelFunc
		ctx, rest = parent.untilStopped(ctx)
		defer rest()
		if err := parent.position.wait(ctx, d.Seq); err != nil {
			return fmt.Errorf("wait for partition %d, which has the parent: %w", from, err)
		}
	} else if err := to.decided(ctx); err != nil {
		return err
	}
	if err := p.awaitRecords(ctx, parent, events.ForkParent(d.Raw)); err != nil {
		return err
	}
	if from == to.id || p.shares.member == nil {
		return nil
	}
	there, err := p.store.View(from).Hands(state.Handed{Seq: d.Seq, To: to.id})
	if err == nil && !there { // it was taken, by a partition whose rows were dropped since
		p.again(parent)
		err = fmt.Errorf("partition %d is made again, and with it what the fork at event %d begins with: %w", from, d.Seq, fold.ErrNotReady)
	}
	return err
}

// untilStopped returns a context that ends when the partition is given up: it gets no further, and a bulk that waits for it has no lane
// that a change of the set would end.
func (p *partition) untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.stopping:
			cancel(errGivenUp)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// decided commits what the open batch has decided, and waits until it is durable, with the batches before it.
func (p *partition) decided(ctx context.Context) error {
	if p.part.Decided() {
		if err := p.flush(p.here()); err != nil {
			return err
		}
	}
	return p.position.seen(ctx)
}

// awaitRecords waits until what a thread's partition has decided of it is published. A fork's records name summaries of its parent, and
// the store may be lost before these are on record: what is decided in their place need not be the same.
func (p *Processor) awaitRecords(ctx context.Context, part *partition, name string) error {
	if err := part.outbox.published(ctx, name); err != nil {
		return fmt.Errorf("wait for the records of %s, which is forked: %w", name, err)
	}
	return nil
}

const notTogether = "the cluster does not know that its partitions belong together"

// apart is the error of a fork whose two partitions are at different processors. The copy that it begins with does not leave a store, so
// the cluster is to have all partitions together from now on: unless the other is on its way to this one, or is made again here.
func (p *Processor) apart(ctx context.Context, from, to int) error {
	if v := p.shares.member.View(); v.Self != "" && v.Planned[from] != "" && v.Planned[from] != v.Self {
		if err := p.shares.member.Together(ctx); err != nil {
			p.log.Warn().Err(err).Msg(notTogether)
		}
	}
	return fmt.Errorf("a thread of partition %d is forked from one of partition %d: %w", to, from, errElsewhere)
}

// taken reports whether a fork's partition has what was handed over to it, for good.
func (p *Processor) taken(h state.Handed) bool {
	to := p.part(h.To)
	return h.To >= p.total() || to != nil && to.position.now() >= h.Seq
}

// handOver makes what was handed over to a fork durable: its partition waits. One that has it already takes it off the list with a later batch: dropHanded finds what is committed.
func (p *partition) handOver(d fold.Delivery) error {
	if err := p.flush(p.here()); err != nil {
		return err
	}
	head, _, _ := strings.Cut(d.Raw.Subject, ".")
	to := recovery.PartitionOf(head, 1<<16)
	p.handedOver = append(p.handedOver, state.Handed{Seq: d.Seq, To: to})
	return nil
}

// dropHanded removes, with the open batch, what forks have taken.
func (p *partition) dropHanded() error {
	var err error
	p.handedOver = slices.DeleteFunc(p.handedOver, func(h state.Handed) bool {
		if err != nil || !p.handedTaken(h) {
			return false
		}
		err = p.part.DropHanded(h)
		return err == nil
	})
	return err
}
