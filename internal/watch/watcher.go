package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"precis/events"
)

// Quiet is how long a file stands unchanged until the answer at its end counts as complete.
const Quiet = 30 * time.Second

// forgotten is how long a file stands unchanged until its mapping leaves memory.
const forgotten = 10 * time.Minute

// Times between two looks.
const (
	lookEvery = 5 * time.Second        // through the directory
	saveEvery = 500 * time.Millisecond // at what is stored by now
)

// Options are what a Watcher needs. All but Agent and Since are required.
type Options struct {
	Dir       string
	Format    string // one of sessions.Formats
	Agent     string // agent_id of the events; empty: the format's name
	Publisher *events.Publisher
	State     *State
	StateFile string
	// Since is the age up to which a file is published that does not change any more; an older one is when it changes. 0: none.
	Since time.Duration
	// Once returns when everything that is there is stored.
	Once bool
	// Report gets what was published of a thread, Note what a person should know.
	Report func(Progress)
	Note   func(format string, args ...any)
}

// Progress is what was published of a thread since the last report.
type Progress struct {
	Thread string `json:"thread_id"`
	File   string `json:"file"`
	New    int    `json:"new"`
	Total  int    `json:"total"` // since the start
}

// Counts are what a Watcher has done since its start.
type Counts struct {
	Files     int   `json:"files"`
	Threads   int   `json:"threads"`
	Published int64 `json:"published"`
	Broken    int64 `json:"broken"`
}

// Watcher follows the files under a directory.
type Watcher struct {
	opts    Options
	files   map[string]*file
	totals  map[string]*Progress // by thread
	fresh   []string             // threads with something to report
	begun   time.Time
	counts  Counts
	unsaved bool // the state has changed
	skipped map[string]time.Time
}

// New returns a watcher; Run starts it.
func New(opts Options) *Watcher {
	return &Watcher{opts: opts, files: map[string]*file{}, totals: map[string]*Progress{}, skipped: map[string]time.Time{}}
}

// Counts are those up to now; call it after Run.
func (w *Watcher) Counts() Counts {
	w.counts.Threads = len(w.totals)
	return w.counts
}

// Run follows the files until ctx ends, which is not an error, or, with Once, until all that is there is stored.
func (w *Watcher) Run(ctx context.Context) (err error) {
	w.begun = time.Now()
	defer func() { err = errors.Join(err, w.Save()) }()
	notes, err := fsnotify.NewWatcher()
	if err != nil {
		w.opts.Note("no notifications of changes (%v): looking every %s", err, lookEvery)
		notes = &fsnotify.Watcher{}
	} else {
		defer notes.Close()
	}
	if err := w.look(ctx, notes); err != nil || w.opts.Once {
		if err == nil {
			err = w.stored(ctx)
		}
		return unlessEnded(ctx, err)
	}
	look, save := time.NewTicker(lookEvery), time.NewTicker(saveEvery)
	defer look.Stop()
	defer save.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			err = w.look(ctx, notes)
		case <-save.C:
			err = w.tend(ctx)
		case n := <-notes.Events:
			err = w.noted(ctx, notes, n)
		case lost := <-notes.Errors: // the next look finds what it would have said
			if !errors.Is(lost, fsnotify.ErrEventOverflow) {
				w.opts.Note("notifications: %v", lost)
			}
		}
	}
	return unlessEnded(ctx, err)
}

func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// noted reads a file that has changed, and looks through a directory that is new.
func (w *Watcher) noted(ctx context.Context, notes *fsnotify.Watcher, n fsnotify.Event) error {
	if n.Has(fsnotify.Create) {
		if info, err := os.Stat(n.Name); err == nil && info.IsDir() {
			return w.look(ctx, notes)
		}
	}
	if !w.session(n.Name) || n.Op == fsnotify.Chmod {
		return nil
	}
	return w.update(ctx, n.Name)
}

// session reports whether a file is a session by its name.
func (w *Watcher) session(name string) bool {
	base := filepath.Base(name)
	return strings.HasSuffix(base, ".jsonl") && (w.opts.Format != "codex" || strings.HasPrefix(base, "rollout-"))
}

// look goes through the directory in order of the names, and reads what has changed.
func (w *Watcher) look(ctx context.Context, notes *fsnotify.Watcher) error {
	return filepath.WalkDir(w.opts.Dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == w.opts.Dir:
			return err
		case err != nil: // removed meanwhile, or not ours to read
			return nil
		case entry.IsDir():
			if notes.Events != nil && !slices.Contains(notes.WatchList(), name) {
				_ = notes.Add(name) // looking finds it too
			}
			return nil
		case !w.session(name):
			return nil
		}
		return w.changed(ctx, name, entry)
	})
}

// changed reads a file if its length or time are others than at the last read.
func (w *Watcher) changed(ctx context.Context, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return nil
	}
	f := w.files[name]
	if f != nil && f.info != nil && f.info.Size() == info.Size() && f.info.ModTime().Equal(info.ModTime()) {
		return nil
	}
	if f == nil && w.old(name, info) {
		return nil
	}
	return w.update(ctx, name)
}

// old reports whether a file is one to leave until it changes.
func (w *Watcher) old(name string, info fs.FileInfo) bool {
	if mark, known := w.opts.State.Files[name]; known && mark.Offset > 0 && (mark.Offset < info.Size() || mark.Open) {
		return false // it has been followed, and has changed since
	}
	seen, skipped := w.skipped[name]
	if skipped {
		return seen.Equal(info.ModTime())
	}
	if w.begun.Sub(info.ModTime()) <= w.opts.Since && w.opts.Since > 0 || info.ModTime().After(w.begun) {
		return false
	}
	w.skipped[name] = info.ModTime()
	return true
}

// update reads what is new in a file. What can't be read is said and left.
func (w *Watcher) update(ctx context.Context, name string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // to open a pipe would wait for its writer
		return nil
	}
	f := w.files[name]
	if f == nil {
		mark := w.opts.State.Files[name]
		f = &file{path: name, head: mark.Head, offset: mark.Offset, last: mark.Offset, flushes: mark.Flushes, held: mark.Open}
		w.files[name] = f
		w.counts.Files++
	}
	err := w.read(ctx, f)
	w.report()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		w.opts.Note("%v", err)
		return nil
	case err != nil:
		return err
	}
	return w.quiet(ctx, f)
}

// quiet ends the answer of a file that was not written to for a while.
func (w *Watcher) quiet(ctx context.Context, f *file) error {
	if !f.held || time.Since(f.changed) < Quiet {
		return nil
	}
	err := w.flush(ctx, f)
	w.report()
	return err
}

// tend looks at what is stored by now, ends answers of quiet files and forgets old mappings.
func (w *Watcher) tend(ctx context.Context) error {
	for _, f := range w.files {
		w.settle(f)
		if err := w.quiet(ctx, f); err != nil {
			return err
		}
		if f.idle() && time.Since(f.changed) > forgotten {
			f.lines = nil
		}
	}
	return w.Save()
}

// stored waits until everything is stored.
func (w *Watcher) stored(ctx context.Context) error {
	err := w.opts.Publisher.Flush(ctx)
	for _, f := range w.files {
		w.settle(f)
	}
	if errors.Is(err, events.ErrRefused) {
		return nil // counted by its line
	}
	return err
}

// Save writes the state if it has changed. Run does so while it runs; once the publisher is closed, a last call knows what it stored.
func (w *Watcher) Save() error {
	for name, f := range w.files {
		w.settle(f)
		if now := f.mark(); !now.equal(w.opts.State.Files[name]) {
			w.opts.State.Files[name], w.unsaved = now, true
		}
	}
	if !w.unsaved {
		return nil
	}
	w.unsaved = false
	return w.opts.State.save(w.opts.StateFile)
}

// count adds an event to its thread.
func (w *Watcher) count(f *file, e events.FileEvent) {
	w.counts.Published++
	p := w.totals[e.Thread]
	if p == nil {
		p = &Progress{Thread: e.Thread}
		w.totals[e.Thread] = p
	}
	if p.New == 0 {
		w.fresh = append(w.fresh, e.Thread)
	}
	p.File = f.path
	p.New++
	p.Total++
}

// report says what is new since the last report.
func (w *Watcher) report() {
	for _, thread := range w.fresh {
		w.opts.Report(*w.totals[thread])
		w.totals[thread].New = 0
	}
	w.fresh = nil
}

// broken says that a line is not published.
func (w *Watcher) broken(f *file, line int, err error) {
	w.counts.Broken++
	w.opts.Note("%s: line %d: %v", f.path, line, err)
}
