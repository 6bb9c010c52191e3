package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/api"
	"precis/events"
	"precis/internal/content"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/prompt"
	"precis/summarize/tokens"
)

// Served is an answer of precis.thread.context, as metrics count it.
type Served struct {
	Policy  string // that serves the thread; empty where there is none
	Outcome string
	Agent   string // of the thread's first event
	Model   string // that the thread's messages reported last, with their usage; empty: none has
	// Held and Whole are the tokens of the prompt and of all messages of its thread; 0 without a prompt.
	Held, Whole int64
}

// Outcomes of precis.thread.context.
const (
	ServedPrompt     = "served"
	ServedOverBudget = "over_budget" // the prompt is larger than max_tokens
	ServedStale      = "stale"       // a summary is stale, and the policy says fail
	ServedRefused    = "refused"     // the request is wrong, or the thread is not known
	ServedFailed     = "failed"      // not caught up, too many wait, an answer larger than the server allows, or an error of ours
)

// notServed is the outcome of a request without a prompt.
func notServed(err error) string {
	switch asFault(err).Code {
	case codeStale:
		return ServedStale
	case codeBadRequest, codeNotFound:
		return ServedRefused
	}
	return ServedFailed
}

func (s *Service) context(ctx context.Context, r *request) (any, error) {
	served := Served{}
	r.ended = func(err error) {
		if err != nil {
			served.Outcome, served.Held, served.Whole = notServed(err), 0, 0
		}
		s.served(served)
	}
	return s.makeContext(ctx, r, &served)
}

// makeContext answers a request, and notes what it serves.
func (s *Service) makeContext(ctx context.Context, r *request, served *Served) (any, error) {
	var req api.ContextRequest
	if err := decode(r.body, &req); err != nil {
		return nil, err
	}
	req.Format = cmp.Or(req.Format, prompt.FormatMessages)
	if !slices.Contains(prompt.Formats(), req.Format) {
		return nil, fault(codeBadRequest, "format must be one of %s, not %q", strings.Join(prompt.Formats(), ", "), req.Format)
	}
	if req.MaxTokens < 0 {
		return nil, fault(codeBadRequest, "max_tokens must be at least 0 (0: no limit), not %d", req.MaxTokens)
	}
	name, partition, err := s.open(ctx, r, req.MinEventSeq)
	if err != nil {
		return nil, err
	}
	s.forget(ctx)
	// One state of the store for the whole answer: no message without the events before it.
	snapshot := s.backend.Snapshot(partition)
	defer snapshot.Close()
	from := Reading{
		View: snapshot.View, Log: s.contents, Policies: s.backend.Policies(), Counts: s.counts, Now: s.backend.Now(),
		turn: turn{of: s.turns, cold: s.contents.Missing},
	}
	of, err := from.thread(name)
	if err != nil {
		return nil, err
	}
	served.Policy = of.policy.Name
	family := s.kin()
	if req.Children {
		of.running, err = family.runningThreads(ctx, name, r.threads)
	}
	var reply api.ContextReply
	if err == nil {
		reply, err = of.reply(ctx, req)
	}
	if err == nil {
		err = family.durable(ctx, s)
	}
	served.Outcome, served.Held, served.Whole = ServedPrompt, int64(reply.TokenCount), of.header.Tokens
	served.Agent = of.header.FirstAgentID
	if of.outputs != nil {
		served.Model = of.outputs.Reported.Model
	}
	if !reply.WithinBudget {
		served.Outcome = ServedOverBudget
	}
	due, dueErr := dueAgain(snapshot.View, s.backend.Policies(), name)
	if len(of.expired) > 0 || dueErr == nil && due {
		s.backend.Renew(partition, name, of.expired)
	}
	return s.told(ctx, partition, reply, err)
}

// dueAgain says whether something of a thread waits to be made again, or a compaction stands for messages that the
// policy has come to keep.
func dueAgain(view state.View, policies []summarize.Policy, name string) (bool, error) {
	h, err := view.Header(name)
	if err != nil || h == nil || h.Renewals > 0 {
		return h != nil, err
	}
	c, err := view.Compaction(name)
	if err != nil {
		return false, err
	}
	p, _ := summarize.Resolve(policies, h.Policy, h.FirstAgentID, name)
	return c.Cut.Lacks(p.Compaction.Keep), nil
}

// Reading is what a context is made from: one state of a store, the log behind it, and the policies in
// force.
type Reading struct {
	View     state.View
	Log      content.Log // its events are shared, and not changed
	Policies []summarize.Policy
	Counts   *tokens.Memo // nil: not worth keeping
	Now      time.Time    // by which summaries expire; zero: the thread's last event's
	turn     turn         // zero: nothing else goes on beside it
}

// ReadContext makes the context of a thread from one state of a store: the running one's, or that of a
// replay. MinEventSeq is not waited for.
func ReadContext(ctx context.Context, from Reading, name string, req api.ContextRequest) (api.ContextReply, error) {
	r, err := from.thread(name)
	if err != nil {
		return api.ContextReply{}, err
	}
	return r.reply(ctx, req)
}

// thread begins to read one.
func (from Reading) thread(name string) (*reading, error) {
	h, err := from.View.Header(name)
	if err != nil {
		return nil, err
	}
	if h == nil || h.Ordinals == 0 {
		return nil, fault(codeNotFound, "no thread %q", name)
	}
	r := &reading{log: from.Log, view: from.View, header: h, counts: from.Counts, now: from.Now, turn: from.turn, renewing: map[string]bool{}}
	if r.now.IsZero() {
		r.now = time.Unix(0, h.LastAt)
	}
	r.policy, _ = summarize.Resolve(from.Policies, h.Policy, h.FirstAgentID, name)
	return r, nil
}

// reading makes one context from one state of the store.
type reading struct {
	log    content.Log
	view   state.View
	header *thread.Header
	policy *summarize.Policy
	counts *tokens.Memo
	now    time.Time
	turn   turn

	outputs  *thread.Compaction // how far the thread is compacted, and which tool outputs stand whole
	renewing map[string]bool    // summaries that were read, stand in prompts and are stale
	running  []string           // threads of its sub-agents; nil unless the request says children
	expired  []string           // of those that were read, the active ones whose time is over
}

func (r *reading) reply(ctx context.Context, req api.ContextRequest) (api.ContextReply, error) {
	count, err := r.counts.For(r.policy.Tokenizer)
	if err != nil {
		return api.ContextReply{}, err
	}
	if err := r.turn.take(ctx); err != nil {
		return api.ContextReply{}, err
	}
	defer r.turn.end()
	compaction, current, err := r.compaction()
	if err != nil {
		return api.ContextReply{}, err
	}
	rows, err := r.rows(ctx, compaction, current)
	if err != nil {
		return api.ContextReply{}, err
	}
	messages, err := r.messages(ctx, rows)
	if err != nil {
		return api.ContextReply{}, err
	}
	built, err := prompt.Build(prompt.Request{
		Messages: messages, Compaction: naming(current, r.running), Edge: compaction.To(), Context: r.policy.Context,
		MaxTokens: req.MaxTokens, Format: req.Format, Count: count, OnlySummaries: req.OnlySummaries,
	})
	if err != nil {
		return api.ContextReply{}, err
	}
	dropped, err := r.dropped(messages, built, compaction)
	if err != nil {
		return api.ContextReply{}, err
	}
	explained, err := r.explain(req, messages, built)
	if err != nil {
		return api.ContextReply{}, err
	}
	return api.ContextReply{
		System: orNull(built.System), Messages: built.Messages,
		TokenCount: built.TokenCount, WithinBudget: built.WithinBudget,
		Dropped: dropped, SummaryIDs: orEmpty(built.SummaryIDs),
		RenewingSummaryIDs: orEmpty(slices.DeleteFunc(slices.Clone(built.SummaryIDs), func(id string) bool { return !r.renewing[id] })),
		WaitingMessageIDs:  orEmpty(built.WaitingMessageIDs), OmittedParts: omitted(built.OmittedParts),
		ShortenedMessageIDs: orEmpty(built.ShortenedMessageIDs),
		Sources:             sources(built.Sources), SystemSource: systemSource(built), Explain: explained,
		RunningThreadIDs: r.running, Fork: (*api.Lineage)(r.header.Lineage()), EventSeq: r.header.EventSeq,
	}, nil
}

func omitted(parts []prompt.OmittedPart) []api.OmittedPart {
	list := []api.OmittedPart{}
	for _, p := range parts {
		list = append(list, api.OmittedPart{MessageID: p.MessageID, Index: p.Index, Type: p.Type, Reason: p.Reason})
	}
	return list
}

// compaction is how far the thread is compacted, and its current summary; nil where there is none, or
// where it is stale: then the messages themselves serve, unless the policy says fail.
func (r *reading) compaction() (*thread.Compaction, *prompt.Summary, error) {
	c, err := r.view.Compaction(r.header.Thread)
	if err != nil {
		return nil, nil, err
	}
	r.outputs = c
	slot, err := r.view.Slot(r.header.Thread, events.SlotCurrent)
	if err != nil || slot.Holder == "" {
		return &thread.Compaction{}, nil, err
	}
	if len(c.Tops) == 0 { // rewound behind its first cut
		return &thread.Compaction{}, nil, nil
	}
	sum, _, err := r.standing(slot.Used())
	if err != nil || sum == nil || c.Empty() { // what it stood for was deleted, or is verbatim again
		return &thread.Compaction{}, nil, err
	}
	return c, sum, nil
}

// standing is a summary that may stand in a prompt; nil where it may not. withheld says that its output stands whole for
// now.
func (r *reading) standing(id string) (stands *prompt.Summary, withheld bool, err error) {
	sum, err := r.view.Summary(r.header.Thread, id)
	if err != nil || sum == nil {
		return nil, false, err
	}
	if sum.Kind == events.KindCompaction && !sum.Current {
		return nil, false, nil // it keeps the place of a model's, and nothing else may serve
	}
	stale := sum.Status != thread.Active || r.over(sum)
	if stale && !sum.Withheld && r.policy.Staleness.Action == events.ActionFail {
		return nil, false, fault(codeStale, "stale_summary: summary %s is stale, and policy %q says fail", id, r.policy.Name)
	}
	if stale && !sum.Serves && (sum.Status != thread.Active || fold.Meanwhile(r.policy, sum.Kind) != events.MeanwhileServe) {
		return nil, false, nil
	}
	if stale {
		r.renewing[id] = true
	}
	text, err := contentOf(sum.Record)
	if err != nil {
		return nil, false, fmt.Errorf("read record of %s: %w", id, err)
	}
	return &prompt.Summary{ID: id, Content: text}, sum.Withheld, nil
}

// contentOf reads a record as far as its content, which stands in front: a prompt reads the records of all its outputs.
func contentOf(record []byte) (string, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(record))
	if _, err := dec.ReadToken(); err != nil { // {
		return "", err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return "", err
		}
		if name.String() == "content" {
			var content string
			err := json.UnmarshalDecode(dec, &content)
			return content, err
		}
		if err := dec.SkipValue(); err != nil {
			return "", err
		}
	}
	_, err := dec.ReadToken()
	return "", err
}

// over notes an active summary whose time is over: until a tick of the clock makes it stale, it is so here.
func (r *reading) over(sum *thread.Summary) bool {
	if sum.Status != thread.Active || sum.ExpiresAt.IsZero() || sum.ExpiresAt.After(r.now) {
		return false
	}
	r.expired = append(r.expired, sum.ID)
	return true
}

// rows are the messages that no compaction replaces, in order. What they say is in memory then, unless it is too much.
func (r *reading) rows(ctx context.Context, c *thread.Compaction, current *prompt.Summary) ([]*thread.Message, error) {
	name, from := r.header.Thread, uint64(1)
	var rows []*thread.Message
	if current != nil {
		stay := append(slices.Clone(c.Fixed), c.Held...)
		slices.Sort(stay)
		var err error
		if rows, err = r.view.MessagesAt(name, stay); err != nil {
			return nil, err
		}
		from = c.To() + 1
	}
	more, err := r.view.Messages(name, from, r.header.Ordinals+1)
	if err != nil {
		return nil, err
	}
	rows = append(rows, more...)
	return rows, r.ahead(ctx, rows)
}

// messages are those of some rows.
func (r *reading) messages(ctx context.Context, rows []*thread.Message) ([]prompt.Message, error) {
	list := make([]prompt.Message, 0, len(rows))
	for i, m := range rows {
		if leaves(m) {
			continue
		}
		if i%prompt.Stride == 0 {
			runtime.Gosched()
		}
		msg, err := r.message(ctx, m)
		if err != nil {
			return nil, err
		}
		list = append(list, msg)
	}
	return list, nil
}

// leaves says that a message is gone from prompts without a mark: a deleted tool output leaves one for its call.
func leaves(m *thread.Message) bool { return m.Deleted && (!m.Tool || m.Rewound) }

// ahead has the messages' events read at once where they are not in memory.
func (r *reading) ahead(ctx context.Context, rows []*thread.Message) error {
	var seqs []uint64
	for _, m := range rows {
		if leaves(m) {
			continue
		}
		seqs = append(seqs, m.FirstSeq)
		if m.Seq != m.FirstSeq {
			seqs = append(seqs, m.Seq)
		}
	}
	return r.turn.read(ctx, r.log, seqs)
}

// message is one message, or what stands for it.
func (r *reading) message(ctx context.Context, m *thread.Message) (prompt.Message, error) {
	msg, err := r.original(ctx, m)
	if err != nil || !m.Tool || m.Deleted {
		return msg, err
	}
	if msg.Tokens = int(m.Text.Tokens); m.Pinned {
		return msg, nil
	}
	slot, err := r.view.Slot(r.header.Thread, events.ToolSlot(m.ID))
	if err != nil || slot.Holder == "" {
		return msg, err
	}
	sum, withheld, err := r.standing(slot.Holder)
	switch {
	case err != nil:
		return msg, err
	case sum != nil && withheld && !msg.Gone:
		msg.Spare = sum
		return msg, nil
	case sum != nil:
		msg.Summary = sum
		return msg, nil
	}
	_, large := r.policy.ToolTrigger(m.Text.Chars, m.Text.Tokens)
	if large && !r.outputs.KeepsWhole(m.Ordinal) && r.policy.Staleness.Action == events.ActionTrim {
		msg.TrimmedAt = m.Ordinal + 1
	}
	return msg, nil
}

// original is one message as it was published or edited last. Of a deleted tool output only a mark stands.
func (r *reading) original(ctx context.Context, m *thread.Message) (prompt.Message, error) {
	body, err := content.Current(ctx, r.log, m)
	if err != nil {
		return prompt.Message{}, err
	}
	msg := prompt.Message{Ordinal: m.Ordinal, Message: body, Answered: m.Results()}
	if msg.Gone, err = r.gone(ctx, m, body); err != nil || !m.Tool {
		return msg, err
	}
	if msg.Deleted = m.Deleted; m.Deleted {
		msg.TrimmedAt = m.Ordinal + 1 // a number that goes on counting would change every prompt's middle
	}
	return msg, nil
}

// gone says that retention has taken a message: then its body is empty, and there is no event behind it.
func (r *reading) gone(ctx context.Context, m *thread.Message, body *events.Message) (bool, error) {
	if body.Content.Text() != "" || len(body.ToolCalls) > 0 || len(body.Content.Parts()) > 0 {
		return false, nil
	}
	_, err := r.log.Event(ctx, m.Seq)
	if errors.Is(err, content.ErrGone) {
		return true, nil
	}
	return false, err
}

func orNull(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return jsontext.Value("null")
	}
	return v
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
