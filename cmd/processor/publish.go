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
	Files   []string `arg:"" name:"file" help:"Event files; - reads standard input."`
	Wait    bool     `help:"Wait until the processor has decided every event, and report rejections."`
	NoCheck bool     `name:"no-check" help:"Also send invalid events; the processor rejects them."`
}

// Help shows the command used.
func (publishCmd) Help() string {
	return `An event file has one event per line: an object with the type and the fields of its data. Each event is checked before it is sent. An invalid line is reported with its position and skipped, and the exit status is 1. Records that precis itself publishes (summaries, invalidations, usage, rejections; "tail --json" writes them too) are skipped and counted. Publishing a file again is safe: the processor ignores events that it knows.

A valid event can still be rejected because of its thread's state (another message with the same id, an edit of an unknown message). With --wait the command reports these with their lines and exits with 1. An edit that still waits for its message is not decided.

Examples:

    processor publish session.jsonl
    processor publish session.jsonl --wait
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
	Rejected  *int64  `json:"rejected"` // null without --wait: not known
	LastSeq   uint64  `json:"last_seq"` // the last event's sequence in EVENTS; 0: none was published
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
		out, err := events.NewPublisher(s.conn, events.PublisherOptions{Warn: a.warnOnce(), Unchecked: c.NoCheck})
		if err != nil {
			return unreachable("publish: %w", err)
		}
		job := &publishing{app: a, out: out, threads: map[string]bool{}, progress: newProgress(a, c.Files)}
		if c.Wait {
			if job.verdicts, err = followVerdicts(ctx, s); err != nil {
				return errors.Join(err, out.Close(ctx))
			}
			defer job.verdicts.close()
		}
		begun := time.Now()
		err = job.files(ctx, c.Files)
		err = errors.Join(err, job.close(ctx))
		if err == nil {
			err = job.decided(ctx)
		}
		job.progress.done()
		job.counts.Seconds = time.Since(begun).Seconds()
		return c.finish(a, job, err)
	})
}

// hasStreams finds out early that no stream takes events. It asks for SUMMARIES first: it is where EVENTS is, and
// agents may ask about it.
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
		return wrong("%s could not be published", counted(job.counts.Broken, "line"))
	case job.counts.Rejected != nil && *job.counts.Rejected > 0:
		return wrong("the processor rejected %s", counted(*job.counts.Rejected, "event"))
	}
	return nil
}

func (n publishCounts) String() string {
	text := fmt.Sprintf("%s of %s from %s published in %.1fs", counted(n.Published, "event"), counted(n.Threads, "thread"),
		counted(n.Files, "file"), n.Seconds)
	if n.LastSeq > 0 {
		text += fmt.Sprintf(", the last as EVENTS %d", n.LastSeq)
	}
	for _, part := range []struct {
		n    int64
		text string
	}{
		{n.Skipped, counted(n.Skipped, "record") + " of precis skipped"},
		{n.Broken, counted(n.Broken, "broken line")},
		{n.rejected(), counted(n.rejected(), "event") + " rejected"},
	} {
		if part.n > 0 {
			text += ", " + part.text
		}
	}
	return text
}

func (n publishCounts) rejected() int64 {
	if n.Rejected == nil {
		return 0
	}
	return *n.Rejected
}
