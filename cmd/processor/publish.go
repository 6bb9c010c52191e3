package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
)

// publishCmd publishes event files.
type publishCmd struct {
	serverFlags
	Files []string `arg:"" name:"file" help:"Event files; - is standard input."`
}

// Help shows the command used.
func (publishCmd) Help() string {
	return `An event file has one event a line: its type and its data's fields in one object. A line that can't be published is told with its place and left out, the rest goes on, and the exit status is 1. What precis publishes itself (summaries, invalidations, usage, rejections), as "tail --json" writes it too, is skipped and counted. To publish a file again is safe: the processor knows what it has seen.

Examples:

    processor publish session.jsonl
    my-agent --events | processor publish -
    processor tail --json --from start --until-caught-up | processor publish - --nats nats://other:4222`
}

// publishCounts is what became of the lines.
type publishCounts struct {
	Files     int     `json:"files"`
	Published int64   `json:"published"`
	Skipped   int64   `json:"skipped"` // records of precis itself, as "tail --json" writes them
	Broken    int64   `json:"broken"`
	Unsent    int64   `json:"unsent"`
	Threads   int     `json:"threads"`
	Seconds   float64 `json:"seconds"`
}

// Run publishes the files one after the other, in the order of their lines.
func (c *publishCmd) Run(ctx context.Context, a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.withServer(ctx, a, func(ctx context.Context, s *server) error {
		if err := s.hasStreams(ctx); err != nil {
			return err
		}
		out, err := events.NewPublisher(s.conn, events.PublisherOptions{Warn: a.warnOnce()})
		if err != nil {
			return unreachable("publish: %w", err)
		}
		job := &publishing{app: a, out: out, threads: map[string]bool{}, progress: newProgress(a, c.Files)}
		begun := time.Now()
		err = job.files(ctx, c.Files)
		err = errors.Join(err, job.close(ctx))
		job.progress.done()
		job.counts.Seconds = time.Since(begun).Seconds()
		return c.finish(a, job, err)
	})
}

// hasStreams tells early that nobody listens. SUMMARIES is asked for first: it stands where EVENTS does as a
// rule, and agents may ask about it.
func (s *server) hasStreams(ctx context.Context) error {
	_, err := s.js.Stream(ctx, broker.StreamSummaries)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = s.js.Stream(ctx, broker.StreamEvents)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		return serverError("open EVENTS", err)
	}
	return nil
}

// check finds a misspelt name before anything is published.
func (c *publishCmd) check() error {
	for _, name := range c.Files {
		if name == "-" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return usage("%w", err)
		}
		if info.IsDir() {
			return usage("%s is a directory; name its files", name)
		}
	}
	return nil
}

func (c *publishCmd) finish(a *app, job *publishing, err error) error {
	job.counts.Threads = len(job.threads)
	if c.JSON {
		a.json(job.counts)
	} else {
		a.printf("%s\n", job.counts)
	}
	switch {
	case err != nil:
		return unreachable("%w\nPublish the files again to go on: what has arrived is not counted twice", err)
	case job.counts.Broken > 0:
		return wrong("%s lines could not be published", grouped(job.counts.Broken))
	}
	return nil
}

func (n publishCounts) String() string {
	return fmt.Sprintf("%s events of %s threads from %d files published in %.1fs, %s records of precis skipped, %s broken lines",
		grouped(n.Published), grouped(int64(n.Threads)), n.Files, n.Seconds, grouped(n.Skipped), grouped(n.Broken))
}
