package savings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"precis/events"
	"precis/internal/savings"
	"precis/internal/thread"
	"precis/summarize"
)

// want are the sums that a test computes by hand.
type want struct {
	turns, unpriced           uint64
	held, whole, rewritten    int64
	heldUSD, wholeUSD, prefix int64 // micro-dollars
	own, net                  int64
}

func (b *bench) expect(w want) savings.Sums {
	b.t.Helper()
	s := b.report(savings.ByThread).Total
	amount := func(n *int64) int64 {
		if n == nil {
			return -1
		}
		return *n
	}
	got := want{
		turns: s.Turns, unpriced: s.TurnsUnpriced, held: s.HeldTokens, whole: s.WholeTokens, rewritten: s.RewrittenTokens,
		heldUSD: amount(s.HeldMicroUSD), wholeUSD: amount(s.WholeMicroUSD), prefix: amount(s.PrefixMicroUSD), own: s.OwnMicroUSD, net: amount(s.NetMicroUSD),
	}
	if got != w {
		b.t.Errorf("got  %+v\nwant %+v", got, w)
	}
	return s
}

// The model round: 1 micro-dollar a token, 0.1 from the cache, 2 into it.

// A thread without summaries: what stood at the turn before is read from the cache, the rest goes into it.
func TestNothingSummarized(t *testing.T) {
	b := newBench(t, nil)
	b.says(events.RoleUser, 100)
	b.says(events.RoleAssistant, 50) // 100 written: 200
	b.says(events.RoleUser, 30)
	b.says(events.RoleAssistant, 20) // 100 read, 50+30 written: 10 + 160
	b.expect(want{turns: 2, held: 280, whole: 280, heldUSD: 370, wholeUSD: 370})
}

// An answer in several messages is one turn; one with a usage of its own is another.
func TestTurns(t *testing.T) {
	b := newBench(t, nil)
	usage := func(n int) fields { return fields{"usage": fields{"input_tokens": n, "output_tokens": 1}} }
	b.says(events.RoleUser, 100)
	b.says(events.RoleAssistant, 10, usage(500))
	b.says(events.RoleAssistant, 10, usage(500))
	b.says(events.RoleAssistant, 10)
	b.expect(want{turns: 1, held: 100, whole: 100, heldUSD: 200, wholeUSD: 200})
	b.says(events.RoleAssistant, 10, usage(510)) // 100 read, 30 written
	b.expect(want{turns: 2, held: 230, whole: 230, heldUSD: 270, wholeUSD: 270})
	if out := b.event(events.ThreadMessage, fields{"message_id": "m2", "role": "assistant", "content": text(10, 1), "model": "round"}); out != thread.Duplicate {
		t.Fatal(out)
	}
	b.expect(want{turns: 2, held: 230, whole: 230, heldUSD: 270, wholeUSD: 270})
}

func TestCacheIsLost(t *testing.T) {
	b := newBench(t, nil)
	b.says(events.RoleUser, 100)
	b.says(events.RoleAssistant, 50)
	b.now = b.now.Add(savings.DefaultCacheFor)
	b.says(events.RoleAssistant, 1, fields{"message_id": "x", "usage": fields{"input_tokens": 1}}) // the same turn: nothing was reported before
	b.expect(want{turns: 1, held: 100, whole: 100, heldUSD: 200, wholeUSD: 200})
	b.says(events.RoleUser, 29)
	b.says(events.RoleAssistant, 20) // 180 written: 360
	b.expect(want{turns: 2, held: 280, whole: 280, heldUSD: 560, wholeUSD: 560})
	// The publisher's time counts where it is given.
	b.says(events.RoleUser, 10)
	b.says(events.RoleAssistant, 1, fields{"created_at": b.now.Add(time.Hour).Format(time.RFC3339)})
	b.expect(want{turns: 3, held: 490, whole: 490, heldUSD: 980, wholeUSD: 980})
}

func TestWithoutCache(t *testing.T) {
	b := newBench(t, nil, func(o *savings.Options) { o.CacheFor = 0 })
	b.says(events.RoleUser, 100)
	b.says(events.RoleAssistant, 50)
	b.says(events.RoleUser, 30)
	b.says(events.RoleAssistant, 20)
	b.expect(want{turns: 2, held: 280, whole: 280, heldUSD: 280, wholeUSD: 280})
}

// saved is by how many tokens the summary of an output is shorter.
func (b *bench) saved(message string) int64 {
	b.t.Helper()
	slot, err := b.part.Slot("t", events.ToolSlot(message))
	if err != nil {
		b.t.Fatal(err)
	}
	sum, err := b.part.Summary("t", slot.Holder)
	if err != nil || sum == nil {
		b.t.Fatal("no summary of", message, err)
	}
	return sum.TokensBefore - sum.TokensAfter
}

// An output stands whole until it is read; then its summary changes what stood, and what follows is written again.
func TestOutputGivesWay(t *testing.T) {
	b := newBench(t, func(p *summarize.Policy) { p.ToolOutput.OverChars = 400 })
	b.says(events.RoleUser, 100)
	b.event(events.ToolResult, fields{"message_id": "out", "tool_name": "bash", "content": text(1000, 1)})
	b.says(events.RoleUser, 40)
	b.says(events.RoleAssistant, 50) // 1,140 written on both sides: 2,280
	b.expect(want{turns: 1, held: 1140, whole: 1140, heldUSD: 2280, wholeUSD: 2280})
	n := b.saved("out")
	b.says(events.RoleUser, 10)
	// All: 1,140 read, 60 written: 114 + 120. precis: 100 read, the summary, the 40 behind it and 60 written. Had nothing changed, the
	// summary and the 40 would be read, too.
	b.says(events.RoleAssistant, 5)
	again := 1000 - n + 40
	held := 10 + 2*(again+60)
	unbroken := (100+again+5)/10 + 120 // rounded half up
	s := b.expect(want{
		turns: 2, held: 2340 - n, whole: 2340, rewritten: again, heldUSD: 2280 + held, wholeUSD: 2280 + 234,
		prefix: held - unbroken, net: 234 - held,
	})
	if *s.NetMicroUSD >= 0 || s.SavedTokens <= 0 {
		t.Errorf("tokens saved %d, net %d: it should not have paid yet", s.SavedTokens, *s.NetMicroUSD)
	}
	for range 12 { // it does in time
		b.says(events.RoleUser, 1)
		b.says(events.RoleAssistant, 1)
	}
	if s := b.report(savings.ByThread).Total; *s.NetMicroUSD <= 234-held {
		t.Errorf("net %d after twelve more turns", *s.NetMicroUSD)
	}
}

// What the agent changes itself is written again on both sides, and is none of precis's cost.
func TestAgentsChange(t *testing.T) {
	for name, c := range map[string]struct {
		edit   fields
		tokens int64 // of the next prompt
		kept   int64 // of it
	}{
		"an edit":    {fields{"message_id": "m2", "content": text(20, 9)}, 100 + 20 + 30, 100},
		"a deletion": {fields{"message_id": "m2", "deleted": true}, 100 + 30, 100},
		"a rewind":   {fields{"message_id": "m1", "rewind": true}, 100, 100},
		"a pin":      {fields{"message_id": "m1", "pinned": true}, 100 + 60 + 30, 160},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.says(events.RoleUser, 100)
			b.says(events.RoleUser, 60)
			b.says(events.RoleAssistant, 30) // 160 written: 320
			b.event(events.MessageEdited, c.edit)
			b.says(events.RoleUser, 10)
			b.says(events.RoleAssistant, 5)
			cost := 320 + c.kept/10 + 2*(c.tokens+10-c.kept)
			b.expect(want{turns: 2, held: 160 + c.tokens + 10, whole: 160 + c.tokens + 10, heldUSD: cost, wholeUSD: cost})
		})
	}
}

func TestModels(t *testing.T) {
	t.Run("none named", func(t *testing.T) {
		b := newBench(t, nil)
		b.says(events.RoleUser, 100)
		b.says(events.RoleAssistant, 50, fields{"model": "model-without-price"})
		s := b.expect(want{turns: 1, unpriced: 1, held: 100, whole: 100, heldUSD: -1, wholeUSD: -1, prefix: -1, net: -1})
		if s.SavedMicroUSD != nil {
			t.Error("an unknown price gives an amount")
		}
		b.says(events.RoleUser, 10)
		b.says(events.RoleAssistant, 50) // round: 100 read, 60 written
		b.expect(want{turns: 2, unpriced: 1, held: 260, whole: 260, heldUSD: 130, wholeUSD: 130})
		groups := b.report(savings.ByModel).Groups
		if len(groups) != 2 || groups[0].Name != "model-without-price" || groups[1].Name != "round" || groups[0].NetMicroUSD != nil {
			t.Errorf("by model: %+v", groups)
		}
	})
	t.Run("assumed", func(t *testing.T) {
		b := newBench(t, nil, func(o *savings.Options) { o.Model = "plain" })
		b.says(events.RoleUser, 100)
		b.says(events.RoleAssistant, 50, fields{"model": ""})
		b.says(events.RoleUser, 10)
		b.says(events.RoleAssistant, 50, fields{"model": ""}) // no price for the cache: all at 3
		b.expect(want{turns: 2, held: 260, whole: 260, heldUSD: 780, wholeUSD: 780})
	})
}

func TestOverTheWindow(t *testing.T) {
	b := newBench(t, func(p *summarize.Policy) { p.Compaction.ContextWindow = 150 })
	b.says(events.RoleUser, 100)
	b.says(events.RoleAssistant, 60)
	b.says(events.RoleUser, 1)
	b.says(events.RoleAssistant, 1)
	s := b.expect(want{turns: 2, held: 261, whole: 261, heldUSD: 200 + 10 + 122, wholeUSD: 200 + 10 + 122})
	if s.OverWindow.Turns != 1 || s.OverWindow.SavedTokens != 0 {
		t.Errorf("%+v", s.OverWindow)
	}
}

// What providers report tells which prompt the agent sent: its growth, not its size, since system prompts and tools are in it.
func TestSent(t *testing.T) {
	for name, c := range map[string]struct {
		reported func(held, whole int64) int64
		sent     string
	}{
		"precis's prompts":                   {func(held, _ int64) int64 { return 9000 + held }, savings.SentPrecis},
		"by a tokenizer that counts more":    {func(held, _ int64) int64 { return 9000 + held*5/4 }, savings.SentPrecis},
		"its own":                            {func(_, whole int64) int64 { return 9000 + whole }, savings.SentOwn},
		"its own, by a tokenizer for more":   {func(_, whole int64) int64 { return 9000 + whole*5/4 }, savings.SentOwn},
		"neither":                            {func(held, whole int64) int64 { return 1_000_000 - 20*whole + held }, savings.SentUnknown},
		"nothing reported":                   {func(int64, int64) int64 { return 0 }, savings.SentUnknown},
		"everything, with half of it hidden": {func(_, whole int64) int64 { return 100 + whole*9/10 }, savings.SentOwn},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(p *summarize.Policy) { p.ToolOutput.OverChars = 400 })
			b.says(events.RoleUser, 100)
			for i := range 6 {
				b.event(events.ToolResult, fields{"message_id": fmt.Sprint("out", i), "tool_name": "bash", "content": text(1500, uint64(i))})
				h := b.header()
				b.says(events.RoleAssistant, 50, fields{"usage": fields{"input_tokens": c.reported(h.TokensLive, h.Tokens), "output_tokens": 9}})
				if i == 2 {
					b.says(events.RoleUser, 20)
					h := b.header()
					b.says(events.RoleAssistant, 50, fields{"usage": fields{"input_tokens": c.reported(h.TokensLive, h.Tokens), "output_tokens": 9}})
				}
			}
			r := b.report(savings.ByThread)
			if r.Groups[0].Sent != c.sent || len(r.Sent) != 1 || r.Sent[0].Sent != c.sent {
				t.Errorf("sent %s, want %s: %+v", r.Groups[0].Sent, c.sent, r.Groups[0].Reported)
			}
		})
	}
}

// What is reported stands beside what is computed for the same turns.
func TestReported(t *testing.T) {
	b := newBench(t, nil)
	b.says(events.RoleUser, 100)
	b.says(events.RoleAssistant, 50, fields{"usage": fields{"input_tokens": 1100, "output_tokens": 50}})
	b.says(events.RoleUser, 30)
	b.says(events.RoleAssistant, 20, fields{"usage": fields{"input_tokens": 1200, "output_tokens": 20, "cached_input_tokens": 1090}})
	b.says(events.RoleUser, 30)
	b.says(events.RoleAssistant, 20)
	got := b.report(savings.ByThread).Total.Reported
	if want := (savings.Reported{Turns: 2, InputTokens: 2300, CachedTokens: 1090, HeldTokens: 280, HeldCached: 100, WholeTokens: 280, WholeCached: 100}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Days are those of the answers, in UTC and in their order; they add up to the same total.
func TestDays(t *testing.T) {
	b := newBench(t, nil)
	for i, at := range []string{"2026-11-03T23:59:59Z", "2026-11-02T01:30:00+02:00", "2026-11-04T00:00:00Z", "2026-11-03T12:00:00Z"} {
		b.says(events.RoleUser, 100*(i+1))
		b.says(events.RoleAssistant, 50, fields{"created_at": at})
	}
	r := b.report(savings.ByDay)
	turns := map[string]uint64{"2026-11-01": 1, "2026-11-03": 2, "2026-11-04": 1}
	var names []string
	var sum int64
	for _, g := range r.Groups {
		names = append(names, string(g.Name))
		if g.Turns != turns[string(g.Name)] {
			t.Errorf("%s has %d turns", g.Name, g.Turns)
		}
		sum += *g.NetMicroUSD
	}
	if strings.Join(names, " ") != "2026-11-01 2026-11-03 2026-11-04" || r.Total.Turns != 4 || sum != *r.Total.NetMicroUSD {
		t.Errorf("%v: %+v", names, r.Total)
	}
}
