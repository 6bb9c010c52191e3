package savings_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/events"
	"precis/internal/race"
	"precis/internal/savings"
	"precis/internal/service"
	"precis/internal/thread"
	"precis/summarize"
)

// oracle computes savings from the prompts themselves: it asks for the prompt before each turn and compares it, element by element,
// with the one before. It shares no code with the tracker.
type oracle struct {
	*bench
	before    []element // the prompt of the turn before
	previous  []element // and the one before that
	beforeAll []element
	end       uint64
	at        time.Time
	turns     int
	changed   uint64 // the first ordinal that the agent has changed since
	speaking  bool

	sum savings.Sums
}

// element is one message of a prompt.
type element struct {
	text    string
	tokens  int64
	ordinal uint64 // 0: the compaction
	system  bool
}

func (o *oracle) rows() []*thread.Message {
	rows, err := o.part.Messages("t", 1, o.header().Ordinals+1)
	if err != nil {
		o.t.Fatal(err)
	}
	return rows
}

// prompt reads the prompt as a client would.
func (o *oracle) prompt() (list []element) {
	byID := map[string]*thread.Message{}
	for _, m := range o.rows() {
		byID[m.ID] = m
	}
	from := service.Reading{View: o.part.View, Log: o.log, Policies: o.config.Policies, Now: o.now}
	reply, err := service.ReadContext(o.t.Context(), from, "t", api.ContextRequest{Format: "messages"})
	if err != nil {
		o.t.Fatal(err)
	}
	var texts []jsontext.Value
	if err := json.Unmarshal(reply.Messages, &texts); err != nil {
		o.t.Fatal(err)
	}
	for i, src := range reply.Sources {
		e := element{text: strings.ReplaceAll(string(texts[i]), `,"pinned":true`, "")} // no provider's format has that
		for _, id := range src.MessageIDs {
			m := byID[id]
			e.tokens += m.Text.Tokens + m.Args.Tokens
			e.ordinal, e.system = m.Ordinal, m.Role == events.RoleSystem
		}
		for _, id := range src.SummaryIDs {
			sum, err := o.part.Summary("t", id)
			if err != nil {
				o.t.Fatal(err)
			}
			if e.tokens += sum.TokensAfter; sum.Kind == events.KindToolResult {
				e.tokens -= byID[src.MessageIDs[0]].Text.Tokens
			}
		}
		list = append(list, e)
	}
	return list
}

func weight(list []element) (n int64) {
	for _, e := range list {
		n += e.tokens
	}
	return n
}

func common(a, b []element) []element {
	n := 0
	for n < len(a) && n < len(b) && a[n].text == b[n].text {
		n++
	}
	return a[:n]
}

// costOf is the price of a prompt of the model round, in micro-dollars.
func costOf(input, kept int64, cached bool) int64 {
	tenths := 10 * input
	if cached {
		tenths = 20*(input-kept) + kept
	}
	n := new(big.Int).Add(big.NewInt(tenths), big.NewInt(5))
	return n.Div(n, big.NewInt(10)).Int64()
}

// turn is called before an assistant's message that begins a turn, at a time.
func (o *oracle) turn(at time.Time) {
	var now []element
	if o.seq > 0 {
		if h, _ := o.part.Header("t"); h != nil && h.Ordinals > 0 {
			now = o.prompt()
		}
	}
	var all []element
	ordinals := uint64(0)
	if len(now) > 0 || o.turns > 0 {
		for _, m := range o.rows() {
			ordinals = m.Ordinal
			if !m.Deleted {
				all = append(all, element{text: fmt.Sprintf("%s %x", m.ID, m.Digest), tokens: m.Text.Tokens + m.Args.Tokens})
			}
		}
	}
	held, whole := weight(now), weight(all)
	var keptHeld, keptWhole, same int64
	cached := o.options.CacheFor > 0
	if o.turns > 0 && cached && at.Sub(o.at) <= o.options.CacheFor {
		keptHeld, keptWhole = weight(common(now, o.before)), weight(common(all, o.beforeAll))
		same = max(keptHeld, o.undisturbed(now))
	}
	if live := o.header0().TokensLive; held != live {
		o.t.Fatalf("event %d: the prompt holds %d tokens, and the fold's counter says %d", o.seq, held, live)
	}
	s := &o.sum
	s.Turns++
	s.HeldTokens += held
	s.WholeTokens += whole
	s.SavedTokens += whole - held
	s.RewrittenTokens += same - keptHeld
	amount := func(to **int64, n int64) {
		if *to == nil {
			*to = new(int64)
		}
		**to += n
	}
	amount(&s.WholeMicroUSD, costOf(whole, keptWhole, cached))
	amount(&s.HeldMicroUSD, costOf(held, keptHeld, cached))
	amount(&s.PrefixMicroUSD, costOf(held, keptHeld, cached)-costOf(held, same, cached))
	o.previous = o.before
	o.before, o.beforeAll, o.end, o.at, o.changed = now, all, ordinals, at, 0
	o.turns++
}

func (o *oracle) header0() *thread.Header {
	h, err := o.part.Header("t")
	if err != nil {
		o.t.Fatal(err)
	}
	if h == nil {
		return &thread.Header{}
	}
	return h
}

// undisturbed is how much of the prompt would have stood before, had precis changed nothing: what is not new, up to the agent's first
// change.
func (o *oracle) undisturbed(now []element) (n int64) {
	until := o.end + 1
	if o.changed > 0 {
		until = min(until, o.changed)
	}
	opening := uint64(0)
	for _, e := range now {
		if !e.system {
			break
		}
		opening = e.ordinal
	}
	for _, e := range now {
		if e.ordinal < until && (e.ordinal > 0 || until > opening) {
			n += e.tokens
		}
	}
	return n
}

func (o *oracle) change(ordinal uint64) {
	if o.changed == 0 || ordinal < o.changed {
		o.changed = ordinal
	}
}

// outline names a prompt's elements.
func outline(list []element) (text string) {
	for _, e := range list {
		text += fmt.Sprintf(" %d:%d(%.8x %.60s)", e.ordinal, e.tokens, sha256.Sum256([]byte(e.text)), e.text[max(len(e.text)-60, 0):])
	}
	return text
}

func show(s savings.Sums) string {
	data, err := json.Marshal(s, jsontext.Multiline(true))
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestSavingsAsPromptsSay: threads at random with cuts, kept outputs, edits, deletions, rewinds, pins and pauses; what the tracker says is what the
// prompts themselves say.
func TestSavingsAsPromptsSay(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	var cuts, rewritten, fromCache int
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			o := randomThread(t, seed)
			got := o.report(savings.ByThread).Total
			o.sum.SavedMicroUSD, o.sum.NetMicroUSD = new(int64), new(int64)
			if o.sum.WholeMicroUSD == nil {
				return
			}
			*o.sum.SavedMicroUSD = *o.sum.WholeMicroUSD - *o.sum.HeldMicroUSD + *o.sum.PrefixMicroUSD
			*o.sum.NetMicroUSD = *o.sum.WholeMicroUSD - *o.sum.HeldMicroUSD
			if a, b := show(got), show(o.sum); a != b {
				t.Fatalf("the tracker: %s\nthe prompts: %s", a, b)
			}
			if got.RewrittenTokens > 0 {
				rewritten++
			}
			if *got.WholeMicroUSD < 2*got.WholeTokens {
				fromCache++
			}
			if o.header0().ChainSeq > 0 && len(o.before) > 0 && slices.ContainsFunc(o.before, func(e element) bool { return e.ordinal == 0 }) {
				cuts++
			}
		})
	}
	t.Logf("%d ended with a compaction, %d had something written again, %d read from the cache", cuts, rewritten, fromCache)
	if cuts < 10 || rewritten < 20 || fromCache < 30 {
		t.Error("that is not what was to be looked at")
	}
}

// seeds is how many threads TestSavingsAsPromptsSay makes.
var seeds = flag.Int("savings.seeds", 60, "threads that TestSavingsAsPromptsSay makes")

func randomThread(t *testing.T, seed uint64) *oracle {
	r := rand.New(rand.NewPCG(seed, 7))
	b := newBench(t, func(p *summarize.Policy) {
		p.Context.KeepOutputs.Turns = r.IntN(3)
		p.Context.KeepOutputs.Tokens = r.IntN(2) * 2000
		p.ToolOutput.OverChars = 400
		p.ToolOutput.MaxSummaryChars = 200
		p.Compaction.SummarizeSystem = r.IntN(3) == 0
		if r.IntN(4) > 0 {
			p.Compaction.Trigger = summarize.Condition{Messages: 4 + r.IntN(12)}
			p.Compaction.Keep = summarize.Keep{Messages: 2 + r.IntN(5)}
		}
	}, func(s *savings.Options) {
		if r.IntN(6) == 0 {
			s.CacheFor = 0
		}
	})
	o := &oracle{bench: b}
	open := "" // a call without its result
	for range 30 + r.IntN(90) {
		var live []*thread.Message
		if o.header0().Ordinals > 0 {
			live = slices.DeleteFunc(o.rows(), func(m *thread.Message) bool { return m.Deleted })
		}
		switch k := r.IntN(20); {
		case open != "":
			b.now = b.now.Add(time.Second)
			b.seq++
			b.seq--
			b.event(events.ToolResult, fields{"message_id": fmt.Sprintf("m%d", b.seq+1), "tool_call_id": open, "tool_name": "bash", "content": text(20+r.IntN(400), b.seq)})
			open = ""
			o.speaking = false
		case k < 3:
			b.says([]string{events.RoleUser, events.RoleUser, events.RoleUser, events.RoleSystem}[r.IntN(4)], 5+r.IntN(200))
			o.speaking = false
		case k < 13:
			if r.IntN(15) == 0 {
				b.now = b.now.Add(time.Hour)
			}
			if !o.isSpeaking() {
				o.turn(b.now.Add(time.Second))
			}
			more := fields{}
			if r.IntN(3) > 0 {
				open = fmt.Sprintf("c%d", b.seq)
				more["tool_calls"] = []fields{{"id": open, "name": "bash", "arguments": fields{"command": "make"}}}
			}
			was, wasAll := o.before, o.previous
			b.says(events.RoleAssistant, 5+r.IntN(80), more)
			if got := o.report(savings.ByThread).Total; got.RewrittenTokens != o.sum.RewrittenTokens || *got.HeldMicroUSD != *o.sum.HeldMicroUSD || *got.WholeMicroUSD != *o.sum.WholeMicroUSD {
				t.Fatalf("event %d: the tracker: %s\nthe prompts: %s\nbefore: %s\nnow: %s", b.seq, show(got), show(o.sum), outline(wasAll), outline(was))
			}
		case len(live) == 0:
		case k < 16:
			m := live[r.IntN(len(live))]
			if m.Role == events.RoleAssistant && len(m.Calls()) > 0 || m.Role == events.RoleSystem {
				break
			}
			if out := b.event(events.MessageEdited, fields{"message_id": m.ID, "content": text(10+r.IntN(300), b.seq+1000)}); out == thread.Accepted {
				o.change(m.Ordinal)
			}
		case k == 16:
			m := live[r.IntN(len(live))]
			if m.Role != events.RoleUser { // a deleted call or result leaves marks, which nothing counts
				break
			}
			if b.event(events.MessageEdited, fields{"message_id": m.ID, "deleted": true}) == thread.Accepted {
				o.change(m.Ordinal)
			}
		case k == 17:
			m := live[max(len(live)-1-r.IntN(8), 0)]
			if m.Role == events.RoleAssistant && len(m.Calls()) > 0 {
				break
			}
			if b.event(events.MessageEdited, fields{"message_id": m.ID, "rewind": true}) == thread.Accepted {
				o.change(m.Ordinal + 1)
			}
		case k == 18:
			m := live[r.IntN(len(live))]
			b.event(events.MessageEdited, fields{"message_id": m.ID, "pinned": r.IntN(2) == 0})
		default:
			if _, _, err := b.fold.Summarize(t.Context(), "t", events.KindCompaction, b.now); err != nil {
				t.Fatal(err)
			}
			b.commit()
		}
	}
	return o
}

// isSpeaking reports whether the newest message is the assistant's: what it says now belongs to the same turn.
func (o *oracle) isSpeaking() bool {
	h := o.header0()
	if h.Ordinals == 0 {
		return false
	}
	c, err := o.part.Compaction("t")
	if err != nil {
		o.t.Fatal(err)
	}
	return c.Cut.Speaking() && o.turns > 0
}

// A rewind can have a compaction give back all that it stands for. Its summary stands for nothing then, prompts leave it out, and
// tokens_live does not count its text.
func TestEmptyCompactionWeighsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(p *summarize.Policy) {
		p.Compaction.SummarizeSystem = true
		p.Compaction.Keep = summarize.Keep{Messages: 4}
	})
	call := func(id string) fields {
		return fields{"tool_calls": []fields{{"id": id, "name": "bash", "arguments": fields{"command": "make"}}}}
	}
	result := func(id string) (message string) {
		message = fmt.Sprintf("m%d", b.seq+1)
		b.event(events.ToolResult, fields{"message_id": message, "tool_call_id": id, "tool_name": "bash", "content": text(40, b.seq)})
		return message
	}
	b.says(events.RoleUser, 100)
	b.says(events.RoleAssistant, 50, call("c1"))
	result("c1")
	b.says(events.RoleAssistant, 70, call("c2"))
	last := result("c2")
	b.says(events.RoleSystem, 30)
	b.says(events.RoleSystem, 80)
	if _, _, err := b.fold.Summarize(t.Context(), "t", events.KindCompaction, b.now); err != nil {
		t.Fatal(err)
	}
	b.commit()
	o := &oracle{bench: b}
	if h := b.header(); h.TokensLive >= h.Tokens {
		t.Fatalf("nothing was compacted: %d of %d tokens are live", h.TokensLive, h.Tokens)
	}
	b.event(events.MessageEdited, fields{"message_id": last, "rewind": true})
	c, err := b.part.Compaction("t")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Tops) == 0 || c.Cut.Gone.Messages > 0 {
		t.Fatalf("the compaction is not empty: %+v", c)
	}
	if h, held := b.header(), weight(o.prompt()); h.TokensLive != held {
		t.Errorf("tokens_live is %d, the prompt holds %d", h.TokensLive, held)
	}
}
