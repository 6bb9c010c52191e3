package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/jobs"
	"precis/internal/thread"
	"precis/internal/tracing"
	"precis/state"
	"precis/summarize"
)

// maxJobs bounds the jobs of all partitions that run at once. Providers have limits of their own; this one bounds
// memory.
const maxJobs = 64

// desk passes one partition's jobs to the runner, and their results back. A job in the queue is no more than its id;
// the store has the rest.
type desk struct {
	part   *partition
	runner func() (runner *jobs.Runner, done func()) // of the configuration in force
	slots  chan struct{}                             // shared by all partitions
	view   state.View
	log    zerolog.Logger
	traces *tracing.Contexts

	wg   sync.WaitGroup
	more chan struct{} // capacity 1: the queue has grown

	mu      sync.Mutex
	running map[string]bool // taken up and not ended, by summary
	queue   []jobRef
}

type jobRef struct{ thread, summary string }

// take queues durable jobs that are not under way.
func (d *desk) take(list []*thread.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, job := range list {
		if d.running[job.ID()] {
			continue
		}
		d.running[job.ID()] = true
		d.queue = append(d.queue, jobRef{*job.Started.ThreadID, job.ID()})
		select {
		case d.more <- struct{}{}:
		default:
		}
	}
}

// ended forgets a job that is no longer under way; it may be taken again.
func (d *desk) ended(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, id)
}

// pop takes the next job from the queue; ok is false if there is none.
func (d *desk) pop() (ref jobRef, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return ref, false
	}
	ref, d.queue = d.queue[0], d.queue[1:]
	return ref, true
}

// resume returns the jobs of the previous process, and records the calls whose answers it lost.
func (d *desk) resume() ([]*thread.Job, error) {
	list, err := d.part.part.Jobs()
	if err != nil {
		return nil, err
	}
	for _, job := range list {
		if err := d.part.fold.Lost(*job.Started.ThreadID, job.ID(), d.part.now()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// start works on the queue until ctx ends.
func (d *desk) start(ctx context.Context) {
	d.wg.Go(func() {
		for ctx.Err() == nil {
			ref, ok := d.pop()
			if !ok {
				select {
				case <-d.more:
				case <-ctx.Done():
				}
				continue
			}
			select {
			case d.slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			d.wg.Go(func() {
				defer func() { <-d.slots }()
				d.run(ctx, ref.thread, ref.summary)
			})
		}
	})
}

// idle reports whether every job has ended; that may not be durable yet.
func (d *desk) idle() (bool, error) {
	list, err := d.view.Jobs()
	return len(list) == 0, err
}

// stopped returns a channel that is closed when every job has returned.
func (d *desk) stopped() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.wg.Wait()
	}()
	return done
}

// run runs one job from start to end.
func (d *desk) run(ctx context.Context, name, id string) {
	job, p := d.find(ctx, name, id)
	if job == nil {
		return
	}
	var res fold.Result
	span := d.traces.Job(job)
	ctx = span.Context(ctx)
	if !job.Superseded && p != nil {
		res = d.do(ctx, p, job)
	}
	d.settle(ctx, name, id, res)
	d.traces.JobEnded(span, job, res.Method, res.Model, howEnded(ctx, job, res))
}

// howEnded is why a job has no summary; empty if it has one.
func howEnded(ctx context.Context, job *thread.Job, res fold.Result) string {
	switch {
	case res.Failure != nil:
		return res.Failure.Code
	case job.Superseded:
		return events.FailedSuperseded
	case ctx.Err() != nil:
		return "interrupted"
	}
	return ""
}

// settle passes a job's result to the partition, and retries while what follows from it can't be read. A processor
// that is stopped meanwhile leaves the job to the next start.
func (d *desk) settle(ctx context.Context, name, id string, res fold.Result) {
	again(ctx, func(pause time.Duration) (done bool) {
		err := d.part.call(ctx, func() error { return d.settled(ctx, name, id, res) })
		if err == nil || fatal(err) || ctx.Err() != nil || errors.Is(err, errEnding) {
			return true
		}
		tracing.Log(ctx, d.log.Warn()).Err(err).Str("thread_id", name).Str("summary_id", id).Dur("retry_in", pause).Msg("job's end can't be decided now")
		return false
	})
}

// again calls work until it is done or ctx ends, with growing pauses.
func again(ctx context.Context, work func(next time.Duration) (done bool)) {
	for next := retryMin; !work(next); next = min(2*next, retryMax) {
		if pause(ctx, next) != nil {
			return
		}
	}
}

// settled is settle's turn. If the log can't be read for good, the job ends and nothing is decided again: the tool
// output stands in prompts as it is until it changes.
func (d *desk) settled(ctx context.Context, name, id string, res fold.Result) error {
	d.part.mustSync()
	err := d.part.fold.Settle(context.WithoutCancel(ctx), name, id, res, d.part.now())
	if err != nil && !fatal(err) && !jobs.Transient(err) {
		tracing.Log(ctx, d.log.Warn()).Err(err).Str("thread_id", name).Str("summary_id", id).Msg("a summary is not decided again")
		if err = d.part.fold.Finish(name, id, res, d.part.now()); err != nil {
			err = fmt.Errorf("%w: %w", fold.ErrHalfDone, err)
		}
	}
	if err == nil {
		d.ended(id)
	}
	return err
}

// do runs a job, and retries while its sources can't be read.
func (d *desk) do(ctx context.Context, p *summarize.Policy, job *thread.Job) (res fold.Result) {
	again(ctx, func(pause time.Duration) (done bool) {
		runner, free := d.runner()
		defer free()
		var err error
		res, err = runner.Run(ctx, d.view, p, job, d.begin(*job.Started.ThreadID, job.ID()))
		if err == nil || ctx.Err() != nil || errors.Is(err, jobs.ErrInterrupted) {
			return true
		}
		log := tracing.Log(ctx, d.log.Warn()).Err(err).Str("thread_id", *job.Started.ThreadID).Str("summary_id", job.ID())
		if done = !jobs.Transient(err); done {
			log.Msg("job can't be done")
			res.Failure = &fold.Failure{Code: events.FailedUnavailable, Message: err.Error(), Action: events.ActionTrim}
			return done
		}
		log.Dur("retry_in", pause).Msg("job's sources can't be read now")
		return done
	})
	return res
}

// find reads a job's current state. Its result is committed only if it still fits then. Of a thread that is parked the job has ended; that is known when its rows can
// be read.
func (d *desk) find(ctx context.Context, name, id string) (job *thread.Job, p *summarize.Policy) {
	again(ctx, func(time.Duration) (done bool) {
		job, p, done = d.look(ctx, name, id)
		return done
	})
	return job, p
}

// look is a try of find.
func (d *desk) look(ctx context.Context, name, id string) (job *thread.Job, p *summarize.Policy, done bool) {
	type found struct {
		job  *thread.Job
		p    *summarize.Policy
		done bool
	}
	answer := make(chan found, 1) // the turn may run after ctx has ended
	d.part.turn(func() error {
		job, p, err := d.part.fold.Job(name, id)
		if err != nil && !fatal(err) && (errors.Is(err, state.ErrParked) || errors.Is(err, state.ErrLost)) {
			d.part.rowsLost(err)
			answer <- found{}
			return nil
		}
		if job == nil {
			d.ended(id)
		}
		answer <- found{job, p, true}
		return err
	})
	select {
	case f := <-answer:
		return f.job, f.p, f.done
	case <-ctx.Done():
		return nil, nil, true
	}
}

// begin makes a job's calls durable before the last of them is sent: one commit of the lane, for all calls and events
// that are there by then.
func (d *desk) begin(name, id string) jobs.Begin {
	return func(ctx context.Context, calls []events.UsageRecord) error {
		err := d.part.call(ctx, func() error {
			d.part.mustSync()
			return d.part.fold.Call(name, id, calls)
		})
		if err == nil {
			err = d.part.failpoint(FailCalling, d.part.id)
		}
		return err
	}
}
