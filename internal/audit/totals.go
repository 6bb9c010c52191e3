package audit

import (
	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// Totals are what summarizing came to.
type Totals struct {
	Summaries   map[string]*Made `json:"summaries"` // by kind
	Invalidated uint64           `json:"invalidated"`
	Failed      uint64           `json:"failed"`

	ModelCalls   uint64 `json:"model_calls"`
	InputTokens  int64  `json:"llm_input_tokens"`
	OutputTokens int64  `json:"llm_output_tokens"`
	CostMicroUSD int64  `json:"cost_microusd"`
	CostUnknown  uint64 `json:"calls_of_unknown_cost"`

	// At the end: what the threads hold, and what a prompt of each would hold with its summaries.
	TokensTotal int64 `json:"tokens_total"`
	TokensLive  int64 `json:"tokens_live"`
}

// Made is what summaries of one kind came to, each version counted.
type Made struct {
	Count        uint64            `json:"count"`
	Methods      map[string]uint64 `json:"methods"`
	TokensBefore int64             `json:"tokens_before"`
	TokensAfter  int64             `json:"tokens_after"`
}

// Saved is by how much summaries make the threads' prompts smaller.
func (t *Totals) Saved() int64 { return t.TokensTotal - t.TokensLive }

// add takes in one record.
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
	m.TokensBefore += rec.TokenCountBefore
	m.TokensAfter += rec.TokenCountAfter
}

// end takes in a thread as the fold leaves it.
func (t *Totals) end(h *thread.Header) {
	t.TokensTotal += h.Tokens
	t.TokensLive += h.TokensLive
}

// plus adds what another part of the log came to.
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
	m.TokensBefore += more.TokensBefore
	m.TokensAfter += more.TokensAfter
	for method, n := range more.Methods {
		m.Methods[method] += n
	}
}

// endTotals adds what the threads that a filter takes hold at the end.
func endTotals(scratch *state.Store, strays int, f Filter, sum *Totals) error {
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
	return nil
}
