package processor

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"precis/events"
	"precis/handlers"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/recovery"
	"precis/state"
)

const (
	// bulkEvents is the number of events in one batch of a bulk: a thread's header is written once per batch, and each
	// batch becomes a table.
	bulkEvents = 16384
	// bulkMemory is the memory in bytes that the process may hold meanwhile, without Pebble's memtables and block
	// cache, which are not on the heap: above it garbage is collected more often. With an embedded server there is no
	// such bound, since the server's share is unknown.
	bulkMemory = 352 << 20
	// bulkReserve is the part of the block cache, in bytes, that a bulk does without. Its batches become tables, so the
	// memtables that have room in the cache stay empty; what is left of it is 32 MiB.
	bulkReserve = 96 << 20
	// bulkEventBytes is the buffer for the rows of a short message.
	bulkEventBytes = 200
	// bulkEvery is how long a turn waits at most for its batch to fill.
	bulkEvery = time.Second
)

// bulk applies the log in bulk if much of it is pending: with an empty store, or after a long stop. No client waits
// for a single event then, so each partition's goroutine receives many at once and applies them in the same steps and
// batches, without the cost of a router and a lane. Temporary failures are left to the lanes, which continue after the
// last batch.
func (p *Processor) bulk(ctx context.Context, parts []*partition, behind catching) error {
	if behind.to-behind.from < p.opts.BulkFrom {
		return nil
	}
	atMost := int64(math.MaxInt64)
	if p.opts.Config.NATS.URL != "" {
		atMost = bulkMemory
		defer p.store.Reserve(bulkReserve)()
	}
	defer recovery.CollectLess(atMost)()
	if err := p.store.Flush(); err != nil { // what the start has written
		return err
	}
	reading, stop := p.untilEnd(ctx) // also if an outbox has failed
	defer stop()
	for _, part := range parts { // one that is given up meanwhile is not to wait for another one, which may wait for it
		go func() {
			select {
			case <-part.stopping:
				stop()
			case <-reading.Done():
			}
		}()
	}
	pile := make([]int, p.total()) // by partition; negative: none
	for i := range pile {
		pile[i] = slices.IndexFunc(parts, func(part *partition) bool { return part.id == i })
	}
	deal := recovery.NewDeal(len(parts), func(subject string) int { return pile[recovery.PartitionOf(subject, p.strays())] })
	deal.Before = func(m broker.Stored) int {
		from := p.forkedFrom(events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data})
		if from < 0 {
			return from
		}
		return pile[from]
	}
	share := recovery.Share(behind.to-behind.from, p.total())
	var reached place // all events up to here have been dealt
	scan := func(ctx context.Context) error {
		var read broker.Stored
		last := uint64(0)
		err := p.events.Watch(p.missing).Scan(ctx, behind.from+1, nil, func(m broker.Stored) error {
			read = m
			return deal.Give(ctx, m)
		}, func(_, end uint64) { last = end })
		if err == nil && read.Seq > 0 {
			reached = place{max(last, read.Seq), state.Mark(broker.MarkOf(read))} // the log may have grown meanwhile
		}
		return err
	}
	return p.bulkEnded(parts, deal.Run(reading, scan, func(ctx context.Context, i int) error {
		part := parts[i]
		if err := part.bulk(ctx, deal.Pile(i), share); err != nil {
			return err
		}
		// The lanes need not read everything since its last event again; unless ctx has ended, which may have kept the
		// partition's last hand from being dealt.
		if ctx.Err() == nil && reached.last > part.last {
			return part.flush(reached)
		}
		return nil
	}))
}

// bulkEnded is why the processor can't continue; nil if it can.
func (p *Processor) bulkEnded(parts []*partition, err error) error {
	for _, part := range parts {
		if part.failure != nil {
			return part.failure
		}
	}
	select {
	case <-p.stopping:
	default:
		if err != nil {
			p.log.Warn().Err(err).Msg("reading the log in bulk ended early, going on event by event")
		}
	}
	return nil
}

// bulk takes events in hands, and turns between them, in place of the lane.
func (p *partition) bulk(ctx context.Context, from <-chan []broker.Stored, events int) error {
	p.ingests = true
	p.part.Expect(min(bulkEventBytes*min(events, bulkEvents), p.bulkBytes))
	if err := p.part.Fill(events); err != nil {
		return err
	}
	defer func() {
		p.ingests = false
		p.part.Expect(0)
		_ = p.part.Fill(0) // which reads nothing
	}()
	every := time.NewTicker(bulkEvery)
	defer every.Stop()
	for {
		var err error
		select {
		case list, more := <-from:
			if !more {
				p.part.Expect(0) // no large batch follows this one
				return p.flush(p.here())
			}
			err = p.hand(ctx, list)
		case turn := <-p.turns:
			turn()
		case <-every.C:
			if len(p.committed) > 0 { // a caller waits
				err = p.flush(p.here())
			}
		}
		if err != nil {
			return errors.Join(err, p.flush(p.here())) // keep what is applied
		}
	}
}

func (p *partition) hand(ctx context.Context, list []broker.Stored) error {
	began := p.now()
	clock := func() time.Time { return began } // one reading per hand is precise enough for events that are far behind
	for _, m := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		for len(p.turns) > 0 {
			(<-p.turns)()
		}
		_, err := p.step(ctx, fold.Delivery{
			Seq: m.Seq, Time: m.Time, Raw: events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data},
		}, handlers.Of(m.Subject), clock)
		if err == nil && (p.applied >= bulkEvents || p.part.Weight() >= p.bulkBytes) {
			err = p.flush(p.here())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
