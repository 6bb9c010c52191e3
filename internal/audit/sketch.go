package audit

import (
	"cmp"
	"math"
	"slices"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/thread"
	"precis/state"
)

// Sketch is a thread's story as far as a store has it, without a fold: counters, summaries, and the events that its messages stand on, of which kept has
// those that were read, as records has the records of replaced summaries (RecordsIn). It has no further records, no event that was rejected or changed
// nothing, and no check was made. nil: there is no such thread.
func Sketch(view state.View, name string, kept, records *broker.Kept) (*Story, error) {
	h, err := view.Header(name)
	if err != nil || h == nil {
		return nil, err
	}
	s := &Story{Thread: name, Sketch: true, Entries: []*Entry{}, Summaries: []*Standing{}, Findings: []Finding{}, Unproved: []Unproved{}}
	s.header(h)
	if err := s.sketchEvents(view, h); err != nil {
		return nil, err
	}
	for i, e := range s.Entries {
		m, ok := kept.Message(e.EventSeq)
		typ, _, known := events.ParseSubject(m.Subject)
		if !ok || !known {
			e.Unread = true
			s.Unread++
			continue
		}
		read := entryOf(m, typ)
		read.Outcome, read.Tokens = e.Outcome, e.Tokens
		s.Entries[i] = read
	}
	return s, s.sketchSummaries(view, records)
}

// sketchEvents lists the thread's own events, without what they say.
func (s *Story) sketchEvents(view state.View, h *thread.Header) error {
	add := func(e Entry) {
		if e.EventSeq >= h.Fork.Seq { // what a fork begins with are its parent's events
			e.Outcome = thread.Accepted.String()
			s.Entries = append(s.Entries, &e)
		}
	}
	if h.Fork.Seq > 0 {
		add(Entry{EventSeq: h.Fork.Seq, Type: events.ThreadForked, Forks: h.Fork.Parent, MessageID: h.Fork.At})
	}
	rows, err := view.Messages(h.Thread, 0, math.MaxUint64)
	if err != nil {
		return err
	}
	for _, m := range rows {
		first := Entry{EventSeq: m.FirstSeq, Type: events.ThreadMessage, MessageID: m.ID, Role: m.Role}
		if m.Tool {
			first.Type = events.ToolResult
		}
		switch {
		case m.Seq == m.FirstSeq:
			first.Tokens = m.Tokens()
		case m.Rewound:
			add(Entry{EventSeq: m.Seq, Type: events.MessageEdited, Rewind: true})
		default:
			add(Entry{EventSeq: m.Seq, Type: events.MessageEdited, MessageID: m.ID, Tokens: m.Tokens(), Deleted: m.Deleted})
		}
		add(first)
	}
	err = view.Revisions(h.Thread, func(r thread.MessageRevision) (bool, error) {
		add(Entry{EventSeq: r.Seq, Type: events.MessageEdited, MessageID: r.MessageID})
		return true, nil
	})
	// A rewind is one event of many messages, and the first revision of a message is among its revisions.
	slices.SortStableFunc(s.Entries, func(a, b *Entry) int { return cmp.Compare(a.EventSeq, b.EventSeq) })
	s.Entries = slices.CompactFunc(s.Entries, func(a, b *Entry) bool { return a.EventSeq == b.EventSeq })
	return err
}

func (s *Story) sketchSummaries(view state.View, records *broker.Kept) error {
	chain := map[string]uint64{}
	err := view.Summaries(s.Thread, func(sum *thread.Summary) (bool, error) {
		if sum.Inherited {
			return true, nil
		}
		chain[sum.ID] = sum.ChainSeq
		standing, err := sketchStanding(view, s.Thread, sum, records)
		s.Summaries = append(s.Summaries, standing)
		return true, err
	})
	slices.SortFunc(s.Summaries, func(a, b *Standing) int { return cmp.Compare(chain[a.ID], chain[b.ID]) })
	return err
}

// sketchStanding is a summary with its record, if that is there.
func sketchStanding(view state.View, name string, sum *thread.Summary, records *broker.Kept) (*Standing, error) {
	if len(sum.Record) > 0 {
		return standingOf(sum, sum.Record), nil
	}
	seq, err := view.Placed(name, sum.ChainSeq)
	if err != nil {
		return nil, err
	}
	if m, ok := records.Message(seq); ok && content.MadeBy(m, sum.ID) {
		return standingOf(sum, m.Data), nil
	}
	known, err := json.Marshal(map[string]any{
		"version": sum.Version, "policy": sum.Policy, "source_message_ids": sum.Sources, "source_summary_ids": sum.SourceSums,
		"token_count_before": sum.TokensBefore, "token_count_after": sum.TokensAfter,
	})
	standing := standingOf(sum, known)
	standing.Unread = true
	return standing, err
}

// RecordsIn returns where the records of some of a thread's replaced summaries stand in SUMMARIES, which a store does not have.
func RecordsIn(view state.View, name string, ids map[string]bool) (seqs []uint64, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = view.Summaries(name, func(sum *thread.Summary) (bool, error) {
		if !ids[sum.ID] || sum.Inherited || len(sum.Record) > 0 {
			return true, nil
		}
		seq, err := view.Placed(name, sum.ChainSeq)
		if seq > 0 {
			seqs = append(seqs, seq)
		}
		return true, err
	})
	return seqs, err
}

// EventsIn returns where the revisions of a thread's messages stand in EVENTS, as a store has them. That is all of its events, unless there are duplicates or
// rejected ones.
func EventsIn(view state.View, h *thread.Header) (seqs []uint64, err error) {
	rows, err := view.Messages(h.Thread, 0, math.MaxUint64)
	for _, m := range rows {
		seqs = append(seqs, m.FirstSeq, m.Seq)
	}
	if err == nil {
		err = view.Revisions(h.Thread, func(r thread.MessageRevision) (bool, error) {
			seqs = append(seqs, r.Seq)
			return true, nil
		})
	}
	if h.Fork.Seq > 0 {
		seqs = append(seqs, h.Fork.Seq)
	}
	return seqs, err
}
