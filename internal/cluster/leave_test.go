package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/cluster"
)

// party is a few members, whose followers are near when the test says so.
type party struct {
	t    *testing.T
	js   jetstream.JetStream
	near atomic.Bool
	// standbys of each partition
	standbys int
}

const partyUnits = 8

func (p *party) start(id string) *cluster.Member {
	p.t.Helper()
	var m *cluster.Member
	m, err := cluster.Open(p.t.Context(), p.js, &holder{}, cluster.Options{
		Name: "c", ID: id, Units: partyUnits, Standbys: p.standbys, Lease: 4 * time.Second, Logger: zerolog.Nop(),
		Report: func() cluster.Report {
			r := idle(m.View())
			if !p.near.Load() {
				r.Near = nil
			}
			return r
		},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	run(p.t, m)
	return m
}

func (p *party) await(what string, holds func() bool) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !holds(); <-tick.C {
		if time.Now().After(end) {
			p.t.Fatal(what)
		}
	}
}

// leave begins to prepare a leave, and returns a channel that is closed when it has.
func leave(ctx context.Context, m *cluster.Member) <-chan struct{} {
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		m.PrepareLeave(ctx)
	}()
	return ready
}

// held counts the partitions that a member answers for.
func held(m *cluster.Member) (n int) {
	for unit := range partyUnits {
		if m.Holds(unit) {
			n++
		}
	}
	return n
}

// planned counts the partitions that a member is to have.
func planned(m *cluster.Member) (n int) {
	v := m.View()
	for _, owner := range v.Planned {
		if owner == v.Self && owner != "" {
			n++
		}
	}
	return n
}

// The others are near before a member leaves, and it has everything until then; behind its lease's end they have it without another plan.
func TestPrepareLeave(t *testing.T) {
	p := &party{t: t, js: connected(t, started(t, server.Options{}).ClientURL()), standbys: 1}
	p.near.Store(true)
	first, second := p.start("first"), p.start("second")
	p.await("they do not share", func() bool {
		return first.Joined() && second.Joined() && held(first) == partyUnits/2 && held(second) == partyUnits/2
	})
	p.near.Store(false)
	p.await("the first does not know that the second is not near", func() bool {
		return len(second.View().Near) == 0
	})
	ready := leave(t.Context(), first)
	p.await("the plan still has something for the one that leaves", func() bool {
		return planned(second) == partyUnits && len(second.View().Follow) == partyUnits/2
	})
	select {
	case <-ready:
		t.Error("it leaves although the next owner has not caught up")
	default:
	}
	p.near.Store(true)
	<-ready
	if n := held(first); n != partyUnits/2 {
		t.Errorf("it has %d partitions before it leaves, of %d", n, partyUnits/2)
	}
	first.Leave(t.Context())
	p.await("the second does not take what the first had", func() bool { return held(second) == partyUnits })
}

// Nothing is waited for that can't come.
func TestPrepareLeaveOfTheLast(t *testing.T) {
	p := &party{t: t, js: connected(t, started(t, server.Options{}).ClientURL()), standbys: 1}
	first := p.start("first")
	p.await("it has not all", func() bool { return held(first) == partyUnits })
	first.PrepareLeave(t.Context()) // alone
	second, third := p.start("second"), p.start("third")
	p.await("the first does not see the others", func() bool { return len(first.View().Members) == 3 })
	both := []<-chan struct{}{leave(t.Context(), second), leave(t.Context(), third)} // the next owners have not caught up, and none of them stays
	for _, ready := range both {
		<-ready
	}
}

// An end does not wait longer than it may.
func TestPrepareLeaveIsBounded(t *testing.T) {
	p := &party{t: t, js: connected(t, started(t, server.Options{}).ClientURL()), standbys: 1}
	first := p.start("first")
	p.await("it has not all", func() bool { return held(first) == partyUnits })
	second := p.start("second")
	p.await("the first does not see the other", func() bool { return len(first.View().Members) == 2 })
	ctx, cancel := context.WithCancel(t.Context())
	ready := leave(ctx, first)
	p.await("the plan is not another one", func() bool {
		return planned(second) == partyUnits
	})
	select {
	case <-ready:
		t.Error("it leaves although the next owner has not caught up")
	default:
	}
	cancel()
	<-ready
}

// Without standbys it would take too long until a next owner has caught up.
func TestPrepareLeaveWithoutStandbys(t *testing.T) {
	p := &party{t: t, js: connected(t, started(t, server.Options{}).ClientURL())}
	first := p.start("first")
	p.await("it has not all", func() bool { return held(first) == partyUnits })
	p.start("second")
	p.await("the first does not see the other", func() bool { return len(first.View().Members) == 2 })
	first.PrepareLeave(t.Context())
	if n := held(first); n != partyUnits {
		t.Errorf("it has %d partitions before it leaves", n)
	}
}
