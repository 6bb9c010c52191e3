package processor_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/recovery"
	"precis/state"
)

// damage is what happens to the streams under a store.
type damage struct {
	name string
	do   func(t *testing.T, s *server, before string)
	// same: the store still belongs to the streams. A retention limit may have removed what is gone, so a start is not refused.
	same bool
}

func damages() (list []damage) {
	list = []damage{{name: "nothing", do: func(*testing.T, *server, string) {}, same: true}}
	for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries} {
		list = append(list,
			damage{"dropped " + stream, func(t *testing.T, s *server, _ string) { dropped(t, s, stream) }, false},
			damage{"recreated " + stream, func(t *testing.T, s *server, _ string) {
				c := dropped(t, s, stream)
				if _, err := s.JetStream().CreateStream(within(t), c); err != nil {
					t.Fatal(err)
				}
			}, false},
			damage{"rolled back " + stream, func(t *testing.T, s *server, before string) { rolledBackTo(s, before, stream) }, false},
		)
	}
	return append(list,
		damage{"purged EVENTS", func(t *testing.T, s *server, _ string) { purged(t, s, broker.StreamEvents) }, true},
		damage{"purged SUMMARIES", func(t *testing.T, s *server, _ string) { purged(t, s, broker.StreamSummaries) }, false},
		damage{"purged SUMMARIES that grew", func(t *testing.T, s *server, _ string) {
			purged(t, s, broker.StreamSummaries)
			put(t, s.Conn(), "summary.created.t1", manyOf(`{"by":"hand"}`, 150)...)
		}, false},
		damage{"rolled back EVENTS that grew", func(t *testing.T, s *server, before string) {
			rolledBackTo(s, before, broker.StreamEvents)
			grown(t, s.Conn(), "c", 150)
		}, false},
		damage{"rolled back SUMMARIES that grew", func(t *testing.T, s *server, before string) {
			rolledBackTo(s, before, broker.StreamSummaries)
			put(t, s.Conn(), "summary.created.t1", manyOf(`{"by":"hand"}`, 150)...)
		}, false},
		damage{"all rolled back", func(_ *testing.T, s *server, before string) { rolledBackTo(s, before) }, false},
	)
}

func dropped(t *testing.T, s *server, stream string) jetstream.StreamConfig {
	t.Helper()
	at, err := s.JetStream().Stream(within(t), stream)
	if err == nil {
		err = s.JetStream().DeleteStream(within(t), stream)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at.CachedInfo().Config
}

func purged(t *testing.T, s *server, stream string) {
	t.Helper()
	at, err := s.JetStream().Stream(within(t), stream)
	if err == nil {
		err = at.Purge(within(t))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func rolledBackTo(s *server, before string, streams ...string) {
	s.t.Helper()
	s.stop()
	s.restore(before, streams...)
	s.start(s.listen)
}

// A member of a cluster refuses streams that its store is not of, as a processor that is alone does: with the same error, before it joins, and
// whichever partitions its store has.
func TestMemberRefusesWhatOneAloneRefuses(t *testing.T) {
	for _, d := range damages() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s, c := newServer(t), settings(t)
			c.Partitions = 2
			options := func(name, dir string) processor.Options {
				member := *c
				member.Cluster.Name, member.DataDir = name, dir
				return processor.Options{Config: &member, Logger: logger(t), Broker: s.Broker}
			}
			openAlone(t, options("", c.DataDir)).close() // makes the streams
			grown(t, s.Conn(), "a", 50)
			lived(t, options("", c.DataDir))
			before := s.copied()
			grown(t, s.Conn(), "b", 50)
			lived(t, options("", c.DataDir))
			some := withoutPartition(t, c, 0)
			d.do(t, s, before)

			open := func(name, dir string) error {
				p, err := processor.Open(t.Context(), options(name, dir))
				if err == nil {
					err = p.Close(t.Context())
				}
				return err
			}
			member, partial := open("flock", c.DataDir), open("flock", some)
			if keys := bucketKeys(t, s); len(keys) > 0 && !d.same {
				t.Errorf("it has joined: %v", keys)
			}
			alone := open("", c.DataDir)
			if d.same {
				if err := errors.Join(alone, member, partial); err != nil {
					t.Error(err)
				}
				return
			}
			if alone == nil || member == nil || alone.Error() != member.Error() {
				t.Errorf("alone: %v\nmember: %v", alone, member)
			}
			for _, is := range []error{recovery.ErrRolledBack, recovery.ErrRewritten, recovery.ErrOtherStream, recovery.ErrStreamGone} {
				if errors.Is(alone, is) != errors.Is(partial, is) {
					t.Errorf("alone: %v\nmember without partition 0: %v", alone, partial)
				}
			}
		})
	}
}

// withoutPartition copies a data directory, and drops a partition from the copy.
func withoutPartition(t *testing.T, c *config.Config, id int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(c.DataDir)); err != nil {
		t.Fatal(err)
	}
	store, err := state.Open(processor.StoreDir(dir), state.Options{Logger: logger(t)})
	if err == nil {
		err = errors.Join(store.Drop(id), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func bucketKeys(t *testing.T, s *server) []string {
	t.Helper()
	kv, err := s.JetStream().KeyValue(within(t), "precis_flock")
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	keys, err := kv.Keys(within(t))
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		t.Fatal(err)
	}
	return keys
}

// The streams are rolled back under a running cluster, and grow again: each processor ends as one alone does, the one that only follows
// partitions as well. Nothing of the new log is applied to what was made from the old one.
func TestLogThatLosesItsTailEndsMembers(t *testing.T) {
	s, c := newServer(t), settings(t)
	c.Partitions, c.NATS.URL = 2, "nats://"+s.listen
	lived(t, processor.Options{Config: c, Logger: logger(t)}) // makes the streams
	grown(t, s.Conn(), "a", 50)
	lived(t, processor.Options{Config: c, Logger: logger(t)})
	before := s.copied()

	c.Cluster.Name, c.Cluster.Standbys = "flock", 1
	join := func(weight int) (*processor.Processor, chan error) {
		member := *c
		member.DataDir, member.Cluster.Weight = t.TempDir(), weight
		p := openAlone(t, processor.Options{Config: &member, Logger: logger(t)}).Processor
		ran := make(chan error, 1)
		go func() { ran <- p.Run(t.Context()) }()
		return p, ran
	}
	owner, ownerRan := join(1000)
	until(t, "the first processor does not take all", func() bool { return len(owner.Owned()) == c.Partitions+1 })
	follower, followerRan := join(1)
	last := grown(t, s.Conn(), "b", 50)
	until(t, "the second processor does not follow", func() bool {
		return !slices.ContainsFunc([]int{0, 1}, func(id int) bool {
			at, err := follower.Stands(id)
			return err != nil || at+10 < last
		})
	})
	if len(follower.Owned()) > 0 {
		t.Fatal("the second processor was to follow alone")
	}
	s.stop()
	s.restore(before, broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected)
	s.start("127.0.0.1:0")
	grown(t, s.Conn(), "c", 80)
	put(t, s.Conn(), "summary.created.other", manyOf(`{"by":"hand"}`, 100)...)
	put(t, s.Conn(), "event.rejected.other", manyOf(`{"by":"hand"}`, 100)...)
	s.stop()
	s.start(s.listen)
	for name, ran := range map[string]chan error{"owner": ownerRan, "follower": followerRan} {
		if err := ends(t, ran); !errors.Is(err, recovery.ErrRewritten) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range []int{0, 1} {
		if at, err := follower.Stands(id); err != nil || at > last {
			t.Errorf("the follower has partition %d at %d, and %d was its end: %v", id, at, last, err)
		}
	}
}
