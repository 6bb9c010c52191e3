package cluster_test

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/cluster"
)

// holder notes what it is told.
type holder struct {
	mu        sync.Mutex
	abandoned []int
}

func (*holder) Acquire(context.Context, []int) error { return nil }
func (*holder) Release(context.Context, []int) error { return nil }
func (*holder) Runs(int) bool                        { return true }
func (h *holder) Abandon(ids []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.abandoned = append(h.abandoned, ids...)
}

// far is a connection to a server that takes longer to reach.
func far(t *testing.T, server string, by time.Duration) jetstream.JetStream {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", strings.TrimPrefix(server, "nats://"))
			if err != nil {
				from.Close()
				return
			}
			go func() {
				_, _ = io.Copy(from, to)
				from.Close()
			}()
			go func() {
				defer to.Close()
				buffer := make([]byte, 64<<10)
				for {
					n, err := from.Read(buffer)
					<-time.After(by)
					if _, werr := to.Write(buffer[:n]); err != nil || werr != nil {
						return
					}
				}
			}()
		}
	}()
	return connected(t, "nats://"+l.Addr().String())
}

// connected returns JetStream by a connection that lasts as long as the test.
func connected(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// owned counts a member's partitions.
func owned(v *cluster.View) int {
	return len(v.Owners) - len(slices.DeleteFunc(slices.Clone(v.Owners), func(o string) bool { return o == v.Self }))
}

// idle is the report of a member of an empty log.
func idle(v *cluster.View) cluster.Report {
	r := cluster.Report{Recorded: map[int]uint64{}}
	for n, owner := range v.Owners {
		if owner == v.Self && owner != "" {
			r.Recorded[n] = 0
		}
	}
	for n := range v.Follow {
		r.Near = append(r.Near, n)
	}
	return r
}

// started is a server.
func started(t *testing.T, opts server.Options) *server.Server {
	t.Helper()
	opts.Host, opts.Port, opts.JetStream, opts.StoreDir, opts.NoLog, opts.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, t.TempDir(), true, true
	srv, err := server.NewServer(&opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return srv
}

// run has a member take part until the test ends.
func run(t *testing.T, m *cluster.Member) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A write that no server answers does not keep a member from its next renewal.
func TestLeaseWhileAWriteHasNoAnswer(t *testing.T) {
	const lease, renewals = 8 * time.Second, 4 // two seconds to spare on a machine that is slow
	srv := started(t, server.Options{Users: []*server.User{
		{Username: "m", Password: "m", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$KV.precis_c.plan"}}}},
		{Username: "w", Password: "w"},
	}})
	connect := func(user string) jetstream.JetStream {
		nc, err := nats.Connect(srv.ClientURL(), nats.UserInfo(user, user))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		return js
	}
	m, err := cluster.Open(t.Context(), connect("m"), &holder{}, cluster.Options{Name: "c", ID: "m", Units: 4, Lease: lease, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	kv, err := connect("w").KeyValue(t.Context(), cluster.Bucket("c"))
	if err != nil {
		t.Fatal(err)
	}
	watch, err := kv.Watch(t.Context(), "member.*")
	if err != nil {
		t.Fatal(err)
	}
	run(t, m)
	var last time.Time
	patience := time.After(10 * lease)
	for n := 0; n < renewals; {
		select {
		case e := <-watch.Updates():
			if e == nil {
				continue
			}
			if since := e.Created().Sub(last); n > 0 && since >= lease*3/4 {
				t.Errorf("renewal %d comes %s after the one before: the lease of %s does not hold so long", n, since, lease)
			}
			last = e.Created()
			n++
		case <-patience:
			t.Fatalf("%d renewals", n)
		}
	}
}

// A member that gives many partitions up writes longer than its lease holds, and keeps it.
func TestLeaseWhileManyPartitionsMove(t *testing.T) {
	srv := started(t, server.Options{})
	const partitions, away, lease = 256, 5 * time.Millisecond, 400 * time.Millisecond
	js := far(t, srv.ClientURL(), away)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	await := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !holds(); <-tick.C {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	start := func(id string) (*cluster.Member, *holder) {
		h := &holder{}
		var m *cluster.Member
		var err error
		m, err = cluster.Open(t.Context(), js, h, cluster.Options{
			Name: "c", ID: id, Units: partitions, Lease: lease, Logger: zerolog.Nop(),
			Report: func() (r cluster.Report) { return idle(m.View()) },
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, m)
		return m, h
	}
	first, had := start("first")
	await("the first does not take all", func() bool { return first.Joined() && owned(first.View()) == partitions })
	second, got := start("second")
	await("the second does not take its half", func() bool {
		return second.Joined() && owned(second.View()) == partitions/2 && owned(first.View()) == partitions/2
	})
	for _, h := range []*holder{had, got} {
		h.mu.Lock()
		if len(h.abandoned) > 0 {
			t.Errorf("%d partitions abandoned: a member that lives was taken for dead", len(h.abandoned))
		}
		h.mu.Unlock()
	}
}

// giving is a holder that gives its first partition up as it takes it.
type giving struct {
	holder
	m     *cluster.Member
	taken atomic.Int64 // times
}

func (g *giving) Runs(int) bool { return g.taken.Load() > 1 }

func (g *giving) Acquire(context.Context, []int) error {
	if g.taken.Load() == 0 {
		g.m.Lost(0) // before the member knows that it was taken
	}
	g.taken.Add(1)
	return nil
}

// A partition that its holder gives up by itself while it is taken over is taken again, and what is said of an earlier time with it does not count.
func TestPartitionGivenUpWhileItIsTaken(t *testing.T) {
	js, g := connected(t, started(t, server.Options{}).ClientURL()), &giving{}
	var err error
	g.m, err = cluster.Open(t.Context(), js, g, cluster.Options{Name: "c", ID: "m", Units: 1, Lease: 4 * time.Second, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	run(t, g.m)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !g.m.Holds(0) || g.taken.Load() < 2; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("taken %d times, and held: %t", g.taken.Load(), g.m.Holds(0))
		}
	}
	for range 2 { // the second one is taken when the first has been dealt with
		g.m.Lost(0)
	}
	if !g.m.Holds(0) || g.taken.Load() != 2 {
		t.Errorf("taken %d times, and held: %t", g.taken.Load(), g.m.Holds(0))
	}
}
