package ui

import (
	"net/http"
	"slices"
	"time"

	"precis/internal/audit"
	"precis/internal/thread"
	"precis/internal/timeline"
	"precis/state"
	"precis/summarize"
)

const (
	// readFor is how long a timeline reads the log before it shows what it has. It is less than outlineAfter.
	readFor = 25 * time.Millisecond
	// readRecordsFor is how long it then reads records of replaced summaries.
	readRecordsFor = 10 * time.Millisecond
	// keptBytes bounds the events that are kept between looks. A thread whose events take more than keptOfThread is shown when all of them are read.
	keptBytes, keptOfThread = 32 << 20, 8 << 20
	// keptRecordBytes bounds the records of replaced summaries in the same way.
	keptRecordBytes = 8 << 20
)

// sketched is a thread's story as the store has it, with those events that could be read in a short time, the latest first: the server may have to load
// a block of 8 MB for each. What is read is kept, so that looks at the page that follow each other get to the whole. nil: it can be told now, or the
// page is one that the store can't make.
func (u *UI) sketched(r *http.Request, h *thread.Header, partition int) (*audit.Story, error) {
	if given(r, []string{"at", "before", "find", "whole"}) || !u.Backend.Connected() || u.stories.find(h.Thread, "", h) != nil {
		return nil, nil
	}
	seqs, err := u.known(h.Thread)
	if err != nil {
		return nil, err
	}
	seqs = slices.DeleteFunc(seqs, func(seq uint64) bool { return seq < h.Fork.Seq }) // what a fork begins with are its parent's events
	if len(seqs) == 0 {                                                               // there are too many to look them up: the story is told from the log
		return nil, nil
	}
	snapshot := u.Backend.Snapshot(partition)
	defer snapshot.Close()
	left, bytes := u.events.Ahead(r.Context(), seqs, readFor)
	if left == 0 || bytes > keptOfThread {
		return nil, r.Context().Err()
	}
	records, err := u.recordsShown(r, h, snapshot.View)
	if err != nil {
		return nil, err
	}
	u.records.Ahead(r.Context(), records, readRecordsFor)
	s, err := audit.Sketch(snapshot.View, h.Thread, u.kept, u.keptRecords)
	if err != nil || s == nil || s.Unread == 0 {
		return nil, err
	}
	policy, _ := summarize.Resolve(u.Backend.Config().Policies, h.Policy, h.FirstAgentID, h.Thread)
	s.Policy = policy.Name
	return s, nil
}

// recordsShown returns where the records of replaced summaries stand that a page shows and that are not read yet.
func (u *UI) recordsShown(r *http.Request, h *thread.Header, view state.View) ([]uint64, error) {
	s, err := audit.Sketch(view, h.Thread, u.kept, u.keptRecords)
	if err != nil || s == nil {
		return nil, err
	}
	return audit.RecordsIn(view, h.Thread, unreadCards(s, u.shownOptions(r)))
}

// unreadCards are the summaries that a page shows without their records. A thread may have thousands that were replaced, and a page has a hundred at most.
func unreadCards(s *audit.Story, o timeline.Options) map[string]bool {
	ids := map[string]bool{}
	for _, c := range timeline.New(s, o).Cards {
		if c.Unread {
			ids[c.ID] = true
		}
	}
	return ids
}
