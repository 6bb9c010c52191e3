package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/state"
)

// removal is a way to lose the beginning of EVENTS; keep is the first event that is left, 0: none.
type removal struct {
	name string
	keep uint64
}

var removals = []removal{{"event 1 deleted", 2}, {"the first 14 events purged", 15}, {"all of EVENTS purged", 0}}

func (w *world) remove(r removal) (first uint64) {
	w.t.Helper()
	s, err := w.stream(broker.StreamEvents), error(nil)
	switch {
	case r.keep == 0:
		err = s.Purge(within(w.t))
	case r.keep == 2:
		err = s.DeleteMsg(within(w.t), 1)
	default:
		err = s.Purge(within(w.t), jetstream.WithPurgeSequence(r.keep))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return w.stream(broker.StreamEvents).CachedInfo().State.FirstSeq
}

// check holds a store against the log, and returns what it reports.
func (w *world) check(store *state.Store, now time.Time) (problems []state.Problem, missing []string) {
	w.t.Helper()
	c, err := w.compare(store, func(p state.Problem) { problems = append(problems, p) }, func(o *audit.Options) { o.Now = func() time.Time { return now } })
	if err != nil {
		w.t.Fatal(err)
	}
	return problems, c.Missing
}

// compare holds a store against the log, much later.
func (w *world) compare(store *state.Store, report func(state.Problem), set ...func(*audit.Options)) (audit.Comparison, error) {
	w.t.Helper()
	o := audit.Options{JetStream: w.broker.JetStream(), Store: store, Now: muchLater, Logger: logger(w.t)}
	for _, f := range set {
		f(&o)
	}
	return audit.Compare(within(w.t), o, report)
}

// gone wants the finding that names the sequences before first.
func gone(t *testing.T, rep *audit.Report, first uint64) {
	t.Helper()
	want := "event 1"
	if first > 2 {
		want = fmt.Sprintf("event 1 to %d", first-1)
	}
	if !slices.ContainsFunc(rep.Findings, func(f audit.Finding) bool { return f.Check == audit.CheckEvents && f.Want == want }) {
		t.Errorf("no finding names %s: %+v", want, rep.Findings)
	}
}

// What is missing at the start of EVENTS is a finding that names the sequences, unless a retention on record may have
// removed it: without one, and with one that is younger than what is missing.
func TestRemovedEvents(t *testing.T) {
	race.Slow(t)
	for _, c := range []struct {
		name    string
		keep    time.Duration // retention on record
		now     func() time.Time
		excused bool
	}{
		{"no retention", 0, muchLater, false},
		{"retention", 30 * time.Minute, muchLater, true},
		{"retention that reaches no event yet", 30 * time.Minute, time.Now, false},
	} {
		for _, r := range removals {
			t.Run(c.name+", "+r.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.config.Retention.Events = c.keep
				w.story()
				store, first := w.store(), w.remove(r)
				at := func(o *audit.Options) { o.Now = c.now }
				with := func(o *audit.Options) { o.Now, o.Store = c.now, store }
				without, held := w.replay(at), w.replay(with)
				problems, missing := w.check(store, c.now())
				if c.excused {
					clean(t, without)
					clean(t, held)
					if len(problems)+len(missing) > 0 {
						t.Errorf("check: %+v, %q", problems, missing)
					}
					return
				}
				gone(t, without, first)
				gone(t, held, first)
				want := fmt.Sprintf("EVENTS 1 to %d", first-1)
				if first == 2 {
					want = "EVENTS 1"
				}
				if !slices.Contains(missing, want) {
					t.Errorf("check misses %q, want %s", missing, want)
				}
			})
		}
	}
}

// forgery changes records of the thread "long", which begins behind what is removed.
type forgery struct {
	name, check string
	byStore     bool // nobody but the store knows
	change      func(t *testing.T, list []broker.Stored) []broker.Stored
}

var forgeries = []forgery{
	{"text", audit.CheckRemade, false, forge(events.SummaryCreated, map[string]any{"content": "They agreed."})},
	{"trigger", audit.CheckTrigger, false, forge(events.SummaryCreated, map[string]any{"trigger.threshold": 10})},
	{"sources", audit.CheckSources, false, forge(events.SummaryCreated, map[string]any{"source_message_ids": []string{"l0"}})},
	{"beginning", audit.CheckBegan, false, forge(events.SummaryCreated, map[string]any{"first_event_seq": 1})},
	{"beginning throughout", audit.CheckBegan, true, func(t *testing.T, list []broker.Stored) []broker.Stored {
		for i, m := range list {
			if strings.HasSuffix(m.Subject, ".long") {
				list[i].Data = set(t, m.Data, map[string]any{"first_event_seq": 1})
			}
		}
		return list
	}},
	{"dropped invalidation", audit.CheckInvalidations, false, func(t *testing.T, list []broker.Stored) []broker.Stored {
		at := nth(t, list, events.SummaryInvalidated, "long", 0)
		return slices.Delete(list, at, at+1)
	}},
}

func forge(typ events.Type, change map[string]any) func(*testing.T, []broker.Stored) []broker.Stored {
	return func(t *testing.T, list []broker.Stored) []broker.Stored {
		at := nth(t, list, typ, "long", 0)
		list[at].Data = set(t, list[at].Data, change)
		return list
	}
}

// Whatever is missing, of another thread than those that retention has cut everything is still checked.
func TestForgedBehindRemovedEvents(t *testing.T) {
	race.Slow(t)
	for _, keep := range []time.Duration{0, 30 * time.Minute} {
		for _, r := range removals[:2] {
			t.Run(fmt.Sprintf("retention %s, %s", keep, r.name), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.config.Retention.Events = keep
				w.story()
				store, original := w.store(), w.messages(broker.StreamSummaries)
				w.remove(r)
				for _, f := range forgeries {
					list := f.change(t, slices.Clone(original))
					reseal(t, list)
					w.rewrite(broker.StreamSummaries, list)
					reports := map[string]*audit.Report{"with a store": w.replay(func(o *audit.Options) { o.Store = store })}
					if !f.byStore {
						reports["without a store"] = w.replay()
					}
					for name, rep := range reports {
						if !slices.ContainsFunc(rep.Findings, func(got audit.Finding) bool { return got.Check == f.check && got.Thread == "long" }) {
							t.Errorf("%s, forged %s: no finding %s of long in %+v", name, f.name, f.check, rep.Findings)
						}
					}
				}
			})
		}
	}
}

// An event in the middle is no retention's doing, and what a retention has not reached excuses nothing: the event of a
// record says when it was stored.
func TestRemovedTooYoung(t *testing.T) {
	w := newWorld(t)
	w.config.Retention.Events = 30 * time.Minute
	w.story()
	list := w.messages(broker.StreamSummaries)
	made := nth(t, list, events.SummaryCreated, "rules", 0)
	list[made].Data = set(t, list[made].Data, map[string]any{"event_at": muchLater().UTC().Format(time.RFC3339Nano)})
	reseal(t, list)
	w.rewrite(broker.StreamSummaries, list)
	seq := uint64(member(t, list[made].Data, "event_seq").(float64))
	w.remove(removal{keep: 15})
	rep := w.replay()
	if want := fmt.Sprintf("event %d to 14", seq); !slices.ContainsFunc(rep.Findings, func(f audit.Finding) bool {
		return f.Check == audit.CheckEvents && f.Want == want && strings.Contains(f.Got, "reaches no further")
	}) {
		t.Errorf("no finding names %s: %+v", want, rep.Findings)
	}
}

// Every partition records the retention that the stream has, and when the configuration was read.
func TestRetentionOnRecord(t *testing.T) {
	w := newWorld(t)
	w.run(func(p *processor.Processor) {
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		s := w.stream(broker.StreamEvents).CachedInfo().Config
		s.MaxAge = 90 * time.Minute
		if _, err := w.broker.JetStream().UpdateStream(within(t), s); err != nil {
			t.Fatal(err)
		}
		if err := p.Reload(within(t), w.config); err != nil {
			t.Fatal(err)
		}
	})
	said, at := map[any]int{}, map[any]int{}
	for _, m := range w.records() {
		said[member(t, m.Data, "retention").(map[string]any)["events"]]++
		at[member(t, m.Data, "applied_at")]++
	}
	if all := w.config.Partitions + 1; said["0s"] != all || said["1h30m0s"] != all || len(at) != 2 {
		t.Errorf("%v at %v, want each in %d partitions, at one time", said, at, all)
	}
}
