package audit

import (
	"fmt"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// chain holds a record against the one before it in its thread.
func (a *auditor) chain(at scope, h *thread.Header, s *state.Staged) {
	f := Finding{Thread: events.OrNull(s.Thread), Summary: events.OrNull(idOf(s.Data)), Check: CheckChain, EventSeq: s.EffectiveSeq}
	if want := h.ChainSeq + 1; s.ChainSeq != want {
		f.Want, f.Got = fmt.Sprintf("record %d of the thread", want), fmt.Sprintf("record %d (SUMMARIES %d): what was between is gone", s.ChainSeq, s.Seq)
		a.tally.find(at, f)
		return
	}
	if _, err := events.VerifyChain(h.Chain, s.Data); err != nil {
		f.Want = "a record that follows on " + orNothing(h.Chain)
		f.Got = fmt.Sprintf("record %d (SUMMARIES %d): %v", s.ChainSeq, s.Seq, err)
		a.tally.find(at, f)
		return
	}
	a.tally.holds(at, CheckChain)
}

func orNothing(chain string) string {
	if chain == "" {
		return "nothing: it is the thread's first"
	}
	return chain
}
