package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// App is what every command is given of the world.
type App struct {
	Stdin  io.Reader
	Stdout *Results
	Stderr io.Writer // what could act on a terminal is escaped
	// terminal is standard error as it is: for what writes control characters of its own, a progress bar or colours, and lets none
	// of another origin pass.
	Terminal io.Writer
	Env      []string
	// watched is true if standard error is a terminal: progress may be shown.
	Watched bool
}

// New is an App over streams and the environment of the process.
func New(stdin io.Reader, stdout, stderr io.Writer) *App {
	terminal := &lockedWriter{to: stderr}
	return &App{
		Stdin: stdin, Stdout: &Results{Writer: stdout}, Stderr: inertWriter{terminal}, Terminal: terminal,
		Env: os.Environ(), Watched: IsTerminal(stderr),
	}
}

// Runner is a command.
type Runner interface {
	Run(ctx context.Context, a *App) error
}

// Printf prints a result.
func (a *App) Printf(format string, args ...any) {
	fmt.Fprintf(a.Stdout, format, args...)
}

// Results is standard output. Everything that a command prints goes through it: what could act on a terminal is
// escaped, whatever its origin. It remembers a failed write: a result that was not printed is not a success.
type Results struct {
	io.Writer
	Raw  bool   // the command writes control characters of its own, or bytes that are not for a terminal
	tail []byte // the beginning of a character whose end has not been written yet
	err  error
}

// Write escapes and prints, and keeps the first error.
func (r *Results) Write(p []byte) (int, error) {
	safe := p
	if !r.Raw {
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

// Note writes a message that is not a result.
func (a *App) Note(format string, args ...any) {
	fmt.Fprintf(a.Stderr, format+"\n", args...)
}

// WarnOnce tells warnings, but not the same one again and again while something is tried again.
func (a *App) WarnOnce() func(error) {
	var last atomic.Pointer[string]
	return func(err error) {
		text := err.Error()
		if before := last.Swap(&text); before == nil || *before != text {
			a.Note("processor: %s, trying again", text)
		}
	}
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Getenv reads a variable of the program's own environment.
func (a *App) Getenv(name string) string {
	for _, entry := range a.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// JSON prints a result as one line of JSON.
func (a *App) JSON(value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("a result has no JSON: %v", err))
	}
	a.Printf("%s\n", data)
}

// Progress shows how much of the files is read, on a terminal only.
type Progress struct {
	bar *progressbar.ProgressBar
}

// NewProgress counts bytes, since the number of lines is unknown until the file is read.
func NewProgress(a *App, files []string) *Progress {
	if !a.Watched {
		return &Progress{}
	}
	return &Progress{bar: progressbar.NewOptions64(totalSize(files),
		progressbar.OptionSetWriter(a.Terminal), progressbar.OptionShowBytes(true),
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

// Reader counts what is read.
func (p *Progress) Reader(in io.Reader) io.Reader {
	if p.bar == nil {
		return in
	}
	return io.TeeReader(in, p.bar)
}

// Clear makes room for a message.
func (p *Progress) Clear() {
	if p.bar != nil {
		_ = p.bar.Clear() // only looks depend on it
	}
}

// Done takes the bar away.
func (p *Progress) Done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// NewLogProgress shows how much of a stream is read, in its sequences.
func NewLogProgress(a *App, what string) *Progress {
	if !a.Watched {
		return &Progress{}
	}
	return &Progress{bar: progressbar.NewOptions64(-1, progressbar.OptionSetWriter(a.Terminal),
		progressbar.OptionShowCount(), progressbar.OptionSetItsString("events"),
		progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish())}
}

// Reached moves the bar to a sequence.
func (p *Progress) Reached(seq, last uint64) {
	if p.bar == nil {
		return
	}
	p.bar.ChangeMax64(int64(last))
	_ = p.bar.Set64(int64(seq)) // only looks depend on it
}
