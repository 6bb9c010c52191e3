package cluster

import (
	"context"
	"errors"
	"time"
)

// errLeaving is why a member that is about to leave can't have partitions.
var errLeaving = errors.New("the processor is about to end")

// PrepareLeave has the others get ready to take what this member has: by the plan it has nothing any more, and its standbys catch up meanwhile. It returns when they are
// near, when no other member can have any, or when ctx ends. Until Leave the member keeps what it has, and answers for it. Without standbys it returns at once: catching up
// with a partition that is still being worked on, from nothing, takes longer than folding one that has stopped.
func (m *Member) PrepareLeave(ctx context.Context) {
	m.Close()
	if m.opts.Standbys == 0 {
		return
	}
	m.leaving.Store(true)
	select {
	case m.asked <- struct{}{}:
	case <-m.over:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-m.relieved:
	case <-m.over:
	case <-ctx.Done():
	}
}

// relieve notes when nothing is left to wait for.
func (m *Member) relieve() {
	if !m.leaving.Load() || m.aside == nil {
		return
	}
	if !m.ready() {
		if !m.waits {
			m.waits = true
			m.log.Info().Msg("waiting until other processors are ready to take the partitions")
		}
		return
	}
	select {
	case <-m.relieved:
	default:
		close(m.relieved)
	}
}

// ready reports whether what this member holds could be taken now, or can't be by any other member.
func (m *Member) ready() bool {
	able := false
	for key, other := range m.members {
		able = able || key != m.key && !other.Aside
	}
	if !able || m.key == "" || !m.lease.holds() {
		return true
	}
	if len(m.plan.Owners) != len(m.units) {
		return false
	}
	for n, u := range m.units {
		if u.doing == holding && (m.plan.Owners[n] == m.key || !m.awaits(n)) {
			return false
		}
	}
	return true
}

// Leave deletes the lease, with which the others take all that the member had. Nothing of it may run any more.
func (m *Member) Leave(ctx context.Context) {
	if m.key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	m.lease.end()
	for n := range m.units {
		m.held[n].Store(false)
	}
	if err := m.kv.Delete(ctx, m.key); err != nil {
		m.log.Warn().Err(err).Msg("lease not deleted: the others wait for its end")
	}
}
