package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/secrets"
	"precis/state"
)

// culprit is somebody who has the server, and changes one stream.
type culprit struct {
	broker   *broker.Broker
	original map[string][]broker.Stored
	random   *rand.Rand
}

// tampering is one change, and how it must be named.
type tampering struct {
	name, stream string
	reseal       bool // the chains are made anew behind it
	change       func(c *culprit, list []broker.Stored) (changed []broker.Stored, about string)
	check        string
}

var tamperings = []tampering{
	{"a summary altered", broker.StreamSummaries, false, alterSummary, audit.CheckChain},
	{"a summary altered, its chain made anew", broker.StreamSummaries, true, alterSummary, audit.CheckRemade},
	{"a summary removed, its chain made anew", broker.StreamSummaries, true, removeSummary, audit.CheckMissed},
	{"an invalidation removed, its chain made anew", broker.StreamSummaries, true, removeInvalidation, audit.CheckInvalidations},
	{"a record inserted", broker.StreamSummaries, false, insertRecord, audit.CheckOrder},
	{"a record inserted, its chain made anew", broker.StreamSummaries, true, insertRecord, audit.CheckTrigger},
	{"records in another order", broker.StreamSummaries, false, exchange, audit.CheckOrder},
	{"a cost changed", broker.StreamSummaries, false, changeCost, audit.CheckChain},
	{"a cost changed, its chain made anew", broker.StreamSummaries, true, changeCost, audit.CheckCost},
	{"a rejection removed", broker.StreamRejected, false, removeRejection, audit.CheckRejection},
	// These last: EVENTS made anew has other times than the summaries say.
	{"a source altered", broker.StreamEvents, false, alterSource, audit.CheckSources},
	{"a source removed, the log made anew", broker.StreamEvents, false, removeSource, audit.CheckSources},
}

func tamperWith(t *testing.T, v *victim, random *rand.Rand) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(v.dir)); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: processor.BrokerDir(dir), Sync: "5m", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { shut(t, b) }()
	c := &culprit{broker: b, original: map[string][]broker.Stored{}, random: random}
	for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		c.original[stream] = c.read(t, stream)
	}
	c.rewrite(t, broker.StreamSummaries, c.original[broker.StreamSummaries])
	c.rewrite(t, broker.StreamRejected, c.original[broker.StreamRejected])
	if rep := c.replay(t, func(o *audit.Options) { o.Rules = true }); !rep.Clean() {
		t.Fatalf("written as it was, the log has findings: %+v", rep.Findings)
	}
	for n := range len(tamperings) * *chaosTampers {
		tamper := tamperings[n / *chaosTampers]
		t.Run(tamper.name, func(t *testing.T) {
			list, about := tamper.change(c, slices.Clone(c.original[tamper.stream]))
			if about == "" {
				t.Skip("nothing of the kind in the log")
			}
			if tamper.reseal {
				resealed(t, list)
			}
			c.rewrite(t, tamper.stream, list)
			rep := c.replay(t, func(o *audit.Options) {
				o.Rules, o.Now = tamper.check == audit.CheckRemade, muchLater
			})
			c.rewrite(t, tamper.stream, c.original[tamper.stream])
			if !slices.ContainsFunc(rep.Findings, func(f audit.Finding) bool {
				return f.Check == tamper.check && (string(f.Summary) == about || string(f.Thread) == about || fmt.Sprint(f.EventSeq) == about)
			}) {
				t.Errorf("no finding %s about %s in %d:\n%+v", tamper.check, about, len(rep.Findings), rep.Findings[:min(5, len(rep.Findings))])
			}
		})
	}
	t.Run("a counter changed", func(t *testing.T) { c.changeCounter(t, filepath.Join(dir, "again"), v) })
}

func (c *culprit) read(t *testing.T, stream string) (list []broker.Stored) {
	t.Helper()
	err := broker.NewLogReader(c.broker.JetStream(), stream).Scan(t.Context(), 1, nil, func(m broker.Stored) error {
		list = append(list, m)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// rewrite makes a stream anew with other messages.
func (c *culprit) rewrite(t *testing.T, stream string, list []broker.Stored) {
	t.Helper()
	js := c.broker.JetStream()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	for s.CachedInfo().State.LastSeq > 0 { // the server may find the old files again
		if err := js.DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
		if s, err = js.CreateStream(t.Context(), s.CachedInfo().Config); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range list {
		h := nats.Header{}
		for name, values := range m.Header {
			if !strings.HasPrefix(name, "Nats-") || name == nats.MsgIdHdr && stream != broker.StreamEvents {
				h[name] = values
			}
		}
		subject := m.Subject
		if stream == broker.StreamEvents {
			_, subject, _ = strings.Cut(subject, ".")
		}
		if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Header: h, Data: m.Data}); err != nil {
			t.Fatal(err)
		}
	}
}

// muchLater is a time at which everything has had its time to be put on record.
func muchLater() time.Time { return time.Now().Add(time.Hour) }

// replay audits the log as it stands.
func (c *culprit) replay(t *testing.T, set func(*audit.Options)) *audit.Report {
	t.Helper()
	scratch, err := state.Open(t.TempDir(), state.Options{Scratch: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	masker, err := secrets.Load()
	if err != nil {
		t.Fatal(err)
	}
	o := audit.Options{
		JetStream: c.broker.JetStream(), Scratch: scratch, Mask: masker.Mask, Workers: runtime.GOMAXPROCS(0), Now: time.Now, Logger: zerolog.Nop(),
		Progress: func(uint64, uint64) {},
	}
	set(&o)
	rep, err := audit.Replay(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// pick is the place of a random message that fits; -1 where none does.
func (c *culprit) pick(list []broker.Stored, fits func(m broker.Stored) bool) int {
	var places []int
	for i, m := range list {
		if fits(m) {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return -1
	}
	return places[c.random.IntN(len(places))]
}

// byRules takes tool outputs' first summaries by rules: what follows from an event of the log.
func byRules(m broker.Stored) bool {
	var rec events.Summary
	return strings.HasPrefix(m.Subject, string(events.SummaryCreated)) && json.Unmarshal(m.Data, &rec) == nil &&
		rec.Kind == events.KindToolResult && rec.Usage.Attempts == 0 && rec.Method == events.MethodRules &&
		rec.EventSeq == rec.EffectiveSeq && rec.Trigger.Reason == events.TriggerToolOutputChars
}

func ofType(typ events.Type) func(broker.Stored) bool {
	return func(m broker.Stored) bool { return strings.HasPrefix(m.Subject, string(typ)+".") }
}

func alterSummary(c *culprit, l []broker.Stored) ([]broker.Stored, string) {
	return c.alter(l, byRules, map[string]any{"content": "Nothing happened."})
}

func changeCost(c *culprit, l []broker.Stored) ([]broker.Stored, string) {
	return c.alter(l, ofType(events.UsageRecorded), map[string]any{"cost": map[string]any{"amount_microusd": 1, "currency": "USD", "price_table": "free"}})
}

func (c *culprit) alter(l []broker.Stored, fits func(broker.Stored) bool, change map[string]any) ([]broker.Stored, string) {
	at := c.pick(l, fits)
	if at < 0 {
		return l, ""
	}
	rec := fields(l[at].Data)
	for name, value := range change {
		rec[name] = value
	}
	about := aboutWhat(l[at])
	l[at].Data = encoded(rec)
	return l, about
}

func removeSummary(c *culprit, l []broker.Stored) ([]broker.Stored, string) {
	return c.remove(l, byRules)
}

// removeInvalidation takes one by an edit of a tool output alone: nothing else follows from that.
func removeInvalidation(c *culprit, l []broker.Stored) ([]broker.Stored, string) {
	return c.remove(l, func(m broker.Stored) bool {
		var rec events.Invalidated
		return ofType(events.SummaryInvalidated)(m) && json.Unmarshal(m.Data, &rec) == nil && rec.Kind == events.KindToolResult && rec.Cause.MessageID != nil
	})
}

func removeRejection(c *culprit, l []broker.Stored) ([]broker.Stored, string) {
	at := c.pick(l, func(broker.Stored) bool { return true })
	if at < 0 {
		return l, ""
	}
	about := fmt.Sprint(fields(l[at].Data)["stream_seq"])
	return slices.Delete(l, at, at+1), about
}

func (c *culprit) remove(l []broker.Stored, fits func(broker.Stored) bool) ([]broker.Stored, string) {
	at := c.pick(l, fits)
	if at < 0 {
		return l, ""
	}
	about := aboutWhat(l[at])
	return slices.Delete(l, at, at+1), about
}

func insertRecord(c *culprit, l []broker.Stored) ([]broker.Stored, string) {
	at := c.pick(l, byRules)
	if at < 0 {
		return l, ""
	}
	extra, rec := l[at], fields(l[at].Data)
	rec["id"], rec["slot"] = "sum_forged", "tool:forged"
	extra.Data, extra.Header = encoded(rec), map[string][]string{}
	for name, values := range l[at].Header {
		extra.Header[name] = values
	}
	extra.Header["ce-id"], extra.Header[nats.MsgIdHdr] = []string{"summary.created/sum_forged"}, []string{"summary.created/sum_forged"}
	return slices.Insert(l, at+1, extra), "sum_forged"
}

// exchange puts a record before the one that it follows on in its thread: it is the one that is out of order.
func exchange(c *culprit, l []broker.Stored) ([]broker.Stored, string) {
	later := c.pick(l, func(m broker.Stored) bool {
		seq, _ := fields(m.Data)["chain_seq"].(float64)
		return seq > 1 && !ofType(events.ConfigApplied)(m)
	})
	if later < 0 {
		return l, ""
	}
	thread := fields(l[later].Data)["thread_id"]
	for earlier := later - 1; earlier >= 0; earlier-- {
		if fields(l[earlier].Data)["thread_id"] == thread {
			about := aboutWhat(l[later])
			l[earlier], l[later] = l[later], l[earlier]
			return l, about
		}
	}
	return l, ""
}

// alterSource changes a tool output that a summary was made from, in a stream that is made anew around it.
func alterSource(c *culprit, l []broker.Stored) ([]broker.Stored, string) {
	return c.source(l, func(at int) []broker.Stored {
		rec := fields(l[at].Data)
		rec["content"] = strings.Repeat("this is not what the tool said\n", 200)
		l[at].Data = encoded(rec)
		return l
	})
}

// removeSource leaves no gap: a broken event stands where the message stood.
func removeSource(c *culprit, l []broker.Stored) ([]broker.Stored, string) {
	return c.source(l, func(at int) []broker.Stored {
		l[at].Data = []byte("{}")
		return l
	})
}

// source finds the event of a summary's only source, as it was when the summary was made.
func (c *culprit) source(l []broker.Stored, change func(at int) []broker.Stored) ([]broker.Stored, string) {
	records := c.original[broker.StreamSummaries]
	made := c.pick(records, func(m broker.Stored) bool { return byRules(m) && fields(m.Data)["version"] == 1.0 })
	if made < 0 {
		return l, ""
	}
	seq, _ := fields(records[made].Data)["event_seq"].(float64)
	at := slices.IndexFunc(l, func(m broker.Stored) bool { return m.Seq == uint64(seq) })
	return change(at), aboutWhat(records[made])
}

// changeCounter changes a counter of the store that the program left.
func (c *culprit) changeCounter(t *testing.T, dir string, v *victim) {
	if err := os.CopyFS(dir, os.DirFS(processor.StoreDir(v.dir))); err != nil {
		t.Fatal(err)
	}
	store, err := state.Open(dir, state.Options{Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	partition, name := c.threadOf(t, store)
	part, err := store.Partition(partition)
	if err != nil {
		t.Fatal(err)
	}
	st, err := part.LoadThread(name)
	if err != nil {
		t.Fatal(err)
	}
	st.Header.Messages++
	part.Save(st)
	if _, err := part.Commit(state.Sync); err != nil {
		t.Fatal(err)
	}
	if err := part.Close(); err != nil {
		t.Fatal(err)
	}
	// The log was made anew meanwhile, byte for byte: the store knows another one.
	b, err := broker.Open(context.WithoutCancel(t.Context()), broker.Options{StoreDir: processor.BrokerDir(v.dir), Sync: "5m", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, b)
	rep := (&culprit{broker: b}).replay(t, func(o *audit.Options) { o.Store = store })
	if len(rep.Findings) != 1 || rep.Findings[0].Check != audit.CheckCounter || string(rep.Findings[0].Thread) != name {
		t.Errorf("%+v, want one finding about messages of %s", rep.Findings, name)
	}
}

// threadOf is a random thread of a store.
func (c *culprit) threadOf(t *testing.T, store *state.Store) (partition int, name string) {
	t.Helper()
	n, err := store.Partitions()
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		partition int
		name      string
	}
	var places []place
	for id := range n {
		part := store.View(id)
		for _, e := range c.original[broker.StreamEvents] {
			_, token, _ := events.ParseSubject(e.Subject)
			name, err := events.ThreadOf(token)
			if err != nil {
				continue
			}
			if h, err := part.Header(name); err == nil && h != nil {
				places = append(places, place{id, name})
			}
		}
	}
	p := places[c.random.IntN(len(places))]
	return p.partition, p.name
}

func fields(data []byte) map[string]any {
	rec := map[string]any{}
	if err := json.Unmarshal(data, &rec); err != nil {
		panic(err)
	}
	return rec
}

func encoded(rec map[string]any) []byte {
	b, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return b
}

// aboutWhat is the summary that a record is about.
func aboutWhat(m broker.Stored) string {
	rec := fields(m.Data)
	for _, name := range []string{"id", "summary_id"} {
		if id, ok := rec[name].(string); ok {
			return id
		}
	}
	return ""
}

// resealed makes all chains anew, as somebody can who knows how they are made.
func resealed(t *testing.T, list []broker.Stored) {
	t.Helper()
	chains, seqs := map[string]string{}, map[string]uint64{}
	for i, m := range list {
		rec, token := fields(m.Data), m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
		delete(rec, "chain")
		seqs[token]++
		rec["chain_seq"] = seqs[token]
		data, chain, err := events.Seal(chains[token], rec)
		if err != nil {
			t.Fatal(err)
		}
		list[i].Data, chains[token] = data, chain
	}
}
