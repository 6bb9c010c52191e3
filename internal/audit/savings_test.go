package audit_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/internal/audit"
	"precis/internal/processor"
	"precis/internal/savings"
	"precis/summarize/pricing"
)

func pricedAs(model string) func(*audit.Options) {
	return func(o *audit.Options) {
		o.Savings = &savings.Options{Prices: pricing.Builtin(), Model: model, CacheFor: savings.DefaultCacheFor}
	}
}

// save reports what the log's summaries saved.
func (w *world) save(by string, set ...func(*audit.Options)) (rep *audit.Savings) {
	w.t.Helper()
	w.scratch(func(o audit.Options) (err error) {
		pricedAs("gpt-4.1")(&o)
		for _, f := range set {
			f(&o)
		}
		rep, err = audit.Save(within(w.t), o, by)
		return err
	})
	return rep
}

// talk has two agents work, one under a model's policy.
func (w *world) talk() {
	w.run(func(p *processor.Processor) {
		for i := range 12 {
			for _, name := range []string{"ann", "bob"} {
				policy := ""
				if name == "bob" {
					policy = `,"policy":"by-model"`
				}
				w.put(
					[2]string{"thread.message." + name, fmt.Sprintf(`{"message_id":"u%d","role":"user","content":"Next, please.","agent_id":"%s"%s}`, i, name, policy)},
					[2]string{"thread.message." + name, fmt.Sprintf(`{"message_id":"a%d","role":"assistant","content":"Looking.","tool_calls":[{"id":"c%d","name":"Bash","arguments":{}}]}`, i, i)},
					[2]string{"tool.result." + name, fmt.Sprintf(`{"message_id":"t%d","tool_call_id":"c%d","tool_name":"Bash","content":"%s"}`, i, i, strings.Repeat(`ok  harbour/quay  0.01s\n`, 150))},
				)
			}
			if err := p.Settled(within(w.t)); err != nil {
				w.t.Fatal(err)
			}
		}
	})
}

// Sums hold together, own calls are those on record, and every grouping has the same total.
func TestSavings(t *testing.T) {
	w := newWorld(t)
	w.talk()
	rep := w.save(savings.ByAgent)
	total := rep.Total
	if total.Turns != 24 || rep.Threads != 2 || total.TurnsUnpriced != 0 || !rep.Log.Whole || rep.Log.Read != 72 {
		t.Fatalf("%+v", rep)
	}
	if net := *total.WholeMicroUSD - *total.HeldMicroUSD - total.OwnMicroUSD; *total.NetMicroUSD != net || total.SavedTokens <= 0 || *total.PrefixMicroUSD <= 0 {
		t.Errorf("net %d, want %d: %+v", *total.NetMicroUSD, net, total)
	}
	spent := w.replay().Totals
	if total.OwnMicroUSD != spent.CostMicroUSD || total.OwnInput != spent.InputTokens || total.OwnMicroUSD == 0 {
		t.Errorf("own calls cost %d, on record are %+v", total.OwnMicroUSD, spent)
	}
	for _, g := range rep.Groups {
		if own := g.Name == "bob"; (g.OwnMicroUSD > 0) != own {
			t.Errorf("%s spent %d", g.Name, g.OwnMicroUSD)
		}
	}
	for _, by := range []string{savings.ByThread, savings.ByModel, savings.ByPolicy, savings.ByDay} {
		if other := w.save(by).Total; !reflect.DeepEqual(other, total) {
			t.Errorf("by %s: %+v, by agent %+v", by, other, total)
		}
	}
	// A store that is rebuilt from the log adopts every record and comes to the same; so does one worker.
	if again := w.save(savings.ByAgent, func(o *audit.Options) { o.Workers = 1 }); !reflect.DeepEqual(again.Groups, rep.Groups) {
		t.Error("again, the groups differ")
	}
	one := w.save(savings.ByThread, func(o *audit.Options) { o.Filter.Thread = "ann" })
	if one.Threads != 1 || one.Total.Turns != 12 || string(one.Groups[0].Name) != "ann" {
		t.Errorf("one thread: %+v", one.Groups)
	}
	if none := w.save(savings.ByThread, func(o *audit.Options) { o.Filter.From = time.Now().Add(time.Hour) }); none.Known() {
		t.Errorf("from an hour on: %+v", none.Groups)
	}
	if unknown := w.save(savings.ByThread, pricedAs("")).Total; unknown.NetMicroUSD != nil || unknown.TurnsUnpriced != 24 || unknown.SavedTokens != total.SavedTokens {
		t.Errorf("of unknown price: %+v", unknown)
	}
	// What was spent on a thread whose savings are in no amount is in no net either.
	w.run(func(p *processor.Processor) {
		w.put(
			[2]string{"thread.message.ann", `{"message_id":"late","role":"user","content":"Next, please."}`},
			[2]string{"thread.message.ann", `{"message_id":"last","role":"assistant","content":"Done.","model":"gpt-4.1"}`},
		)
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
	})
	apart := w.save(savings.ByThread, pricedAs("")).Total
	if apart.OwnUnpricedMicroUSD != spent.CostMicroUSD || apart.NetMicroUSD == nil || *apart.NetMicroUSD != *apart.WholeMicroUSD-*apart.HeldMicroUSD {
		t.Errorf("one thread of unknown price: %+v", apart)
	}
}

// Where retention has removed the beginning, its turns are not counted, and the report says from where it counts.
func TestSavingsOfACutLog(t *testing.T) {
	w := newWorld(t)
	w.talk()
	all := w.save(savings.ByThread).Total
	if err := w.stream("EVENTS").Purge(within(t), jetstream.WithPurgeSequence(37)); err != nil {
		t.Fatal(err)
	}
	rep := w.save(savings.ByThread)
	if rep.Log.Whole || rep.Log.FirstSeq != 37 || rep.Log.Read != 36 || rep.Total.Turns != 12 || rep.Total.WholeTokens >= all.WholeTokens {
		t.Errorf("%+v of %+v", rep.Total, rep.Log)
	}
}

// Under the same configuration a what-if saves the same; one that summarizes nothing saves nothing.
func TestWhatIfSavings(t *testing.T) {
	w := newWorld(t)
	w.config.Policies = w.config.Policies[:1]
	w.talk()
	got := w.imagine(pricedAs("gpt-4.1")).Savings
	if !reflect.DeepEqual(got.Happened, got.Imagined) || !reflect.DeepEqual(got.Happened, w.save(savings.ByThread).Total) {
		t.Errorf("happened %+v\nimagined %+v", got.Happened, got.Imagined)
	}
	w.config.Policies[0].Enabled = false
	got = w.imagine(pricedAs("gpt-4.1")).Savings
	if s := got.Imagined; s.SavedTokens != 0 || *s.NetMicroUSD != 0 || s.Turns != 24 || *got.Happened.NetMicroUSD == 0 {
		t.Errorf("without summaries: %+v", s)
	}
}

// An assistant's message behind another one is a turn of its own by its usage, in what happened and in a what-if alike.
func TestWhatIfCountsTurnsByUsage(t *testing.T) {
	w := newWorld(t)
	w.config.Policies = w.config.Policies[:1]
	w.run(func(p *processor.Processor) {
		for i := range 6 {
			w.put(
				[2]string{"thread.message.ann", fmt.Sprintf(`{"message_id":"u%d","role":"user","content":"Next, please."}`, i)},
				[2]string{"thread.message.ann", fmt.Sprintf(`{"message_id":"a%d","role":"assistant","content":"Looking.","usage":{"input_tokens":10}}`, i)},
				[2]string{"thread.message.ann", fmt.Sprintf(`{"message_id":"b%d","role":"assistant","content":"Found it.","usage":{"input_tokens":60}}`, i)},
			)
		}
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
	})
	got := w.imagine(pricedAs("gpt-4.1")).Savings
	if h, i := got.Happened, got.Imagined; h.Turns != 12 || i.Turns != 12 || h.WholeTokens != i.WholeTokens || *h.NetMicroUSD != *i.NetMicroUSD {
		t.Errorf("happened %+v\nimagined %+v", h, i)
	}
}
