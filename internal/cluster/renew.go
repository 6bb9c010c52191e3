package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// renew writes the lease again, or joins.
func (m *Member) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.opts.Lease/2)
	defer cancel()
	began := m.opts.Now()
	m.renewal = began
	m.stepAside()
	if m.key == "" {
		m.join(ctx, began)
		return
	}
	m.count++
	report := m.opts.Report()
	m.near = map[int]bool{}
	for _, n := range report.Near {
		m.near[n] = true
	}
	rev, err := m.kv.Update(ctx, m.key, encode(record{m.opts.ID, m.opts.Weight, m.count, m.aside != nil, report}), m.revision)
	switch {
	case err == nil:
		m.revision = rev
		m.lease.renewed(began)
		if m.steady.IsZero() {
			m.steady = began
		}
		if m.failing {
			m.failing = false
			m.log.Info().Msg("lease renewed again")
		}
		return
	case errors.Is(err, jetstream.ErrKeyExists): // another revision
		m.look(ctx)
	default:
		m.unrenewed(err)
	}
	m.steady = time.Time{}
}

// unrenewed logs a renewal that failed: of several the first, since there are three in a second.
func (m *Member) unrenewed(err error) {
	level := zerolog.WarnLevel
	if m.failing {
		level = zerolog.DebugLevel
	}
	m.failing = true
	m.log.WithLevel(level).Err(err).Msg("lease not renewed")
}

// stepAside asks whether this member can have partitions.
func (m *Member) stepAside() {
	was := m.aside
	m.aside = m.opts.Aside()
	if m.leaving.Load() {
		m.aside = errLeaving
		return
	}
	switch {
	case m.aside != nil && was == nil:
		m.log.Error().Err(m.aside).Msg("partitions are left to other processors")
	case m.aside == nil && was != nil:
		m.log.Info().Msg("partitions are taken again")
	}
}

// beforeRenewal bounds a write of the run loop by half a lease from the last renewal on: the next one waits for it. What was written all the same, the
// watch says.
func (m *Member) beforeRenewal(ctx context.Context) (context.Context, context.CancelFunc) {
	left := m.renewal.Add(m.opts.Lease / 2).Sub(m.opts.Now())
	return context.WithTimeout(ctx, max(left, m.opts.Lease/8))
}

// beat renews the lease if its time has come: a member writes partitions one after the other, and many take longer than a lease.
func (m *Member) beat(ctx context.Context) {
	if m.key != "" && m.opts.Now().Sub(m.renewal) >= m.opts.Lease/4 {
		m.renew(ctx)
	}
}

// join writes a lease of another name than any before: what was held under an earlier one is not held any more.
func (m *Member) join(ctx context.Context, began time.Time) {
	key, first := memberPrefix+nuid.Next(), record{ID: m.opts.ID, Weight: m.opts.Weight, Aside: m.aside != nil}
	rev, err := m.kv.Create(ctx, key, encode(first))
	if err != nil {
		m.log.Warn().Err(err).Msg("not joined to the cluster")
		return
	}
	m.key, m.revision, m.count, m.steady = key, rev, 0, began
	if m.known { // it was expelled
		m.came(m.opts.ID)
	}
	m.members[key] = &member{record: first, revision: rev, seen: m.opts.Now(), alive: true}
	m.lease.renewed(began)
}

// look finds out whether the lease is an earlier renewal's, whose answer was lost, or gone.
func (m *Member) look(ctx context.Context) {
	e, err := m.kv.Get(ctx, m.key)
	var r record
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		m.expelled()
	case err != nil:
		m.unrenewed(err)
	case json.Unmarshal(e.Value(), &r) == nil && r.ID == m.opts.ID:
		m.revision = e.Revision() // the next renewal extends the lease
	}
}

// expelled: another member has deleted the lease.
func (m *Member) expelled() {
	m.lease.end()
	var had []int // what is being acquired ends as that is done
	for n := range m.units {
		m.held[n].Store(false)
		if u := &m.units[n]; u.doing == holding {
			u.doing = nothing
			had = append(had, n)
		}
	}
	m.log.Warn().Ints("partitions", had).Msg("others have taken this member for dead: it gives up what it had and joins again")
	m.fell(m.key, &member{record: record{ID: m.opts.ID}, seen: m.renewal})
	delete(m.members, m.key)
	m.key = ""
	m.holder.Abandon(had)
}

// bury deletes the leases of members that have not renewed them for a lease's time. If this member could not renew its own one either, the
// server was away.
func (m *Member) bury(ctx context.Context) {
	if m.steady.IsZero() || m.opts.Now().Sub(m.steady) < m.opts.Lease {
		return
	}
	for key, other := range m.members {
		if key == m.key || m.opts.Now().Sub(other.seen) < m.opts.Lease {
			continue
		}
		asking, cancel := m.beforeRenewal(ctx)
		err := m.kv.Delete(asking, key, jetstream.LastRevision(other.revision))
		cancel()
		if err != nil {
			m.log.Debug().Err(err).Str("member", other.ID).Msg("lease of a silent member not deleted")
			other.seen = m.opts.Now() // it is alive, or the server is not
			continue
		}
		m.log.Warn().Str("member", other.ID).Msg("member has not renewed its lease, and is taken for dead")
		delete(m.members, key)
		m.fell(key, other)
	}
}

// govern writes the plan, if this member is the one that does and the plan is not as it has to be.
func (m *Member) govern(ctx context.Context) {
	if m.key == "" || m.leader() != m.key {
		return
	}
	next := m.next()
	if slices.Equal(next.Owners, m.plan.Owners) && slices.EqualFunc(next.Standbys, m.plan.Standbys, slices.Equal[[]string]) {
		return
	}
	if m.beat(ctx); m.key == "" {
		return
	}
	asking, cancel := m.beforeRenewal(ctx)
	defer cancel()
	rev, err := m.put(asking, planKey, encode(next), m.planRev)
	if err != nil {
		m.log.Debug().Err(err).Msg("plan not written")
		return
	}
	m.plan, m.planRev = next, rev
}

// next is the plan as it has to be. What a dead member had goes to the next live one of those that follow it, and stays there until it is
// taken: only then does it count as a part of that one's share that may move on.
func (m *Member) next() plan {
	live := m.able()
	before, following := make([]string, len(m.units)), make([][]string, len(m.units))
	copy(before, m.plan.Owners)
	copy(following, m.plan.Standbys)
	fixed := make([]bool, len(m.units))
	for n, u := range m.units {
		if before[n] == "" {
			before[n] = u.owner
		}
		at := slices.IndexFunc(following[n], func(key string) bool { return live[key] > 0 })
		if live[before[n]] == 0 && at >= 0 {
			before[n] = following[n][at]
		}
		fixed[n] = live[u.owner] == 0
	}
	assign, busy := Plan, len(before)-m.opts.Idle
	if m.together {
		busy = len(before)
		assign = func(before []string, _ []bool, live map[string]int) []string {
			most := Most(before, live)
			return Plan(before, nil, map[string]int{most: live[most]})
		}
	}
	next := plan{Owners: append(assign(before[:busy], fixed[:busy], live), Plan(before[busy:], fixed[busy:], live)...)}
	for n, owner := range next.Owners {
		// The former owner follows in the place of the next one: it is nearer than any other.
		if at := slices.Index(following[n], owner); at >= 0 {
			following[n] = slices.Clone(following[n])
			following[n][at] = before[n]
		}
	}
	next.Standbys = standbys(next.Owners, following, live, m.opts.Standbys, assign)
	return next
}

// able are the live members that can have partitions, by weight; all live ones if none can.
func (m *Member) able() map[string]int {
	live, able := map[string]int{}, map[string]int{}
	for key, other := range m.members {
		live[key] = other.Weight
		if !other.Aside {
			able[key] = other.Weight
		}
	}
	if len(able) == 0 {
		return live
	}
	return able
}

// leader is the live member that writes the plan.
func (m *Member) leader() string {
	leader := ""
	for key := range m.members {
		if leader == "" || strings.Compare(key, leader) < 0 {
			leader = key
		}
	}
	return leader
}

// put writes a key on condition of its last revision, 0: none.
func (m *Member) put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return m.kv.Create(ctx, key, value)
	}
	return m.kv.Update(ctx, key, value, revision)
}
