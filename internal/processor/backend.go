package processor

import (
	"context"
	"time"

	"precis/internal/broker"
	"precis/internal/roster"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// The processor implements service.Backend.

// View implements service.Backend.
func (p *Processor) View(partition int) state.View { return p.store.View(partition) }

// Partitions implements service.Backend.
func (p *Processor) Partitions() int { return p.opts.Config.Partitions }

// ChildPartitions implements service.Backend.
func (p *Processor) ChildPartitions(parent string) []int { return p.store.ChildPartitions(parent) }

// Threads implements service.Backend.
func (p *Processor) Threads() *roster.Index { return p.threads }

// newThreads makes the index of threads, which reads none before it is asked.
func (p *Processor) newThreads() *roster.Index {
	return roster.New(roster.Options{
		Partitions: p.opts.Config.Partitions,
		Read: func(partition int, each func(*thread.Header) (bool, error)) error {
			snapshot := p.store.Snapshot(partition)
			defer snapshot.Close()
			return snapshot.HeadersAlone(each)
		},
		Policy: func(h *thread.Header) string {
			policy, _ := summarize.Resolve(p.config.Load().Policies, h.Policy, h.FirstAgentID, h.Thread)
			return policy.Name
		},
	})
}

// Snapshot implements service.Backend.
func (p *Processor) Snapshot(partition int) *state.Snapshot { return p.store.Snapshot(partition) }

// Policies implements service.Backend.
func (p *Processor) Policies() []summarize.Policy { return p.config.Load().Policies }

// Log implements service.Backend.
func (p *Processor) Log() *broker.LogReader { return p.events }

// CaughtUp implements service.Backend.
func (p *Processor) CaughtUp() bool { return p.ready.ready() }

// Holds implements service.Backend.
func (p *Processor) Holds(partition int, seq uint64) bool {
	part := p.part(partition)
	return part != nil && part.position.now() >= seq
}

// Wait implements service.Backend.
func (p *Processor) Wait(ctx context.Context, partition int, seq uint64) error {
	part := p.part(partition)
	if part == nil {
		return errElsewhere
	}
	return p.wait(ctx, part, seq)
}

// Durable implements service.Backend.
func (p *Processor) Durable(ctx context.Context, partition int) error {
	part := p.part(partition)
	if part == nil {
		return errElsewhere
	}
	return part.position.seen(ctx)
}

// Summarize implements service.Backend.
func (p *Processor) Summarize(ctx context.Context, partition int, name, kind string) (id string, err error) {
	part := p.part(partition)
	if part == nil {
		return "", errElsewhere
	}
	// Recompute what waits first, and stale summaries that the new one would build on, a few at a time: a lane must
	// not stand still for all of it.
	for more := true; more; {
		if more, err = part.renew(ctx, renewal{thread: name}); err != nil {
			return "", err
		}
	}
	for more := true; more; {
		if more, err = answer(ctx, part, func() (bool, error) { return part.fold.Freshen(ctx, name, part.now()) }); err != nil {
			return "", err
		}
	}
	for more := true; more; {
		id, err = answer(ctx, part, func() (id string, err error) {
			id, more, err = part.fold.Summarize(ctx, name, kind, part.now())
			return id, err
		})
		if err != nil {
			return "", err
		}
	}
	return id, nil
}

// Now implements service.Backend.
func (p *Processor) Now() time.Time { return p.opts.Now() }

// Renew implements service.Backend.
func (p *Processor) Renew(partition int, name string, expired []string) {
	if part := p.part(partition); part != nil {
		part.renewals.add(renewal{name, expired})
	}
}
