package state

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/klauspost/compress/zstd"

	"precis/internal/thread"
)

// The rows of a thread that nothing happens to can leave the store: packed, into an object that a server keeps, and a row of what that is
// stands for them. Such a thread is parked. A reader does not notice: View looks for a row that is not there in the object of its thread
// (get, iterate), whatever it reads for, so that no row is ever taken for one that does not exist. A writer writes to no parked thread: Save, and
// every other write of a row that is parked with its thread, first writes the thread's rows back into the open batch, with which they
// and the end of the stub become durable. So a store says the same before and after, nothing of it stands in the log, and two stores of a
// partition need not agree on which threads are parked.

// parkedKinds are the kinds of the rows that leave with their thread, in the order of the keys. Header, owners of summaries, places under a
// parent, and everything that has a time or waits for something stay.
var parkedKinds = [...]byte{
	kindPlace, kindEdit, kindSeen, kindLedger, kindMessage, kindSlot, kindOrder, kindSource, kindSummary, kindRevision,
}

var isParked = func() (set [256]bool) {
	for _, kind := range parkedKinds {
		set[kind] = true
	}
	return set
}()

// Parked says what stands for the rows of a parked thread. A thread has another digest whenever its header or a row is another, on each
// processor the same one.
type Parked struct {
	Digest [32]byte                 // of the packed rows
	Object string                   // names the object, by what it holds
	Rows   [len(parkedKinds)]uint64 // by kind: who looks for rows of a kind leaves the objects alone that have none
	Bytes  uint64                   // packed
	Stored uint64                   // of the object: packed and compressed
}

func parkedRow(c *codec, k *Parked) {
	c.sums(&k.Digest)
	texts(c, &k.Object)
	for i := range k.Rows {
		c.uints(&k.Rows[i])
	}
	c.uints(&k.Bytes, &k.Stored)
}

// has is how many rows of a kind a parked thread has.
func (k *Parked) has(kind byte) uint64 {
	if i := bytes.IndexByte(parkedKinds[:], kind); i >= 0 {
		return k.Rows[i]
	}
	return 0
}

// Objects has the rows of parked threads.
type Objects interface {
	// Get returns the object of a thread of a partition. It fails with ErrNoObject if it is known not to be there, and with any other error if
	// that can't be told now.
	Get(ctx context.Context, partition int, object string) ([]byte, error)
}

var (
	// ErrNoObject: the rows of a parked thread are not where they were put.
	ErrNoObject = errors.New("there is no such object")
	// ErrLost: the rows of a parked thread are not to be had from where they were put any more: those of its partition have to be made again from the log. It is no
	// damage of the store, and nothing has been done without them.
	ErrLost = errors.New("the rows of a parked thread are lost")
	// ErrParked: the rows of a parked thread can't be read now, and may be later.
	ErrParked = errors.New("the thread is parked, and its rows can't be read now")
)

// parkedPatience is how long a reader waits for an object, and in addition for each parkedSecond bytes that it has: a slow way to the server must not make
// the rows of a large thread unreadable for good.
const parkedPatience, parkedSecond = 2 * time.Second, 1 << 20

// patience bounds how long a reader waits for the object.
func (k *Parked) patience() time.Duration {
	return parkedPatience + time.Duration(min(k.Stored, packedBytes))*time.Second/parkedSecond
}

// packedBytes is the largest thread that is parked: it is held in memory whole, is read while others wait for the partition, and there are few that are larger.
const packedBytes = 8 << 20

// parkEach is how many rows of a kind are deleted one by one; more are deleted as a range, in whose place iterators have one thing to pass.
const parkEach = 64

// packsBytes bounds the rows of parked threads that are held for the next reader.
const packsBytes = 16 << 20

// fetchesAtOnce bounds how many objects are read at once for requests, and how many for partitions that wait for them: each may have packedBytes,
// several times while it is unpacked.
const fetchesAtOnce = 4

// packs are rows of parked threads that were read last, by their digest.
type packs struct {
	requests, partitions chan struct{} // capacity fetchesAtOnce: partitions do not queue behind requests

	mu      sync.Mutex
	lru     *simplelru.LRU[[32]byte, *pack]
	bytes   int
	flights map[aboard]*flight
}

// aboard are those that one read is for: partitions that wait, or requests. A partition that took a request's would queue behind requests with it.
type aboard struct {
	object string
	waits  bool
}

// flight is a read that is under way, for all aboard.
type flight struct {
	done chan struct{} // closed when rows and err are there
	rows *pack
	err  error
}

// errPanicked is what those aboard get if the read has ended without an answer.
var errPanicked = fmt.Errorf("%w: the read has panicked", ErrParked)

// board returns the rows if they are there, or the read that is under way; first says that the caller has to do it, and land.
func (p *packs) board(stub *Parked, waits bool) (rows *pack, f *flight, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rows, _ = p.lru.Get(stub.Digest); rows != nil {
		return rows, nil, false
	}
	at := aboard{stub.Object, waits}
	if f = p.flights[at]; f == nil {
		f, first = &flight{done: make(chan struct{}), err: errPanicked}, true
		p.flights[at] = f
	}
	return nil, f, first
}

// land ends a read.
func (p *packs) land(stub *Parked, waits bool, f *flight) {
	if f.rows != nil {
		p.put(stub.Digest, f.rows)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.flights, aboard{stub.Object, waits})
	close(f.done)
}

func newPacks() *packs {
	p := &packs{requests: make(chan struct{}, fetchesAtOnce), partitions: make(chan struct{}, fetchesAtOnce), flights: map[aboard]*flight{}}
	lru, err := simplelru.NewLRU(packsBytes>>10, func(_ [32]byte, k *pack) { p.bytes -= k.weight() })
	if err != nil {
		panic(fmt.Sprintf("keep parked rows: %v", err)) // its size is more than 0
	}
	p.lru = lru
	return p
}

func (p *packs) get(digest [32]byte) *pack {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, _ := p.lru.Get(digest)
	return k
}

func (p *packs) put(digest [32]byte, k *pack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lru.Remove(digest)
	p.lru.Add(digest, k)
	for p.bytes += k.weight(); p.bytes > packsBytes && p.lru.Len() > 1; {
		p.lru.RemoveOldest()
	}
}

// pack is the rows of a parked thread.
type pack struct {
	stub   Parked
	header []byte      // the thread's row when it was parked; it has not changed since
	rows   []packedRow // in the order of their keys
}

// packedRow is a row; its key lacks the partition.
type packedRow struct{ key, value []byte }

func (k *pack) weight() int { return int(k.stub.Bytes) + 64*len(k.rows) + 256 }

// at is where a key is, or would be.
func (k *pack) at(key []byte) (int, bool) {
	return slices.BinarySearchFunc(k.rows, key, func(r packedRow, key []byte) int { return bytes.Compare(r.key, key) })
}

func packRow(c *codec, partition *uint64, name *string, header *[]byte) {
	c.uints(partition)
	texts(c, name)
	blobs(c, header)
}

// unpack reads the object of a thread. It fails with ErrLost if that is not what the stub names.
func unpack(data []byte, partition uint16, name string, stub Parked) (*pack, error) {
	bad := func(what string) error {
		return fmt.Errorf("%w: the object of parked thread %q %s", ErrLost, name, what)
	}
	if stub.Bytes > packedBytes { // it is there
		return nil, fmt.Errorf("%w: thread %q: its rows have %d bytes, more than this program reads: a newer one parked it", ErrParked, name, stub.Bytes)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(packedBytes))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.DecodeAll(data, make([]byte, 0, stub.Bytes))
	if err != nil {
		return nil, bad("does not unpack: " + err.Error())
	}
	if sha256.Sum256(all) != stub.Digest {
		return nil, bad("is not what was put there")
	}
	k, c := &pack{stub: stub}, reading(all)
	var id uint64
	var of string
	packRow(&c, &id, &of, &k.header)
	var rows [len(parkedKinds)]uint64
	for c.err == nil && len(c.b) > 0 {
		var r packedRow
		blobs(&c, &r.key, &r.value)
		k.rows = append(k.rows, r)
		if len(r.key) > 0 && isParked[r.key[0]] {
			rows[bytes.IndexByte(parkedKinds[:], r.key[0])]++
		}
	}
	if c.err != nil || id != uint64(partition) || of != name || rows != stub.Rows {
		return nil, bad("is of another thread, or of another version")
	}
	return k, nil
}

// Packed is the rows of a thread as they can leave the store.
type Packed struct {
	Thread string
	Parked
	Data []byte // the object
}

// encoders compress packed rows.
var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(fmt.Sprintf("compress parked rows: %v", err)) // the options are right
	}
	return e
}}

// Pack packs the rows of a thread as they are committed; nil if it is too large, or has none, or is parked.
func (s *Snapshot) Pack(name string) (*Packed, error) {
	all, rows, err := s.packed(name, nil)
	if err != nil || rows == none {
		return nil, err
	}
	k := &Packed{Thread: name, Parked: Parked{Digest: sha256.Sum256(all), Rows: rows, Bytes: uint64(len(all))}}
	e := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(e)
	k.Data = e.EncodeAll(all, nil)
	k.Stored, k.Object = uint64(len(k.Data)), nameOf(k.Data)
	return k, nil
}

// ObjectSum makes the name of an object from what it holds.
type ObjectSum struct{ hash.Hash }

// NewObjectSum begins the name of an object.
func NewObjectSum() ObjectSum { return ObjectSum{sha256.New()} }

// Object is the name of what has been written.
func (s ObjectSum) Object() string { return hex.EncodeToString(s.Sum(nil)[:16]) }

func nameOf(data []byte) string {
	sum := NewObjectSum()
	sum.Write(data)
	return sum.Object()
}

// packed is the rows of a thread that are in the store itself; each is called with their keys.
func (v View) packed(name string, each func(key)) (all []byte, rows [len(parkedKinds)]uint64, err error) {
	header, err := v.bytes(v.key(kindHeader).rest(name))
	if err != nil || header == nil {
		return nil, none, err
	}
	id, c := uint64(v.id), writing(nil)
	packRow(&c, &id, &name, &header)
	for i, kind := range parkedKinds {
		prefix := v.key(kind).part(name)
		if kind == kindSeen {
			prefix = v.key(kind).rest(name)
		}
		err := v.raw(prefix, prefix.end(), func(it *pebble.Iterator) error {
			for ok := it.First(); ok; ok = it.Next() {
				if kind == kindSeen && len(it.Key()) != len(prefix) {
					break // of a thread whose name begins with this one's
				}
				k, value := it.Key()[2:], it.Value()
				blobs(&c, &k, &value)
				rows[i]++
				if each != nil {
					each(bytes.Clone(it.Key()))
				}
				if len(c.b) > packedBytes {
					return errTooLarge
				}
			}
			return it.Error()
		})
		if errors.Is(err, errTooLarge) {
			return nil, none, nil
		}
		if err != nil {
			return nil, none, err
		}
	}
	return c.b, rows, nil
}

// none is the rows of a thread that has none.
var none [len(parkedKinds)]uint64

var errTooLarge = errors.New("too large to be packed")

// Parked is what stands for the rows of a thread; nil if they are in the store.
func (v View) Parked(name string) (stub *Parked, err error) {
	_, err = v.read(v.key(kindParked).part(name), func(b []byte) error {
		stub = &Parked{}
		c := reading(b)
		parkedRow(&c, stub)
		return c.end("parked thread", name)
	})
	return stub, err
}

// ParkedThreads calls each with every parked thread, until it returns false.
func (v View) ParkedThreads(each func(name string, k Parked) (bool, error)) error {
	prefix := v.key(kindParked)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		name, _, ok := cutPart(k[len(prefix):])
		var stub Parked
		if !ok {
			return false, fmt.Errorf("%w: key of a parked thread", ErrDamaged)
		}
		c := reading(b)
		parkedRow(&c, &stub)
		if err := c.end("parked thread", name); err != nil {
			return false, err
		}
		return each(name, stub)
	})
}

// mayBeParked reports whether rows of a key's kind may be parked. It is asked after the store was read: a store says so before the first rows
// leave it.
func (v View) mayBeParked(k key) bool {
	return v.s != nil && len(k) >= 3 && isParked[k[2]] && v.s.parks.Load()
}

// threadIn is the thread of a row that is parked with it.
func threadIn(k key) (name string, ok bool) {
	if k[2] == kindSeen {
		return string(k[3:]), true
	}
	name, _, ok = cutPart(k[3:])
	return name, ok
}

// settled calls use with a view of one state: a thread may be parked between two reads of one that follows what is committed.
func (v View) settled(use func(View) error) (err error) {
	db, live := v.r.(*pebble.DB)
	if !live {
		return use(v)
	}
	snapshot := db.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	v.r = snapshot
	return use(v)
}

// getParked is get for a row that was not in the store.
func (v View) getParked(k key, use func(value []byte) error) (found bool, err error) {
	name, ok := threadIn(k)
	if !ok {
		return false, nil
	}
	err = v.settled(func(v View) (err error) {
		if found, err = v.read(k, use); found || err != nil {
			return err // it was parked, and is back
		}
		rows, err := v.pack(name)
		if rows == nil || err != nil {
			return err
		}
		at, is := rows.at(k[2:])
		if found = is; !is {
			return nil
		}
		return use(rows.rows[at].value)
	})
	return found && err == nil, err
}

// iterateParked is iterate for rows that may be parked.
func (v View) iterateParked(from, to key, use func(cursor) error) error {
	if from[2] == kindSeen {
		panic("the event ids of all threads are not gone through: those of a parked one may be anywhere among them")
	}
	return v.settled(func(v View) error {
		name, one := threadIn(from)
		if !one || bytes.Compare(to, newKey(v.id, from[2]).part(name).end()) > 0 {
			return v.iterateAll(from, to, use)
		}
		rows, err := v.pack(name)
		if err != nil {
			return err
		}
		if rows == nil {
			return v.raw(from, to, func(it *pebble.Iterator) error { return use(it) })
		}
		return use(rows.cursor(v.id, from, to))
	})
}

// pack is the rows of a thread that is parked; nil if it is not.
func (v View) pack(name string) (*pack, error) {
	stub, err := v.Parked(name)
	if err != nil || stub == nil {
		return nil, err
	}
	return v.rowsOf(name, stub)
}

// rowsOf is the rows of a thread that is parked.
func (v View) rowsOf(name string, stub *Parked) (*pack, error) {
	rows := v.s.packs.get(stub.Digest)
	if rows == nil {
		var err error
		if rows, err = v.s.fetch(v.id, name, *stub, v.stops.now()); err != nil {
			return nil, err
		}
	}
	if rows.stub.Object == stub.Object {
		return rows, nil
	}
	is := *rows // compressed by another program, the same rows are another object
	is.stub = *stub
	return &is, nil
}

// Until has the partition wait for no rows of parked threads any more once end is closed.
func (p *Partition) Until(end <-chan struct{}) { p.stops = &stops{end: end} }

// During has it wait for none either once a step's end is closed; nil: the step has ended.
func (p *Partition) During(end <-chan struct{}) {
	if p.stops != nil {
		p.stops.step = end
	}
}

// stops end what a partition waits for. A request has none.
type stops struct{ end, step <-chan struct{} }

// now is what they are for a read that begins now, which others may board.
func (s *stops) now() *stops {
	if s == nil {
		return nil
	}
	at := *s
	return &at
}

// until is a context that ends after a time, or at an end.
func until(end *stops, patience time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	if end == nil {
		return ctx, cancel
	}
	go func() {
		select {
		case <-end.end:
			cancel()
		case <-end.step:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// fetch reads the rows of a parked thread, once for all that want them at a time. end is that of a partition that waits for them; nil: a request does.
func (s *Store) fetch(partition uint16, name string, stub Parked, end *stops) (*pack, error) {
	if s.opts.Objects == nil {
		return nil, fmt.Errorf("%w: thread %q: no server to read them from", ErrParked, name)
	}
	rows, f, first := s.packs.board(&stub, end != nil)
	if rows != nil {
		return rows, nil
	}
	ctx, cancel := until(end, stub.patience())
	defer cancel()
	if first {
		defer s.packs.land(&stub, end != nil, f)
		f.rows, f.err = s.read(ctx, partition, name, stub, end != nil)
		return f.rows, f.err
	}
	select {
	case <-f.done:
		return f.rows, f.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: thread %q: %w", ErrParked, name, ctx.Err())
	}
}

// read reads an object.
func (s *Store) read(ctx context.Context, partition uint16, name string, stub Parked, waits bool) (*pack, error) {
	at := s.packs.requests
	if waits {
		at = s.packs.partitions
	}
	select {
	case at <- struct{}{}:
		defer func() { <-at }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: thread %q: others are read: %w", ErrParked, name, ctx.Err())
	}
	data, err := s.opts.Objects.Get(ctx, int(partition), stub.Object)
	if errors.Is(err, ErrNoObject) {
		return nil, s.lost(partition, stub.Object, fmt.Errorf("%w: parked thread %q: %w", ErrLost, name, err))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: thread %q: %w", ErrParked, name, err)
	}
	k, err := unpack(data, partition, name, stub)
	if err != nil {
		return nil, s.lost(partition, stub.Object, err)
	}
	return k, nil
}

// lost is the error of rows that are not where they were put: ErrParked as long as that is not confirmed.
func (s *Store) lost(partition uint16, object string, err error) error {
	if s.opts.Lost != nil && errors.Is(err, ErrLost) && !s.opts.Lost(int(partition), object, err) {
		return fmt.Errorf("%w: %s", ErrParked, err.Error())
	}
	return err
}

// allowParking has only programs that know parked threads open the store from here on.
func (s *Store) allowParking() error {
	if s.parks.Load() {
		return nil
	}
	if err := s.db.Set(newKey(formatPartition, 'f'), []byte(formatParked), s.durably()); err != nil {
		return fmt.Errorf("park a thread: %w", err)
	}
	s.parks.Store(true)
	return nil
}

// Park puts what stands for the rows of a thread in their place, in the open batch, which must be empty but for other parked threads, and must be
// applied before anything else is done with the partition. The rows must be where they can be read by then. It reports false, and
// changes nothing, if the thread is no longer as it was packed, or has something under way.
func (p *Partition) Park(k *Packed) (parked bool, err error) {
	if err := p.store.allowParking(); err != nil {
		return false, err
	}
	if p.changed && !p.parking {
		return false, nil // what is not committed may be of the thread
	}
	if p.sending == nil {
		sending, err := p.Sending()
		if err != nil {
			return false, err
		}
		p.sending = sending
	}
	h, err := p.Header(k.Thread)
	if err != nil || h == nil || !Restful(h) || p.sending[k.Thread] {
		return false, err
	}
	var keys []key
	all, rows, err := p.committed().packed(k.Thread, func(row key) {
		if kind := row[2]; kind == kindSeen || k.has(kind) <= parkEach {
			keys = append(keys, row)
		}
	})
	if err != nil || rows != k.Rows || sha256.Sum256(all) != k.Digest {
		return false, err
	}
	p.parking = true
	for _, k := range keys {
		p.must(p.open.batch.Delete(k, nil))
	}
	for i, kind := range parkedKinds {
		if kind == kindSeen || rows[i] <= parkEach {
			continue
		}
		prefix := p.key(kind).part(k.Thread)
		p.must(p.open.batch.DeleteRange(prefix, prefix.end(), nil))
		p.ranged = true
	}
	c := writing(nil)
	parkedRow(&c, &k.Parked)
	p.set(p.key(kindParked).part(k.Thread), c.b)
	p.remove(p.key(kindUnparked).rest(k.Object))
	return true, nil
}

// Restful reports whether a thread has nothing under way that would soon have its rows back.
func Restful(h *thread.Header) bool {
	return h.Thread != "" && h.Waiting == 0 && h.NextDeadline == 0 && h.Jobs == 0 && h.Renewals == 0
}

// Sending are the threads whose records wait in the outbox: when the server has them, that is written to rows of the thread.
func (v View) Sending() (threads map[string]bool, err error) {
	rows, err := v.Outbox()
	threads = make(map[string]bool, len(rows))
	for _, o := range rows {
		if o.Guarded {
			threads[o.Thread] = true
		}
	}
	return threads, err
}

// parkedOf is the rows of a thread that a step begins with; nil if it is not parked.
func (p *Partition) parkedOf(name string) (*pack, error) {
	if !p.store.parks.Load() || p.written(name) != nil || p.unparked[name] {
		return nil, nil
	}
	k, err := p.committed().pack(name)
	if k == nil || err != nil {
		return nil, err
	}
	header, err := p.committed().bytes(p.key(kindHeader).rest(name))
	if err == nil && !bytes.Equal(header, k.header) {
		err = fmt.Errorf("%w: thread %q has changed while it was parked", ErrDamaged, name)
	}
	return k, err
}

// MayBeParked reports whether threads of the store are parked, or were.
func (p *Partition) MayBeParked() bool { return p.store.parks.Load() }

// Back has the rows of a thread back in the open batch, if it is parked. If they can't be read now it fails, and has changed nothing.
func (p *Partition) Back(name string) error {
	k, err := p.parkedOf(name)
	if k == nil || err != nil {
		return err
	}
	p.unpark(name, k)
	return nil
}

// unpark writes the rows of a parked thread back to the open batch.
func (p *Partition) unpark(name string, k *pack) {
	if p.unparked[name] {
		return
	}
	if p.unparked == nil {
		p.unparked = map[string]bool{}
	}
	p.unparked[name] = true // first: the rows below are those of a thread that is back
	for _, r := range k.rows {
		p.set(append(newKey(p.id, r.key[0]), r.key[1:]...), r.value)
	}
	p.remove(p.key(kindParked).part(name))
	c := writing(nil)
	unparkedRow(&c, &Unparked{Thread: name})
	p.set(p.key(kindUnparked).rest(k.stub.Object), c.b)
	if back := p.store.opts.Unparked; back != nil {
		back(int(p.id), k.stub)
	}
}

// backFirst has the rows of a thread back before one of them is written. A step has them already, and a thread that another write is about rarely is
// parked; if its rows can't be read, the open batch is never applied.
func (p *Partition) backFirst(k key) {
	if !isParked[k[2]] || !p.store.parks.Load() {
		return
	}
	if name, ok := threadIn(k); ok {
		p.presents(name, nil)
	}
}

// presents has the rows of a thread back, which a step may have.
func (p *Partition) presents(name string, of any) {
	if name == p.present || !p.store.parks.Load() {
		return
	}
	if p.parking {
		p.failed = errors.Join(p.failed, fmt.Errorf("write rows of thread %q to a batch that parks threads", name))
		return
	}
	if rows, ok := of.(*pack); ok && p.written(name) == nil {
		p.present = name
		p.unpark(name, rows)
		return
	}
	rows, err := p.parkedOf(name)
	if err != nil {
		p.failed = errors.Join(p.failed, err)
		return
	}
	p.present = name
	if rows != nil {
		p.unpark(name, rows)
	}
}

// Unparked is an object that has the rows of a thread no more.
type Unparked struct {
	Thread string
	Object string
	Since  time.Time // when that was noticed; zero: not yet
}

func unparkedRow(c *codec, u *Unparked) {
	texts(c, &u.Thread)
	noticed := !u.Since.IsZero()
	if c.flags(&noticed); noticed {
		c.times(&u.Since)
	}
}

// UnparkedObjects calls each with the objects that have the rows of a thread no more, until it returns false.
func (v View) UnparkedObjects(each func(Unparked) (bool, error)) error {
	prefix := v.key(kindUnparked)
	return v.scan(prefix, prefix, func(k, b []byte) (bool, error) {
		var u Unparked
		c := reading(b)
		unparkedRow(&c, &u)
		u.Object = string(k[len(prefix):])
		if err := c.end("object of a thread that came back", u.Object); err != nil {
			return false, err
		}
		return each(u)
	})
}

// NoteUnparked notes since when an object has no thread's rows.
func (p *Partition) NoteUnparked(u Unparked) {
	c := writing(nil)
	unparkedRow(&c, &u)
	p.set(p.key(kindUnparked).rest(u.Object), c.b)
}

// ForgetUnparked notes that an object is gone, or has a thread's rows again.
func (p *Partition) ForgetUnparked(u Unparked) {
	p.remove(p.key(kindUnparked).rest(u.Object))
}

// ReadParked has the rows of parked threads read from there, if the store was opened without a place. It is called before anything reads them.
func (s *Store) ReadParked(from Objects) {
	if s.opts.Objects == nil {
		s.opts.Objects = from
	}
}
