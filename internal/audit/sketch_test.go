package audit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/thread"
	"precis/state"
)

// threads are events of some threads, with duplicates, edits, deletions, rewinds, conflicts, what can't be read, and forks.
func threads(rnd *rand.Rand) (names []string, list [][2]string) {
	for i := range 4 {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	said := map[string][]string{}
	for i := range 60 + rnd.IntN(60) {
		name := names[rnd.IntN(len(names))]
		id := fmt.Sprintf("m%d", i)
		if ids := said[name]; len(ids) > 0 && rnd.IntN(3) == 0 {
			id = ids[rnd.IntN(len(ids))]
			list = append(list, [][2]string{
				{"message.edited." + name, fmt.Sprintf(`{"message_id":%q,"edit_id":"e%d","content":"edit %d %s"}`, id, i, i, strings.Repeat("long ", rnd.IntN(500)))},
				{"message.edited." + name, fmt.Sprintf(`{"message_id":%q,"edit_id":"e%d","deleted":true}`, id, i)},
				{"message.edited." + name, fmt.Sprintf(`{"message_id":%q,"edit_id":"e%d","rewind":true}`, id, i)},
				{"thread.message." + name, say(id, "user", "said "+id)}, {"tool.result." + name, output(id, 3, "")},
				{"thread.message." + name, `{"message_id":"broken"`}, {"tool.result." + name, output(id, 80, "")},
			}[rnd.IntN(7)])
			continue
		}
		said[name] = append(said[name], id)
		if rnd.IntN(3) == 0 {
			list = append(list, [2]string{"tool.result." + name, output(id, rnd.IntN(90), "")})
		} else {
			list = append(list, [2]string{"thread.message." + name, say(id, []string{"user", "assistant"}[rnd.IntN(2)], "said "+id)})
		}
		if rnd.IntN(25) == 0 {
			fork := fmt.Sprintf("%s-f%d", name, i)
			names = append(names, fork)
			list = append(list, [2]string{"thread.forked." + fork, fmt.Sprintf(`{"parent_thread_id":%q,"at_message_id":%q}`, name, said[name][rnd.IntN(len(said[name]))])})
		}
	}
	return names, list
}

// A story is the same whether its events are read one after the other, where a store knows them, over several connections, or were kept. A sketch of which
// all is read has the story's events that counted, and its summaries.
func TestTellAnyWay(t *testing.T) {
	for _, seed := range []uint64{2058889310841976181, rand.Uint64(), rand.Uint64()} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t)
			names, list := threads(rand.New(rand.NewPCG(seed, 0)))
			var beside []jetstream.JetStream
			readers, err := w.broker.OpenReaders(2)
			if err != nil {
				t.Fatal(err)
			}
			for _, nc := range readers {
				js, err := jetstream.New(nc)
				if err != nil {
					t.Fatal(err)
				}
				beside = append(beside, js)
			}
			w.run(func(p *processor.Processor) {
				w.put(list...)
				if err := p.Settled(within(t)); err != nil {
					t.Fatal(err)
				}
				for _, name := range names {
					w.toldAnyWay(p, name, beside)
				}
			})
		})
	}
}

func (w *world) toldAnyWay(p *processor.Processor, name string, beside []jetstream.JetStream) {
	w.t.Helper()
	known := func(name string) (seqs []uint64, err error) {
		_, seqs, err = w.knownOf(p, name)
		return seqs, err
	}
	kept := broker.NewKept(1 << 20)
	want, read := "", []*audit.Story{}
	for _, how := range []struct {
		name string
		set  func(*audit.Options)
	}{
		{"one after the other", func(*audit.Options) {}},
		{"where the store knows them", func(o *audit.Options) { o.Known = known }},
		{"over several connections", func(o *audit.Options) { o.Known, o.Beside = known, beside }},
		{"to be kept", func(o *audit.Options) { o.Known, o.Beside, o.Kept = known, beside, kept }},
		{"kept", func(o *audit.Options) { o.Known, o.Kept = known, kept }},
	} {
		w.scratch(func(o audit.Options) error {
			how.set(&o)
			s, err := audit.Tell(within(w.t), o, name, audit.Moment{})
			if err != nil {
				return err
			}
			text, err := json.Marshal(s, json.Deterministic(true))
			if err != nil {
				return err
			}
			if want == "" {
				want = string(text)
			}
			if string(text) != want {
				w.t.Errorf("%s, read %s:\n%s\nwant\n%s", name, how.name, text, want)
			}
			read = append(read, s)
			return nil
		})
	}
	w.sketched(p, name, known, read[0])
}

// sketched holds the sketch of a thread against its story.
func (w *world) sketched(p *processor.Processor, name string, known func(string) ([]uint64, error), story *audit.Story) {
	w.t.Helper()
	view, seqs, err := w.knownOf(p, name)
	if err != nil {
		w.t.Fatal(err)
	}
	kept, records := broker.NewKept(1<<20), broker.NewKept(1<<20)
	if s, err := audit.Sketch(view, name, kept, records); err != nil || s.Unread == 0 || s.Unread != len(s.Entries) {
		w.t.Errorf("%s: of %d events %d are not read, before any is: %v", name, len(s.Entries), s.Unread, err)
	}
	broker.NewLogReader(w.broker.JetStream(), broker.StreamEvents).Through(kept).Ahead(within(w.t), seqs, patience)
	unread, err := audit.Sketch(view, name, kept, records)
	if err != nil {
		w.t.Fatal(err)
	}
	without := map[string]bool{}
	for _, sum := range unread.Summaries {
		if sum.Unread {
			without[sum.ID] = true
		}
	}
	at, err := audit.RecordsIn(view, name, without)
	if err != nil || len(at) != len(without) {
		w.t.Fatalf("%s: %d summaries lack their records, which stand in %d places: %v", name, len(without), len(at), err)
	}
	for id := range without { // of one alone
		if one, err := audit.RecordsIn(view, name, map[string]bool{id: true}); err != nil || len(one) != 1 || !slices.Contains(at, one[0]) {
			w.t.Errorf("%s: the record of %s stands in %d, of all in %d: %v", name, id, one, at, err)
		}
	}
	broker.NewLogReader(w.broker.JetStream(), broker.StreamSummaries).Through(records).Ahead(within(w.t), at, patience)
	sketch, err := audit.Sketch(view, name, kept, records)
	if err != nil {
		w.t.Fatal(err)
	}
	var counted []string
	for _, e := range story.Entries {
		nothing := e.Rewind && !slices.Contains(seqs, e.EventSeq) // all behind it was deleted before
		if e.Record == nil && e.Outcome == thread.Accepted.String() && !nothing {
			counted = append(counted, lineOf(e))
		}
	}
	var has []string
	for _, e := range sketch.Entries {
		has = append(has, lineOf(e))
	}
	if got, want := strings.Join(has, "\n"), strings.Join(counted, "\n"); got != want || sketch.Unread != 0 {
		w.t.Errorf("%s, %d not read: the sketch has\n%s\nthe story has\n%s", name, sketch.Unread, got, want)
	}
	for i, sum := range sketch.Summaries {
		if replaced := sum.Status == thread.Replaced; unread.Summaries[i].Unread != replaced || sum.Unread || unread.Summaries[i].ID != sum.ID {
			w.t.Errorf("%s: summary %s, which is %s, is not read: %v before its record is, %v then", name, sum.ID, sum.Status, unread.Summaries[i].Unread, sum.Unread)
		}
	}
	got, _ := json.Marshal([]any{sketch.Summaries, sketch.Counters, sketch.Fork}, json.Deterministic(true))
	want, _ := json.Marshal([]any{story.Summaries, story.Counters, story.Fork}, json.Deterministic(true))
	if string(got) != string(want) {
		w.t.Errorf("%s: the sketch has the summaries and counters\n%s\nthe story has\n%s", name, got, want)
	}
}

// lineOf is an event without the tokens of a revision that another one replaced, which a store does not have.
func lineOf(e *audit.Entry) string {
	return fmt.Sprintln(e.EventSeq, e.Type, e.MessageID, e.Role, len(e.Text), e.Deleted, e.Rewind, e.Forks, e.Time.UnixNano())
}

// knownOf is where a thread's events stand, as a processor's store has them.
func (w *world) knownOf(p *processor.Processor, name string) (view state.View, seqs []uint64, err error) {
	token, err := events.Token(name)
	if err != nil {
		return view, nil, err
	}
	view = p.View(broker.PartitionOf(token, w.config.Partitions))
	h, err := view.Header(name)
	if err != nil || h == nil {
		return view, nil, err
	}
	seqs, err = audit.EventsIn(view, h)
	return view, seqs, err
}
