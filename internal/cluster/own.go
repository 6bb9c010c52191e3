package cluster

import (
	"context"
	"errors"
	"slices"
	"strconv"
)

func partitionKey(n int) string { return partitionPrefix + strconv.Itoa(n) }

// reconcile begins what the plan asks of this member.
func (m *Member) reconcile(ctx context.Context) {
	if m.key == "" || len(m.plan.Owners) != len(m.units) {
		return
	}
	var take, give []int
	for n := range m.units {
		if m.beat(ctx); m.key == "" {
			break
		}
		u := &m.units[n]
		planned := m.plan.Owners[n] == m.key
		switch {
		case u.doing == holding && !planned && m.awaits(n) && !m.leaving.Load(): // a leaving member gives up everything at once, with its lease
			u.doing = releasing
			m.held[n].Store(false)
			give = append(give, n)
		case u.doing == nothing && planned && !m.closing.Load() && !m.opts.Now().Before(m.pause) && m.lease.holds():
			if m.takes(ctx, n) {
				u.doing = acquiring
				take = append(take, n)
			}
		case u.doing == nothing && u.owner == m.key && !planned:
			m.free(ctx, n)
		}
	}
	if m.key == "" { // expelled meanwhile: others may have them
		for _, n := range take {
			m.units[n].doing = nothing
		}
		take = nil
	}
	m.begin(ctx, take, acquiring, m.holder.Acquire)
	m.begin(ctx, give, releasing, m.holder.Release)
}

// awaits reports whether the planned owner of a partition is near enough to take it: until then its owner keeps it.
func (m *Member) awaits(n int) bool {
	next := m.members[m.plan.Owners[n]]
	return next != nil && slices.Contains(next.Near, n)
}

// follow returns the partitions of others that this member is to follow, and how far they are on record.
func (m *Member) follow() map[int]uint64 {
	list := map[int]uint64{}
	for n, u := range m.units {
		owner := m.members[u.owner]
		if m.key == "" || u.doing != nothing || u.owner == m.key || owner == nil || !m.plan.has(n, m.key) {
			continue
		}
		if recorded, ok := owner.Recorded[n]; ok {
			list[n] = recorded
		}
	}
	return list
}

// has reports whether a member is to have a partition, or to follow it.
func (p plan) has(n int, key string) bool {
	return n < len(p.Owners) && p.Owners[n] == key || n < len(p.Standbys) && slices.Contains(p.Standbys[n], key)
}

// fit returns the plan if it is one of so many partitions.
func (p plan) fit(units int) plan {
	if len(p.Owners) != units || len(p.Standbys) != units && len(p.Standbys) > 0 {
		return plan{}
	}
	return p
}

// takes writes that this member has a partition, if it is free or its owner is dead.
func (m *Member) takes(ctx context.Context, n int) bool {
	u := &m.units[n]
	if u.owner == m.key {
		return true
	}
	if _, live := m.members[u.owner]; live {
		return false
	}
	return m.own(ctx, n, m.key)
}

// own writes who has a partition.
func (m *Member) own(ctx context.Context, n int, owner string) bool {
	ctx, cancel := m.beforeRenewal(ctx)
	defer cancel()
	u := &m.units[n]
	rev, err := m.put(ctx, partitionKey(n), encode(ownership{owner}), u.revision)
	if err != nil {
		m.log.Debug().Err(err).Int("partition", n).Msg("owner of partition not written")
		return false
	}
	u.owner, u.revision = owner, rev
	return true
}

// free gives up a partition that this member does not run.
func (m *Member) free(ctx context.Context, n int) {
	u := &m.units[n]
	if u.doing == holding {
		u.doing = nothing
		m.held[n].Store(false)
	}
	if m.key != "" && u.owner == m.key && u.doing == nothing && m.own(ctx, n, "") {
		u.left = true
	}
}

// begin works on partitions in a goroutine.
func (m *Member) begin(ctx context.Context, units []int, was doing, work func(context.Context, []int) error) {
	if len(units) == 0 {
		return
	}
	m.work.Go(func() {
		done := outcome{units, was, work(ctx, units)}
		select {
		case m.ended <- done:
		case <-ctx.Done():
		}
	})
}

// done notes the end of an acquisition or a release.
func (m *Member) done(ctx context.Context, o outcome) error {
	if o.err != nil {
		if errors.Is(o.err, ErrFatal) {
			return o.err
		}
		m.log.Warn().Err(o.err).Ints("partitions", o.units).Msg("partitions not taken over or given up in order")
		m.pause = m.opts.Now().Add(m.opts.Lease / 2)
	}
	var stray []int
	for _, n := range o.units {
		m.beat(ctx)
		u := &m.units[n]
		switch {
		case o.was == acquiring && o.err == nil && !m.holder.Runs(n): // the holder has given it up; counted as held, it would never be taken again
		case o.was == acquiring && o.err == nil && u.owner == m.key && m.key != "":
			u.doing = holding
			m.held[n].Store(true)
			continue
		case o.was == acquiring && o.err == nil: // expelled meanwhile
			stray = append(stray, n)
		}
		u.doing = nothing
		m.free(ctx, n)
	}
	m.holder.Abandon(stray)
	return nil
}
