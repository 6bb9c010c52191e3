package processor

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"precis/internal/thread"
	"precis/state"
)

// commitsAhead is how many batches of a partition may wait for the disk while the lane fills the next one. The disk
// then syncs what all partitions have ready at once, and no lane stands still for it: one that does holds up the
// others, whose batches become small and their syncs many.
const commitsAhead = 4

// commit is an applied batch, and what follows once it is durable.
type commit struct {
	applied *state.Applied
	jobs    []*thread.Job
	meta    state.Meta
	events  int
	tell    []func()
	began   time.Time
	spans   []trace.SpanContext // of its events, those that are recorded
}

// start runs the steps in one goroutine, and waits for the disk in another. end returns when the latter has nothing
// left to wait for; no commit may come meanwhile.
func (p *partition) start() (end func()) {
	commits, done := make(chan commit, commitsAhead), make(chan struct{})
	p.commits = commits
	go p.worker.run()
	go func() {
		defer close(done)
		for c := range commits {
			p.settled(c)
		}
	}()
	return func() {
		close(p.worker.quit) // a stuck step ends by itself
		p.commits = nil
		close(commits)
		<-done
	}
}

// follow does what follows from a batch, in the order of the batches.
func (p *partition) follow(c commit) error {
	if p.commits != nil {
		p.commits <- c
		return nil
	}
	p.settled(c)
	return p.commitFailure()
}

// settled waits until a batch is durable. After one that failed, nothing follows from any batch.
func (p *partition) settled(c commit) {
	err := p.failpoint(FailSeen, p.id)
	if werr := c.applied.Wait(); err == nil {
		err = werr
	}
	if p.commitFailure() != nil {
		return
	}
	if err == nil {
		err = p.durable(c)
	}
	if err != nil {
		p.broken.Store(&err)
		p.fail(err)
	}
}

// commitFailure is why a batch did not become durable, or why what follows from it failed.
func (p *partition) commitFailure() error {
	if err := p.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// durable does what must wait until a batch is durable: it publishes decisions, starts jobs and notifies waiters.
func (p *partition) durable(c commit) error {
	now := p.now()
	p.metrics.commit(p.id, c.events, now.Sub(c.began), c.meta.Position)
	p.traces.Committed(c.spans, c.events, c.began, now)
	if err := p.failpoint(FailCommitted, p.id); err != nil {
		return err
	}
	p.outbox.add(c.applied.Decided) // before the position: a waiter for that finds the rows
	p.stands.Store(&c.meta)
	p.position.set(c.meta.Position)
	p.desk.take(c.jobs) // before the waiters are notified: they may end the jobs at once
	for _, tell := range c.tell {
		tell()
	}
	return nil
}
