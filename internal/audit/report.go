package audit

import "time"

// Report is the result of a replay.
type Report struct {
	Log      Extent            `json:"log"`
	Events   map[string]uint64 `json:"events"`  // by outcome
	Records  map[string]uint64 `json:"records"` // of SUMMARIES, by type
	Threads  uint64            `json:"threads"`
	Totals   Totals            `json:"totals"`       // of what is on record
	Proved   map[string]uint64 `json:"proved"`       // how often each check held
	Unproved []Unproved        `json:"not_provable"` // what could be neither confirmed nor refuted
	// Losses are the accepted losses of events on record. Voided counts the records that they void, by type: those
	// keep their places in their chains and are part of no state.
	Losses []AcceptedLoss    `json:"accepted_losses"`
	Voided map[string]uint64 `json:"voided"`
	// Known reports whether the log holds what the filter names, at any time.
	Known bool `json:"-"`
	// Pending counts the decisions at the log's end that are not on record yet.
	Pending  uint64    `json:"pending"`
	Findings []Finding `json:"findings"`
	// More counts the findings that are not listed.
	More uint64 `json:"findings_not_listed"`
	// Store names the store that was compared; empty if there was none.
	Store   string        `json:"store"`
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	// EventsPerSecond counts all events that were read.
	EventsPerSecond float64 `json:"events_per_second"`
}

// AcceptedLoss is a loss of events that an operator has accepted.
type AcceptedLoss struct {
	EventsSeq  uint64    `json:"events_seq"`  // the last event that was kept
	AppliedSeq uint64    `json:"applied_seq"` // the last one applied before the loss
	AcceptedAt time.Time `json:"accepted_at"`
}

// Extent is the part of EVENTS that was read.
type Extent struct {
	FirstSeq uint64    `json:"first_seq"` // 1, unless the beginning is gone
	LastSeq  uint64    `json:"last_seq"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Read     uint64    `json:"events_read"`
	// Whole means that nothing is missing at the start, so that every state can be proved.
	Whole bool `json:"whole"`
	// Excused is the last sequence that a retention on record may have removed; 0 if none.
	Excused uint64 `json:"excused_seq"`
	// Cut counts the threads known to have lost their beginning to retention: by the store, if one is compared, else
	// by their records.
	Cut uint64 `json:"threads_cut"`
}

// Unproved is a reason and how often it occurred.
type Unproved struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Matched reports whether anything in the log matches the filter.
func (r *Report) Matched() bool { return r.Known && len(r.Events)+len(r.Records) > 0 }

// Clean reports whether there are no findings.
func (r *Report) Clean() bool { return len(r.Findings) == 0 }
