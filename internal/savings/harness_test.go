package savings_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/handlers"
	"precis/internal/content"
	"precis/internal/fold"
	"precis/internal/savings"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/pricing"
	"precis/summarize/rules"
	"precis/summarize/tokens"
)

// kept is a log in memory.
type kept map[uint64]*events.Event

func (k kept) Keep(seq uint64, ev *events.Event) { k[seq] = ev }
func (k kept) Ahead(context.Context, []uint64)   {}
func (k kept) Event(_ context.Context, seq uint64) (*events.Event, error) {
	if ev := k[seq]; ev != nil {
		return ev, nil
	}
	return nil, content.ErrGone
}

// prices are round: a micro-dollar for a token of input, a tenth of one from the cache, twice as much into it.
const prices = `prices:
  - {model: round, input: 1, cached_input: 0.1, cache_write: 2, output: 5}
  - {model: plain, input: 3, output: 5}
`

// bench is one thread's fold, tracked.
type bench struct {
	t       testing.TB
	part    *state.Partition
	fold    *fold.Fold
	log     kept
	config  *fold.Config
	options savings.Options
	tracker *savings.Tracker
	seq     uint64
	now     time.Time
	// saving, if set, is called before the tracker.
	saving func(st *thread.State, ev *events.Event)
}

func newBench(t testing.TB, change func(*summarize.Policy), options ...func(*savings.Options)) *bench {
	t.Helper()
	store, err := state.Open("", state.Options{FS: state.Memory(), Scratch: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	part, err := store.Partition(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := part.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	table, err := pricing.Builtin().With([]byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	p := summarize.Default()
	p.Tokenizer = summarize.TokenizerO200k
	p.Compaction.Trigger = summarize.Condition{Messages: 1000}
	if change != nil {
		change(&p)
	}
	b := &bench{
		t: t, part: part, log: kept{}, now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		config:  &fold.Config{Policies: []summarize.Policy{p}, Limits: fold.Limits{EventBytes: 1 << 20, PendingEditEvents: 10}, RulesVersion: rules.Version},
		options: savings.Options{Prices: table, CacheFor: savings.DefaultCacheFor},
	}
	for _, set := range options {
		set(&b.options)
	}
	b.tracker = &savings.Tracker{
		Ledger: savings.NewLedger(b.options), Rows: func() state.View { return part.View }, Happened: true,
		Policy: func(h *thread.Header) *summarize.Policy {
			p, _ := summarize.Resolve(b.fold.Config().Policies, h.Policy, h.FirstAgentID, h.Thread)
			return p
		},
	}
	b.fold, err = fold.New(part, fold.Options{Log: b.log, MaxPayload: 1 << 20, Saving: func(st *thread.State, at fold.Delivery, ev *events.Event) {
		if b.saving != nil {
			b.saving(st, ev)
		}
		b.tracker.Saving(st, at.Time, ev)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.fold.Configure(b.config, b.now); err != nil {
		t.Fatal(err)
	}
	b.commit()
	return b
}

// commit makes what was folded readable, and fails where the tracker has.
func (b *bench) commit() {
	b.t.Helper()
	meta := b.part.Meta()
	meta.Position = b.seq
	b.part.SetMeta(meta)
	if _, err := b.part.Commit(state.NoSync); err != nil {
		b.t.Fatal(err)
	}
	if err := b.tracker.Err(); err != nil {
		b.t.Fatal(err)
	}
}

type fields map[string]any

// event folds an event of the thread t, a second after the one before.
func (b *bench) event(kind events.Type, data fields) thread.Outcome {
	b.t.Helper()
	body, err := json.Marshal(data)
	if err != nil {
		b.t.Fatal(err)
	}
	b.seq++
	b.now = b.now.Add(time.Second)
	subject := "0." + string(kind) + ".t"
	d := fold.Delivery{Seq: b.seq, Time: b.now, Raw: events.Raw{Subject: subject, Body: body}}
	out, err := b.fold.Step(b.t.Context(), d, handlers.Of(subject))
	if err != nil {
		b.t.Fatalf("event %d: %v", b.seq, err)
	}
	b.commit()
	return out.Outcome
}

// says folds a message of so many tokens.
func (b *bench) says(role string, tokens int, more ...fields) string {
	b.t.Helper()
	id := fmt.Sprintf("m%d", b.seq+1)
	data := fields{"message_id": id, "role": role, "content": text(tokens, b.seq)}
	if role == events.RoleAssistant {
		data["model"] = "round"
	}
	for _, m := range more {
		for k, v := range m {
			data[k] = v
		}
	}
	if out := b.event(events.ThreadMessage, data); out != thread.Accepted {
		b.t.Fatalf("%s: %v", id, out)
	}
	return id
}

// text has so many tokens of o200k_base, and differs with salt: each word is one.
func text(n int, salt uint64) string {
	counter, err := tokens.For(summarize.TokenizerO200k)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	for i := range n {
		if i%8 == 7 && i < n-1 {
			b.WriteByte('\n')
			continue
		}
		b.WriteString(words[(salt>>(i%13)+uint64(i*7))%uint64(len(words))])
	}
	if got := counter.Count(b.String()); got != n {
		panic(fmt.Sprintf("a text of %d tokens has %d", n, got))
	}
	return b.String()
}

var words = []string{" a", " the", " of", " that", " in", " at", " on", " and"}

func (b *bench) report(by string) *savings.Report {
	return savings.ReportOf(by, b.options, b.tracker.Ledger)
}

func (b *bench) header() *thread.Header {
	h, err := b.part.Header("t")
	if err != nil || h == nil {
		b.t.Fatal(h, err)
	}
	return h
}
