package watch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"precis/events"
	"precis/internal/sessions"
)

// headBytes is how much of a file's first line tells it from another file.
const headBytes = 1024

// file is one session file.
type file struct {
	path     string
	lines    *sessions.Lines // nil: not mapped since the start, or forgotten
	info     os.FileInfo     // of the last read
	head     string
	offset   int64 // behind the last line that was mapped
	last     int64 // before the last line that was mapped
	flushes  []int64
	waiting  []outgoing
	skipping bool      // in the middle of a line that is too long
	changed  time.Time // when the file was last written
	held     bool      // lines were mapped since the last flush
}

// outgoing is an event on its way, and where the line that completed it begins.
type outgoing struct {
	receipt *events.Receipt
	before  int64
	line    int
}

// stored is the offset up to which all events are stored.
func (f *file) stored() int64 {
	if len(f.waiting) > 0 {
		return f.waiting[0].before
	}
	return f.offset
}

// mark is what a later run has to know. An end of an answer whose event is not stored is found again.
func (f *file) mark() Mark {
	stored := f.stored()
	flushes := slices.DeleteFunc(slices.Clone(f.flushes), func(at int64) bool { return at > stored })
	return Mark{Offset: stored, Flushes: flushes, Open: f.held, Head: f.head}
}

// restart forgets all that was read.
func (f *file) restart() {
	f.lines, f.offset, f.last, f.flushes, f.waiting, f.skipping, f.held, f.head = nil, 0, 0, nil, nil, false, false, ""
}

// idle reports whether nothing of the file is in memory that its beginning does not give again.
func (f *file) idle() bool { return len(f.waiting) == 0 && !f.held && !f.skipping }

// headOf is the digest of a file's first line, up to headBytes; empty while the line is shorter and not complete.
func headOf(in io.ReaderAt) (string, error) {
	head := make([]byte, headBytes)
	n, err := in.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line, _, complete := bytes.Cut(head[:n], []byte("\n"))
	if !complete && n < headBytes {
		return "", nil
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:16]), nil
}

// read maps what is new in a file.
func (w *Watcher) read(ctx context.Context, f *file) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err // gone: it is left out until it comes again
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	head, err := headOf(in)
	if err != nil {
		return err
	}
	other := f.info != nil && !os.SameFile(f.info, info) || f.head != "" && head != f.head || info.Size() < f.offset
	f.info, f.changed = info, info.ModTime()
	if other {
		f.restart()
		w.opts.Note("%s is another file, or shorter than before: reading it from the beginning", f.path)
	}
	f.head = head
	if info.Size() == f.offset && (f.lines != nil || !f.held) {
		return nil
	}
	if err := w.mapAgain(in, f); err != nil {
		return err
	}
	return w.publishNew(ctx, in, f)
}

// mapAgain maps the lines again whose events are stored, without publishing them.
func (w *Watcher) mapAgain(in io.ReadSeeker, f *file) (err error) {
	if f.lines != nil {
		return nil
	}
	f.lines, err = sessions.NewLines(w.opts.Format, sessions.Options{Name: f.path, Agent: w.opts.Agent})
	if err != nil {
		return err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	buffer := bufio.NewReaderSize(io.LimitReader(in, f.offset), 256<<10)
	var at int64
	for at < f.offset {
		line, n, long, err := nextLine(buffer)
		if err != nil {
			break // it was shorter: the rest is published again
		}
		at += n
		if long || len(line) == 0 {
			f.lines.Skip()
		} else {
			_, _ = f.lines.Push(line) // its fault was reported when it was new
		}
		if slices.Contains(f.flushes, at) {
			f.lines.Flush()
		}
	}
	f.offset = at
	return nil
}

// publishNew maps and publishes complete lines behind the offset.
func (w *Watcher) publishNew(ctx context.Context, in io.ReadSeeker, f *file) error {
	if _, err := in.Seek(f.offset, io.SeekStart); err != nil {
		return err
	}
	buffer := bufio.NewReaderSize(in, 256<<10)
	for {
		line, n, long, err := nextLine(buffer)
		if errors.Is(err, io.EOF) {
			f.skipping = f.skipping || long
			if long { // its end has not been written yet
				f.offset += n
			}
			return nil
		}
		if err != nil {
			return err
		}
		before := f.offset
		f.last = before
		f.offset += n
		if long || f.skipping || len(line) == 0 {
			if f.lines.Skip(); long || f.skipping {
				w.broken(f, f.lines.Line(), events.ErrLineTooLong)
			}
			f.skipping = false
			continue
		}
		list, err := f.lines.Push(line)
		if err != nil {
			w.broken(f, f.lines.Line(), err)
			continue
		}
		f.held = true
		if err := w.publish(ctx, f, list, before); err != nil {
			f.offset = before
			f.lines = nil
			return err
		}
	}
}

// nextLine returns the next complete line, without surrounding white space, and its length in the file. It is nil, and long is true,
// where the line is over the limit. What no line break ends is io.EOF.
func nextLine(in *bufio.Reader) (line []byte, n int64, long bool, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		n += int64(len(piece))
		if n <= events.MaxLineBytes {
			line = append(line, piece...)
		} else {
			line, long = nil, true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, n, long, err
		}
		return bytes.Trim(bytes.TrimPrefix(line, []byte("\uFEFF")), " \t\r\n"), n, long, nil
	}
}

// publish gives events to the publisher, which may wait for the server.
func (w *Watcher) publish(ctx context.Context, f *file, list []events.FileEvent, before int64) error {
	for _, e := range list {
		receipt, err := w.opts.Publisher.Publish(ctx, e.Type, e.Thread, e.Data)
		var reject *events.RejectError
		switch {
		case errors.As(err, &reject), errors.Is(err, events.ErrTooLarge), errors.Is(err, events.ErrThreadID):
			w.broken(f, e.Line, err)
			continue
		case err != nil:
			return fmt.Errorf("publish %s: %w", f.path, err)
		}
		f.waiting = append(f.waiting, outgoing{receipt: receipt, before: before, line: e.Line})
		w.count(f, e)
	}
	return nil
}

// flush ends an answer of a file that has been quiet.
func (w *Watcher) flush(ctx context.Context, f *file) error {
	if !f.held || f.lines == nil {
		return nil
	}
	f.held = false
	list := f.lines.Flush()
	if len(list) == 0 {
		return nil
	}
	f.flushes = append(f.flushes, f.offset)
	return w.publish(ctx, f, list, f.last)
}

// settle notes what is stored by now.
func (w *Watcher) settle(f *file) {
	for _, o := range f.waiting {
		select {
		case <-o.receipt.Done():
			_, err := o.receipt.Wait(context.Background()) // it is done
			switch {
			case errors.Is(err, events.ErrRefused):
				w.broken(f, o.line, err)
			case err != nil: // given up with the publisher: the next run publishes it
				return
			}
			f.waiting = f.waiting[1:]
		default:
			return
		}
	}
}
