package state

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"

	"precis/internal/thread"
)

// format is the version of the rows; another one is refused. A field that is added, removed or reordered raises it, and
// so does another meaning of one: rows have no way to tell (testdata/layout has the rows of each format).
const format = "precis-18"

// formatParked is the format of a store that has had parked threads: a program that does not know them would miss their rows.
const formatParked = format + "+parked"

// pebbleFormat is the version of Pebble's own files. It is raised here and with format, never by a newer Pebble alone:
// an older program could not open the store again.
const pebbleFormat = pebble.FormatValueSeparation

// FS is a file system that a store can live in.
type FS = vfs.FS

// Memory is an empty file system in memory.
func Memory() FS { return vfs.NewMem() }

// Options of a store.
type Options struct {
	// FS is the file system; nil is the operating system's.
	FS FS
	// Partitions is how many share what is kept in memory; 0 and less than 16: 16.
	Partitions int
	// CacheBytes is the size of the block cache, beside the memtables; 0 means 64 MiB.
	CacheBytes int64
	// ReadOnly opens a store at rest; nothing is written.
	ReadOnly bool
	// Scratch is for a store that is thrown away: it has no write-ahead log, and may be incomplete
	// for another process.
	Scratch bool
	// Wrote is called with the headers that a batch of a partition has written, once it is applied, by the goroutine that owns the
	// partition. They are shared, and never changed. nil: none.
	Wrote func(partition int, headers iter.Seq[*thread.Header])
	// Objects has the rows of parked threads. nil: they can't be read.
	Objects Objects
	// Lost is called when rows of a parked thread are not where they were put, with the object that has them, by whoever reads them. It reports whether
	// they are lost: until then the error is ErrParked. nil: they are.
	Lost func(partition int, object string, err error) bool
	// Unparked is called when the rows of a parked thread are written back. nil: none.
	Unparked func(partition int, was Parked)
	// Fatal is called when Pebble can't go on (a full disk) and must end the process; nil panics.
	Fatal  func(message string)
	Logger zerolog.Logger
}

// Store is one data directory.
type Store struct {
	db     *pebble.DB
	pebble *pebble.Options
	opts   Options
	dir    string
	// sorters bring the rows of tables in order.
	sorters chan *sorter
	kin     *kin
	parks   atomic.Bool // threads are parked, or may be
	packs   *packs
}

// Open opens the store in dir, making it where there is none. It fails with an *OwnedError where
// another process holds it, with ErrFormat where another version made it, and with ErrDamaged where files are missing or
// hold something else.
func Open(dir string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	if err := makeDir(opts.FS, dir); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := nameless(opts.FS, dir); err != nil {
		return nil, fmt.Errorf("open store in %s: %w", dir, err)
	}
	cache := pebble.NewCache(opts.CacheBytes + memTables*memTableBytes)
	defer cache.Unref() // the store holds its own reference
	with := pebbleOptions(opts, cache)
	with.EnsureDefaults()
	db, err := pebble.Open(dir, with)
	if err != nil {
		return nil, openError(opts.FS, dir, err)
	}
	s := &Store{db: db, pebble: with, opts: opts, dir: dir, sorters: newSorters(), kin: newKin(), packs: newPacks()}
	if err := s.begin(dir); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// Lock keeps others from opening the store in a directory, until release is called. A directory that is not there has none.
func Lock(dir string) (release func(), err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil {
		return nil, openError(vfs.Default, dir, err)
	}
	return func() { _ = lock.Close() }, nil // the kernel drops it with the file
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.Fatal == nil {
		o.Fatal = func(text string) { panic(text) }
	}
	return o
}

// Reserve takes n bytes from the block cache until the returned function is called.
func (s *Store) Reserve(n int) (undo func()) { return s.pebble.Cache.Reserve(n) }

// memTableBytes is large enough that a burst of threads is not compacted over and over. memTables of them are held, and
// Pebble takes them out of the block cache's size: a cache that is no larger holds nothing.
const memTableBytes, memTables = 32 << 20, 2

func pebbleOptions(o Options, cache *pebble.Cache) *pebble.Options {
	logger := pebbleLogger{log: o.Logger, fatal: o.Fatal}
	// A full disk ends the process where it is met. Pebble panics when it can't begin a new log, with its lock in a state in which
	// the runtime ends the process, with a status that is taken for a wrong configuration.
	disk := vfs.OnDiskFull(o.FS, func() { logger.Fatalf("%v", syscall.ENOSPC) })
	p := &pebble.Options{
		FS: disk, Cache: cache, ReadOnly: o.ReadOnly, ErrorIfNotExists: o.ReadOnly, Logger: logger,
		EventListener: &pebble.EventListener{
			// The reader of the damaged bytes gets the error and ends in order; Pebble's own listener ends the process.
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				o.Logger.Error().Str("file", info.Path).Msg("store is damaged")
			},
			BackgroundError: logger.background,
		},
		MemTableSize: memTableBytes,
		// Pebble's default compacts two flushes at once. Each compaction rewrites what it meets below, which for edits
		// in a long thread, and for the tables of a bulk, is most of the store: with a threshold of 8 that took a sixth
		// of the processor time of a bulk of 1,000,000 threads. A read of one row looks into the filters of eight.
		L0CompactionThreshold: 16, L0StopWritesThreshold: 64,
		DisableWAL:         o.Scratch,
		FormatMajorVersion: pebbleFormat,
	}
	// Nor are tables compacted for having many deletions: with what edits replace that is nearly every flush.
	p.Experimental.TombstoneDenseCompactionThreshold = -1
	if o.Scratch {
		// It is gone before sorting its files together would have paid: of a million events' replay that was a
		// seventh. Beyond some 1 GiB reads would look into too many of them.
		p.L0CompactionThreshold, p.L0StopWritesThreshold = 32, 256
	}
	// Nearly every event looks for a message id that is not there: without a filter each level is read.
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return p
}

// begin checks the format, or notes it in a new store, and says who owns the directory.
func (s *Store) begin(dir string) error {
	k := newKey(formatPartition, 'f')
	have, closer, err := s.db.Get(k)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		if s.opts.ReadOnly {
			return fmt.Errorf("open store in %s: %w", dir, ErrMissing)
		}
		if err := s.db.Set(k, []byte(format), s.durably()); err != nil {
			return fmt.Errorf("open store: %w", err)
		}
	case err != nil:
		return fmt.Errorf("open store: %w", readError(err))
	default:
		found := string(have)
		if err := closer.Close(); err != nil {
			return fmt.Errorf("open store: %w", err)
		}
		s.parks.Store(found == formatParked)
		if !Reads(found) {
			return fmt.Errorf("open store in %s: %w: its format is %q, and this program reads %q: run the program that wrote it, or move the store (state in the data directory) away: it is rebuilt from the log",
				dir, ErrFormat, found, format)
		}
	}
	if s.opts.ReadOnly {
		return nil
	}
	return errors.Join(s.tidy(), writeOwner(s.opts.FS, dir))
}

// share is a partition's part of what all may keep in memory together.
func (s *Store) share(bytes int) int { return bytes / max(s.opts.Partitions, 16) }

// durably is how what must not be lost is written.
func (s *Store) durably() *CommitOptions {
	if s.opts.Scratch {
		return NoSync
	}
	return Sync
}

// Partitions is how many partitions the store has, the strays' included: all are made together.
func (s *Store) Partitions() (n int, err error) {
	for {
		found, err := s.View(n).has(newKey(uint16(n), kindMeta))
		if err != nil || !found {
			return n, err
		}
		n++
	}
}

// Free is how many bytes its disk has room for; the most there is where the file system can't tell.
func (s *Store) Free() (uint64, error) {
	usage, err := s.opts.FS.GetDiskUsage(s.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return math.MaxUint64, nil
	}
	return usage.AvailBytes, err
}

// Drop removes all rows of partitions, which nothing may have open, at once: the log has what they are made from. A mark says from then on that they are being
// made again.
func (s *Store) Drop(partitions ...int) error {
	b := s.db.NewBatch()
	err := s.dropped(b, partitions)
	if err == nil {
		err = b.Commit(pebble.Sync)
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return fmt.Errorf("drop partitions %v: %w", partitions, err)
	}
	return nil
}

func (s *Store) dropped(b *pebble.Batch, partitions []int) error {
	for _, partition := range partitions {
		from := key{byte(partition >> 8), byte(partition)}
		if err := b.DeleteRange(from, from.end(), nil); err != nil {
			return err
		}
		mark, err := s.Lost(partition)
		if err == nil && mark.Object != "" {
			err = b.Set(lostKey(partition), mark.dropped().row(), nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close closes the store. No partition may be in use.
func (s *Store) Close() error { return s.db.Close() }

func openError(fsys vfs.FS, dir string, err error) error {
	if errors.Is(err, pebble.ErrDBDoesNotExist) {
		return fmt.Errorf("open store in %s: %w", dir, ErrMissing)
	}
	if isLocked(err) {
		return &OwnedError{Dir: dir, Owner: readOwner(fsys, dir)}
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("open store in %s: %w: give this user write permission, or use another --data", dir, err)
	}
	if damaged(err) || incomplete(err) {
		return fmt.Errorf("open store in %s: %w: %w", dir, ErrDamaged, err)
	}
	if strings.Contains(err.Error(), "unknown format major version") {
		return fmt.Errorf("open store in %s: %w: %w", dir, ErrFormat, err)
	}
	return fmt.Errorf("open store in %s: %w", dir, err)
}

// isLocked knows Pebble's lock errors, which have no type: fcntl's between processes, and its own
// table's within one.
func isLocked(err error) bool {
	text := err.Error()
	return strings.Contains(text, "resource temporarily unavailable") ||
		strings.Contains(text, "lock held by current process") || strings.Contains(text, "already locked")
}

func ownerFile(fsys vfs.FS, dir string) string { return fsys.PathJoin(dir, "OWNER") }

func writeOwner(fsys vfs.FS, dir string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	f, err := fsys.Create(ownerFile(fsys, dir), vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	_, err = fmt.Fprintf(f, "process %d on %s (%s)", os.Getpid(), host, filepath.Base(os.Args[0]))
	return errors.Join(err, f.Close())
}

func readOwner(fsys vfs.FS, dir string) string {
	f, err := fsys.Open(ownerFile(fsys, dir))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 256)
	n, _ := f.Read(b) // what can't be read is not said
	return string(b[:n])
}

// makeDir makes a directory with all above it, and makes each new name durable: Pebble syncs what is in
// its directory, but a power cut could take the directory itself.
func makeDir(fsys FS, dir string) error {
	_, err := fsys.Stat(dir)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := fsys.PathDir(dir)
	if parent == dir {
		return fmt.Errorf("make %s: no such root", dir)
	}
	if err := makeDir(fsys, parent); err != nil {
		return err
	}
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := fsys.OpenDir(parent)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Format is the version of a store's rows. A store of any other format is refused.
func Format() string { return format }

// Reads reports whether this program reads rows of a format: its own, and that of a store that has had parked threads.
func Reads(of string) bool { return of == format || of == formatParked }

// Format is the version of the store's rows.
func (s *Store) Format() string {
	if s.parks.Load() {
		return formatParked
	}
	return format
}
