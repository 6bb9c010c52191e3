package audit

import (
	"fmt"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// chain checks a record against its predecessor in the thread; those of a partition's own chain are checked as they are read.
func (a *auditor) chain(at scope, h *thread.Header, s *state.Staged) {
	if s.Thread == "" {
		return
	}
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
	a.inStep(at, s)
}

// began checks when a record says its event was stored, and where it says its thread began, against the log or, if
// retention removed that part of it, against the earlier records.
func (a *auditor) began(at scope, h *thread.Header, rec events.Record) {
	head := rec.Common()
	if head.EventAt != nil && head.EventSeq == h.EventSeq && h.LastAt != 0 && head.EventAt.UnixNano() != h.LastAt {
		a.tally.find(at, a.finding(rec, CheckEvent, fmt.Sprintf("event %d, stored at %s", head.EventSeq, head.EventAt.Format(time.RFC3339Nano)),
			"another event there, stored at "+time.Unix(0, h.LastAt).UTC().Format(time.RFC3339Nano)))
	}
	said := head.FirstEventSeq
	switch gone := a.tally.retained; {
	case said == h.FirstSeq:
		a.tally.holds(at, CheckBegan)
	case said > 0 && said <= gone.to() && gone.cut(h.Thread) && (h.FirstSeq == 0 || said < h.FirstSeq):
		a.tally.doubt(at, removedByRetention)
	case h.FirstSeq == 0:
		a.tally.find(at, a.finding(rec, CheckBegan, fmt.Sprintf("event %d of the thread", said), "not in EVENTS"))
	default:
		a.tally.find(at, a.finding(rec, CheckBegan, fmt.Sprintf("event %d is the thread's first", h.FirstSeq), fmt.Sprintf("event %d is said to be", said)))
	}
}

func orNothing(chain string) string {
	if chain == "" {
		return "nothing: it is the thread's first"
	}
	return chain
}
