package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Holder runs partitions. Its methods are called by one goroutine at a time for a partition, and concurrently for others.
type Holder interface {
	// Acquire returns when the partitions run. An error means that none of them does; one that no retry can help is ErrFatal too.
	Acquire(ctx context.Context, partitions []int) error
	// Release drains partitions, and returns when they have ended.
	Release(ctx context.Context, partitions []int) error
	// Abandon ends partitions at once: another processor may have them.
	Abandon(partitions []int)
	// Runs reports whether a partition runs, and is not about to end. It does not wait.
	Runs(partition int) bool
}

// ErrFatal: the member can't go on.
var ErrFatal = errors.New("cluster membership ended")

// Options configure a member.
type Options struct {
	Name     string // of the cluster
	ID       string // of this process, as in claims
	Weight   int    // of this member's share; default 1
	Units    int    // how many partitions there are
	Idle     int    // how many of the last of them have hardly any work: they count in no member's share
	Replicas int    // of the bucket
	Lease    time.Duration
	Logger   zerolog.Logger
	// Now has a monotonic reading; nil is time.Now.
	Now func() time.Time
	// Changed is called when the number of live members has changed, with that and this member's part of all weights.
	Changed func(members int, part float64)
	// Standbys is how many members follow each partition beside its owner. The plan has that of the member that writes it.
	Standbys int
	// Aside says why this member can't have partitions for now: the plan gives it none, and it hands over what it has. It is called before each
	// renewal; nil, and a nil error: it can.
	Aside func() error
	// Report says how far the partitions that this member runs are on record, and which of those that it follows it could take over
	// soon. It is called before each renewal, which tells the others; nil: nothing.
	Report func() Report
}

// Report is what a member tells the others about partitions.
type Report struct {
	// Recorded is the sequence of EVENTS up to which everything that was decided is on record, by partition.
	Recorded map[int]uint64 `json:"recorded,omitzero"`
	// Near are followed partitions whose rows are not far behind their owner's.
	Near []int `json:"near,omitzero"`
}

// Member is one process's membership.
type Member struct {
	opts   Options
	holder Holder
	js     jetstream.JetStream
	kv     jetstream.KeyValue
	log    zerolog.Logger
	lease  lease
	view   atomic.Pointer[View]

	// The run loop alone has these.
	key      string    // of the lease; each join has another
	revision uint64    // of the lease
	count    uint64    // of renewals
	renewal  time.Time // when the last one was begun
	members  map[string]*member
	units    []unit
	plan     plan
	planRev  uint64
	near     map[int]bool // as the last renewal says, or tried to
	known    bool         // the bucket has been read
	together bool         // one member is to have all
	told     string
	pause    time.Time    // no acquisition before this: the last one failed
	aside    error        // why this member can't have partitions, as the last renewal says, or tried to
	steady   time.Time    // since when each renewal has succeeded; zero: the last one has not
	failing  bool         // the log says that the lease is not renewed
	heard    time.Time    // when the watch delivered a renewal of this member, or was begun
	watches  chan watched // a new watch, while one is being made
	watching bool
	work     sync.WaitGroup
	ended    chan outcome
	lost     chan int
	over     chan struct{} // closed when Run has returned

	// What is remembered for an operator; the view shares changes, so that they are only added to or copied.
	changes []Change
	pasts   []past // by partition
	shown   bool   // the owners that the bucket had at first have been seen

	held    []atomic.Bool // by partition: this member may answer for it while its lease holds
	closing atomic.Bool   // no more acquisitions

	leaving  atomic.Bool
	asked    chan struct{} // has the run loop say so with the lease at once
	relieved chan struct{} // closed when the others are ready
	waits    bool          // the log says that they are not; the run loop's
}

// member is another member, or this one, as the bucket has it.
type member struct {
	record
	revision uint64
	seen     time.Time // when its last change arrived
	alive    bool      // it has written its lease since this member knows the bucket: one that was there already may be a dead one's
}

// record is the value of a lease.
type record struct {
	ID     string `json:"id"` // the process
	Weight int    `json:"weight"`
	Count  uint64 `json:"count"`
	Aside  bool   `json:"aside,omitzero"` // it can't have partitions for now
	Report
}

// unit is one partition as the bucket has it, and what this member does with it.
type unit struct {
	owner    string // key of a lease; empty: free
	revision uint64
	doing    doing
	left     bool // this member had it last, and none has it yet
}

type doing int

const (
	nothing doing = iota
	acquiring
	holding
	releasing
)

// outcome is the end of an acquisition or a release.
type outcome struct {
	units []int
	was   doing
	err   error
}

type plan struct {
	Owners   []string   `json:"owners"`            // keys of leases, by partition
	Standbys [][]string `json:"standbys,omitzero"` // the same, of those that follow it, the next owner first
}

type ownership struct {
	Owner string `json:"owner"`
}

// View is what a member knows of the cluster.
type View struct {
	Self    string
	Members map[string]string // process by lease, live ones
	Owners  []string          // lease by partition; empty: none, or one that is not live
	Planned []string
	Heard   []time.Time // by partition: when its owner last renewed its lease, as far as this member has seen; zero: not since it joined
	Aside   error       // why this member can't have partitions for now
	Next    []bool      // this member may be the next to have the partition, if its owner dies
	Left    []bool      // this member had the partition last, and none has it yet
	// Follow has the partitions of others that this member is to follow, and up to which sequence of EVENTS they are on record.
	Follow map[int]uint64
	Near   map[int]bool // those that this member has told the others to be near
	// Standbys are the leases of those that are to follow each partition. Peers are live members by lease, and Changes the latest ones, for an
	// operator to see.
	Standbys [][]string
	Peers    map[string]Peer
	Changes  []Change
}

// Bucket is the name of a cluster's bucket.
func Bucket(name string) string { return "precis_" + name }

// Open makes or opens the cluster's bucket.
func Open(ctx context.Context, js jetstream.JetStream, holder Holder, o Options) (*Member, error) {
	if o.Weight == 0 {
		o.Weight = 1
	}
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Changed == nil {
		o.Changed = func(int, float64) {}
	}
	if o.Aside == nil {
		o.Aside = func() error { return nil }
	}
	if o.Report == nil {
		o.Report = func() Report { return Report{} }
	}
	m := &Member{
		opts: o, holder: holder, js: js, log: o.Logger.With().Str("cluster", o.Name).Logger(),
		lease: lease{time: o.Lease, now: o.Now}, members: map[string]*member{}, units: make([]unit, o.Units), pasts: make([]past, o.Units),
		ended: make(chan outcome), lost: make(chan int), over: make(chan struct{}), held: make([]atomic.Bool, o.Units), watches: make(chan watched, 1),
		asked: make(chan struct{}), relieved: make(chan struct{}),
	}
	m.view.Store(&View{Members: map[string]string{}, Owners: make([]string, o.Units), Planned: make([]string, o.Units), Left: make([]bool, o.Units), Heard: make([]time.Time, o.Units), Next: make([]bool, o.Units)})
	var err error
	if m.kv, err = openBucket(ctx, js, o); err != nil {
		return nil, fmt.Errorf("open bucket %s of the cluster, which needs the right to make it and to publish to $KV.%s.> (--no-provision without a cluster.name runs alone): %w", Bucket(o.Name), Bucket(o.Name), err)
	}
	m.warnReplicas(ctx)
	return m, nil
}

// warnReplicas says if the bucket is on fewer servers than SUMMARIES: it is the first to fail then.
func (m *Member) warnReplicas(ctx context.Context) {
	status, err := m.kv.Status(ctx)
	if err != nil {
		return // the lease says more
	}
	if b, ok := status.(*jetstream.KeyValueBucketStatus); ok && b.StreamInfo().Config.Replicas < m.opts.Replicas {
		stream := "KV_" + Bucket(m.opts.Name)
		m.log.Warn().Int("replicas", b.StreamInfo().Config.Replicas).Int("summaries", m.opts.Replicas).
			Msgf("the cluster's bucket has fewer replicas than SUMMARIES: nats stream edit %s --replicas %d", stream, m.opts.Replicas)
	}
}

// openBucket opens the bucket, or makes it where there is none: a processor may not have the right to change streams.
func openBucket(ctx context.Context, js jetstream.JetStream, o Options) (jetstream.KeyValue, error) {
	kv, err := js.KeyValue(ctx, Bucket(o.Name))
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return kv, err
	}
	kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: Bucket(o.Name), Description: "members and partitions of a cluster of processors", History: 1, Replicas: max(o.Replicas, 1),
	})
	if errors.Is(err, jetstream.ErrBucketExists) { // another member was faster
		return js.KeyValue(ctx, Bucket(o.Name))
	}
	return kv, err
}

// Holds reports whether the member may answer for a partition. Asked after an answer has been read, it says that the answer was true at
// that moment.
func (m *Member) Holds(partition int) bool { return m.held[partition].Load() && m.lease.holds() }

// Together has one member have all partitions from now on, and the others stand ready to take them: until the key is deleted.
func (m *Member) Together(ctx context.Context) error {
	if _, err := m.kv.Create(ctx, togetherKey, nil); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("ask for all partitions together: %w", err)
	}
	return nil
}

// Lapsed reports whether the member has a lease that it could not renew in time: it may answer for nothing, and others may take what it has.
func (m *Member) Lapsed() bool { return m.View().Self != "" && !m.lease.holds() }

// Joined reports whether the member takes part, and its partitions are those that it is to have, but for what another one keeps that is about to leave, or has no
// room: that one still answers for it.
func (m *Member) Joined() bool {
	v := m.View()
	if v.Self == "" || !m.lease.holds() {
		return false
	}
	for n, planned := range v.Planned {
		if planned == "" || planned == v.Self && !m.held[n].Load() && !v.Peers[v.Owners[n]].Aside { // the first is so until there is a plan
			return false
		}
	}
	return true
}

// Close has the member take no more partitions. It keeps its lease, and what it has, until Run ends.
func (m *Member) Close() { m.closing.Store(true) }

// View returns what the member knows of the cluster.
func (m *Member) View() *View { return m.view.Load() }

// Lost tells the member that the holder has given a partition up: another processor has claimed it, or it is to be made again.
func (m *Member) Lost(partition int) {
	select {
	case m.lost <- partition:
	case <-m.over:
	}
}

// Run takes part until ctx ends. Then the holder ends its partitions in its own way, and calls Leave. A call of PrepareLeave before that shortens the time in which they have no owner.
func (m *Member) Run(ctx context.Context) error {
	watch, err := m.kv.WatchAll(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch bucket of the cluster: %w", err)
	}
	defer func() { _ = watch.Stop() }()
	defer m.work.Wait()
	m.heard = m.opts.Now()
	defer close(m.over)
	every := time.NewTicker(m.opts.Lease / 4)
	defer every.Stop()
	m.renew(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
			m.renew(ctx)
			m.bury(ctx)
			m.rewatch(ctx)
		case next := <-m.watches:
			watch = m.instead(watch, next)
		case entry, open := <-watch.Updates():
			if !open && ctx.Err() != nil {
				return nil
			}
			if !open {
				return fmt.Errorf("%w: the watch of the bucket has ended", ErrFatal)
			}
			if entry == nil {
				m.known = true
			} else {
				m.saw(entry)
			}
			if len(watch.Updates()) > 0 {
				continue
			}
		case done := <-m.ended:
			if err := m.done(ctx, done); err != nil {
				return err
			}
		case <-m.asked:
			m.renew(ctx)
		case n := <-m.lost:
			if !m.holder.Runs(n) { // else it has been taken again since
				m.free(ctx, n)
			}
		}
		if m.known {
			m.govern(ctx)
			m.reconcile(ctx)
		}
		m.relieve()
		m.show()
	}
}

// show publishes the view.
func (m *Member) show() {
	m.moved()
	v := &View{
		Self: m.key, Members: map[string]string{}, Owners: make([]string, len(m.units)), Planned: make([]string, len(m.units)),
		Left: make([]bool, len(m.units)), Heard: make([]time.Time, len(m.units)), Next: make([]bool, len(m.units)), Follow: m.follow(), Near: m.near, Aside: m.aside,
		Standbys: m.plan.Standbys, Peers: m.peers(), Changes: m.changes[:len(m.changes):len(m.changes)],
	}
	total, own := 0, 0
	for key, other := range m.members {
		v.Members[key] = other.ID
		if other.Aside {
			continue
		}
		total += other.Weight
		if key == m.key {
			own = other.Weight
		}
	}
	for n, u := range m.units {
		v.Left[n] = u.left && u.owner == ""
		if owner, live := m.members[u.owner]; live {
			v.Owners[n] = u.owner
			if owner.alive {
				v.Heard[n] = owner.seen
			}
		}
		v.Next[n] = m.key != "" && (len(m.plan.Standbys) == 0 || len(m.plan.Standbys[n]) == 0 || m.plan.has(n, m.key) || !m.attended(n))
	}
	copy(v.Planned, m.plan.Owners)
	m.view.Store(v)
	if now := fmt.Sprint(len(m.members), own, total); now != m.told && own > 0 {
		m.told = now
		m.log.Info().Strs("members", slices.Sorted(maps.Values(v.Members))).Msg("members of the cluster")
		m.opts.Changed(len(m.members), float64(own)/float64(total))
	}
}

// attended reports whether one of those that a plan names for a partition is alive. If all of them died before this member came, it may be the
// next to have it, although no plan says so yet.
func (m *Member) attended(n int) bool {
	for key, other := range m.members {
		if other.alive && m.plan.has(n, key) && m.opts.Now().Sub(other.seen) < m.opts.Lease {
			return true
		}
	}
	return false
}

const (
	memberPrefix    = "member."
	partitionPrefix = "partition."
	planKey         = "plan"
	togetherKey     = "together"
)

// saw takes a change of the bucket.
func (m *Member) saw(e jetstream.KeyValueEntry) {
	gone := e.Operation() != jetstream.KeyValuePut
	switch key := e.Key(); {
	case strings.HasPrefix(key, memberPrefix):
		if key == m.key {
			m.heard = m.opts.Now()
		}
		old := m.members[key]
		if old != nil && e.Revision() <= old.revision {
			return // another watch begins with what is known
		}
		if gone {
			if delete(m.members, key); old != nil && key != m.key {
				m.went(key, old)
			}
			return
		}
		var r record
		if json.Unmarshal(e.Value(), &r) == nil && r.Weight > 0 {
			if old == nil && m.known {
				m.came(r.ID)
			}
			m.members[key] = &member{record: r, revision: e.Revision(), seen: m.opts.Now(), alive: old != nil || m.known}
		}
	case strings.HasPrefix(key, partitionPrefix):
		n, err := strconv.Atoi(strings.TrimPrefix(key, partitionPrefix))
		if err != nil || n < 0 || n >= len(m.units) || e.Revision() <= m.units[n].revision {
			return
		}
		var o ownership
		if !gone && json.Unmarshal(e.Value(), &o) != nil {
			return
		}
		m.units[n].owner, m.units[n].revision = o.Owner, e.Revision()
		m.units[n].left = m.units[n].left && o.Owner == ""
	case key == togetherKey:
		m.together = !gone
		m.log.Warn().Bool("together", m.together).Msg("whether one member is to have all partitions")
	case key == planKey && e.Revision() > m.planRev:
		var p plan
		if gone || json.Unmarshal(e.Value(), &p) == nil {
			m.plan, m.planRev = p.fit(len(m.units)), e.Revision()
		}
	}
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // strings and numbers
	}
	return data
}
