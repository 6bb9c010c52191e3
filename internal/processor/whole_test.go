package processor_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"precis/api"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/content"
	"precis/internal/race"
	"precis/internal/service"
	"precis/state"
	"precis/summarize"
	"precis/summarize/prompt"
	"precis/summarize/prompt/whole"
)

// script makes up one thread as an agent has it: turns with calls and results, some late or never there, some large,
// some pinned; edits, deletions, restores, pins, deletions from the newest message on, rewinds, and forks, which are scripts of their
// own. It knows what lives.
type script struct {
	rng   *rand.Rand
	name  string
	next  int
	edits int
	all   []said
	calls []string // that wait
	// inherited are the first of all that the thread was forked with; forked says that it was.
	inherited int
	forked    bool
	acted     bool // since it was forked, or the policy keeps more: what has to stand verbatim does so behind the thread's next event
}

type said struct {
	id, role, text string
	deleted        bool
	rewound        bool
	pinned         bool
	call           string   // it is the result of
	calls          []string // it makes
}

// bytes is the length of a message's text and of its calls' arguments.
func (m *said) bytes() (n int) {
	if m.deleted {
		return 0
	}
	return len(m.text) + len(m.calls)*len(`{"command":"make"}`)
}

// words is a content that no other message has.
func (k *script) words() string {
	k.next++
	text := fmt.Sprintf("unique%s%d about part%d.go", k.name, k.next, k.rng.IntN(30))
	if k.rng.IntN(4) == 0 {
		text += strings.Repeat(fmt.Sprintf(" step %d took %d ms;", k.next, k.rng.IntN(9999)), 20+k.rng.IntN(80))
	}
	return text
}

func (k *script) live() (ids []string) {
	for _, m := range k.all {
		if !m.deleted {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// event is what happens next.
func (k *script) event() []sent {
	switch n := k.rng.IntN(32); {
	case n < 6:
		return []sent{k.say(events.RoleUser)}
	case n < 13:
		return []sent{k.say(events.RoleAssistant)}
	case n < 18 && len(k.calls) > 0:
		return []sent{k.answer()}
	case n < 19:
		return []sent{k.say(events.RoleSystem)}
	case n < 23:
		return []sent{k.edit(k.rng.IntN(len(k.all)+1), "deleted")}
	case n < 26:
		return []sent{k.edit(k.rng.IntN(len(k.all)+1), "content")}
	case n < 29:
		return []sent{k.edit(k.rng.IntN(len(k.all)+1), "pinned")}
	}
	if k.rng.IntN(2) == 0 {
		return k.deleteNewest(k.rng.IntN(25))
	}
	if k.rng.IntN(5) == 0 {
		return []sent{k.rewind(k.rng.IntN(len(k.all) + 1))}
	}
	return []sent{k.rewind(max(0, len(k.all)-1-k.rng.IntN(12)))}
}

// rewind takes the thread back to a message. The calls that stand wait for another result, and those of the messages that are gone
// may still get theirs.
func (k *script) rewind(to int) sent {
	if to >= len(k.all) {
		return k.say(events.RoleUser)
	}
	k.edits++
	if !k.all[to].rewound {
		for i := to + 1; i < len(k.all); i++ {
			m := &k.all[i]
			if m.call != "" && !m.rewound {
				k.calls = append(k.calls, m.call)
			}
			m.deleted, m.rewound = true, true
		}
	}
	return sent{"message.edited." + k.name, fmt.Sprintf(`{"message_id":%q,"rewind":true,"edit_id":"e%d"}`, k.all[to].id, k.edits)}
}

// fork makes another thread of this one's messages: at one of them, deleted or not, or at the end.
func (k *script) fork(name string) (*script, sent) {
	f := &script{rng: k.rng, name: name, edits: k.edits, forked: true}
	body := fmt.Sprintf(`{"parent_thread_id":%q,"fork_id":%q}`, k.name, name)
	end := len(k.all)
	if end > 0 && k.rng.IntN(3) > 0 {
		end = 1 + k.rng.IntN(end)
		if deleted := k.deleted(); len(deleted) > 0 && k.rng.IntN(3) == 0 {
			end = 1 + deleted[k.rng.IntN(len(deleted))]
		}
		body = fmt.Sprintf(`{"parent_thread_id":%q,"at_message_id":%q,"fork_id":%q}`, k.name, k.all[end-1].id, name)
	}
	f.all, f.inherited = slices.Clone(k.all[:end]), end
	for _, m := range f.all {
		f.calls = append(f.calls, m.calls...)
	}
	for _, m := range f.all {
		if i := slices.Index(f.calls, m.call); i >= 0 && !m.rewound {
			f.calls = slices.Delete(f.calls, i, i+1)
		}
	}
	return f, sent{"thread.forked." + name, body}
}

func (k *script) deleted() (at []int) {
	for i, m := range k.all {
		if m.deleted {
			at = append(at, i)
		}
	}
	return at
}

func (k *script) say(role string) sent {
	k.acted = true
	m := said{id: fmt.Sprintf("m%d", len(k.all)), role: role, text: k.words(), pinned: k.rng.IntN(20) == 0}
	calls := []string{}
	if role == events.RoleAssistant {
		for range k.rng.IntN(3) {
			id := fmt.Sprintf("c%d", k.rng.IntN(40)) // ids come again
			k.calls, m.calls = append(k.calls, id), append(m.calls, id)
			calls = append(calls, fmt.Sprintf(`{"id":%q,"name":"bash","arguments":{"command":"make"}}`, id))
		}
	}
	k.all = append(k.all, m)
	return sent{"thread.message." + k.name, fmt.Sprintf(`{"message_id":%q,"role":%q,"content":%q,"pinned":%t,"tool_calls":[%s]}`,
		m.id, role, m.text, m.pinned, strings.Join(calls, ","))}
}

func (k *script) answer() sent {
	i := k.rng.IntN(len(k.calls))
	m := said{id: fmt.Sprintf("m%d", len(k.all)), role: events.RoleTool, text: k.words(), pinned: k.rng.IntN(10) == 0}
	call := k.calls[i]
	m.call = call
	k.calls, k.all = slices.Delete(k.calls, i, i+1), append(k.all, m)
	return sent{"tool.result." + k.name, fmt.Sprintf(`{"message_id":%q,"tool_call_id":%q,"tool_name":"bash","content":%q,"pinned":%t}`, m.id, call, m.text, m.pinned)}
}

// edit changes a message; behind the last one it is the next one's, and comes before its message.
func (k *script) edit(at int, what string) sent {
	if at == len(k.all) {
		if at == 0 {
			return k.say(events.RoleUser)
		}
		at--
	}
	m := &k.all[at]
	k.edits++
	body := fmt.Sprintf(`{"message_id":%q,"edit_id":"e%d",`, m.id, k.edits)
	switch what {
	case "deleted":
		m.deleted = true
		body += `"deleted":true}`
	case "pinned":
		m.pinned = !m.pinned
		body += fmt.Sprintf(`"pinned":%t}`, m.pinned)
	default:
		m.deleted, m.rewound, m.text = false, false, k.words()
		body += fmt.Sprintf(`"content":%q}`, m.text)
	}
	return sent{"message.edited." + k.name, body}
}

// deleteNewest deletes the newest n messages, the last one first.
func (k *script) deleteNewest(n int) (list []sent) {
	for at := len(k.all) - 1; at >= max(len(k.all)-n, 0); at-- {
		if !k.all[at].deleted {
			list = append(list, k.edit(at, "deleted"))
		}
	}
	return list
}

// family is a thread, and forks of it and of each other.
type family struct {
	scripts []*script
	changed map[*script]bool
}

// events is what happens next in one of the threads, or a fork.
func (f *family) events(rng *rand.Rand) []sent {
	k := f.scripts[rng.IntN(len(f.scripts))]
	f.changed[k] = true
	if len(k.all) > 4 && len(f.scripts) < 5 && rng.IntN(24) == 0 {
		fork, event := k.fork(fmt.Sprintf("%sf%d", f.scripts[0].name, len(f.scripts)))
		f.scripts = append(f.scripts, fork)
		f.changed[fork] = true
		return []sent{event}
	}
	return k.event()
}

// wholeThreads is how many threads TestEveryPromptIsWhole begins, besides their forks.
var wholeThreads = flag.Int("whole.threads", 28, "how many threads TestEveryPromptIsWhole makes, besides their forks")

// Every message that is not deleted is, in every prompt, exactly one of verbatim, inside a summary that is named,
// dropped, waiting; whatever was deleted, restored, pinned, compacted and forked, in which order, and under which policy. And
// what has to stand verbatim does. Readers look at what is committed meanwhile.
func TestEveryPromptIsWhole(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	changes := map[string]func(*summarize.Policy){
		"regenerate": func(*summarize.Policy) {},
		"trim":       func(p *summarize.Policy) { p.Staleness.Action = events.ActionTrim },
		"fail":       func(p *summarize.Policy) { p.Staleness.Action = events.ActionFail },
		"unheeded":   func(p *summarize.Policy) { p.Staleness.On = []string{"policy"} },
		"renewed":    func(*summarize.Policy) {},
		"kept whole": func(p *summarize.Policy) { p.Context.KeepOutputs = summarize.KeepOutputs{Turns: 2, Tokens: 600} },
		"by tokens": func(p *summarize.Policy) {
			p.Compaction.Trigger, p.Compaction.Keep = summarize.Condition{Tokens: 400}, summarize.Keep{Tokens: 150}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			c := settings(t)
			p := &c.Policies[0]
			p.Tokenizer = "estimate"
			p.Compaction.Trigger = summarize.Condition{Messages: 8}
			p.Compaction.Keep = summarize.Keep{Messages: 4}
			change(p)
			s := stage(t, c)
			defer s.finish()
			defer s.read()()
			for seed := range uint64((*wholeThreads + len(changes) - 1) / len(changes)) {
				s.runFamily(name, seed)
			}
			s.checkLive(s.View)
		})
	}
}

// runFamily has one family of threads live, and checks it after every few events.
func (s *scene) runFamily(policy string, seed uint64) {
	t := s.schedule.t
	first := &script{rng: rand.New(rand.NewPCG(seed, 0)), name: fmt.Sprintf("t%d", seed)}
	f := &family{[]*script{first}, map[*script]bool{}}
	for i := range 30 {
		clear(f.changed)
		for range 8 {
			for _, e := range f.events(first.rng) {
				put(t, s.schedule.broker.Conn(), e.subject, e.body)
			}
		}
		if policy == "renewed" && i%4 == 3 {
			s.reload(func(c *config.Config) {
				c.Policies[0].Compaction.MaxSummaryTokens = summarize.Size(200 + 10*i)
			})
		}
		if seed == 3 && i%10 == 9 && s.config.Policies[0].Compaction.Keep.Tokens == 0 {
			s.reload(func(c *config.Config) { c.Policies[0].Compaction.Keep.Messages = 3 + i/5 })
			for _, k := range f.scripts {
				k.acted = false
			}
		}
		s.settled()
		for _, k := range f.scripts {
			if f.changed[k] || i%10 == 9 { // what others did does not reach it
				s.checkScript(k)
				s.checkCounters(k)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d, behind %d messages and %d edits", seed, len(first.all), first.edits)
		}
	}
	s.checkChains(f)
}

// read has readers look at committed states until the returned function is called.
func (s *scene) read() (end func()) {
	ctx, stop := context.WithCancel(s.schedule.t.Context())
	var readers sync.WaitGroup
	for id := range s.config.Partitions {
		readers.Go(func() {
			for ctx.Err() == nil {
				if err := s.readSnapshot(ctx, id); err != nil && ctx.Err() == nil {
					s.schedule.t.Errorf("a reader: %v", err)
					return
				}
			}
		})
	}
	return func() {
		stop()
		readers.Wait()
	}
}

// readSnapshot holds the prompts of a few threads of one committed state against its rows.
func (s *scene) readSnapshot(ctx context.Context, partition int) error {
	snapshot := s.Snapshot(partition)
	defer snapshot.Close()
	log := content.New(broker.NewLogReader(s.schedule.broker.JetStream(), broker.StreamEvents), 0)
	var names []string
	for h, err := range headers(snapshot.View) {
		if err != nil {
			return err
		}
		if h.Ordinals > 0 {
			names = append(names, h.Thread)
		}
	}
	for range min(2, len(names)) {
		name := names[rand.IntN(len(names))]
		live, err := liveRows(snapshot.View, name)
		if err == nil {
			_, err = checkWhole(ctx, snapshot.View, log, s.Policies(), name, live)
		}
		if err != nil {
			return fmt.Errorf("thread %s: %w", name, err)
		}
	}
	select { // others shall read, too
	case <-ctx.Done():
	case <-time.After(5 * time.Millisecond):
	}
	return nil
}

// checkCounters holds a thread's counters against the script.
func (s *scene) checkCounters(k *script) {
	if len(k.all) == 0 {
		return
	}
	h, bytes, outputs := s.header(k.name), 0, 0
	for i := range k.all {
		bytes += k.all[i].bytes()
		if i >= k.inherited && k.all[i].role == events.RoleTool {
			outputs++
		}
	}
	own := len(k.all) - k.inherited - outputs
	if h.Messages != uint64(own) || h.ToolResults != uint64(outputs) || h.Ordinals != uint64(len(k.all)) || h.Bytes != int64(bytes) || h.Forked() != k.forked || h.Rejected > 0 {
		s.schedule.t.Errorf("thread %s has %d messages and %d outputs of its own and %d bytes, its header is %+v", k.name, own, outputs, bytes, h)
	}
}

// checkChains follows the records of some threads, each behind the one before, and holds their ends against the headers.
func (s *scene) checkChains(f *family) {
	type link struct {
		seq   uint64
		chain string
	}
	ends := map[string]link{}
	err := broker.NewLogReader(s.schedule.broker.JetStream(), broker.StreamSummaries).Scan(within(s.schedule.t), 1, nil, func(m broker.Stored) error {
		var head events.Head
		if err := json.Unmarshal(m.Data, &head); err != nil || head.ThreadID == nil {
			return err
		}
		end := ends[*head.ThreadID]
		chain, err := events.VerifyChain(end.chain, m.Data)
		if err != nil || head.ChainSeq != end.seq+1 {
			return fmt.Errorf("thread %s: record %d behind %d: %w", *head.ThreadID, head.ChainSeq, end.seq, err)
		}
		ends[*head.ThreadID] = link{head.ChainSeq, chain}
		return nil
	}, nil)
	if err != nil {
		s.schedule.t.Error(err)
	}
	for _, k := range f.scripts {
		if h := s.header(k.name); h.ChainSeq != ends[k.name].seq || h.Chain != ends[k.name].chain {
			s.schedule.t.Errorf("thread %s: the header says %d %s, the records end at %+v", k.name, h.ChainSeq, h.Chain, ends[k.name])
		}
	}
}

// liveRows lists the messages of a thread that are not deleted.
func liveRows(view state.View, name string) (live []string, err error) {
	h, err := view.Header(name)
	if err != nil {
		return nil, err
	}
	rows, err := view.Messages(name, 1, h.Ordinals+1)
	for _, m := range rows {
		if !m.Deleted {
			live = append(live, m.ID)
		}
	}
	return live, err
}

// checkScript holds the thread's prompts against what the script knows to live.
func (s *scene) checkScript(k *script) {
	t := s.schedule.t
	id, ok := partitionOf(t, s.Processor, s.config.Partitions, k.name)
	if !ok {
		return
	}
	view, log := s.View(id), content.New(broker.NewLogReader(s.schedule.broker.JetStream(), broker.StreamEvents), 0)
	places, err := checkWhole(t.Context(), view, log, s.config.Policies, k.name, k.live())
	if err != nil {
		t.Errorf("thread %s: %v", k.name, err)
	}
	if places == nil {
		return
	}
	for _, m := range k.all {
		if m.pinned && !m.deleted && !slices.Equal(places[m.id], []string{whole.Verbatim}) {
			t.Errorf("thread %s: %s is pinned, and stands %q", k.name, m.id, places[m.id])
		}
	}
	if !k.acted {
		return
	}
	if keep := s.config.Policies[0].Compaction.Keep; keep.Messages > 0 {
		newest := k.live()
		for _, id := range newest[max(0, len(newest)-keep.Messages):] {
			if slices.Contains(places[id], whole.Inside) && s.compacted(view, k.name, id) {
				t.Errorf("thread %s: %s is one of the newest %d, and in a compaction", k.name, id, keep.Messages)
			}
		}
	}
	for _, role := range []string{events.RoleUser, events.RoleAssistant} {
		for _, m := range slices.Backward(k.all) {
			if m.role == role && !m.deleted {
				if slices.Contains(places[m.id], whole.Inside) {
					t.Errorf("thread %s: %s is the latest of the %s's, and in a compaction", k.name, m.id, role)
				}
				break
			}
		}
	}
}

// compacted says that a message is under a compaction, and not only under the summary of its output.
func (s *scene) compacted(view state.View, name, id string) bool {
	m, err := view.Message(name, id)
	if err != nil {
		s.schedule.t.Fatal(err)
	}
	c, err := view.Compaction(name)
	if err != nil {
		s.schedule.t.Fatal(err)
	}
	return c.Replaced(m.Ordinal)
}

// checkWhole holds a thread's prompts, in every format and within several limits, against the messages that live. It
// returns where each stands without a limit; nil where a stale summary keeps the thread from having a prompt.
func checkWhole(ctx context.Context, view state.View, log *content.Cache, policies []summarize.Policy, name string, live []string) (map[string][]string, error) {
	ask := func(format string, limit int) (api.ContextReply, error) {
		return service.ReadContext(ctx, service.Reading{View: view, Log: log, Policies: policies}, name, api.ContextRequest{Format: format, MaxTokens: limit})
	}
	of := summaryFrom(view, name)
	free, err := ask(prompt.FormatMessages, 0)
	if err != nil {
		if strings.Contains(err.Error(), "stale_summary") {
			return nil, nil
		}
		return nil, err
	}
	var places map[string][]string
	for _, limit := range []int{0, free.TokenCount * 9 / 10, free.TokenCount / 2, free.TokenCount / 8} {
		plain, err := ask(prompt.FormatMessages, limit)
		if err != nil {
			return nil, err
		}
		p := whole.Prompt{Messages: plain.Messages, SummaryIDs: plain.SummaryIDs, DroppedMessageIDs: plain.DroppedMessageIDs, WaitingMessageIDs: plain.WaitingMessageIDs}
		if err := errors.Join(allStand(view, name, plain.SummaryIDs), whole.Check(live, p, of)); err != nil {
			return nil, fmt.Errorf("within %d tokens: %w", limit, err)
		}
		at, err := whole.Places(p, of)
		if err != nil {
			return nil, err
		}
		if limit == 0 {
			places = at
		}
		for _, format := range []string{prompt.FormatOpenAI, prompt.FormatResponses, prompt.FormatAnthropic, prompt.FormatGemini} {
			other, err := ask(format, limit)
			if err == nil {
				err = standIn(view, log, name, live, other, of)
			}
			if err != nil {
				return nil, fmt.Errorf("%s within %d tokens: %w", format, limit, err)
			}
		}
	}
	return places, nil
}

// standIn holds a prompt in a provider's format to the same: each message is named once as dropped, waiting or under a
// summary, or its text stands there. Limits count a format's framing, so that formats may drop others.
func standIn(view state.View, log *content.Cache, name string, live []string, other api.ContextReply, of func(string) (whole.Summary, error)) error {
	at := map[string]int{}
	for _, id := range slices.Concat(other.DroppedMessageIDs, other.WaitingMessageIDs) {
		at[id]++
	}
	for _, id := range other.SummaryIDs {
		sum, err := of(id)
		if err != nil {
			return err
		}
		under, err := whole.Under(id, of)
		if err != nil {
			return err
		}
		if sum.Kind != events.KindCompaction {
			under = sum.SourceMessageIDs
		}
		for _, m := range under {
			at[m]++
		}
	}
	text := string(other.Messages) + string(other.System)
	for _, id := range live {
		if at[id] > 1 {
			return fmt.Errorf("%s is named %d times", id, at[id])
		}
		if at[id] == 1 {
			continue
		}
		m, err := view.Message(name, id)
		if err != nil {
			return err
		}
		ev, err := log.Event(context.Background(), m.Seq)
		if err != nil {
			return err
		}
		said := ""
		if ev.Edit != nil {
			said = ev.Edit.Content.Text()
		} else {
			said = ev.Message.Content.Text()
		}
		first, _, _ := strings.Cut(said, " ")
		if !m.Deleted && !strings.Contains(text, first) {
			return fmt.Errorf("%s (%q) is not there", id, first)
		}
	}
	return nil
}

// summaryFrom finds what a thread's summaries were made from. Those that one was made from may be replaced by now,
// while it serves until it is made again itself.
func summaryFrom(view state.View, name string) func(id string) (whole.Summary, error) {
	return func(id string) (sum whole.Summary, err error) {
		row, err := view.Summary(name, id)
		if err == nil && row == nil {
			err = fmt.Errorf("no summary %q", id)
		}
		if err != nil {
			return sum, err
		}
		return whole.Summary{Kind: row.Kind, SourceMessageIDs: row.Sources, SourceSummaryIDs: row.SourceSums}, nil
	}
}

// allStand says that prompts may have each of some summaries.
func allStand(view state.View, name string, ids []string) error {
	for _, id := range ids {
		row, err := view.Summary(name, id)
		if err != nil {
			return err
		}
		if row == nil || !row.Stands() {
			return fmt.Errorf("summary %q is in the prompt, and does not stand", id)
		}
	}
	return nil
}

// checkPrompts holds the prompts of all threads of a store against its rows.
func (s *schedule) checkPrompts(view func(partition int) state.View) {
	s.t.Helper()
	log := content.New(broker.NewLogReader(s.broker.JetStream(), broker.StreamEvents), 0)
	for id := range s.config.Partitions {
		v := view(id)
		for h, err := range headers(v) {
			if err != nil {
				s.t.Fatal(err)
			}
			if h.Ordinals == 0 {
				continue
			}
			live, err := liveRows(v, h.Thread)
			if err != nil {
				s.t.Fatal(err)
			}
			if _, err := checkWhole(context.WithoutCancel(s.t.Context()), v, log, s.config.Policies, h.Thread, live); err != nil {
				s.t.Errorf("thread %s: %v", h.Thread, err)
			}
		}
	}
}
