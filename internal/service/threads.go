package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"precis/api"
	"precis/internal/roster"
	"precis/internal/thread"
	"precis/summarize"
)

const (
	maxListed     = 1000
	defaultListed = 100
)

// threads answers precis.threads.list. The index says which threads, and the store what of them.
func (s *Service) threads(ctx context.Context, r *request) (any, error) {
	var req api.ThreadsRequest
	if err := decode(r.body, &req); err != nil {
		return nil, err
	}
	q, err := listOf(req)
	if err != nil {
		return nil, err
	}
	if err := s.caughtUp(); err != nil {
		return nil, err
	}
	has, err := s.answersFor()
	if err != nil {
		return nil, err
	}
	page, err := s.backend.Threads().List(ctx, q)
	switch {
	case errors.Is(err, roster.ErrCursor):
		return nil, fault(codeBadRequest, "after must be next of the page before, of the same request")
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fault(codeUnavailable, "the threads are being read for the first time; retry soon")
	case err != nil:
		return nil, err
	}
	reply := api.ThreadsReply{Threads: []api.ThreadRow{}, Next: named(page.Next), Matched: page.Matched, Total: page.Total, Partitions: has}
	policies, read := s.backend.Policies(), map[int]bool{}
	for _, t := range page.Threads {
		h, err := s.backend.View(t.Partition).Header(t.Name)
		if err != nil {
			return nil, err
		}
		if h == nil || s.place(t.Partition) != Here {
			continue // the partition's rows are being made again
		}
		read[t.Partition] = true
		reply.Threads = append(reply.Threads, rowOf(h, t.Partition, policies))
	}
	for partition := range read {
		if err := s.backend.Durable(ctx, partition); err != nil {
			return nil, err
		}
	}
	return reply, nil
}

// answersFor returns the partitions that this processor answers for. One of a cluster that has none, as before it has taken its first ones,
// can say nothing of threads: an empty page would read as if there were none.
func (s *Service) answersFor() (list []int, err error) {
	for id := range s.backend.Partitions() {
		if s.place(id) == Here {
			list = append(list, id)
		}
	}
	if len(list) == 0 {
		return nil, fault(codeUnavailable, "this processor has no partition now; ask another one, or retry soon")
	}
	return list, nil
}

func listOf(req api.ThreadsRequest) (roster.Query, error) {
	q := roster.Query{
		Sort: req.Sort, Ascending: req.Ascending, Prefix: req.Prefix, Search: req.Search, Agent: req.AgentID, Policy: req.Policy, Stale: req.Stale,
		Limit: req.Limit, After: req.After,
	}
	if q.Sort == "" {
		q.Sort = roster.Recent
	}
	if !slices.Contains(roster.Sorts, q.Sort) {
		return q, fault(codeBadRequest, "sort must be recent, size, prompt, cost or stale, not %q", q.Sort)
	}
	if q.Limit == 0 {
		q.Limit = defaultListed
	}
	if q.Limit < 1 || q.Limit > maxListed {
		return q, fault(codeBadRequest, "limit must be 1 to %d, not %d", maxListed, req.Limit)
	}
	return q, nil
}

func rowOf(h *thread.Header, partition int, policies []summarize.Policy) api.ThreadRow {
	p, _ := summarize.Resolve(policies, h.Policy, h.FirstAgentID, h.Thread)
	return api.ThreadRow{
		ThreadID: h.Thread, Partition: partition, AgentID: named(h.FirstAgentID), Policy: p.Name, ParentThreadID: named(h.Parent),
		Messages: h.Messages, ToolResults: h.ToolResults, Edits: h.Edits, Rejected: h.Rejected, TokensTotal: h.Tokens, TokensLive: h.TokensLive,
		SummariesActive: h.SummariesActive, SummariesStale: h.SummariesStale, SummariesStarted: h.Jobs,
		CostMicroUSD: h.CostMicroUSD, CostUnknown: h.CostUnknown, EventSeq: h.EventSeq, LastEventAt: time.Unix(0, h.LastAt).UTC(),
	}
}

// named is a name, or null where it is empty.
func named(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
