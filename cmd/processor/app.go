package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"precis/state"
)

// app is what every command is given of the world.
type app struct {
	stdin  io.Reader
	stdout *results
	stderr io.Writer // what could act on a terminal is escaped
	// terminal is standard error as it is: for what writes control characters of its own, a progress bar or colours, and lets none
	// of another origin pass.
	terminal io.Writer
	env      []string
	// watched is true if standard error is a terminal: progress may be shown.
	watched bool
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	terminal := &lockedWriter{to: stderr}
	return &app{
		stdin: stdin, stdout: &results{Writer: stdout}, stderr: inertWriter{terminal}, terminal: terminal,
		env: os.Environ(), watched: isTerminal(stderr),
	}
}

// runner is a command.
type runner interface {
	Run(ctx context.Context, a *app) error
}

// printf prints a result.
func (a *app) printf(format string, args ...any) {
	fmt.Fprintf(a.stdout, format, args...)
}

// results is standard output. Everything that a command prints goes through it: what could act on a terminal is
// escaped, whatever its origin. It remembers a failed write: a result that was not printed is not a success.
type results struct {
	io.Writer
	raw  bool   // the command writes control characters of its own, or bytes that are not for a terminal
	tail []byte // the beginning of a character whose end has not been written yet
	err  error
}

func (r *results) Write(p []byte) (int, error) {
	safe := p
	if !r.raw {
		safe, r.tail = inert(append(r.tail, p...))
	}
	_, err := r.Writer.Write(safe)
	if r.err == nil {
		r.err = err
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// inertWriter escapes what could act on a terminal. What is written at once is whole: a note, or a line of a log.
type inertWriter struct{ to io.Writer }

func (w inertWriter) Write(p []byte) (int, error) {
	safe, tail := inert(p)
	for _, b := range tail {
		safe = fmt.Appendf(safe, `\x%02x`, b)
	}
	if _, err := w.to.Write(safe); err != nil {
		return 0, err
	}
	return len(p), nil
}

// lockedWriter lets the connection's callbacks write beside the command.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// note tells what is no result.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, format+"\n", args...)
}

// warnOnce tells warnings, but not the same one again and again while something is tried again.
func (a *app) warnOnce() func(error) {
	var last atomic.Pointer[string]
	return func(err error) {
		text := err.Error()
		if before := last.Swap(&text); before == nil || *before != text {
			a.note("processor: %s, trying again", text)
		}
	}
}

// report tells an error and returns the exit status.
func (a *app) report(err error) int {
	if unwritten := a.stdout.err; unwritten != nil && (err == nil || errors.Is(err, unwritten)) {
		err = unreachable("write: %w", unwritten)
	}
	if err == nil {
		return exitDone
	}
	a.note("processor: %v", err)
	switch {
	case errors.Is(err, state.ErrDamaged):
		a.note("The store is damaged: %s.", moveAway)
	case errors.Is(err, state.ErrFormat):
		a.note("The store was made by another version of precis: start that one, or %s.", moveAway)
	}
	return statusOf(err)
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// getenv reads a variable of the program's own environment.
func (a *app) getenv(name string) string {
	for _, entry := range a.env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// json prints a result as one line of JSON.
func (a *app) json(value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("a result has no JSON: %v", err))
	}
	a.printf("%s\n", data)
}

// progress shows how much of the files is read, on a terminal only.
type progress struct {
	bar *progressbar.ProgressBar
}

// newProgress counts bytes, since the number of lines is unknown until the file is read.
func newProgress(a *app, files []string) *progress {
	if !a.watched {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions64(totalSize(files),
		progressbar.OptionSetWriter(a.terminal), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription("publishing"), progressbar.OptionClearOnFinish())}
}

// totalSize is the files' size in bytes; -1 is unknown.
func totalSize(files []string) int64 {
	var total int64
	for _, name := range files {
		info, err := os.Stat(name)
		if name == "-" || err != nil {
			return -1
		}
		total += info.Size()
	}
	return total
}

func (p *progress) reader(in io.Reader) io.Reader {
	if p.bar == nil {
		return in
	}
	return io.TeeReader(in, p.bar)
}

// clear makes room for a message.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear() // only looks depend on it
	}
}

func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// newLogProgress shows how much of a stream is read, in its sequences.
func newLogProgress(a *app, what string) *progress {
	if !a.watched {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions64(-1, progressbar.OptionSetWriter(a.terminal),
		progressbar.OptionShowCount(), progressbar.OptionSetItsString("events"),
		progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish())}
}

// reached moves the bar to a sequence.
func (p *progress) reached(seq, last uint64) {
	if p.bar == nil {
		return
	}
	p.bar.ChangeMax64(int64(last))
	_ = p.bar.Set64(int64(seq)) // only looks depend on it
}
