package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize/prompt/whole"
)

// No message vanishes: one that is not deleted stands verbatim in a thread's prompts, or inside exactly one of the
// leaves from which their compaction was made. Messages that a prompt has no room for, or holds back, count as
// verbatim. Each record of a compaction is checked when it is adopted, at a cost proportional to its length: a leaf
// against the messages that it or its cut passed, the current summary against the existing leaves and nodes. At the
// end each thread is checked as a whole.

// compacted is the compaction of a thread before a record changes it.
type compacted struct {
	to      uint64   // the last ordinal before the last cut
	held    []uint64 // ordinals before it that stay verbatim until the next cut
	sources []string // of the leaf that is replaced
}

func compactedIn(st *thread.State, rec *events.Summary) compacted {
	if rec.Kind != events.KindCompaction || st.Compaction == nil {
		return compacted{}
	}
	was := compacted{to: st.Compaction.To(), held: slices.Clone(st.Compaction.Held)}
	if old := st.Summary(st.Slot(rec.Slot).Holder); old != nil {
		was.sources = old.Sources
	}
	return was
}

// eachInOnePlace is what findings of CheckPlaces expect.
const eachInOnePlace = "each message verbatim, or inside one leaf"

// Adopted implements fold.Watch.
func (a *auditor) Adopted(st *thread.State, rec *events.Summary) {
	if rec.Kind != events.KindCompaction || st.Compaction == nil {
		return
	}
	r := &onRecord{scope: scopeOf(st, rec.Policy, time.Unix(0, st.Header.LastAt)), rec: rec}
	astray, err := a.astray(st, rec)
	if err != nil {
		a.tally.doubt(r.scope, doubtUnread)
	} else if astray != "" {
		a.find(r, CheckPlaces, eachInOnePlace, astray)
	} else {
		a.tally.holds(r.scope, CheckPlaces)
	}
}

// astray describes what an adopted compaction leaves without a place; empty if there is nothing.
func (a *auditor) astray(st *thread.State, rec *events.Summary) (string, error) {
	switch {
	case rec.Slot == events.SlotCurrent:
		var tops []string
		for _, top := range st.Compaction.Tops {
			tops = append(tops, top.Summary)
		}
		if !slices.Equal(tops, rec.SourceSummaryIDs) {
			return fmt.Sprintf("made from %q, the thread is compacted in %q", rec.SourceSummaryIDs, tops), nil
		}
		return "", nil
	case rec.Level > 0:
		return "", nil
	}
	rows, err := a.passed(st, rec)
	if err != nil {
		return "", err
	}
	return astrayOf(st.Compaction, rec.SourceMessageIDs, rows, func(id string) (bool, error) {
		made, err := a.lane.part.MadeFromMessage(st.Header.Thread, id)
		return slices.ContainsFunc(made, func(id string) bool { return id != orNone(rec.Replaces) && a.leafOn(st, id) }), err
	})
}

// astrayOf describes which of a thread's messages are not in exactly one place; inside are those that leaves stand for. Of one in no
// place elsewhere reports whether it is in a leaf that was not looked at, since it was restored, and a later cut took it.
func astrayOf(c *thread.Compaction, inside []string, rows []*thread.Message, elsewhere func(id string) (bool, error)) (string, error) {
	places := map[string][]string{}
	for _, id := range inside {
		places[id] = append(places[id], whole.Inside)
	}
	var live []string
	for _, m := range rows {
		if !c.Replaced(m.Ordinal) {
			places[m.ID] = append(places[m.ID], whole.Verbatim)
		}
		if m.Deleted {
			continue
		}
		if len(places[m.ID]) == 0 {
			if there, err := elsewhere(m.ID); err != nil || there {
				if err != nil {
					return "", err
				}
				continue
			}
		}
		live = append(live, m.ID)
	}
	var list []string
	for _, err := range whole.Astray(live, places) {
		list = append(list, err.Error())
	}
	return strings.Join(list, "; "), nil
}

// leafOn reports whether a summary that was made from a message is a leaf of the compaction.
func (a *auditor) leafOn(st *thread.State, id string) bool {
	sum, err := a.lane.part.Summary(st.Header.Thread, id)
	return err == nil && sum != nil && sum.Kind == events.KindCompaction
}

// passed returns the messages that a leaf decides about: its own, and those that its cut passed or that the leaf it
// replaces held.
func (a *auditor) passed(st *thread.State, rec *events.Summary) ([]*thread.Message, error) {
	part, name := a.lane.part, st.Header.Thread
	own, err := part.MessagesOf(name, rec.SourceMessageIDs)
	before, failed := part.MessagesOf(name, a.was.sources)
	rows := append(own, before...)
	if err = cmp.Or(err, failed); err == nil && rec.Version == 1 { // it cuts the thread
		passed, failed := part.Messages(name, a.was.to+1, st.Compaction.To()+1)
		held, err := part.MessagesAt(name, a.was.held)
		if err = cmp.Or(failed, err); err != nil {
			return nil, err
		}
		rows = append(append(rows, passed...), held...)
	}
	slices.SortFunc(rows, func(a, b *thread.Message) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return slices.CompactFunc(rows, func(a, b *thread.Message) bool { return a.Ordinal == b.Ordinal }), err
}

// places checks each thread's messages against the summary that its prompts use now. Without one all are verbatim.
func (a *auditor) places() error {
	return a.lane.part.Headers(func(h *thread.Header) (bool, error) { return true, a.placesOf(h) })
}

func (a *auditor) placesOf(h *thread.Header) error {
	part, name := a.lane.part, h.Thread
	slot, err := part.Slot(name, events.SlotCurrent)
	if err != nil || slot.Holder == "" {
		return err
	}
	id := slot.Used()
	sum, err := part.Summary(name, id)
	if err != nil || sum == nil || !sum.Current || !sum.Stands() {
		return err
	}
	c, err := part.Compaction(name)
	if err != nil || c.Empty() {
		return err
	}
	rows, err := part.Messages(name, 1, h.Ordinals+1)
	if err != nil {
		return err
	}
	under, err := whole.Under(id, a.madeFrom(name))
	var astray string
	if err != nil {
		astray = err.Error()
	} else if astray, err = astrayOf(c, under, rows, func(string) (bool, error) { return false, nil }); err != nil {
		return err
	}
	at := scope{thread: name, agent: h.FirstAgentID, at: time.Unix(0, h.LastAt)}
	if astray == "" {
		a.tally.holds(at, CheckPlaces)
		return nil
	}
	a.tally.find(at, Finding{
		Thread: events.OrNull(name), Summary: events.OrNull(id), Check: CheckPlaces, EventSeq: h.EventSeq, Want: eachInOnePlace, Got: astray,
	})
	return nil
}

// madeFrom looks up the sources of a thread's summaries.
func (a *auditor) madeFrom(name string) func(id string) (whole.Summary, error) {
	return func(id string) (sum whole.Summary, err error) {
		row, err := a.lane.part.Summary(name, id)
		if err == nil && row == nil {
			err = fmt.Errorf("not on record")
		}
		if err != nil {
			return sum, err
		}
		return whole.Summary{Kind: row.Kind, SourceMessageIDs: row.Sources, SourceSummaryIDs: row.SourceSums}, nil
	}
}
