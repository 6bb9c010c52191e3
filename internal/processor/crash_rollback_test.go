package processor_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/parked"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/recovery"
	"precis/state"
)

var rollbackSeeds = flag.Int("crash.rollbacks", 0, "how many schedules each of TestRollbackCrashSchedules and TestTailLossCrashSchedules runs; 0: 4, and 1 with the race detector")

// Between two lives the streams, or one of them, fall back to an earlier day, and grow again: a processor whose store
// knows more than that day may not start, and one whose store does not goes on.
func TestRollbackCrashSchedules(t *testing.T) {
	runSchedules(t, cmp.Or(*rollbackSeeds, race.Fewer(1, 4)), func(s *schedule) { s.rolledBack, s.forks = newServer(s.t), true })
}

// backup is a server's files, and where its streams ended then.
type backup struct {
	dir  string
	ends map[string]uint64
}

func (s *schedule) backup() (b backup) {
	b.ends = map[string]uint64{}
	for _, name := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		state, err := broker.StateOf(within(s.t), s.rolledBack.JetStream(), name)
		if err != nil {
			s.t.Fatal(err)
		}
		b.ends[name] = state.Last
	}
	b.dir = s.rolledBack.copied()
	s.broker = s.rolledBack.Broker
	return b
}

func (s *schedule) restore(b backup, streams ...string) {
	s.rolledBack.stop()
	s.rolledBack.restore(b.dir, streams...)
	s.rolledBack.start(s.rolledBack.listen)
	s.broker = s.rolledBack.Broker
}

// rollBack has some streams fall back to a backup and grow, and holds the next start to what the store knows.
func (s *schedule) rollBack(load *load, early backup) {
	var streams []string
	if n := s.rng.IntN(4); n > 0 {
		streams = []string{[]string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected}[n-1]}
	}
	whole := s.backup()
	known := s.known(early, streams)
	s.restore(early, streams...)
	load.publish(s.t, s.broker.Conn(), int(whole.ends[broker.StreamEvents]-early.ends[broker.StreamEvents])+s.rng.IntN(20))
	for _, name := range []string{broker.StreamSummaries, broker.StreamRejected} {
		if n := whole.ends[name] - early.ends[name]; n > 0 {
			subject := map[string]string{broker.StreamSummaries: "summary.created.other", broker.StreamRejected: "event.rejected.other"}[name]
			put(s.t, s.broker.Conn(), subject, manyOf(`{"by":"hand"}`, int(n)+s.rng.IntN(20))...)
		}
	}
	// After a lost disk the store may be behind the backup, and SUMMARIES ahead of it: its records name the lost events.
	if slices.Equal(streams, []string{broker.StreamEvents}) && s.recordedAfter(early.ends[broker.StreamEvents]) {
		known = true
	}
	fs := s.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(s.rng.Uint64(), 0))}) // what follows is no part of the story
	p, err := processor.Open(s.t.Context(), processor.Options{Config: s.config, Logger: logger(s.t), Broker: s.broker, FS: fs, BulkFrom: math.MaxUint64})
	if err == nil {
		err = p.Close(context.Background())
	}
	if refused := errors.Is(err, recovery.ErrRewritten); refused != known {
		s.t.Errorf("%v rolled back from %v to %v, beyond which the store or SUMMARIES knows something: %v; start: %v", streams, whole.ends, early.ends, known, err)
	}
	if slices.Equal(streams, []string{broker.StreamEvents}) {
		s.acceptLoss(early.ends[broker.StreamEvents])
	}
	s.restore(whole)
}

// acceptLoss goes on from streams whose EVENTS fell back to a sequence, without a store: a processor that has nothing
// but them refuses where a record rests on what is lost, and once that is accepted the store is what the log makes.
func (s *schedule) acceptLoss(kept uint64) {
	loss := lossIn(s.t, s.broker, s.config, nil)
	options := processor.Options{Config: s.config, Logger: logger(s.t), Broker: s.broker, FS: state.Memory()}
	p, err := processor.Open(s.t.Context(), options)
	if err == nil {
		err = p.Close(context.Background())
	}
	if refused := errors.Is(err, recovery.ErrRewritten); refused != loss.Found {
		s.t.Errorf("a loss is found: %v; start without a store: %v", loss.Found, err)
	}
	if loss.Found && loss.EventsSeq != kept {
		s.t.Errorf("EVENTS is said to hold what was applied up to %d, it fell back to %d", loss.EventsSeq, kept)
	}
	if err := loss.Accept(within(s.t), s.broker.JetStream(), time.Now(), func(uint64) {}); err != nil {
		s.t.Fatal(err)
	}
	options.FS = state.Memory()
	lived(s.t, options)
	store, err := state.Open(processor.StoreDir(s.config.DataDir), state.Options{FS: options.FS, Logger: logger(s.t), Objects: parked.New(s.broker.JetStream(), nil)})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	problem := func(p state.Problem) { s.t.Errorf("%+v", p) }
	if _, err := audit.Compare(within(s.t), audit.Options{JetStream: s.broker.JetStream(), Store: store, Logger: logger(s.t)}, problem); err != nil {
		s.t.Error(err)
	}
	for _, f := range report(s.t, s.broker).Findings {
		// A lost event that was rejected, and on which no record rests: its rejection is no proof, since anything could
		// stand in REJECTED, so nothing was accepted.
		left := !loss.Found && f.EventSeq > kept && slices.Contains([]string{"rejections of one event", "an event that can't be accepted"}, f.Want)
		if !left && f.Check != audit.CheckReadable { // of which there is much, put there to grow
			s.t.Errorf("replay: %+v", f)
		}
	}
}

// known says whether the store has seen more of the streams, all without a name, than a backup holds.
func (s *schedule) known(b backup, streams []string) (more bool) {
	store, err := state.Open(processor.StoreDir(s.config.DataDir), state.Options{FS: s.fs, Logger: logger(s.t), Objects: parked.New(s.broker.JetStream(), nil)})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	if streams == nil {
		streams = []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected}
	}
	for id := range s.config.Partitions + 1 {
		m, err := store.View(id).Meta()
		if err != nil {
			s.t.Fatal(err)
		}
		at := map[string]uint64{broker.StreamEvents: m.Position, broker.StreamSummaries: m.SummariesSeq, broker.StreamRejected: m.RejectedSeq}
		for _, name := range streams {
			more = more || at[name] > b.ends[name]
		}
	}
	return more
}

// recordedAfter says whether SUMMARIES holds a thread's record that was decided at an event after seq.
func (s *schedule) recordedAfter(seq uint64) (recorded bool) {
	err := broker.NewLogReader(s.broker.JetStream(), broker.StreamSummaries).Scan(within(s.t), 1, nil, func(m broker.Stored) error {
		var head events.Head
		if err := json.Unmarshal(m.Data, &head); err != nil {
			return err
		}
		recorded = recorded || head.ThreadID != nil && head.EventAt != nil && head.EventSeq > seq
		return nil
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return recorded
}

// A server loses its last writes while a processor runs, and agents are there first when it comes back: the processor
// ends, and none of what came after is applied.
func TestTailLossCrashSchedules(t *testing.T) {
	seeds := cmp.Or(*rollbackSeeds, race.Fewer(1, 4))
	for seed := *crashFirst; seed < *crashFirst+uint64(seeds); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			s, c := newServer(t), settings(t)
			rng := rand.New(rand.NewPCG(seed, 1))
			load := newLoad(rng)
			c.Partitions, c.NATS.URL = 3, "nats://"+s.listen
			lived(t, processor.Options{Config: c, Logger: logger(t)}) // makes the streams
			load.publish(t, s.Conn(), 1+rng.IntN(100))
			lived(t, processor.Options{Config: c, Logger: logger(t)})
			early := s.copied()

			p := openAlone(t, processor.Options{Config: c, Logger: logger(t), BulkFrom: []uint64{1, math.MaxUint64}[rng.IntN(2)]})
			ran := make(chan error, 1)
			go func() { ran <- p.Run(t.Context()) }()
			lost := 1 + rng.IntN(50)
			load.publish(t, s.Conn(), lost)
			if err := p.Settled(within(t)); err != nil {
				t.Fatal(err)
			}
			was, err := broker.StateOf(within(t), s.JetStream(), broker.StreamEvents)
			if err != nil {
				t.Fatal(err)
			}
			s.stop()
			whole := filepath.Join(t.TempDir(), "whole")
			if err := os.CopyFS(whole, os.DirFS(s.dir)); err != nil {
				t.Fatal(err)
			}
			s.restore(early)
			s.start("127.0.0.1:0") // where agents reach it, and the processor does not yet
			if n := rng.IntN(2*lost) - lost/2; n > 0 {
				load.publish(t, s.Conn(), n)
			}
			s.stop()
			s.start(s.listen)
			if err := ends(t, ran); !errors.Is(err, recovery.ErrRewritten) {
				t.Errorf("run: %v", err)
			}
			p.close()

			s.stop()
			s.restore(whole)
			s.start(s.listen)
			lived(t, processor.Options{Config: c, Logger: logger(t)})
			if n := eventsOf(t, verifyStore(t, c, s.Broker), c.Partitions); n > was.Last {
				t.Errorf("%d events counted, the log had %d", n, was.Last)
			}
		})
	}
}
