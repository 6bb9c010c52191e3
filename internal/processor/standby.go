package processor

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/cluster"
	"precis/internal/fold"
	"precis/internal/recovery"
	"precis/internal/standby"
	"precis/state"
)

const (
	// followEvery is how often a processor looks whether what it follows has gone on.
	followEvery = 250 * time.Millisecond
	// followPause is how long it waits where the server does not answer.
	followPause = 2 * time.Second
)

// newFollower returns what follows partitions of other processors of the cluster.
func (p *Processor) newFollower() *standby.Follower {
	return standby.New(standby.Options{
		Store: p.store, Log: p.readers(), Strays: p.strays(), Open: p.openFollowed, Same: p.stillSame, Drop: p.dropRows, Config: p.folds.Load, Home: p.home,
		Enter: func(id int) bool { return p.shares.places[id].TryLock() },
		Leave: func(id int) { p.shares.places[id].Unlock() },
		Taken: p.taken, Orphan: p.orphan, Folded: func(n int) { p.metrics.followed.Add(float64(n)) }, Now: p.opts.Now, Logger: p.log,
	})
}

// stillSame verifies that the streams hold what rows were made from.
func (p *Processor) stillSame(ctx context.Context, metas []state.Meta) error {
	return recovery.CheckMarks(ctx, []state.Meta{recovery.Furthest(metas)}, p.readers())
}

// openFollowed opens the rows of a partition that another processor owns. Rows of other streams end the processor, as they end one that is
// alone.
func (p *Processor) openFollowed(ctx context.Context, id int) (st *state.Partition, f *fold.Fold, err error) {
	restored := false
	defer func() {
		switch {
		case !fatalStart(err):
		case restored:
			err = errors.Join(err, p.dropRows(id))
		default:
			p.fail(err)
		}
	}()
	if err := p.dropAgain(ctx, id); err != nil {
		return nil, nil, err
	}
	restored = p.restore(ctx, id)
	if err := p.checkMarks(ctx, []int{id}); err != nil {
		return nil, nil, err
	}
	at, err := p.streams(ctx)
	if err != nil {
		return nil, nil, err
	}
	if st, err = p.rows(id, at); err != nil {
		return nil, nil, err
	}
	st.Until(ctx.Done())
	f, err = fold.New(st, fold.Options{
		Log: p.reads(), First: at.events.First, MaxPayload: int(p.broker.Conn().MaxPayload()), Partitions: p.total(), Mask: p.mask, Home: p.home,
		Logger: p.log.With().Int("partition", id).Logger(),
	})
	return st, f, err
}

// orphan has the cluster keep all partitions together if this processor is to have one that it can't follow behind a fork of a thread of
// another one: unless it is to have that as well, and takes it, or has it already.
func (p *Processor) orphan(ctx context.Context, id, from int) {
	m := p.shares.member
	if v := m.View(); v.Self == "" || v.Planned[id] != v.Self || v.Planned[from] == v.Self {
		return
	}
	if err := m.Together(ctx); err != nil {
		p.log.Warn().Err(err).Msg(notTogether)
	}
}

// follow follows what the membership says, until ctx ends.
func (p *Processor) follow(ctx context.Context) {
	defer p.shares.follower.Close()
	every := time.NewTicker(followEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		for more := true; more && ctx.Err() == nil; {
			to := p.shares.member.View().Follow
			p.metrics.following.Set(float64(len(to)))
			var err error
			if more, err = p.shares.follower.Round(ctx, to); fatalStart(err) {
				p.fail(err)
				return
			}
			if err != nil {
				p.log.Warn().Err(err).Msg("partitions of other processors are not followed for now")
				_ = pause(ctx, followPause)
				more = false
			}
		}
	}
}

// report is what this processor tells the others of the cluster.
func (p *Processor) report() cluster.Report {
	r := cluster.Report{Recorded: map[int]uint64{}, Near: p.shares.follower.Near()}
	for _, part := range p.parts() {
		if !part.rivaled.Load() {
			r.Recorded[part.id] = part.recorded()
		}
	}
	return r
}

// recorded is a sequence of EVENTS up to which everything that was decided is on record.
func (p *partition) recorded() uint64 {
	position := p.position.now() // first: what is decided up to it is in the outbox, or was
	p.outbox.mu.Lock()
	defer p.outbox.mu.Unlock()
	if len(p.outbox.rows) == 0 {
		return position
	}
	return min(position, max(decidedAt(p.outbox.rows[0]), 1)-1)
}

// decidedAt is the EVENTS sequence at which a row was decided, or an earlier one. Rows wait in the order of their decisions.
func decidedAt(row *state.Outgoing) uint64 {
	if !row.Guarded {
		_, seq, _ := recovery.RejectedEvent(row.ID)
		return seq // of an edit that waited: before the event that ended its wait
	}
	var head events.Head
	if err := json.Unmarshal(row.Data, &head); err != nil {
		return 0
	}
	return head.EffectiveSeq
}
