package api

// What the HTTP API has beside the requests of the service.

// EventsReply is the answer of POST /v1/threads/{thread}/events: all of them are stored.
type EventsReply struct {
	EventSeqs []uint64 `json:"event_seqs"` // in EVENTS, in the order of the request
	EventSeq  uint64   `json:"event_seq"`  // the highest: a min_event_seq for what is asked next
}

// RejectionsReply is the answer of GET /v1/threads/{thread}/rejections.
type RejectionsReply struct {
	Rejections []Rejection `json:"rejections"`
}

// Problem is an error of the HTTP API (RFC 9457).
type Problem struct {
	Type   string `json:"type"` // the same for every problem of a title
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"` // what is wrong, and what to do
	// Rejections name the events that are refused; none of the request is stored then.
	Rejections []RefusedEvent `json:"rejections,omitempty"`
}

// RefusedEvent is an event of a request that can't be accepted.
type RefusedEvent struct {
	Index   int     `json:"index"` // in the request, from 0
	Code    string  `json:"code"`  // as of event.rejected
	Field   *string `json:"field"` // null for the event as a whole, as of event.rejected
	Message string  `json:"message"`
}
