package processor_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/content"
	"precis/internal/parked"
	"precis/internal/processor"
	"precis/state"
	"precis/summarize"
)

// clockAhead is the system's, set forward by tests.
type clockAhead struct {
	mu    sync.Mutex
	ahead time.Duration
	when  func() bool // it jumps by that much then; nil: never
	jump  time.Duration
	at    time.Time // the jump
}

// jumpWhen has the clock jump once when something is so, which is asked whenever the clock is. jumped is what it showed
// then; zero where it has not.
func (c *clockAhead) jumpWhen(when func() bool, d time.Duration) (jumped func() time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.when, c.jump, c.at = when, d, time.Time{}
	return func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.at
	}
}

func (c *clockAhead) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.when != nil && c.when() {
		c.when, c.ahead = nil, c.ahead+c.jump
		c.at = time.Now().Add(c.ahead)
	}
	return time.Now().Add(c.ahead)
}

func (c *clockAhead) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// scene is a processor that a test changes the circumstances of.
type scene struct {
	settles  time.Duration                 // of parked threads
	confirms time.Duration                 // of their loss
	reads    func(content.Log) content.Log // nil: nothing stands between
	*schedule
	*running
	clock   *clockAhead
	version string // of the program
}

// stage starts a processor; finish verifies its log and its store.
func stage(t *testing.T, c *config.Config) *scene {
	t.Helper()
	return stageWith(t, c, nil)
}

// stageWith has something stand between folds and the log.
func stageWith(t *testing.T, c *config.Config, reads func(content.Log) content.Log) *scene {
	t.Helper()
	c.Partitions = 2
	s := &scene{
		reads:    reads,
		schedule: &schedule{t: t, broker: openBroker(t, t.TempDir()), config: c, fs: vfs.NewCrashableMem()},
		clock:    &clockAhead{},
	}
	s.open()
	return s
}

// finish verifies what the scene has left.
func (s *scene) finish() {
	s.end()
	s.verifyStore()
}

func (s *scene) open() {
	s.running = start(s.schedule.t, processor.Options{
		Config: s.config, Logger: logger(s.schedule.t), Broker: s.schedule.broker, FS: s.fs, Now: s.clock.now, Tend: time.Hour, SweepPause: 1, Reads: s.reads, Version: s.version, ParkSettles: s.settles, ParkConfirms: s.confirms,
	})
	select {
	case <-s.Ready():
	case <-within(s.schedule.t).Done():
		s.schedule.t.Fatal("not ready")
	}
}

// verifyStore holds the store against its log, and what is on record against what is decided.
func (s *schedule) verifyStore() {
	store, err := state.Open(processor.StoreDir(s.config.DataDir), state.Options{FS: s.fs, Logger: logger(s.t), Objects: parked.New(s.broker.JetStream(), nil)})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			s.t.Error(err)
		}
	}()
	if err := store.Check(s.config.Partitions+1, func(p state.Problem) { s.t.Errorf("%+v", p) }); err != nil {
		s.t.Error(err)
	}
	s.checkLive(store.View)
	s.compare(store)
	s.replay(store)
}

func (s *scene) settled() {
	s.schedule.t.Helper()
	if err := s.Settled(within(s.schedule.t)); err != nil {
		s.schedule.t.Fatal(err)
	}
}

// tended lets everything happen that no event calls for.
func (s *scene) tended() {
	s.schedule.t.Helper()
	s.settled()
	if err := s.Tended(within(s.schedule.t)); err != nil {
		s.schedule.t.Fatal(err)
	}
	s.settled()
}

// reload puts another configuration in force, and waits for what it makes stale.
func (s *scene) reload(change func(*config.Config)) {
	s.schedule.t.Helper()
	s.alter(change)
	s.tended()
}

// alter puts another configuration in force, and does not wait for what it makes stale.
func (s *scene) alter(change func(*config.Config)) {
	s.schedule.t.Helper()
	next := *s.config
	next.Policies = slices.Clone(next.Policies)
	next.Providers = maps.Clone(next.Providers)
	change(&next)
	if err := s.Reload(within(s.schedule.t), &next); err != nil {
		s.schedule.t.Fatal(err)
	}
	s.config = &next
}

func (s *scene) publish(subject string, bodies ...string) {
	s.schedule.t.Helper()
	put(s.schedule.t, s.schedule.broker.Conn(), subject, bodies...)
	s.settled()
}

// told are the thread's records, each as type, slot or summary's slot, reason and action.
func (s *scene) told(thread string) []string {
	s.schedule.t.Helper()
	var list []string
	slots := map[string]string{}
	err := broker.NewLogReader(s.schedule.broker.JetStream(), broker.StreamSummaries).Scan(within(s.schedule.t), 1, nil, func(m broker.Stored) error {
		if !strings.HasSuffix(m.Subject, "."+thread) {
			return nil
		}
		id := m.Header.Get(nats.MsgIdHdr)
		kind, _, _ := strings.Cut(id, "/")
		switch events.Type(kind) {
		case events.SummaryCreated:
			var rec events.Summary
			if err := json.Unmarshal(m.Data, &rec); err != nil {
				return err
			}
			slots[rec.ID] = rec.Slot
			list = append(list, fmt.Sprintf("created %s v%d %s %s", rec.Slot, rec.Version, rec.Method, rec.Trigger.Reason))
		case events.SummaryStarted:
			var rec events.Started
			if err := json.Unmarshal(m.Data, &rec); err != nil {
				return err
			}
			slots[rec.SummaryID] = rec.Slot
			list = append(list, fmt.Sprintf("started %s v%d %s", rec.Slot, rec.Version, rec.Trigger.Reason))
		case events.SummaryFailed:
			var rec events.Failed
			if err := json.Unmarshal(m.Data, &rec); err != nil {
				return err
			}
			list = append(list, fmt.Sprintf("failed %s %s", slots[rec.SummaryID], rec.Code))
		case events.SummaryInvalidated:
			var rec events.Invalidated
			if err := json.Unmarshal(m.Data, &rec); err != nil {
				return err
			}
			list = append(list, fmt.Sprintf("stale %s %s %s", slots[rec.SummaryID], rec.Reason, rec.Action))
		case events.UsageRecorded:
			var rec events.UsageRecord
			if err := json.Unmarshal(m.Data, &rec); err != nil {
				return err
			}
			list = append(list, "paid "+slots[rec.SummaryID]+" "+rec.Outcome)
		}
		return nil
	}, nil)
	if err != nil {
		s.schedule.t.Fatal(err)
	}
	return list
}

// saw holds the thread's records behind the first from to what they should be.
func (s *scene) saw(thread string, from int, want ...string) {
	s.schedule.t.Helper()
	got := s.told(thread)
	if len(got) < from || !slices.Equal(got[from:], want) {
		s.schedule.t.Errorf("records of %s:\n%s\nwant behind the first %d:\n%s", thread, strings.Join(got, "\n"), from, strings.Join(want, "\n"))
	}
}

func asked(n int) string {
	return fmt.Sprintf(`{"message_id":"n%d","role":"user","content":"Look at internal/part%d.go, line %d, and mend it."}`, n, n, 10*n)
}

func large(id string) string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "step %d of %s: compiled pkg/part%d.go in %d ms\n", i, id, i, 17*i)
	}
	return fmt.Sprintf(`{"message_id":%q,"tool_name":"bash","arguments":{"command":"make"},"content":%q}`, id, b.String())
}

// requested is a policy that compacts when it is asked to, and at nothing else.
func requested(t testing.TB) *config.Config {
	c := settings(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 100000}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 2}
	c.Policies[0].Context.KeepOutputs = summarize.KeepOutputs{}
	return c
}

func (s *scene) summarize(thread string) string {
	s.schedule.t.Helper()
	id, err := s.Summarize(within(s.schedule.t), s.partition(thread), thread, events.KindCompaction)
	if err != nil {
		s.schedule.t.Fatal(err)
	}
	s.settled()
	return id
}

// partition is where a thread's events are.
func (s *scene) partition(thread string) int {
	s.schedule.t.Helper()
	for id := range s.config.Partitions {
		h, err := s.View(id).Header(thread)
		if err != nil {
			s.schedule.t.Fatal(err)
		}
		if h != nil {
			return id
		}
	}
	s.schedule.t.Fatalf("no thread %q", thread)
	return 0
}

// What is asked for is made, is on record, and is not made twice; and it is the same after a restart and in
// a rebuild, which the scene verifies.
func TestSummarizeOnRequest(t *testing.T) {
	s := stage(t, requested(t))
	defer s.finish()
	for i := range 10 {
		s.publish("thread.message.t", asked(i))
	}
	s.saw("t", 0)
	first := s.summarize("t")
	s.saw("t", 0, "created leaf:n0 v1 rules requested", "created current v1 rules requested")
	if again := s.summarize("t"); first == "" || again != first {
		t.Errorf("asked twice: %q and %q", first, again)
	}
	s.end()
	s.open()
	for i := range 6 {
		s.publish("thread.message.t", asked(10+i))
	}
	if second := s.summarize("t"); second == "" || second == first {
		t.Errorf("asked with more to summarize: %q behind %q", second, first)
	}
	s.saw("t", 2, "created leaf:n8 v1 rules requested", "created current v2 rules requested")
	told, err := s.Summarize(within(t), s.partition("t"), "t", events.KindHistory)
	if err != nil || told == "" {
		t.Errorf("asked for a history: %q, %v", told, err)
	}
	s.settled()
	s.saw("t", 4, "created history v1 rules requested")
	if _, err := s.Summarize(within(t), 0, "nobody", events.KindCompaction); err == nil {
		t.Error("a thread that is not there was summarized")
	}
}

func TestIdleThreadsAreCompacted(t *testing.T) {
	c := requested(t)
	c.Policies[0].Compaction.Trigger = summarize.Condition{Any: []summarize.Condition{
		{All: []summarize.Condition{{Idle: time.Hour}, {Messages: 5}}}, {Idle: 24 * time.Hour},
	}}
	s := stage(t, c)
	defer s.finish()
	for i := range 4 {
		s.publish("thread.message.few", asked(i))
	}
	for i := range 10 {
		s.publish("thread.message.many", asked(i))
	}
	s.tended()
	s.saw("many", 0)
	s.clock.forward(59 * time.Minute)
	s.tended()
	s.saw("many", 0)
	s.clock.forward(2 * time.Minute)
	s.tended()
	s.saw("many", 0, "created leaf:n0 v1 rules idle", "created current v1 rules idle")
	s.saw("few", 0)
	s.clock.forward(23 * time.Hour)
	s.tended()
	s.saw("few", 0, "created leaf:n0 v1 rules idle", "created current v1 rules idle")
	s.clock.forward(100 * time.Hour)
	s.tended()
	s.saw("many", 2)
}

// A configuration that is reloaded makes stale what it would have made otherwise, through everything made of
// it, and the thread's next event makes that again.
func TestReloadMakesStale(t *testing.T) {
	s := stage(t, requested(t))
	defer s.finish()
	s.publish("tool.result.t", large("a"), large("b"))
	for i := range 6 {
		s.publish("thread.message.t", asked(i))
	}
	s.summarize("t")
	made := len(s.told("t"))
	s.reload(func(c *config.Config) { c.Policies[0].Compaction.MaxSummaryTokens = 300 })
	// A sweep comes by in the order of ids: the current one is stale with its leaf, or before it and by itself.
	if s.told("t")[made] != "stale leaf:a policy_changed regenerate" {
		s.saw("t", made, "stale current policy_changed regenerate", "stale leaf:a policy_changed regenerate")
	} else {
		s.saw("t", made, "stale leaf:a policy_changed regenerate", "stale current source_summary_invalidated regenerate")
	}
	s.publish("thread.message.t", asked(6))
	s.saw("t", made+2, "created leaf:a v2 rules regenerated", "created current v2 rules regenerated")
	s.reload(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = 500 })
	if got := s.told("t")[made+4:]; len(got) != 2 || !slices.Contains(got, "stale tool:a policy_changed regenerate") {
		t.Errorf("stale by another budget of tool outputs: %q", got)
	}
	s.end()
	s.open()
	s.tended()
	s.publish("thread.message.t", asked(7))
	if got := s.told("t")[made+6:]; len(got) != 2 || !slices.Contains(got, "created tool:b v2 rules regenerated") {
		t.Errorf("made again: %q", got)
	}
	before := len(s.told("t"))
	s.reload(func(c *config.Config) { c.Policies[0].Staleness.On = []string{"source"} })
	s.reload(func(c *config.Config) { c.Policies[0].ToolOutput.MaxSummaryChars = 700 })
	s.saw("t", before)
}

func TestExpiry(t *testing.T) {
	c := requested(t)
	c.Policies[0].Staleness.TTL = time.Hour
	s := stage(t, c)
	defer s.finish()
	s.publish("tool.result.t", large("a"))
	s.tended()
	s.saw("t", 0, "created tool:a v1 rules tool_output_chars")
	s.clock.forward(61 * time.Minute)
	s.tended()
	s.saw("t", 1, "stale tool:a ttl_expired regenerate")
	s.publish("thread.message.t", asked(0))
	s.saw("t", 2, "created tool:a v2 rules regenerated")
}

// A job that a configuration overtakes is paid for, is not used, and is decided again.
func TestReloadDuringAJob(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	c := byModel(t, newModel(t, func(call int64, w http.ResponseWriter, _ *http.Request) {
		if call == 1 {
			close(held)
			<-release
		}
		says(w, fmt.Sprintf("Compiled pkg, as call %d says.", call), 500, 10)
	}))
	s := stage(t, c)
	defer s.finish()
	put(t, s.schedule.broker.Conn(), "tool.result.t", large("a"))
	<-held
	next := *s.config
	next.Policies = slices.Clone(next.Policies)
	next.Policies[0].ToolOutput.MaxSummaryChars = 600
	if err := s.Reload(within(t), &next); err != nil {
		t.Fatal(err)
	}
	s.config = &next
	close(release)
	s.settled()
	s.saw("t", 0, "started tool:a v1 tool_output_chars", "paid tool:a superseded", "failed tool:a superseded",
		"started tool:a v2 tool_output_chars", "paid tool:a used", "created tool:a v2 llm tool_output_chars")
}
