package audit

import (
	"cmp"
	"slices"
	"time"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/thread"
	"precis/state"
)

// Report is the result of a replay.
type Report struct {
	Log      Extent            `json:"log"`
	Events   map[string]uint64 `json:"events"`  // by outcome
	Records  map[string]uint64 `json:"records"` // of SUMMARIES, by type
	Threads  uint64            `json:"threads"`
	Totals   Totals            `json:"totals"`       // of what is on record
	Proved   map[string]uint64 `json:"proved"`       // how often each check held
	Unproved []Unproved        `json:"not_provable"` // what could be neither confirmed nor refuted
	// Losses are the accepted losses of events on record, each for all partitions together. Voided counts the records that they void, by type: those
	// keep their places in their chains and are part of no state.
	Losses []events.AcceptedLoss `json:"accepted_losses"`
	Voided map[string]uint64     `json:"voided"`
	// Known reports whether the log holds what the filter names, at any time.
	Known bool `json:"-"`
	// Pending counts the decisions at the log's end that are not on record yet.
	Pending  uint64    `json:"pending"`
	Findings []Finding `json:"findings"`
	// More counts the findings that are not listed.
	More uint64 `json:"findings_not_listed"`
	// Store names the store that was compared; empty if there was none.
	Store   string        `json:"store"`
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	// EventsPerSecond counts all events that were read.
	EventsPerSecond float64 `json:"events_per_second"`
}

// Extent is the part of EVENTS that was read.
type Extent struct {
	FirstSeq uint64    `json:"first_seq"` // 1, unless the beginning is gone
	LastSeq  uint64    `json:"last_seq"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Read     uint64    `json:"events_read"`
	// Whole means that nothing is missing at the start, so that every state can be proved.
	Whole bool `json:"whole"`
	// Excused is the last sequence that a retention on record may have removed; 0 if none.
	Excused uint64 `json:"excused_seq"`
	// Cut counts the threads known to have lost their beginning to retention: by the store, if one is compared, else
	// by their records.
	Cut uint64 `json:"threads_cut"`
}

// count counts an event before it is folded.
func (e *Extent) count(m broker.Stored) {
	if e.Read == 0 {
		e.From = m.Time
	}
	e.Read++
	e.To = m.Time
}

// Unproved is a reason and how often it occurred.
type Unproved struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Matched reports whether anything in the log matches the filter.
func (r *Report) Matched() bool { return r.Known && len(r.Events)+len(r.Records) > 0 }

// Clean reports whether there are no findings.
func (r *Report) Clean() bool { return len(r.Findings) == 0 }

// Finding is a discrepancy within the log, or between the log and a store.
type Finding struct {
	Thread   events.OrNull `json:"thread"`
	Summary  events.OrNull `json:"summary"`
	Check    string        `json:"check"`
	Want     string        `json:"want"`
	Got      string        `json:"got"`
	EventSeq uint64        `json:"event_seq"` // in EVENTS; 0 if no event is involved
}

// Checks, as findings name them.
const (
	// CheckEvents: EVENTS has no gap.
	CheckEvents = "events_unbroken"
	// CheckRejection: REJECTED holds every event that can't be accepted, unchanged and with its code, and nothing
	// else.
	CheckRejection = "rejection"
	// CheckSummaries: SUMMARIES has no gap.
	CheckSummaries = "summaries_unbroken"
	// CheckReadable: a record conforms to the contract, under its own subject and id.
	CheckReadable = "record_readable"
	// CheckOrder: SUMMARIES holds a thread's records in chain order.
	CheckOrder = "chain_order"
	// CheckChain: every record continues the one before it, unaltered.
	CheckChain = "chain"
	// CheckBegan: a record states correctly where its thread began.
	CheckBegan = "thread_began"
	// CheckEvent: the event at which a record was decided is the one that EVENTS holds there.
	CheckEvent = "event_at"
	// CheckTimes: a record's times agree with its envelope, its event, its job and its policy, as far as clocks can tell.
	CheckTimes = "times"
	// CheckConfig: every partition runs under the same configuration.
	CheckConfig = "configuration"
	// CheckStep: every record has its place in its step, and follows from the step's cause.
	CheckStep = "step"
	// CheckTrigger: every decision follows from its event under the configuration then in force.
	CheckTrigger = "trigger"
	// CheckMissed: every decision that follows from an event was made.
	CheckMissed = "trigger_missed"
	// CheckInvalidations: every edit is followed by the invalidation of what was made from its message.
	CheckInvalidations = "edit_invalidates"
	// CheckCause: every invalidation has a cause that justifies it.
	CheckCause = "invalidation_cause"
	// CheckSources: every source exists, with the digest that it had.
	CheckSources = "sources"
	// CheckPlaces: every message that is not deleted stands verbatim, or inside exactly one of the leaves from which
	// the prompt's compaction was made.
	CheckPlaces = "message_places"
	// CheckRemade: recomputing a rule-based summary gives the same text.
	CheckRemade = "summary_remade"
	// CheckJob: a summary made by a job, and every call, belongs to the job that was started.
	CheckJob = "started"
	// CheckEnded: every started job has ended.
	CheckEnded = "started_ended"
	// CheckCost: a cost is the usage times the prices of the table that it names.
	CheckCost = "cost"
	// CheckCounter: the live store's counters equal the log's.
	CheckCounter = "counter"
	// CheckStore: the live store's other rows equal the log's.
	CheckStore = "store"
)

// shown is the number of characters of a text that a finding shows at most.
const shown = 160

// short truncates a text for a finding and marks the cut.
func short(text string) string {
	runes := []rune(text)
	if len(runes) <= shown {
		return text
	}
	return string(runes[:shown-1]) + "…"
}

// apart returns both texts from shortly before their first difference.
func apart(want, got string) (string, string) {
	a, b := []rune(want), []rune(got)
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	const lead = 20
	if from := at - lead; from > 0 && max(len(a), len(b)) > shown {
		return short("…" + string(a[from:])), short("…" + string(b[from:]))
	}
	return short(want), short(got)
}

// Totals sums up what summarizing produced, and its cost.
type Totals struct {
	Summaries   map[string]*Made `json:"summaries"` // by kind
	Invalidated uint64           `json:"invalidated"`
	Failed      uint64           `json:"failed"`

	ModelCalls   uint64 `json:"model_calls"`
	InputTokens  int64  `json:"llm_input_tokens"`
	OutputTokens int64  `json:"llm_output_tokens"`
	CostMicroUSD int64  `json:"cost_microusd"`
	CostUnknown  uint64 `json:"calls_of_unknown_cost"`

	// At the end, over all threads: the tokens of the live messages, and of the compacted prompts.
	Tokens
	// Threads has the same for each thread, the largest first; the smallest beyond maxThreads are left out.
	Threads []ThreadTokens `json:"threads"`
}

// Tokens of live messages, and of the prompts that summaries make of them. A summary stands in a prompt once, however
// many versions it had and whatever was made above it, so the tokens of prompts can't be summed from the records.
type Tokens struct {
	Total int64 `json:"tokens_total"`
	Live  int64 `json:"tokens_live"`
}

// ThreadTokens are the tokens of one thread.
type ThreadTokens struct {
	Thread string `json:"thread"`
	Tokens
}

// maxThreads is the number of threads that are listed.
const maxThreads = 1000

// Made counts the summaries of one kind, each version separately, and by method.
type Made struct {
	Count   uint64            `json:"count"`
	Methods map[string]uint64 `json:"methods"`
}

// Saved is the number of tokens by which summaries shrink the threads' prompts.
func (t *Totals) Saved() int64 { return t.Total - t.Live }

// add counts one record.
func (t *Totals) add(rec events.Record) {
	switch rec := rec.(type) {
	case *events.Summary:
		t.made(rec)
	case *events.Invalidated:
		t.Invalidated++
	case *events.Failed:
		t.Failed++
	case *events.UsageRecord:
		t.ModelCalls++
		t.InputTokens += rec.Usage.InputTokens
		t.OutputTokens += rec.Usage.OutputTokens
		if rec.Cost.AmountMicroUSD == nil {
			t.CostUnknown++
			return
		}
		t.CostMicroUSD += *rec.Cost.AmountMicroUSD
	}
}

func (t *Totals) made(rec *events.Summary) {
	if t.Summaries == nil {
		t.Summaries = map[string]*Made{}
	}
	m := t.Summaries[rec.Kind]
	if m == nil {
		m = &Made{Methods: map[string]uint64{}}
		t.Summaries[rec.Kind] = m
	}
	m.Count++
	m.Methods[rec.Method]++
}

// end adds the final tokens of the threads that a filter accepts.
func (t *Totals) end(scratch *state.Store, strays int, f Filter) error {
	t.Threads = []ThreadTokens{}
	for id := range strays + 1 {
		err := scratch.View(id).Headers(func(h *thread.Header) (bool, error) {
			if h.Thread == "" || !f.takes(scopeOfHeader(h)) {
				return true, nil
			}
			t.Total += h.Tokens
			t.Live += h.TokensLive
			t.Threads = append(t.Threads, ThreadTokens{h.Thread, Tokens{h.Tokens, h.TokensLive}})
			if len(t.Threads) > 2*maxThreads {
				t.largest()
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	t.largest()
	return nil
}

// largest keeps the largest threads, sorted.
func (t *Totals) largest() {
	slices.SortFunc(t.Threads, func(a, b ThreadTokens) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Thread, b.Thread))
	})
	t.Threads = t.Threads[:min(len(t.Threads), maxThreads)]
}
