package processor_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/broker/brokertest"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/internal/secrets"
	"precis/state"
)

var rivalSeeds = flag.Int("crash.rivals", 0, "how many schedules TestSecondWriterCrashSchedules runs; 0: 4, and 1 with the race detector")

// replayed audits the streams alone.
func replayed(t *testing.T, b *broker.Broker) []audit.Finding {
	t.Helper()
	masker, err := secrets.Load()
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := state.Open("scratch", state.Options{FS: state.Memory(), Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := audit.Replay(within(t), audit.Options{
		JetStream: b.JetStream(), Scratch: scratch, Mask: masker.Mask, Workers: 2, Now: time.Now, Logger: logger(t),
	})
	if err := errors.Join(err, scratch.Close()); err != nil {
		t.Fatal(err)
	}
	return rep.Findings
}

// Two processors decide the same work under the same ids, and their records differ: in what the model said, in
// what it cost, in when a summary expired. One of them has to end before it writes behind the other's.
func TestTwoWriters(t *testing.T) {
	const threads = 30
	b := openBroker(t, t.TempDir())
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	both := make(chan struct{}) // closed when both have asked the model
	m := newModel(t, func(call int64, w http.ResponseWriter, _ *http.Request) {
		if call == 8 { // each has four calls under way at most
			close(both)
		}
		select {
		case <-both:
		case <-ctx.Done():
		}
		says(w, fmt.Sprintf("Compiled, as call %d says.", call), 500, 10+int(call))
	})
	var clock clockAhead
	var writers []*alone
	var ran []chan error
	for range 2 {
		c := byModel(t, m)
		c.Partitions = 3
		c.Policies[0].Staleness.TTL = time.Hour
		p := openAlone(t, processor.Options{Config: c, Logger: logger(t), Broker: b, Now: clock.now, Tend: time.Hour})
		writers, ran = append(writers, p), append(ran, make(chan error, 1))
	}
	for i, p := range writers {
		go func() { ran[i] <- p.Run(ctx) }()
	}
	for i := range threads {
		put(t, b.Conn(), fmt.Sprint("tool.result.t", i), toolResult("m1", 100))
	}
	tending, tended := context.WithCancel(ctx)
	for _, p := range writers {
		go func() {
			for tending.Err() == nil {
				if p.Settled(tending) == nil {
					clock.forward(2 * time.Hour)
					_ = p.Tended(tending)
				}
			}
		}()
	}
	var errs []error
	select {
	case err := <-ran[0]:
		errs = append(errs, err)
		stop()
		errs = append(errs, <-ran[1])
	case err := <-ran[1]:
		errs = append(errs, err)
		stop()
		errs = append(errs, <-ran[0])
	case <-ctx.Done():
		t.Fatal("both writers go on")
	}
	tended()
	if !errors.Is(errs[0], processor.ErrOtherWriter) {
		t.Errorf("the first ended with %v", errs[0])
	}
	if errs[1] != nil && !errors.Is(errs[1], processor.ErrOtherWriter) {
		t.Errorf("the second ended with %v", errs[1])
	}
	for _, p := range writers {
		p.close()
	}
	c := byModel(t, m)
	c.Partitions = 3
	after := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b, Now: clock.now, Tend: time.Hour})
	if err := after.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	after.end()
	for _, f := range replayed(t, b) {
		t.Errorf("replay: %+v", f)
	}
}

// A second processor writes to the same streams for a while, with a store of its own: it is stopped before this one claims the
// partitions, and wakes up behind that, or goes on.
func TestSecondWriterCrashSchedules(t *testing.T) {
	runSchedules(t, cmp.Or(*rivalSeeds, race.Fewer(1, 4)), func(s *schedule) {
		s.forks = true
		if s.rivals = true; !s.byModel { // what rules say is the same, byte for byte
			s.byModel, s.config = true, withModel(t, s.config)
		}
		if s.lag == nil {
			s.loses(2)
		}
	})
}

// Answers of the server are lost: what was stored is on record once all the same.
func TestLostAnswersCrashSchedules(t *testing.T) {
	runSchedules(t, cmp.Or(*rivalSeeds, race.Fewer(2, 8)), func(s *schedule) {
		if s.lag == nil {
			s.loses(4)
		}
	})
}

// loses has the processor lose some acknowledgements.
func (s *schedule) loses(most int64) {
	s.broker = openBrokerWith(s.t, broker.Options{StoreDir: s.t.TempDir(), Sync: "2m", Listen: "127.0.0.1:0", Logger: logger(s.t)})
	s.faults = brokertest.StartFaults(s.t, s.broker.URL(), s.rng.Uint64(), most)
	s.through = openBrokerWith(s.t, broker.Options{URL: s.faults.URL(), Logger: logger(s.t)})
}

// withModel is the configuration with a model in the place of the rules.
func withModel(t *testing.T, c *config.Config) *config.Config {
	by := byModel(t, newModel(t, func(call int64, w http.ResponseWriter, _ *http.Request) {
		says(w, fmt.Sprintf("Compiled, as call %d says.", call), 500, 10)
	}))
	c.Policies[0].Mode, c.Providers = by.Policies[0].Mode, by.Providers
	return c
}

// rival starts the second processor; the function it returns ends it. It may be a zombie: what it sends from some moment on
// reaches the server when it is to end, behind another one's claims.
func (s *schedule) rival(load *load) (end func()) {
	c := *s.config
	c.DataDir = s.t.TempDir()
	o := processor.Options{Config: &c, Logger: logger(s.t), Broker: s.broker, FS: vfs.NewMem(), Now: s.clock.now, Tend: time.Hour, SweepPause: 1}
	o.AckTimeout = 200 * time.Millisecond
	wake := func() {}
	zombie := s.rng.IntN(2) == 0
	var faults *brokertest.Faults
	if zombie {
		faults = brokertest.StartFaults(s.t, s.broker.URL(), s.rng.Uint64(), 0)
		o.Broker, wake = openBrokerWith(s.t, broker.Options{URL: faults.URL(), Logger: logger(s.t)}), faults.Release
	}
	p, err := processor.Open(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(within(s.t))
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	s.rivalled = true
	s.rivalling++
	load.publish(s.t, s.broker.Conn(), 1+s.rng.IntN(10))
	if zombie {
		time.AfterFunc(time.Duration(s.rng.IntN(20))*time.Millisecond, faults.Hold)
	}
	return func() {
		s.rivalling--
		wake()
		stop()
		if err := s.ended(ran); err != nil && !errors.Is(err, processor.ErrOtherWriter) {
			s.t.Errorf("run the second writer: %v", err)
		}
		if err := p.Close(context.Background()); err != nil {
			s.t.Errorf("close the second writer: %v", err)
		}
	}
}

// overtaken says that another writer ended the processor: what its store has decided is not what is on record, and
// it is made again from the streams.
func (s *schedule) overtaken(err error) bool {
	if !s.rivals || !errors.Is(err, processor.ErrOtherWriter) {
		return false
	}
	s.t.Log(err)
	if !s.rivalled {
		s.t.Error("no other writer has written since the store was made")
	}
	s.rivalled = s.rivalling > 0
	s.fs, s.lost = vfs.NewCrashableMem(), true
	return true
}
