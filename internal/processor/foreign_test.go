package processor_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/recovery"
)

// onRecord are the messages of SUMMARIES on a subject, in order; all where it is empty.
func onRecord(t testing.TB, b *broker.Broker, subject string) []broker.Stored {
	t.Helper()
	var list []broker.Stored
	err := broker.NewLogReader(b.JetStream(), broker.StreamSummaries).Scan(within(t), 1, nil, func(m broker.Stored) error {
		if subject == "" || m.Subject == subject {
			list = append(list, m)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// altered is a record with other members, and the ids that belong to them; it is chained behind prev.
func altered(t testing.TB, m broker.Stored, prev string, change map[string]any) *nats.Msg {
	t.Helper()
	rec := map[string]any{}
	if err := json.Unmarshal(m.Data, &rec); err != nil {
		t.Fatal(err)
	}
	for name, value := range change {
		rec[name] = value
	}
	delete(rec, "chain")
	data, _, err := events.Seal(prev, rec)
	if err != nil {
		t.Fatal(err)
	}
	msg := &nats.Msg{Subject: m.Subject, Data: data, Header: nats.Header{}}
	for name, values := range m.Header {
		if !strings.HasPrefix(name, "Nats-Expected") && !strings.HasPrefix(name, "Nats-Batch") {
			msg.Header[name] = slices.Clone(values)
		}
	}
	if id, ok := change["id"]; ok {
		msg.Header.Set("ce-id", fmt.Sprint("summary.created/", id))
	}
	msg.Header.Set(nats.MsgIdHdr, msg.Header.Get("ce-id"))
	return msg
}

// junk is one of each kind of message that is no part of a chain. t1 is the thread that has the record.
func junk(t testing.TB, b *broker.Broker, round int) []*nats.Msg {
	own := onRecord(t, b, "summary.created.t1")
	last := own[len(own)-1]
	var head events.Head
	if err := json.Unmarshal(last.Data, &head); err != nil {
		t.Fatal(err)
	}
	next := func(kind string, change map[string]any) *nats.Msg {
		change["id"] = fmt.Sprint("sum_", kind, round)
		if _, ok := change["chain_seq"]; !ok {
			change["chain_seq"] = head.ChainSeq + 1
		}
		return altered(t, last, "not the chain", change)
	}
	foreignType := altered(t, last, head.Chain, map[string]any{"id": fmt.Sprint("sum_type", round), "chain_seq": head.ChainSeq + 1})
	foreignType.Header.Set("ce-type", "com.example.created")
	elsewhere := altered(t, last, "", map[string]any{"id": fmt.Sprint("sum_else", round), "chain_seq": 1})
	elsewhere.Subject = "summary.created.t2"
	forged := onRecord(t, b, "config.applied.=p0")[0]
	config := altered(t, forged, "not the chain", map[string]any{"chain_seq": 2, "event_seq": 1000 + round})
	config.Header.Set("ce-id", fmt.Sprintf("config.applied/0/%d", 1000+round))
	config.Header.Set(nats.MsgIdHdr, config.Header.Get("ce-id"))
	return []*nats.Msg{
		{Subject: "summary.created.t1", Data: []byte(`{"id":`)},
		{Subject: "summary.created.t1", Data: []byte(`{"by":"hand"}`)},
		{Subject: "summary.invalidated.t1"},
		{Subject: "usage.recorded.t1", Data: []byte(`{"thread_id":"t1","partition":-1}`)},
		{Subject: "summary.created.=61", Data: last.Data},
		{Subject: "config.applied.=p0", Data: []byte(`[]`)},
		{Subject: "config.applied.=p99", Data: forged.Data},
		{Subject: last.Subject, Data: last.Data}, // a copy, without its envelope
		foreignType, elsewhere, config,
		next("partition", map[string]any{"partition": (head.Partition + 1) % 3}),
		next("chain", map[string]any{}),
		next("again", map[string]any{"chain_seq": 1}),
		next("behind", map[string]any{"chain_seq": head.ChainSeq + 2}),
		next("far", map[string]any{"chain_seq": 99}),
	}
}

// What no processor wrote changes nothing, wherever and whenever it stands in SUMMARIES: the chain goes on behind
// it, with the store and without.
func TestForeignRecords(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 3
	first := true
	life := func(round int, during func(p *running)) {
		t.Helper()
		p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
		for _, thread := range []string{"t1", "t2", "t3"} {
			put(t, b.Conn(), "tool.result."+thread, toolResult(fmt.Sprint("m", round), 100))
		}
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		if first {
			first = false
		} else if p.Foreign() == 0 {
			t.Error("nothing foreign is counted")
		}
		during(p)
		p.end()
	}
	count := 0
	spoil := func(round int) {
		t.Helper()
		for _, m := range junk(t, b, round) {
			if _, err := b.Conn().RequestMsg(m, time.Second); err != nil {
				t.Fatal(err)
			}
			count++
		}
	}
	life(1, func(p *running) {
		spoil(1) // while it runs, and before it writes there
		next := *c
		next.Policies = slices.Clone(c.Policies)
		next.Policies[0].ToolOutput.OverChars += 10
		c = &next
		if err := p.Reload(within(t), &next); err != nil {
			t.Fatal(err)
		}
		for _, thread := range []string{"t1", "t2", "t3"} {
			put(t, b.Conn(), "tool.result."+thread, toolResult("mid", 100))
		}
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
	})
	spoil(2)
	life(2, func(*running) {})
	before := storeOf(t, c)
	if err := os.RemoveAll(processor.StoreDir(c.DataDir)); err != nil {
		t.Fatal(err)
	}
	spoil(3)
	life(3, func(*running) {})
	for _, thread := range []string{"t1", "t2", "t3"} {
		if got := storeOf(t, c)[thread]; got != before[thread]+1 {
			t.Errorf("%s has %d summaries, had %d before one more was made", thread, got, before[thread])
		}
	}
	verifyStore(t, c, b)
	foreign := 0
	for _, f := range replayed(t, b) {
		if !strings.Contains(f.Got, "it is passed over") {
			t.Errorf("replay: %+v", f)
		}
		foreign++
	}
	if foreign != count {
		t.Errorf("replay names %d foreign records of %d", foreign, count)
	}
}

// storeOf says how many summaries of each thread the store at rest holds.
func storeOf(t testing.TB, c *config.Config) map[string]uint64 {
	t.Helper()
	store := openStore(t, c)
	defer store.Close()
	found := map[string]uint64{}
	for id := range c.Partitions {
		for h, err := range headers(store.View(id)) {
			if err != nil {
				t.Fatal(err)
			}
			found[h.Thread] = h.SummariesActive
		}
	}
	return found
}

// Another processor's claim ends the processor with its next record. The store that has decided something else than what the
// other one published is refused at each start.
func TestAnotherWriterEndsTheProcessor(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 1
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	put(t, b.Conn(), "tool.result.t1", toolResult("m1", 100))
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	last := onRecord(t, b, "summary.created.t1")[0]
	var head events.Head
	if err := json.Unmarshal(last.Data, &head); err != nil {
		t.Fatal(err)
	}
	claims := onRecord(t, b, "partition.claimed.=p0")
	own := onRecord(t, b, "config.applied.=p0")
	var end events.Head
	if err := json.Unmarshal(own[0].Data, &end); err != nil {
		t.Fatal(err)
	}
	others := altered(t, last, head.Chain, map[string]any{"id": "sum_other", "chain_seq": head.ChainSeq + 1})
	claim := altered(t, claims[0], end.Chain, map[string]any{"chain_seq": end.ChainSeq + 1, "epoch": end.ChainSeq + 1, "owner": "the other one"})
	claim.Header.Set("ce-id", recovery.ClaimID(0, 0, end.ChainSeq+1))
	claim.Header.Set(nats.MsgIdHdr, claim.Header.Get("ce-id"))
	for _, m := range []*nats.Msg{claim, others} {
		if _, err := b.Conn().RequestMsg(m, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	put(t, b.Conn(), "tool.result.t1", toolResult("m2", 100))
	if err := ends(t, p.done); !errors.Is(err, processor.ErrOtherWriter) || !strings.Contains(err.Error(), "the other one") {
		t.Errorf("run: %v", err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if again, err := processor.Open(t.Context(), processor.Options{Config: c, Logger: logger(t), Broker: b}); !errors.Is(err, processor.ErrOtherWriter) {
			t.Errorf("open: %v", err)
			again.Close(t.Context())
		}
	}
}
