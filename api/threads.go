package api

import (
	"context"
	"time"
)

// Orders of a list of threads: the most first, or with ThreadsRequest.Ascending the least.
const (
	SortRecent = "recent" // the last event's time, by the second
	SortSize   = "size"   // tokens_total
	SortPrompt = "prompt" // tokens_live
	SortCost   = "cost"   // cost_microusd
	SortStale  = "stale"  // summaries_stale
)

// ThreadsRequest is the body of precis.threads.list; it may be empty. What is given must hold of a thread all together.
type ThreadsRequest struct {
	Prefix  string  `json:"prefix"`   // of the threads' ids
	Search  string  `json:"search"`   // a part of the ids; ASCII letters match in either case
	AgentID *string `json:"agent_id"` // of the thread's first message
	Policy  *string `json:"policy"`   // the one that serves the thread
	Stale   bool    `json:"stale"`    // only threads with a stale summary
	Sort    string  `json:"sort"`     // recent, size, prompt, cost or stale; recent where it is empty
	// Ascending has the least first: the longest idle threads, say.
	Ascending bool   `json:"ascending"`
	Limit     int    `json:"limit"` // 1 to 1,000; 0: 100
	After     string `json:"after"` // next of the page before, with the same request otherwise
}

// ThreadsReply is the answer of precis.threads.list.
type ThreadsReply struct {
	Threads []ThreadRow `json:"threads"`
	Next    *string     `json:"next"`    // after of the next page; null: this is the last one
	Matched int         `json:"matched"` // threads that the request asks for, on all pages
	Total   int         `json:"total"`   // threads with the prefix
	// Partitions are those whose threads the answer has: all, or those of the processor that answered.
	Partitions []int `json:"partitions"`
}

// ThreadRow is a thread in a list.
type ThreadRow struct {
	ThreadID         string    `json:"thread_id"`
	Partition        int       `json:"partition"`
	AgentID          *string   `json:"agent_id"` // of its first message; null where that names none
	Policy           string    `json:"policy"`   // the one that serves it; none: there is no such one
	ParentThreadID   *string   `json:"parent_thread_id"`
	Messages         uint64    `json:"messages"`
	ToolResults      uint64    `json:"tool_results"`
	Edits            uint64    `json:"edits"`
	Rejected         uint64    `json:"rejected"`
	TokensTotal      int64     `json:"tokens_total"`
	TokensLive       int64     `json:"tokens_live"`
	SummariesActive  uint64    `json:"summaries_active"`
	SummariesStale   uint64    `json:"summaries_stale"`
	SummariesStarted uint64    `json:"summaries_started"`
	CostMicroUSD     int64     `json:"cost_microusd"`
	CostUnknown      uint64    `json:"calls_of_unknown_cost"`
	EventSeq         uint64    `json:"event_seq"`
	LastEventAt      time.Time `json:"last_event_at"`
}

// Threads returns a page of the threads.
func (c *Client) Threads(ctx context.Context, req ThreadsRequest) (*ThreadsReply, error) {
	return askAll[ThreadsReply](ctx, c, ThreadsList, req)
}
