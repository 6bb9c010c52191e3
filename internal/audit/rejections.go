package audit

import (
	"fmt"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
)

// rejected notes that the fold rejects an event, and whether REJECTED says so too.
func (a *auditor) rejected(at scope, seq uint64, code string) {
	on, known := a.rejections[seq]
	delete(a.rejections, seq)
	f := Finding{Thread: events.OrNull(at.thread), Check: CheckRejection, EventSeq: seq, Want: "rejected as " + code, Got: "not in REJECTED"}
	switch {
	case known && on == code:
		a.tally.holds(at, CheckRejection)
		return
	case known:
		f.Got = "rejected as " + on
	case a.tally.retained.rejects(at.thread, code):
		a.tally.doubt(at, beginningGone)
		return
	case !a.endsBefore() && a.now.Sub(at.at) < grace:
		a.tally.late(at)
		return
	}
	a.tally.find(at, f)
}

// unrejected notes a rejection that the fold does not come to.
func (a *auditor) unrejected(seq uint64, code string) {
	switch {
	case seq > a.lane.last || a.waiting[seq] && a.endsBefore():
		return // behind what was folded: an edit that waits there is rejected at a later event
	case seq < a.first:
		a.tally.doubt(scope{}, "a rejection of an event that retention has taken")
		return
	case a.tally.retained.rejects("", code):
		a.tally.doubt(scope{}, beginningGone)
		return
	}
	a.tally.find(scope{}, Finding{
		Check: CheckRejection, EventSeq: seq,
		Want: "an event that can't be accepted", Got: fmt.Sprintf("REJECTED says %s of one that can, or of none", code),
	})
}

// endsBefore says that the fold ends at an event, and the log may go on behind it.
func (a *auditor) endsBefore() bool { return a.lane.upTo != ^uint64(0) }

// held keeps count of the edits that wait for their message.
func (a *auditor) held(s fold.Stepped) {
	if s.Result.Outcome == thread.Held {
		a.waiting[s.Delivery.Seq] = true
	}
	for _, w := range s.State.Changes.Release {
		delete(a.waiting, w.Seq)
	}
}
