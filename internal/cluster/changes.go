package cluster

import (
	"slices"
	"time"
)

// Kinds of changes.
const (
	Joined = "joined"
	Left   = "left"  // in order
	Died   = "died"  // it has not renewed its lease
	Moved  = "moved" // partitions have another owner
)

// keptChanges is how many changes a member remembers.
const keptChanges = 50

// togetherFor is how close moves from one process to another are told as one: partitions that are drained move one by one.
const togetherFor = time.Second

// Change is something that happened to the cluster, as one member has seen it: an operator reads it, and nothing is decided by it.
type Change struct {
	At         time.Time
	Kind       string
	Process    string        // that joined, left or died; of partitions, the next owner
	From       string        // the owner before; empty: none, or one that this member has not seen
	Partitions []int         // ascending
	After      time.Duration // the longest time for which one of them had no live owner; of a dead one, since its last renewal
}

// Peer is a member as another one sees it.
type Peer struct {
	ID     string // of the process
	Weight int
	Aside  bool // it can't have partitions for now
}

// past is what a member remembers of a partition's owners.
type past struct {
	owner string    // key of the last live owner's lease
	id    string    // its process
	until time.Time // when it was last alive and the owner
}

// note adds a change.
func (m *Member) note(c Change) {
	m.changes = append(m.changes, c)[max(0, len(m.changes)+1-keptChanges):]
}

// came notes a new member.
func (m *Member) came(id string) {
	m.log.Info().Str("member", id).Msg("member joined")
	m.note(Change{At: m.opts.Now(), Kind: Joined, Process: id})
}

// went notes that another member's lease is gone. One that left had renewed it shortly before, unless it was slow.
func (m *Member) went(key string, gone *member) {
	if m.opts.Now().Sub(gone.seen) < m.opts.Lease*3/4 {
		m.log.Info().Str("member", gone.ID).Msg("member left")
		m.note(Change{At: m.opts.Now(), Kind: Left, Process: gone.ID})
		return
	}
	m.log.Warn().Str("member", gone.ID).Msg("member has not renewed its lease, and is taken for dead")
	m.fell(key, gone)
}

// fell notes that a member was taken for dead.
func (m *Member) fell(key string, dead *member) {
	for n := range m.pasts {
		if p := &m.pasts[n]; p.owner == key {
			p.until = dead.seen
		}
	}
	m.note(Change{At: m.opts.Now(), Kind: Died, Process: dead.ID})
}

// moved notes which partitions have another owner than the last time.
func (m *Member) moved() {
	now := m.opts.Now()
	for n, u := range m.units {
		owner, live := m.members[u.owner]
		if !live {
			continue
		}
		before := m.pasts[n]
		m.pasts[n] = past{u.owner, owner.ID, now}
		if before.owner == u.owner || !m.known || !m.shown {
			continue
		}
		after := time.Duration(0)
		if before.owner != "" {
			after = now.Sub(before.until)
		}
		m.move(Change{At: now, Kind: Moved, Process: owner.ID, From: before.id, Partitions: []int{n}, After: after})
	}
	m.shown = m.shown || m.known
}

// move adds a move of a partition, to the latest ones between the same two where it is one of them.
func (m *Member) move(c Change) {
	for at := len(m.changes) - 1; at >= 0 && c.At.Sub(m.changes[at].At) < togetherFor; at-- {
		last := m.changes[at]
		if last.Kind != Moved || last.Process != c.Process || last.From != c.From || slices.Contains(last.Partitions, c.Partitions[0]) {
			continue
		}
		last.Partitions = slices.Concat(last.Partitions, c.Partitions) // a view has the former list
		slices.Sort(last.Partitions)
		last.After = max(last.After, c.After)
		m.changes = slices.Clone(m.changes)
		m.changes[at] = last
		return
	}
	m.note(c)
}

// peers are the live members, by lease.
func (m *Member) peers() map[string]Peer {
	list := make(map[string]Peer, len(m.members))
	for key, other := range m.members {
		list[key] = Peer{ID: other.ID, Weight: other.Weight, Aside: other.Aside}
	}
	return list
}
