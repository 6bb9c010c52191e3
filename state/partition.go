package state

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"precis/internal/thread"
)

// Partition writes one partition. It has one owner: a single goroutine loads, saves and commits.
//
// What it saves collects in an open batch, which only its own reads see before Commit,
// which makes all of it durable together with the position.
type Partition struct {
	View
	store *Store
	open  *openBatch

	meta     Meta
	changed  bool
	ranged   bool                // the open batch removes a range of rows
	room     int                 // for the batches to come; 0: as much as usual
	threads  map[string]*written // of the open batch
	puts     hashes              // of the messages whose rows the open batch writes
	unparked map[string]bool     // threads whose rows the open batch writes back
	present  string              // a thread that is known to have its rows
	parking  bool                // the open batch parks threads, and does nothing else
	sending  map[string]bool     // Sending, before the open batch; nil: not asked for
	failed   error               // why the open batch can't be applied
	last     lastWritten
	outgoing []*Outgoing
	jobs     []*thread.Job
	spares   []*thread.Compaction // of earlier events, for the next ones to be copied into
	row      []byte               // the last one encoded, for the next one to be written over
	idle     *thread.State        // of an earlier step, for the next one to be loaded into
	hot      *hot
	near     near // of its staged records
	ids      *ids
	unseen   *unseen // nil but while a log is read from its beginning
	expiry   due     // of active summaries
	look     due     // at threads that are idle
}

// written is a thread in the open batch. Header and compaction are rewritten with nearly every event, and only their
// last version has to be encoded.
type written struct {
	header     *thread.Header
	compaction *thread.Compaction // nil where the batch does not change it
	before     hotThread          // the thread as it was kept in memory before the batch
	ids        *idSet             // nil where they were not asked for since
	asked      uint32             // how often they were
}

// lastWritten is the thread that was asked for last: a step asks for the same one several times.
type lastWritten struct {
	name   string
	thread *written // nil: the open batch has not written it
}

// Partition opens a partition for writing.
func (s *Store) Partition(id int) (*Partition, error) {
	_ = s.opts.FS.Remove(s.tableFile(uint16(id))) // usually there is none
	p := &Partition{store: s, View: View{s: s, id: uint16(id)}, hot: newHot(s.share(hotBytes)), ids: newIDs(s.share(idsBytes))}
	p.begin()
	meta, err := p.View.Meta()
	if err != nil {
		return nil, fmt.Errorf("open partition %d: %w", id, err)
	}
	p.meta = meta
	if err := p.readKin(s.kin); err != nil {
		return nil, fmt.Errorf("open partition %d: %w", id, err)
	}
	return p, nil
}

func (p *Partition) begin() {
	p.open = newOpenBatch(p.store.db, p.room)
	p.r = p.open
	p.threads, p.last = make(map[string]*written), lastWritten{}
	p.puts.clear(mostPuts)
	p.outgoing, p.jobs = nil, nil
	p.changed, p.ranged = false, false
	p.unparked, p.present, p.parking, p.sending, p.failed = nil, "", false, nil, nil
}

// mostPuts is up to which length a batch's table of messages is used again; that of a bulk would stay large.
const mostPuts = 4096

// ID is the partition's number.
func (p *Partition) ID() int { return int(p.id) }

// Meta is where the partition stands, the open batch included.
func (p *Partition) Meta() Meta { return p.meta }

// SetMeta changes where the partition stands.
func (p *Partition) SetMeta(m Meta) {
	p.meta = m
	p.changed = true
}

// written is what the open batch has of a thread; nil where it has not written it.
func (p *Partition) written(name string) *written {
	if p.last.name != name {
		p.last = lastWritten{name, p.threads[name]}
	}
	return p.last.thread
}

// writes notes that the open batch writes a thread.
func (p *Partition) writes(name string) *written {
	w := p.written(name)
	if w == nil {
		w = &written{header: &thread.Header{}, before: p.hot.get(name)}
		p.threads[name], p.last.thread = w, w
	}
	return w
}

// Header is the header of a thread; nil where the thread is not known.
func (p *Partition) Header(name string) (*thread.Header, error) {
	if w := p.written(name); w != nil {
		return w.header, nil
	}
	if t := p.hot.get(name); t.header != nil {
		return t.header, nil
	}
	if p.unseen.rulesOut(p.key(kindHeader).rest(name)) {
		return nil, nil
	}
	h, k, err := p.committed().thread(name) // the open batch has none but those above
	if h != nil && err == nil {
		p.hot.put(name, h, k)
	}
	return h, err
}

// committed reads behind the open batch.
func (p *Partition) committed() View {
	v := p.store.View(int(p.id))
	v.stops = p.stops
	return v
}

// Changed says that the open batch holds something.
func (p *Partition) Changed() bool { return p.changed }

// Size is what the open batch holds, in bytes, but for the threads' headers.
func (p *Partition) Size() int { return p.open.batch.Len() }

// Weight is what the open batch takes of memory, in bytes: its rows, and the threads whose headers and compactions are
// written with its end, twice.
func (p *Partition) Weight() int { return p.open.batch.Len() + len(p.threads)*writtenBytes }

// writtenBytes is what a thread weighs in the open batch: decoded 1.3 KB where it has a message or two, and its two rows
// 0.5 KB.
const writtenBytes = 1800

// Decided says that the open batch holds outbox rows: what may be lost without a sync is none of these.
func (p *Partition) Decided() bool { return len(p.outgoing) > 0 }

// Commit makes the open batch durable and returns what it decided to send, in order. With NoSync a
// crash may lose it, and all of it.
func (p *Partition) Commit(opts *CommitOptions) ([]*Outgoing, error) {
	a, err := p.Apply(opts)
	if err != nil {
		return nil, err
	}
	return a.Decided, a.Wait()
}

// Applied is a batch that every reader sees, and that may not be on the disk yet.
type Applied struct {
	// Decided is what it decided to send, in order; Jobs are those that it has started or changed.
	Decided []*Outgoing
	Jobs    []*thread.Job

	partition uint16
	batch     *pebble.Batch
	sync      bool
}

// Apply ends the open batch and begins another. A crash may lose what is applied until Wait has returned,
// but never a batch without those that were applied after it.
func (p *Partition) Apply(opts *CommitOptions) (*Applied, error) {
	if err := p.end(); err != nil {
		return nil, p.ended(err)
	}
	if opts.Sync {
		opts = p.store.durably()
	}
	a := &Applied{Decided: p.outgoing, Jobs: p.jobs, partition: p.id, batch: p.open.batch, sync: opts.Sync}
	return a, p.ended(p.apply(opts))
}

// ended begins another batch where the one before it is applied.
func (p *Partition) ended(err error) error {
	if err != nil {
		p.hot, p.near = newHot(p.hot.most), near{} // it is unknown how much of this batch the store has
		return fmt.Errorf("commit partition %d: %w", p.id, err)
	}
	for name, w := range p.threads {
		p.hot.put(name, w.header, w.compaction)
		if w.before.compaction != w.compaction {
			p.spareCompaction(w.before.compaction)
		}
	}
	if wrote := p.store.opts.Wrote; wrote != nil && len(p.threads) > 0 {
		wrote(int(p.id), p.headers)
	}
	p.begin()
	return nil
}

// mostSpares bounds the compactions that all partitions together keep for others to be copied into: some 4 KB each.
const mostSpares = 2048

// spareCompaction keeps a compaction that nothing refers to any more.
func (p *Partition) spareCompaction(c *thread.Compaction) {
	if c != nil && len(p.spares) < p.store.share(mostSpares) {
		p.spares = append(p.spares, c)
	}
}

// headers are those that the open batch has written.
func (p *Partition) headers(yield func(*thread.Header) bool) {
	for _, w := range p.threads {
		if !yield(w.header) {
			return
		}
	}
}

func (p *Partition) apply(opts *CommitOptions) error {
	defer p.store.unwritten()
	if opts.Sync {
		return p.store.db.ApplyNoSyncWait(p.open.batch, opts)
	}
	return p.store.db.Apply(p.open.batch, opts)
}

// end writes what the open batch has kept back.
func (p *Partition) end() (err error) {
	if p.failed != nil {
		return p.failed
	}
	for name, w := range p.threads {
		if w.compaction == nil {
			if w.compaction, err = p.compactionBefore(name, w); err != nil {
				return err
			}
		}
		p.row = encodeThread(p.row[:0], w.header, w.compaction)
		p.set(p.key(kindHeader).rest(name), p.row)
	}
	p.set(p.key(kindMeta), encodeJSON(p.meta))
	return nil
}

// compactionBefore is a thread's compaction where the open batch writes the thread, and not that.
func (p *Partition) compactionBefore(name string, w *written) (*thread.Compaction, error) {
	if w.before.header != nil {
		return w.before.compaction, nil
	}
	if p.unseen.rulesOut(p.key(kindHeader).rest(name)) {
		return nil, nil
	}
	_, k, err := p.committed().thread(name)
	return k, err
}

// Wait returns when the batch is durable; at once where that was not asked for. It is called once, and may
// be called by any goroutine.
func (a *Applied) Wait() error {
	var err error
	if a.sync {
		err = a.batch.SyncWait()
	}
	if err = errors.Join(err, a.batch.Close()); err != nil {
		return fmt.Errorf("commit partition %d: %w", a.partition, err)
	}
	return nil
}

// JobsTouched are those that the open batch has started or changed.
func (p *Partition) JobsTouched() []*thread.Job { return p.jobs }

// CommitOptions says whether Commit waits for the disk.
type CommitOptions = pebble.WriteOptions

// Commit's two ways.
var (
	Sync   = pebble.Sync
	NoSync = pebble.NoSync
)

// Close gives up the open batch.
func (p *Partition) Close() error { return p.open.Close() }

// set and remove can't fail but by misuse: a batch only grows in memory until it is committed.
func (p *Partition) set(k key, value []byte) {
	p.backFirst(k)
	if p.unseen != nil && (k[2] == kindHeader || k[2] == kindMessage) {
		p.unseen.add(k)
	}
	p.must(p.open.batch.Set(k, value, nil))
}

func (p *Partition) remove(k key) {
	p.backFirst(k)
	p.must(p.open.batch.Delete(k, nil))
}

func (p *Partition) must(err error) {
	p.changed = true
	if err != nil {
		panic(fmt.Sprintf("write to open batch: %v", err))
	}
}
