package audit

import (
	"cmp"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

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

// end adds a thread as the fold leaves it.
func (t *Totals) end(h *thread.Header) {
	t.Total += h.Tokens
	t.Live += h.TokensLive
	t.Threads = append(t.Threads, ThreadTokens{h.Thread, Tokens{h.Tokens, h.TokensLive}})
	if len(t.Threads) > 2*maxThreads {
		t.largest()
	}
}

// largest keeps the largest threads, sorted.
func (t *Totals) largest() {
	slices.SortFunc(t.Threads, func(a, b ThreadTokens) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Thread, b.Thread))
	})
	t.Threads = t.Threads[:min(len(t.Threads), maxThreads)]
}

// plus adds the totals of another part of the log.
func (t *Totals) plus(more *Totals) {
	for kind, m := range more.Summaries {
		if t.Summaries == nil {
			t.Summaries = map[string]*Made{}
		}
		if t.Summaries[kind] == nil {
			t.Summaries[kind] = &Made{Methods: map[string]uint64{}}
		}
		t.Summaries[kind].plus(m)
	}
	t.Invalidated += more.Invalidated
	t.Failed += more.Failed
	t.ModelCalls += more.ModelCalls
	t.InputTokens += more.InputTokens
	t.OutputTokens += more.OutputTokens
	t.CostMicroUSD += more.CostMicroUSD
	t.CostUnknown += more.CostUnknown
}

func (m *Made) plus(more *Made) {
	m.Count += more.Count
	for method, n := range more.Methods {
		m.Methods[method] += n
	}
}

// endTotals adds the final tokens of the threads that a filter accepts.
func endTotals(scratch *state.Store, strays int, f Filter, sum *Totals) error {
	sum.Threads = []ThreadTokens{}
	for id := range strays + 1 {
		err := scratch.View(id).Headers(func(h *thread.Header) (bool, error) {
			if h.Thread != "" && f.takes(scopeOfHeader(h)) {
				sum.end(h)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	sum.largest()
	return nil
}
