package processor_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/race"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// After any mix of messages, edits and deletions, with another configuration in the middle, no active summary
// has a source whose content differs from what it was made from. The walk over the log that says so knows
// nothing of the fold.
func TestNoActiveSummaryOfAChangedSource(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	c := settings(t)
	c.Policies[0].Tokenizer = "estimate"
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 12}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 4}
	s := stage(t, c)
	defer s.finish()
	l := newLoad(rand.New(rand.NewPCG(10_000, 0)))
	l.threads = 40
	for i := range 4 {
		l.publish(t, s.schedule.broker.Conn(), *mixed/4)
		s.tended()
		s.reload(func(c *config.Config) { c.Policies[0].Compaction.MaxSummaryTokens = summarize.Size(400 + i) })
	}
	w := walked(t, s.schedule.broker)
	active := 0
	for id := range s.config.Partitions {
		for name := range w {
			active += w[name].check(t, s.View(id), name)
		}
	}
	if active < l.threads {
		t.Errorf("%d active summaries of %d threads: nothing to check", active, l.threads)
	}
}

var mixed = flag.Int("mix.events", 4_000, "events that TestNoActiveSummaryOfAChangedSource publishes")

// wrote is what the log says of a thread: the content of each message as it is now, and the edits so far.
type wrote struct {
	digest   map[string][32]byte
	shape    map[string][32]byte
	revision map[string]uint64
	waiting  map[string][]*events.Edit
	seen     map[string]bool
	order    []string
	rewound  map[string]bool
}

// walked goes through the log once, by the contract alone.
func walked(t *testing.T, b *broker.Broker) map[string]*wrote {
	t.Helper()
	threads := map[string]*wrote{}
	err := broker.NewLogReader(b.JetStream(), broker.StreamEvents).Scan(within(t), 1, nil, func(m broker.Stored) error {
		ev, reject := events.Decode(events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data}, events.Limits{EventBytes: 1 << 20})
		if reject != nil {
			return nil
		}
		w := threads[ev.Thread]
		if w == nil {
			w = &wrote{map[string][32]byte{}, map[string][32]byte{}, map[string]uint64{}, map[string][]*events.Edit{}, map[string]bool{}, nil, map[string]bool{}}
			threads[ev.Thread] = w
		}
		w.take(&ev)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return threads
}

func (w *wrote) take(ev *events.Event) {
	if e := ev.Edit; e != nil {
		key := e.MessageID + "\x00" + e.Key(ev.CloudEventID)
		if w.seen[key] {
			return
		}
		w.seen[key] = true
		if _, ok := w.digest[e.MessageID]; !ok {
			w.waiting[e.MessageID] = append(w.waiting[e.MessageID], e)
			return
		}
		w.edit(e)
		return
	}
	id := ev.Message.MessageID
	if _, ok := w.digest[id]; ok {
		return // the same again, or a conflict
	}
	w.order = append(w.order, id)
	w.shape[id] = ev.Message.ShapeDigest(ev.Type)
	w.digest[id] = events.RevisionDigest(w.shape[id], ev.Message.Content)
	for _, e := range w.waiting[id] {
		w.edit(e)
	}
}

func (w *wrote) edit(e *events.Edit) {
	if e.Pinned != nil {
		return
	}
	if e.Rewind {
		w.rewind(e.MessageID)
		return
	}
	var digest [32]byte // of a deleted message nothing is left
	if !e.Deleted {
		digest = events.RevisionDigest(w.shape[e.MessageID], e.Content)
	}
	if w.digest[e.MessageID] != digest {
		w.digest[e.MessageID] = digest
		w.revision[e.MessageID]++
		w.rewound[e.MessageID] = false
	}
}

func (w *wrote) rewind(to string) {
	if w.rewound[to] {
		return
	}
	for _, id := range w.order[slices.Index(w.order, to)+1:] {
		if w.digest[id] != [32]byte{} {
			w.digest[id] = [32]byte{}
			w.revision[id]++
		}
		w.rewound[id] = true
	}
}

// check holds a thread's active summaries against the log, and returns how many there are.
func (w *wrote) check(t *testing.T, view state.View, name string) (active int) {
	t.Helper()
	records, status, slot := map[string]*events.Summary{}, map[string]string{}, map[string]string{}
	for sum, err := range summaries(view, name) {
		if err != nil {
			t.Fatal(err)
		}
		status[sum.ID], slot[sum.ID] = string(sum.Status), sum.Slot
		if sum.Status != thread.Active {
			continue
		}
		rec := new(events.Summary)
		if err := json.Unmarshal(sum.Record, rec); err != nil {
			t.Fatal(err)
		}
		records[sum.ID] = rec
	}
	for _, rec := range records {
		active++
		var sources []summarize.Source
		for _, m := range rec.SourceMessageIDs {
			sources = append(sources, summarize.Source{ID: m, Revision: w.revision[m], Digest: w.digest[m]})
		}
		for _, from := range rec.SourceSummaryIDs {
			sources = append(sources, summarize.Source{ID: from})
			// A current summary stands for what its tops stood for when it was made; one of them that is no longer
			// active would have made it stale.
			if status[from] != "active" {
				t.Errorf("thread %s: %s is active and made from %s, which is %s", name, rec.Slot, slot[from], status[from])
			}
		}
		if got := summarize.SourceDigest(sources); got != rec.SourceDigest {
			t.Errorf("thread %s: %s (%s) is active, and its sources are not what they were", name, rec.Slot, fmt.Sprint(rec.SourceMessageIDs))
		}
	}
	return active
}
