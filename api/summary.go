package api

import "precis/events"

// SummaryRequest is the body of precis.summary.get; it has no members.
type SummaryRequest struct{}

// SummaryReply is the answer of precis.summary.get: the members of the record, and beside them what became of it.
type SummaryReply struct {
	events.Summary
	Status      string              `json:"status"`      // StatusActive, StatusStale or StatusReplaced
	ReplacedBy  events.OrNull       `json:"replaced_by"` // the summary in its place
	Invalidated *events.Invalidated `json:"invalidated"` // what made it stale; null where nothing has
}

// Statuses of a summary.
const (
	StatusActive   = "active"
	StatusStale    = "stale"
	StatusReplaced = "replaced"
)
