package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"precis/events"
)

// publishPatience is how long the server may take no event at all before it is given up.
const publishPatience = 2 * time.Minute

// stopPatience is how long it may take for what is on the way when the program is told to stop.
const stopPatience = 5 * time.Second

// publishing is one run over the files.
type publishing struct {
	app      *app
	out      *events.Publisher
	onTheWay []outgoing
	threads  map[string]bool
	progress *progress
	counts   publishCounts
	verdicts *verdicts // nil: nothing waits for the processor
	stored   []storedLine
}

// storedLine is a line whose event stands in EVENTS.
type storedLine struct {
	name string
	line int
	seq  uint64
}

// outgoing is a line whose event the publisher has accepted.
type outgoing struct {
	name    string
	line    int
	receipt *events.Receipt
}

func (p *publishing) files(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := p.file(ctx, name); err != nil {
			return err
		}
		p.counts.Files++
	}
	return nil
}

func (p *publishing) file(ctx context.Context, name string) error {
	in, err := p.open(ctx, name)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer in.Close()
	lines := events.NewFileReader(p.progress.reader(in))
	for {
		event, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("told to stop before the end of %s", name)
		case isReadError(err):
			return fmt.Errorf("read %s: %w", name, err)
		case err != nil:
			p.broken(name, err)
			continue
		}
		if err := p.publish(ctx, name, event); err != nil {
			return err
		}
	}
}

func (p *publishing) open(ctx context.Context, name string) (io.ReadCloser, error) {
	if name == "-" {
		return untilStopped(ctx, p.app.stdin), nil
	}
	return os.Open(name)
}

// untilStopped reads in until ctx ends: who writes to standard input may say nothing for hours. A read that waits then
// is left behind, and ends with its input or with the program.
func untilStopped(ctx context.Context, in io.Reader) io.ReadCloser {
	from, to := io.Pipe()
	stopped := context.AfterFunc(ctx, func() { _ = to.CloseWithError(ctx.Err()) })
	go func() {
		defer stopped()
		_, err := io.Copy(to, in)
		_ = to.CloseWithError(err)
	}()
	return from
}

// isReadError tells a failing disk, after which nothing more comes, from a line that is wrong.
func isReadError(err error) bool {
	var path *os.PathError
	return errors.As(err, &path)
}

func (p *publishing) publish(ctx context.Context, name string, event events.FileEvent) error {
	p.settle()
	if !event.Type.Incoming() { // precis makes its own again; a rejection's may have no thread
		p.counts.Skipped++
		return nil
	}
	if event.Thread == "" {
		p.broken(name, fmt.Errorf("line %d: %w", event.Line, events.ErrNoThread))
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, publishPatience)
	defer cancel()
	if p.verdicts != nil {
		if err := p.verdicts.begin(patient, event.Thread); err != nil {
			return err
		}
	}
	receipt, err := p.out.Publish(patient, event.Type, event.Thread, event.Data)
	switch {
	case isLinesFault(err):
		p.broken(name, fmt.Errorf("line %d: %w", event.Line, err))
		return nil
	case err != nil:
		return err
	}
	p.threads[event.Thread] = true
	p.onTheWay = append(p.onTheWay, outgoing{name: name, line: event.Line, receipt: receipt})
	return nil
}

// isLinesFault says whether err is about one line, and not the end of the run.
func isLinesFault(err error) bool {
	var reject *events.RejectError
	return errors.As(err, &reject) || errors.Is(err, events.ErrType) || errors.Is(err, events.ErrThreadID) || errors.Is(err, events.ErrTooLarge)
}

// settle counts the oldest events whose fate is known.
func (p *publishing) settle() {
	done := 0
	for _, o := range p.onTheWay {
		select {
		case <-o.receipt.Done():
			p.count(o)
			done++
			continue
		default:
		}
		break
	}
	p.onTheWay = p.onTheWay[done:]
}

func (p *publishing) count(o outgoing) {
	seq, err := o.receipt.Wait(context.Background()) // it is done
	switch {
	case err == nil:
		p.counts.Published++
		p.counts.LastSeq = max(p.counts.LastSeq, seq)
		if p.verdicts != nil {
			p.stored = append(p.stored, storedLine{name: o.name, line: o.line, seq: seq})
		}
	case errors.Is(err, events.ErrRefused):
		p.broken(o.name, fmt.Errorf("line %d: %w", o.line, err))
	default:
		p.counts.Unsent++
	}
}

// close waits until everything is stored. An event that the server won't take is a broken line, not the
// end; what is given up is told.
func (p *publishing) close(ctx context.Context) error {
	patience := publishPatience
	if ctx.Err() != nil {
		ctx, patience = context.WithoutCancel(ctx), stopPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := p.out.Close(ctx)
	p.settle()
	if p.counts.Unsent == 0 {
		return nil
	}
	return err
}

// decided waits for the processor where that is asked for, and reports what it rejected.
func (p *publishing) decided(ctx context.Context) error {
	if p.verdicts == nil {
		return nil
	}
	if err := p.verdicts.until(ctx, p.counts.LastSeq); err != nil {
		return err
	}
	p.counts.Rejected = new(int64)
	for _, line := range p.stored {
		if rejected := p.verdicts.of(line.seq); rejected != nil {
			*p.counts.Rejected++
			p.progress.clear()
			p.app.note("%s: line %d: rejected: %s: %s", line.name, line.line, rejected.Code, why(*rejected))
		}
	}
	return nil
}

// broken reports a line that is not published.
func (p *publishing) broken(name string, err error) {
	p.counts.Broken++
	p.progress.clear()
	p.app.note("%s: %s", name, printable(err.Error()))
}
