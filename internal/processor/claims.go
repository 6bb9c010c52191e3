package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

// claimTries is how often a claim is made in vain, since other records came in between, before it counts as a failure.
const claimTries = 5

// claims are the claims of one partition. Every record of it is published on condition that the processor's claim is the
// last message of its subject: what another processor, or this one before an answer was lost, has in flight is stored in front of
// a new claim, or refused.
type claims struct {
	owner    string
	pub      *broker.Publisher
	chain    recovery.OwnChain
	next     func() (events.Claimed, error) // without its head
	at       func() uint64                  // the EVENTS sequence at which a claim takes effect; nil at a start
	now      func() time.Time
	together bool // a cluster's server takes one message at a time that depends on the claim, or one batch

	own       state.Own // the end of the partition's own chain
	effective uint64    // at which its last record took effect
	seq       uint64    // of the claim in force
	last      uint64    // of SUMMARIES: up to here everything of the partition is known
}

// published notes a row that SUMMARIES has stored at a sequence; 0: in front of the claim.
func (c *claims) published(row *state.Outgoing, seq uint64) {
	c.last = max(c.last, seq)
	var head events.Head
	if seq > 0 && row.Type == events.ConfigApplied && json.Unmarshal(row.Data, &head) == nil {
		c.own, c.effective = state.Own{Seq: seq, ChainSeq: head.ChainSeq, Chain: head.Chain}, head.EffectiveSeq
	}
}

// ours reports whether a record that continues the chain is this processor's: only the owner of the last claim
// writes there.
func (c *claims) ours(m broker.Stored, e recovery.Entry) error {
	if owner := recovery.OwnerOf(m, e); e.Type == events.PartitionClaimed && owner != c.owner {
		return recovery.TakenOver(e.Partition, owner, m.Seq)
	}
	c.effective = e.EffectiveSeq
	return nil
}

// claim claims the partition again, and returns the claim. It fails with ErrOtherWriter if another processor has.
func (c *claims) claim(ctx context.Context) (*state.Outgoing, error) {
	var last error
	for range claimTries {
		end, at, err := c.chain.Follow(ctx, c.own, c.ours)
		if errors.Is(err, ErrOtherWriter) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", broker.ErrTransient, err)
		}
		c.own = end
		claim, ack, err := c.publish(ctx, at)
		if err != nil {
			return nil, err
		}
		if last = ack.Err; last == nil {
			return claim, nil
		}
		if !errors.Is(last, broker.ErrWrongLastSequence) {
			return nil, fmt.Errorf("claim partition %d: %w", c.chain.Partition, last)
		}
	}
	return nil, fmt.Errorf("%w: claim partition %d: %w", broker.ErrTransient, c.chain.Partition, last)
}

// publish publishes a claim as the next message on the partition's own subjects behind the sequence after.
func (c *claims) publish(ctx context.Context, after uint64) (*state.Outgoing, broker.Ack, error) {
	rec, err := c.next()
	if err != nil {
		return nil, broker.Ack{}, err
	}
	effective := c.effective
	if c.at != nil {
		effective = max(effective, c.at())
	}
	row, end, err := recovery.NewClaim(rec, c.chain.Partition, c.own, effective, c.now())
	if err != nil {
		return nil, broker.Ack{}, err
	}
	msg := &nats.Msg{Subject: row.Subject, Data: row.Data, Header: recovery.Header(c.chain.Partition, row)}
	recovery.Expect(msg, recovery.OwnRecords(c.chain.Partition), after)
	ack := c.pub.PublishBatch(ctx, []*nats.Msg{msg})[0]
	if ack.Err == nil && ack.Duplicate { // of a message that is another one, or gone: ours can't be there
		msg.Header.Del(nats.MsgIdHdr)
		ack = c.pub.PublishBatch(ctx, []*nats.Msg{msg})[0]
	}
	if ack.Err == nil {
		end.Seq = ack.Seq
		c.own, c.effective, c.seq = end, effective, ack.Seq
	}
	return row, ack, nil
}

// claim claims partitions, and reads what has come in front of the claims since the tail was read. A claim whose answer is
// lost is made again, and so is one that another record has come in front of.
func (p *Processor) claim(ctx context.Context, t *recovery.Tail, parts []*partition) error {
	for try := 1; ; try++ {
		claimed := p.claimAll(ctx, t, parts)
		again := errors.Is(claimed, ErrOtherWriter) || errors.Is(claimed, broker.ErrTransient)
		if claimed != nil && (!again || try == claimTries) {
			return claimed
		}
		if err := t.Read(ctx, p.summaries, p.rejected); err != nil {
			return err
		}
		if claimed == nil {
			break
		}
	}
	for _, part := range parts {
		if own := part.part.Meta().Own; own.Seq != part.outbox.claims.seq {
			return recovery.TakenOver(part.id, t.Owner(part.id), own.Seq)
		}
	}
	return nil
}

func (p *Processor) claimAll(ctx context.Context, t *recovery.Tail, parts []*partition) error {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		c := &part.outbox.claims
		if c.seq > 0 {
			continue
		}
		rows, err := part.part.Outbox() // the outbox has none of them yet
		if err != nil {
			return err
		}
		c.own, c.effective = part.part.Meta().Own, max(t.Effective(part.id), claimedAt(part.last, rows))
		wg.Go(func() {
			if _, errs[i] = c.claim(ctx); errs[i] != nil {
				return
			}
			c.last = c.seq
			errs[i] = p.opts.Failpoint(FailClaimed, part.id)
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if errors.Is(err, ErrOtherWriter) {
		err = fmt.Errorf("%w; if it has ended, move the store (state in the data directory) away: it is rebuilt from the log", err)
	}
	return err
}
