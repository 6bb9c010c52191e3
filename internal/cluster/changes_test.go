package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"precis/internal/cluster"
)

// What an operator sees of a join, a death and a leave: who it was, and which partitions moved to whom.
func TestChanges(t *testing.T) {
	js := connected(t, started(t, server.Options{}).ClientURL())
	const partitions, lease = 4, 2 * time.Second
	type process struct {
		*cluster.Member
		stop  context.CancelFunc
		ended chan error
	}
	start := func(id string) *process {
		p := &process{ended: make(chan error, 1)}
		var err error
		p.Member, err = cluster.Open(t.Context(), js, &holder{}, cluster.Options{
			Name: "c", ID: id, Units: partitions, Lease: lease, Standbys: 1, Logger: zerolog.Nop(),
			Report: func() cluster.Report { return idle(p.View()) },
		})
		if err != nil {
			t.Fatal(err)
		}
		var ctx context.Context
		ctx, p.stop = context.WithCancel(context.WithoutCancel(t.Context()))
		go func() { p.ended <- p.Run(ctx) }()
		return p
	}
	end := func(p *process) {
		p.stop()
		if err := <-p.ended; err != nil {
			t.Error(err)
		}
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	await := func(what string, holds func() bool) {
		t.Helper()
		for until := time.Now().Add(30 * time.Second); !holds(); <-tick.C {
			if time.Now().After(until) {
				t.Fatal(what)
			}
		}
	}
	told := func(p *process) string {
		var lines []string
		for _, c := range p.View().Changes {
			lines = append(lines, strings.Join(strings.Fields(fmt.Sprint(c.Kind, " ", c.From, " ", c.Process, " ", c.Partitions)), " "))
		}
		return strings.Join(lines, "; ")
	}
	has := func(p *process, n int) func() bool { return func() bool { return p.Joined() && owned(p.View()) == n } }

	first := start("first")
	await("the first does not take all", has(first, partitions))
	second := start("second")
	await("the second does not take its half", has(second, partitions/2))
	await("the first keeps more than its half", has(first, partitions/2))
	if v := first.View(); len(v.Peers) != 2 || len(v.Standbys) != partitions {
		t.Errorf("peers %v, standbys %v", v.Peers, v.Standbys)
	}
	got := second.View().Owners
	var moved []int
	for n, owner := range got {
		if owner == second.View().Self {
			moved = append(moved, n)
		}
	}
	join := fmt.Sprintf("joined second []; moved first second %v", moved)
	if is := told(first); is != join {
		t.Errorf("after a join: %s, want %s", is, join)
	}

	end(second) // as killed: it renews its lease no more
	await("the first does not take what a dead member had", has(first, partitions))
	death := join + fmt.Sprintf("; died second []; moved second first %v", moved)
	if is := told(first); is != death {
		t.Errorf("after a death: %s, want %s", is, death)
	}
	if last := first.View().Changes[3]; last.After < lease || last.After > 20*lease {
		t.Errorf("moved %s after the last renewal, with a lease of %s", last.After, lease)
	}

	if !second.Lapsed() || first.Lapsed() {
		t.Errorf("lapsed: the dead one %t, the live one %t", second.Lapsed(), first.Lapsed())
	}

	third := start("third")
	await("the third does not take its half", has(third, partitions/2))
	end(third)
	third.Leave(t.Context())
	await("the first does not take what the third had", has(first, partitions))
	kinds := []string{}
	for _, c := range first.View().Changes {
		if c.Process == "third" && c.Kind != cluster.Moved {
			kinds = append(kinds, c.Kind)
		}
	}
	if !slices.Equal(kinds, []string{cluster.Joined, cluster.Left}) {
		t.Errorf("the third is said to have %v", kinds)
	}
	end(first)
	first.Leave(t.Context())
}
