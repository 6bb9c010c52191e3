package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/contents"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// Errors of a story that can't be told.
var (
	// ErrNoThread: the log holds nothing of that thread.
	ErrNoThread = errors.New("no event of the thread is in the log")
	// ErrNotYet: the thread begins after the moment.
	ErrNotYet = errors.New("no event of the thread had come by then")
)

// Story is the history of one thread, in order, and its state at the end.
type Story struct {
	Thread   string    `json:"thread"`
	Agent    string    `json:"agent"` // author of the first event
	Policy   string    `json:"policy"`
	Until    time.Time `json:"until,omitzero"` // the end of the story; zero: the log's end
	EventSeq uint64    `json:"event_seq"`
	Log      Extent    `json:"log"` // what was read, of this thread only
	Counters Counters  `json:"counters"`
	Totals   Totals    `json:"totals"`

	Entries   []*Entry    `json:"entries"`
	Summaries []*Standing `json:"summaries"`
	Findings  []Finding   `json:"findings"`
	Unproved  []Unproved  `json:"not_provable"`
	// Context is the prompt that an agent would have received then; null if not requested.
	Context any `json:"context"`

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
	Time     time.Time   `json:"time"`
	Type     events.Type `json:"type"`
	// Of an event.
	Outcome   string `json:"outcome,omitzero"`
	Code      string `json:"code,omitzero"` // of a rejection
	MessageID string `json:"message_id,omitzero"`
	Role      string `json:"role,omitzero"`
	Tool      string `json:"tool_name,omitzero"`
	Agent     string `json:"agent_id,omitzero"`
	Text      string `json:"text,omitzero"`
	Calls     []Call `json:"tool_calls,omitempty"`
	Chars     int64  `json:"chars,omitzero"`
	Tokens    int64  `json:"tokens,omitzero"`
	Deleted   bool   `json:"deleted,omitzero"`
	IsError   bool   `json:"is_error,omitzero"`
	// Of a record.
	Summary string         `json:"summary,omitzero"`
	Record  jsontext.Value `json:"record,omitzero"`

	// Raw is the event as it stands in the log.
	Raw events.Raw `json:"-"`

	unnamed *events.Message // a tool result that carries only its call's id
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
		r.source.upToSeq(m.Seq)
	}
	s := &Story{Thread: name, Until: m.Time, Entries: []*Entry{}, Summaries: []*Standing{}, Partition: -1}
	tellers := make([]*teller, 0, r.source.Strays+1)
	watching := r.source.open
	r.source.open = func(l *lane) error {
		if err := watching(l); err != nil {
			return err
		}
		t := &teller{watch: l.watch, name: name}
		l.watch, tellers = t, append(tellers, t)
		return nil
	}
	if err := Rebuild(ctx, o.Scratch, r.source); err != nil {
		return nil, err
	}
	rep, err := r.report()
	if err != nil {
		return nil, err
	}
	s.Log, s.Totals, s.Findings, s.Unproved = rep.Log, rep.Totals, rep.Findings, rep.Unproved
	if err := s.end(ctx, o.Scratch, contents.Uncached{Log: r.source.Events}, tellers); !errors.Is(err, ErrNoThread) || m == (Moment{}) {
		return s, err
	}
	return nil, r.notYet(ctx, name)
}

// notYet returns where a thread begins that has no events up to the moment.
func (r *replay) notYet(ctx context.Context, name string) error {
	why := fmt.Errorf("%w: %q", ErrNoThread, name)
	err := r.source.Events.Scan(ctx, 1, r.source.Filters, func(m broker.Stored) error {
		why = fmt.Errorf("%w: %q begins with event %d, of %s", ErrNotYet, name, m.Seq, m.Time.UTC().Format(time.RFC3339Nano))
		return errEnough
	}, nil)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return why
}

// end fills in the thread's state.
func (s *Story) end(ctx context.Context, scratch *state.Store, log fold.Log, tellers []*teller) error {
	for id, t := range tellers {
		if len(t.entries) == 0 {
			continue
		}
		view := scratch.View(id)
		h, err := view.Header(s.Thread)
		if err != nil {
			return err
		}
		if h == nil {
			continue
		}
		s.Partition, s.Entries, s.Policy = id, t.entries, t.policy
		s.Policies = t.policies()
		s.header(h)
		return errors.Join(s.tools(ctx, view, log), s.standings(view))
	}
	return fmt.Errorf("%w: %q", ErrNoThread, s.Thread)
}

// tools names the tools of results that carry only their call's id.
func (s *Story) tools(ctx context.Context, view state.View, log fold.Log) error {
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
		called, err := fold.Called(ctx, view, log, s.Thread, m.Ordinal, fold.Now, e.unnamed)
		if err != nil {
			return err
		}
		e.Tool = called.ToolName
	}
	return nil
}

func (s *Story) header(h *thread.Header) {
	s.Agent, s.EventSeq = h.FirstAgentID, h.EventSeq
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
		s.Summaries = append(s.Summaries, &Standing{
			ID: sum.ID, Kind: sum.Kind, Slot: sum.Slot, Status: sum.Status, ReplacedBy: sum.ReplacedBy,
			EventSeq: e.EventSeq, Record: sum.Record, Invalidated: sum.Invalidated,
		})
	}
	return nil
}
