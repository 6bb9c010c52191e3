package processor_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/state"
	"precis/summarize"
)

var sweepSummaries = flag.Int("sweep.summaries", 0, "how many summaries TestExpiryDuringALargeSweep sweeps; 0: it is skipped")

// How late a summary's expiry is announced while a large store is swept: from expires_at until the record arrives.
func TestExpiryDuringALargeSweep(t *testing.T) {
	if *sweepSummaries == 0 {
		t.Skip("a measure: give -sweep.summaries")
	}
	c := config.Default()
	c.DataDir, c.NATS.Listen = t.TempDir(), ""
	standing := summarize.Default()
	expiring := standing
	expiring.Name, expiring.Match, expiring.Staleness.TTL = "expiring", summarize.Match{ThreadID: "short*"}, 2*time.Second
	c.Policies = []summarize.Policy{expiring, standing}
	began := time.Now()
	fillSummaries(t, c, standing, *sweepSummaries)
	t.Logf("filled in %s", time.Since(began).Round(time.Second))
	b := openBroker(t, t.TempDir())
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	defer p.end()
	<-p.Ready()
	began = time.Now()
	stale := make(chan *nats.Msg, 100)
	sub, err := b.Conn().ChanSubscribe("summary.invalidated.*", stale)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	var worst time.Duration
	for i := range 10 {
		name := fmt.Sprint("short", i)
		put(t, b.Conn(), "tool.result."+name, large("out"))
		select {
		case m := <-stale:
			arrived := time.Now()
			var rec events.Invalidated
			if err := json.Unmarshal(m.Data, &rec); err != nil {
				t.Fatal(err)
			}
			over, err := time.Parse(time.RFC3339Nano, *rec.Cause.Old)
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, arrived.Sub(over))
			t.Logf("%s: %s late, %.0f of %d summaries swept", name, arrived.Sub(over).Round(time.Millisecond), p.LookedAt(), *sweepSummaries)
		case <-within(t).Done():
			t.Fatal("nothing expired")
		}
	}
	done := p.LookedAt()
	if done >= float64(*sweepSummaries) {
		t.Error("the sweep was over before the measure was")
	}
	t.Logf("at worst %s late; the sweep took %.0f summaries/s meanwhile", worst.Round(time.Millisecond), done/time.Since(began).Seconds())
}

// fillSummaries writes a store of summaries as if they had been made: ten to a thread, all of the policy in force.
func fillSummaries(t *testing.T, c *config.Config, p summarize.Policy, n int) {
	t.Helper()
	store, err := state.Open(processor.StoreDir(c.DataDir), state.Options{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	fingerprint := summarize.KindFingerprint(p, events.KindToolResult)
	for id := range c.Partitions {
		part, err := store.Partition(id)
		if err != nil {
			t.Fatal(err)
		}
		for i := id; i < n/10; i += c.Partitions {
			fillThread(t, part, fmt.Sprint("thread", i), p.Name, fingerprint)
			if i%1000 == id%1000 {
				commitFill(t, part)
			}
		}
		commitFill(t, part)
		if err := part.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func commitFill(t *testing.T, part *state.Partition) {
	t.Helper()
	if _, err := part.Commit(state.NoSync); err != nil {
		t.Fatal(err)
	}
}

func fillThread(t *testing.T, part *state.Partition, name, policy, fingerprint string) {
	t.Helper()
	st, err := part.LoadThread(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		id := fmt.Sprintf("sum_%s_%d", name, n)
		message := fmt.Sprint("m", n)
		rec := &events.Summary{
			ID: id, Kind: events.KindToolResult, Slot: "tool:" + message, Current: true, Version: 1, SourceMessageIDs: []string{message},
			Content: fmt.Sprintf("%800s", id), Policy: policy, PolicyFingerprint: fingerprint, TokenCountBefore: 500, TokenCountAfter: 200,
		}
		rec.ChainSeq, rec.Chain = st.Header.ChainSeq+1, id
		data, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		st.Created(rec, data, rec.TokenCountBefore)
	}
	st.Header.Ordinals = 10
	part.Save(st)
}
