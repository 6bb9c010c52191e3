package audit

import (
	"fmt"
	"slices"

	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

// standing compares the positions that partitions claim with the streams. CheckLog and CheckMarks have compared
// EVENTS, and the messages at those positions; a store's own check counts summaries and staged records.
type standing struct {
	summaries, rejected broker.StreamState
	configs             configs
	own                 map[int][]state.Own // the records of the partitions' own chains
}

// compare reports where a partition's row contradicts the streams, or a fold of them.
func (s standing) compare(id int, meta, folded state.Meta, report func(state.Problem)) {
	differs := func(what string, want, got any) {
		report(state.Problem{Partition: id, Check: "row m: " + what, Want: fmt.Sprint(want), Got: fmt.Sprint(got)})
	}
	for _, at := range []struct {
		stream     string
		read, mark uint64
		last       uint64
	}{
		{broker.StreamEvents, meta.Position, meta.EventsMark.Seq, meta.Position},
		{broker.StreamSummaries, meta.SummariesSeq, meta.SummariesMark.Seq, s.summaries.Last},
		{broker.StreamRejected, meta.RejectedSeq, meta.RejectedMark.Seq, s.rejected.Last},
	} {
		if at.read > at.last {
			differs(at.stream+" is read up to", fmt.Sprintf("%d at most, where it ends", at.last), at.read)
		}
		// In EVENTS an idle partition notes the furthest message that any partition has read, which may be ahead of it.
		if at.mark > at.read && at.stream != broker.StreamEvents {
			differs(at.stream+" is read up to", fmt.Sprintf("%d at least, the last message read", at.mark), at.read)
		}
	}
	if made := meta.SummariesCreated; meta.SummariesSeq > 0 && !made.IsZero() && !made.Equal(s.summaries.Created) {
		differs("SUMMARIES was made at", s.summaries.Created, made)
	}
	if want := s.ownEnd(id, meta.SummariesSeq); want != meta.Own {
		differs("the partition's own chain ends at", want, meta.Own)
	}
	if want := s.losses(id, meta.SummariesSeq, folded.Losses); !slices.EqualFunc(want, meta.Losses, sameLoss) {
		differs("accepted losses", want, meta.Losses)
	}
}

// ownEnd returns the end of a partition's own chain up to a sequence of SUMMARIES.
func (s standing) ownEnd(id int, upTo uint64) (end state.Own) {
	for _, at := range s.own[id] {
		if at.Seq <= upTo {
			end = at
		}
	}
	return end
}

// losses returns the losses on record up to a sequence of SUMMARIES.
func (s standing) losses(id int, upTo uint64, all []state.Loss) (list []state.Loss) {
	for _, l := range all {
		if slices.ContainsFunc(s.configs[id], func(a applied) bool {
			return a.loss != nil && a.stored <= upTo && sameLoss(recovery.Lost(a.loss), l)
		}) {
			list = append(list, l)
		}
	}
	return list
}

func sameLoss(a, b state.Loss) bool {
	return a.Events == b.Events && a.Rejected == b.Rejected && a.At.Equal(b.At)
}
