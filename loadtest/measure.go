package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// measure is one run. An error means that the run failed; errors of the processor are in the report.
func measure(ctx context.Context, o options, progress io.Writer) (r *report, err error) {
	url := o.NATS
	if url == "" {
		child, err := startProcessor(ctx, progress)
		if err != nil {
			return nil, err
		}
		defer child.stop()
		url = child.url
	}
	nc, err := connect(url)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	agents := newAgents(o)
	var all []*expectation
	for _, a := range agents {
		for _, t := range a.threads {
			all = append(all, t.expectation)
		}
	}
	follower, err := follow(ctx, nc, all, o.named)
	if err != nil {
		return nil, err
	}
	defer follower.stop()
	if o.begun != nil {
		close(o.begun)
	}

	start, count := time.Now(), &published{}
	fmt.Fprintf(progress, "publishing %d events of %d agents to %s, run %s\n", o.Events, o.Agents, url, o.Run)
	publishing, err := launchAll(ctx, url, o, agents, count)
	if err != nil {
		return nil, err
	}
	if o.faults != nil {
		select {
		case <-o.faults:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	want := sum(all)
	if err := settle(ctx, follower, want, o.Timeout, progress); err != nil {
		return nil, err
	}
	r = newReport(o, count, publishing, time.Since(start))
	r.Want = want
	r.BacklogPerSec = float64(r.Events) * workedOff(follower.createdSoFar(), start.Add(publishing), want.Summaries)
	wrong, err := compareThreads(ctx, nc, all, o.Timeout)
	if err != nil {
		return nil, err
	}
	astray, err := checkPrompts(ctx, nc, all)
	if err != nil {
		return nil, err
	}
	lost, err := count.ledger.lost(ctx, nc)
	if err != nil {
		return nil, err
	}
	// Only now: duplicate records may arrive late.
	r.judge(verify(all, follower), follower.tally(), wrong, astray, lost)
	return r, nil
}

func (r *report) judge(v verdict, got tally, wrong, astray, lost []string) {
	r.Created, r.Invalidated, r.Others = v.Created, v.Invalidated, got.others
	r.Twice, r.Missing, r.Rejected = v.Twice, v.Missing, got.rejected
	r.WrongThreads, r.WrongPrompts, r.Lost = len(wrong), len(astray), len(lost)
	r.Problems = slices.Concat(lost, v.problems, wrong, astray)
}
