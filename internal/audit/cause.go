package audit

import (
	"cmp"
	"fmt"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// invalidated checks an invalidation against its cause.
func (a *auditor) invalidated(at scope, st *thread.State, s *state.Staged, rec *events.Invalidated) {
	sum := st.Summary(rec.SummaryID)
	if sum == nil {
		return // the fold refuses it
	}
	if sum.Status != thread.Active {
		a.tally.find(at, a.finding(rec, CheckCause, "an active summary", "one that is "+string(sum.Status)))
	}
	if want, got := a.causeOf(st, sum, rec); want != "" {
		a.tally.find(at, a.finding(rec, CheckCause, want, got))
	} else {
		a.tally.holds(at, CheckCause)
	}
	if want, err := a.lane.fold.MeanwhileOf(st, sum, rec); err == nil && want != cmp.Or(rec.Meanwhile, events.MeanwhileRaw) {
		a.tally.find(at, a.finding(rec, CheckCause, "meanwhile "+want, "meanwhile "+rec.Meanwhile))
	}
	a.caused(at, st, s, rec)
}

// causeOf returns what is wrong with a cause; want is empty if the cause justifies the invalidation.
func (a *auditor) causeOf(st *thread.State, sum *thread.Summary, rec *events.Invalidated) (want, got string) {
	switch rec.Reason {
	case events.ReasonSourceEdited, events.ReasonSourceDeleted:
		if id := orNone(rec.Cause.MessageID); !slices.Contains(sum.Sources, id) {
			return "a message that it was made from", fmt.Sprintf("message %q", id)
		}
	case events.ReasonSourceInvalidated:
		return a.causeSummary(st, sum, orNone(rec.Cause.SummaryID))
	case events.ReasonTTLExpired:
		if sum.ExpiresAt.IsZero() || rec.InvalidatedAt.Before(sum.ExpiresAt) {
			return fmt.Sprintf("not before it expires (%s)", sum.ExpiresAt), rec.InvalidatedAt.String()
		}
	case events.ReasonPolicyChanged, events.ReasonModelChanged:
		return a.causeSetting(st, sum, rec)
	case events.ReasonPromptChanged:
		if orNone(rec.Cause.Old) == orNone(rec.Cause.New) {
			return "a setting that has changed", orNone(rec.Cause.Setting) + " is as it was"
		}
	default:
		return "one of the contract's reasons", rec.Reason
	}
	return "", ""
}

// causeSetting compares the summary with the configuration in force, as the sweep did.
func (a *auditor) causeSetting(st *thread.State, sum *thread.Summary, rec *events.Invalidated) (want, got string) {
	show := func(inv *events.Invalidated) string {
		if inv == nil {
			return "nothing: the configuration in force has nothing against it"
		}
		return fmt.Sprintf("%s: %s from %q to %q", inv.Reason, orNone(inv.Cause.Setting), orNone(inv.Cause.Old), orNone(inv.Cause.New))
	}
	inv, err := a.lane.fold.Outdated(st, sum)
	if want, got = show(inv), show(rec); err != nil || want != got {
		return want, got
	}
	return "", ""
}

func (a *auditor) causeSummary(st *thread.State, sum *thread.Summary, id string) (want, got string) {
	if !slices.Contains(sum.SourceSums, id) {
		return "a summary that it was made from", fmt.Sprintf("summary %q", id)
	}
	from, err := a.lane.part.Summary(st.Header.Thread, id)
	if err != nil || from == nil || from.Status == thread.Active {
		return "summary " + id + " invalidated before", "it is active"
	}
	return "", ""
}

// policyOfRow is the policy under which a summary was made.
func policyOfRow(sum *thread.Summary) string {
	rec, err := readSummary(sum.Record)
	if err != nil {
		return ""
	}
	return rec.Policy
}
