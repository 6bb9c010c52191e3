package savings

import (
	"fmt"
	"slices"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// Tracker makes turns of what the fold of one partition saves, and has its ledger add them up. Only the goroutine of the fold uses it.
type Tracker struct {
	*Ledger
	// Rows reads the partition as the fold has saved it, its open batch included.
	Rows func() state.View
	// Policy returns the policy that serves a thread now.
	Policy func(h *thread.Header) *summarize.Policy
	// Happened says that providers' reports are of the prompts of this fold: not so under another configuration.
	Happened bool

	err error
}

// progress is what a tracker knows of a thread between steps: the figures of its header, how it is compacted, and its last turn.
type progress struct {
	tokens, live int64 // as the thread was saved last
	speaking     bool  // the newest message is the assistant's
	model        string

	// How it is compacted: the current summary that may stand, how far it reaches, and the ordinals that stay verbatim before that.
	current string
	after   int64 // its tokens
	to      uint64
	gone    bool // it stands for something
	stay    []uint64

	own own

	turns    uint64
	at       time.Time // of the last turn, as everything that follows
	end      uint64    // the ordinal before its assistant's message
	held     int64
	whole    int64
	standing string   // the compaction in its prompt
	opening  []uint64 // the ordinals before that
	// The first ordinals up to end that the agent has changed since: of all, and of those for which no compaction stood; 0: none.
	dirty, dirtyBare uint64
	// flips are the tool outputs up to end for which another summary stands since, or none.
	flips []flip

	usage       events.TokenUsage // the last report
	usageModel  string
	heldThen    int64
	wholeThen   int64
	everInUsage bool
}

// flip is a tool output in whose place something else has come to stand.
type flip struct {
	at       uint64 // ordinal
	was, now string // the summary that stood there at the last turn, and now; empty: the output itself
}

// maxFlips bounds the flips that are kept one by one, so that an output that comes back to what it was does not count.
const maxFlips = 256

// own is what precis's own calls for a thread have cost.
type own struct {
	microUSD, input, output int64
	unknown                 uint64
}

// Err returns why the tracker has stopped; nil if it has not.
func (t *Tracker) Err() error { return t.err }

// Saving implements fold.Options.Saving.
func (t *Tracker) Saving(st *thread.State, at time.Time, ev *events.Event) {
	if t.err != nil || st.Header.Thread == "" {
		return
	}
	if err := t.saving(st, at, ev); err != nil {
		t.err = fmt.Errorf("savings of thread %q: %w", st.Header.Thread, err)
	}
}

func (t *Tracker) saving(st *thread.State, at time.Time, ev *events.Event) error {
	a := t.account(st.Header.Thread)
	if p := &a.progress; p.isTurn(st, ev) {
		if err := t.turn(a, st, at, ev.Message); err != nil {
			return err
		}
	}
	t.spent(a, &st.Header, at)
	if err := t.changed(&a.progress, st); err != nil {
		return err
	}
	a.follow(st)
	return nil
}

// isTurn reports whether an event is a new call's answer. An answer may come as several messages, each with the usage of the call.
func (p *progress) isTurn(st *thread.State, ev *events.Event) bool {
	if ev == nil || ev.Message == nil || !st.Changes.MessageNew || st.Message.Role != events.RoleAssistant {
		return false
	}
	u := ev.Message.Usage
	return !p.speaking || p.turns == 0 || u != nil && u.InputTokens > 0 && p.everInUsage && (*u != p.usage || ev.Message.Model != p.usageModel)
}

// turn counts the turn that ends with an assistant's message. The rows are still those of before it.
func (t *Tracker) turn(a *account, st *thread.State, at time.Time, m *events.Message) error {
	p := &a.progress
	stored := at
	if !m.CreatedAt.IsZero() {
		at = m.CreatedAt
	}
	if m.Model != "" && len(m.Model) <= events.MaxIDBytes {
		p.model = t.intern(m.Model)
	}
	policy := t.Policy(&st.Header)
	turn := Turn{At: at, Model: p.model, Held: p.live, Whole: p.tokens, Window: int64(policy.Compaction.ContextWindow)}
	if turn.Model == "" {
		turn.Model = t.opts.Model
	}
	if err := t.kept(p, &st.Header, &turn); err != nil {
		return err
	}
	t.reported(p, m, &turn)
	a.turn(t.Ledger, &turn, stored, &st.Header, policy.Name)
	p.turns++
	p.at, p.end, p.held, p.whole = at, st.Message.Ordinal-1, p.live, p.tokens
	p.dirty, p.dirtyBare, p.flips = 0, 0, p.flips[:0]
	return nil
}

// reported adds to a turn what its provider reported. The usage tells turns apart under another configuration too.
func (t *Tracker) reported(p *progress, m *events.Message, turn *Turn) {
	u := m.Usage
	if u == nil || u.InputTokens == 0 {
		return
	}
	if t.Happened {
		turn.Reported = Usage{Input: u.InputTokens, Cached: min(u.CachedInputTokens, u.InputTokens)}
		if p.everInUsage {
			turn.Fits = votes(u.InputTokens-p.usage.InputTokens, turn.Held-p.heldThen, turn.Whole-p.wholeThen)
		}
		p.heldThen, p.wholeThen = turn.Held, turn.Whole
	}
	p.everInUsage, p.usage, p.usageModel = true, *u, m.Model
}

// spent counts what precis's own calls have cost since the thread was saved last.
func (t *Tracker) spent(a *account, h *thread.Header, at time.Time) {
	now := own{microUSD: h.CostMicroUSD, input: h.LLMInput, output: h.LLMOutput, unknown: h.CostUnknown}
	was := a.own
	if now == was {
		return
	}
	a.own = now
	model := a.model
	if model == "" {
		model = t.opts.Model
	}
	a.spent(t.Ledger, own{now.microUSD - was.microUSD, now.input - was.input, now.output - was.output, now.unknown - was.unknown}, h, model, t.Policy(h).Name, at)
}

// changed notes what a step changes in the prompt of the thread's last turn.
func (t *Tracker) changed(p *progress, st *thread.State) error {
	c := &st.Changes
	if m := st.Message; m != nil && c.MessagePut && !c.MessageNew && len(c.Revisions) > 0 {
		p.touch(m.Ordinal)
	}
	if len(c.Rewound) > 0 {
		p.touch(c.Rewound[0].Ordinal)
	}
	for _, sum := range c.SummaryPuts {
		if sum.Kind != events.KindToolResult || len(sum.Sources) == 0 || p.turns == 0 {
			continue
		}
		was, err := t.Rows().Summary(st.Header.Thread, sum.ID)
		if err != nil {
			return err
		}
		if shows(was) == shows(sum) {
			continue
		}
		m := st.Message
		if m == nil || m.ID != sum.Sources[0] {
			if m, err = t.Rows().Message(st.Header.Thread, sum.Sources[0]); err != nil {
				return err
			}
		}
		if m != nil {
			p.flip(m.Ordinal, sum.ID, shows(sum))
		}
	}
	return nil
}

// shows reports whether prompts hold a tool output's summary in its place.
func shows(sum *thread.Summary) bool {
	return sum != nil && sum.Stands() && !sum.Aside && !sum.Withheld
}

// touch notes that the agent has changed a message.
func (p *progress) touch(at uint64) {
	if at > p.end {
		return
	}
	p.dirty = first(p.dirty, at)
	if p.bare(at) {
		p.dirtyBare = first(p.dirtyBare, at)
	}
}

// first returns the smaller one of two ordinals, of which 0 is none.
func first(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// bare reports whether no compaction stands for the message at an ordinal.
func (p *progress) bare(at uint64) bool {
	return p.compaction() == "" || at > p.to || slices.Contains(p.stay, at)
}

// flip notes that a summary has come to stand for the tool output at an ordinal, or ceased to.
func (p *progress) flip(at uint64, id string, stands bool) {
	if at > p.end {
		return
	}
	i := slices.IndexFunc(p.flips, func(f flip) bool { return f.at == at })
	if i < 0 {
		if len(p.flips) == maxFlips {
			p.dirtyBare = first(p.dirtyBare, at)
			return
		}
		i = len(p.flips)
		p.flips = append(p.flips, flip{at: at})
		if !stands {
			p.flips[i].was, p.flips[i].now = id, id
		}
	}
	switch f := &p.flips[i]; {
	case stands:
		f.now = id
	case f.now == id:
		f.now = ""
	}
}

// changedAt returns the first ordinal that stands otherwise in the compacted prompt than at the last turn, if the same compaction
// stands in both or none does; 0: none.
func (p *progress) changedAt() uint64 {
	at := p.dirtyBare
	if p.compaction() == "" {
		at = first(at, p.dirty)
	}
	for _, f := range p.flips {
		if f.was != f.now && p.bare(f.at) {
			at = first(at, f.at)
		}
	}
	return at
}

// compaction returns the compaction that prompts hold now; empty if none does.
func (p *progress) compaction() string {
	if p.to == 0 || !p.gone {
		return ""
	}
	return p.current
}

// follow notes how a step leaves the thread.
func (p *progress) follow(st *thread.State) {
	p.tokens, p.live = st.Header.Tokens, st.Header.TokensLive
	for _, sum := range st.Changes.SummaryPuts {
		switch {
		case sum.Slot != events.SlotCurrent || !sum.Current:
		case sum.Stands():
			p.current, p.after = sum.ID, sum.TokensAfter
		case sum.ID == p.current:
			p.current = ""
		}
	}
	c := st.Compaction
	if c == nil {
		return
	}
	p.speaking = c.Cut.Speaking()
	p.to, p.gone = c.To(), !c.Empty()
	p.stay = p.stay[:0]
	if p.to > 0 {
		p.stay = append(append(p.stay, c.Fixed...), c.Held...)
		slices.Sort(p.stay)
	}
}
