package audit

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// Errors of a story that can't be told.
var (
	// ErrNoThread: the log holds nothing of that thread.
	ErrNoThread = errors.New("no thread")
	// ErrNotYet: the thread begins after the moment.
	ErrNotYet = errors.New("no event of the thread had come by then")
)

// Story is the history of one thread, in order, and its state at the end.
type Story struct {
	Thread   string          `json:"thread"`
	Agent    string          `json:"agent"`                     // author of the first event
	Parent   string          `json:"parent_thread_id,omitzero"` // the thread whose agent started this one
	Fork     *thread.Lineage `json:"fork"`                      // where a fork comes from; null for any other thread
	Policy   string          `json:"policy"`
	Until    time.Time       `json:"until,omitzero"` // the end of the story; zero: the log's end
	EventSeq uint64          `json:"event_seq"`
	Log      Extent          `json:"log"` // what was read, of this thread only
	Counters Counters        `json:"counters"`
	Totals   Totals          `json:"totals"`

	Entries   []*Entry    `json:"entries"`
	Summaries []*Standing `json:"summaries"`
	Findings  []Finding   `json:"findings"`
	Unproved  []Unproved  `json:"not_provable"`
	// Pending counts what the latest events decide and is not on record yet: it may be under way, or have been removed.
	Pending uint64 `json:"pending"`
	// Context is the prompt that an agent would have received then; null if not requested.
	Context any `json:"context"`

	// Sketch: it is what a store has of the thread, and nothing is checked. Unread counts the events that the log was not asked for.
	Sketch bool `json:"-"`
	Unread int  `json:"-"`

	// Where the thread's state is, for a caller that builds a prompt from it.
	Partition int                `json:"-"`
	Policies  []summarize.Policy `json:"-"` // in force at the end
}

// Counters are a thread's counters, as precis.thread.get returns them.
type Counters struct {
	Messages        uint64 `json:"messages"`
	ToolResults     uint64 `json:"tool_results"`
	Edits           uint64 `json:"edits"`
	Duplicates      uint64 `json:"duplicates"`
	Rejected        uint64 `json:"rejected"`
	WaitingEdits    uint64 `json:"waiting_edits"`
	TokensTotal     int64  `json:"tokens_total"`
	TokensLive      int64  `json:"tokens_live"`
	Bytes           int64  `json:"bytes"`
	SummariesActive uint64 `json:"summaries_active"`
	SummariesStale  uint64 `json:"summaries_stale"`
	LLMInput        int64  `json:"llm_input_tokens"`
	LLMOutput       int64  `json:"llm_output_tokens"`
	CostMicroUSD    int64  `json:"cost_microusd"`
	CostUnknown     uint64 `json:"calls_of_unknown_cost"`
	ChainSeq        uint64 `json:"chain_seq"`
	ChainHead       string `json:"chain_head"`
}

// Entry is one event of the thread, or one record about it.
type Entry struct {
	EventSeq uint64      `json:"event_seq"` // of a record: the event after which it took effect
	Time     time.Time   `json:"time"`      // at which it was stored
	Type     events.Type `json:"type"`
	// Of an event.
	Outcome   string    `json:"outcome,omitzero"`
	Code      string    `json:"code,omitzero"`       // of a rejection
	CreatedAt time.Time `json:"created_at,omitzero"` // as the event says
	MessageID string    `json:"message_id,omitzero"`
	Role      string    `json:"role,omitzero"`
	Tool      string    `json:"tool_name,omitzero"`
	Agent     string    `json:"agent_id,omitzero"`
	Text      string    `json:"text,omitzero"`
	Calls     []Call    `json:"tool_calls,omitempty"`
	Chars     int64     `json:"chars,omitzero"`
	Tokens    int64     `json:"tokens,omitzero"`
	Deleted   bool      `json:"deleted,omitzero"`
	Rewind    bool      `json:"rewind,omitzero"`           // the thread goes back to the message
	Forks     string    `json:"parent_thread_id,omitzero"` // the thread begins with its messages up to MessageID, or all
	IsError   bool      `json:"is_error,omitzero"`
	// Of a record.
	Summary string         `json:"summary,omitzero"`
	Record  jsontext.Value `json:"record,omitzero"`

	// Raw is the event as it stands in the log.
	Raw events.Raw `json:"-"`

	// Unread: of a sketch, and the log was not asked for it.
	Unread bool `json:"-"`

	unnamed *events.Message // a tool result that carries only its call's id
}

// sameTime is how far an event's own time may be from that of its storing, for both to be told as one.
const sameTime = time.Minute

// Written is the event's own time, if it was stored at another one: a session that is imported was held long before. Else nil.
func (e *Entry) Written() *time.Time {
	if e.CreatedAt.IsZero() || e.Time.Sub(e.CreatedAt).Abs() <= sameTime {
		return nil
	}
	return &e.CreatedAt
}

// Call is a tool call that a message makes.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Standing is a summary's state at the end.
type Standing struct {
	ID          string         `json:"id"`
	Kind        string         `json:"kind"`
	Slot        string         `json:"slot"`
	Status      thread.Status  `json:"status"`
	ReplacedBy  string         `json:"replaced_by,omitzero"`
	EventSeq    uint64         `json:"event_seq"` // at which it was decided
	Record      jsontext.Value `json:"record"`
	Invalidated jsontext.Value `json:"invalidated,omitzero"` // the summary.invalidated
	// Unread: of a sketch, and the log was not asked for the record, of which only what the store knows is there.
	Unread bool `json:"-"`
}

// Moment is where a story ends: at an event or at a time; the zero Moment is the log's end.
type Moment struct {
	Seq  uint64
	Time time.Time
}

// Tell replays one thread, with every check, and tells its story up to a moment. The state at that moment
// stays in o.Scratch.
func Tell(ctx context.Context, o Options, name string, m Moment) (*Story, error) {
	o.Filter = Filter{Thread: name, To: m.Time}
	r, err := newReplay(ctx, o)
	if err != nil {
		return nil, err
	}
	if m.Seq > 0 {
		r.upToSeq(m.Seq)
	}
	for range r.parts {
		r.tellers = append(r.tellers, &teller{name: name})
	}
	rep, err := r.report(ctx)
	if err != nil {
		return nil, err
	}
	s := &Story{
		Thread: name, Until: m.Time, Entries: []*Entry{}, Summaries: []*Standing{}, Partition: -1,
		Log: rep.Log, Totals: rep.Totals, Findings: rep.Findings, Unproved: rep.Unproved, Pending: rep.Pending,
	}
	if err := s.end(ctx, r); !errors.Is(err, ErrNoThread) || m == (Moment{}) {
		return s, err
	}
	return nil, r.notYet(ctx, name)
}

// notYet returns where a thread begins that has no events up to the moment.
func (r *replay) notYet(ctx context.Context, name string) error {
	why := fmt.Errorf("%w %q", ErrNoThread, name)
	err := r.events.ScanSubjects(ctx, 1, r.filters.events, func(m broker.Stored) error {
		why = fmt.Errorf("%w: %q begins with event %d, of %s", ErrNotYet, name, m.Seq, m.Time.UTC().Format(time.RFC3339Nano))
		return errEnough
	}, nil)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return why
}

// end fills in the thread's state.
func (s *Story) end(ctx context.Context, r *replay) error {
	for id, t := range r.tellers {
		view := r.Scratch.View(id)
		h, err := view.Header(s.Thread)
		if err != nil {
			return err
		}
		if h == nil || len(t.entries) == 0 {
			continue
		}
		s.Partition, s.Entries, s.Policy, s.Policies = id, t.entries, t.policy, r.lanes[id].fold.Config().Policies
		s.header(h)
		return errors.Join(s.tools(ctx, view, content.Uncached{Log: r.events}), s.standings(view))
	}
	return fmt.Errorf("%w %q", ErrNoThread, s.Thread)
}

// tools names the tools of results that carry only their call's id.
func (s *Story) tools(ctx context.Context, view state.View, log content.Log) error {
	for _, e := range s.Entries {
		if e.unnamed == nil {
			continue
		}
		m, err := view.Message(s.Thread, e.MessageID)
		if err != nil {
			return err
		}
		if m == nil {
			continue // rejected
		}
		called, err := content.Called(ctx, view, log, s.Thread, m.Ordinal, content.Now, e.unnamed)
		if err != nil {
			return err
		}
		e.Tool = called.ToolName
	}
	return nil
}

func (s *Story) header(h *thread.Header) {
	s.Agent, s.Parent, s.Fork, s.EventSeq = h.FirstAgentID, h.Parent, h.Lineage(), h.EventSeq
	s.Counters = Counters{
		Messages: h.Messages, ToolResults: h.ToolResults, Edits: h.Edits, Duplicates: h.Duplicates + h.Ignored,
		Rejected: h.Rejected, WaitingEdits: h.Waiting, TokensTotal: h.Tokens, TokensLive: h.TokensLive, Bytes: h.Bytes,
		SummariesActive: h.SummariesActive, SummariesStale: h.SummariesStale,
		LLMInput: h.LLMInput, LLMOutput: h.LLMOutput, CostMicroUSD: h.CostMicroUSD, CostUnknown: h.CostUnknown,
		ChainSeq: h.ChainSeq, ChainHead: h.Chain,
	}
}

// standings lists the summaries in the order in which they were made.
func (s *Story) standings(view state.View) error {
	for _, e := range s.Entries {
		if e.Type != events.SummaryCreated || e.Outcome != "" {
			continue
		}
		sum, err := view.Summary(s.Thread, e.Summary)
		if err != nil {
			return err
		}
		if sum == nil {
			continue // could not be folded in, which is a finding
		}
		s.Summaries = append(s.Summaries, standingOf(sum, e.Record))
	}
	return nil
}

func standingOf(sum *thread.Summary, record jsontext.Value) *Standing {
	return &Standing{
		ID: sum.ID, Kind: sum.Kind, Slot: sum.Slot, Status: sum.Status, ReplacedBy: sum.ReplacedBy,
		EventSeq: sum.EffectiveSeq, Record: record, Invalidated: sum.Invalidated,
	}
}

// teller records what the auditor of a lane sees of one thread; a nil one ignores it.
type teller struct {
	name    string
	policy  string
	entries []*Entry
	event   *Entry // being folded; nil if it is another thread's
}

func (t *teller) begin(m broker.Stored) {
	if t == nil {
		return
	}
	t.event = nil
	typ, token, ok := events.ParseSubject(m.Subject)
	if name, err := events.ThreadOf(token); !ok || err != nil || name != t.name {
		return
	}
	t.event = entryOf(m, typ)
	t.entries = append(t.entries, t.event)
}

func entryOf(m broker.Stored, typ events.Type) *Entry {
	e := &Entry{EventSeq: m.Seq, Time: m.Time, Type: typ, Raw: deliveryOf(m).Raw}
	e.read()
	return e
}

// stepped notes what became of the event.
func (t *teller) stepped(s fold.Stepped) {
	if t == nil || t.event == nil {
		return
	}
	t.policy = s.Policy
	t.event.Outcome = s.Result.Outcome.String()
	for _, r := range s.Result.Rejections {
		if r.Seq == t.event.EventSeq {
			t.event.Code = r.Reason.Code
		}
	}
	if m := s.State.Message; m != nil && s.Result.Revised {
		t.event.Tokens = m.Tokens()
	}
}

// adopting notes a record; outcome is empty if it is folded in.
func (t *teller) adopting(s *state.Staged, outcome string) {
	if t != nil && s.Thread == t.name {
		t.entries = append(t.entries, &Entry{
			EventSeq: s.EffectiveSeq, Time: s.Time, Type: s.Type, Summary: idOf(s.Data), Record: s.Data, Outcome: outcome,
		})
	}
}

// read fills in what an event says, as far as it can be decoded.
func (e *Entry) read() {
	ev, why := events.Decode(e.Raw, events.Limits{EventBytes: len(e.Raw.Body)})
	switch {
	case why != nil:
		e.Text = string(e.Raw.Body)
	case ev.Fork != nil:
		e.CreatedAt = ev.Fork.CreatedAt
		e.Agent, e.Forks, e.MessageID = ev.Fork.AgentID, ev.Fork.ParentThreadID, ev.Fork.AtMessageID
	case ev.Edit != nil:
		e.CreatedAt = ev.Edit.CreatedAt
		e.MessageID, e.Agent, e.Deleted, e.Rewind = ev.Edit.MessageID, ev.Edit.AgentID, ev.Edit.Deleted, ev.Edit.Rewind
		e.Text = ev.Edit.Content.Text()
	default:
		m := ev.Message
		if m.ToolName == "" && m.ToolCallID != "" {
			e.unnamed = m
		}
		e.CreatedAt = m.CreatedAt
		e.MessageID, e.Role, e.Tool, e.Agent, e.Text = m.MessageID, m.Role, m.ToolName, m.AgentID, m.Content.Text()
		e.IsError = m.IsError != nil && *m.IsError || m.ExitCode != nil && *m.ExitCode != 0
		for _, call := range m.Calls() {
			e.Calls = append(e.Calls, Call{ID: call.ID, Name: call.Name, Arguments: call.ArgumentsText()})
		}
	}
	if !utf8.ValidString(e.Text) {
		e.Text = "(not valid UTF-8)"
	}
	e.Chars = int64(utf8.RuneCountInString(e.Text))
}
