package audit

import "time"

// Report is what a replay says.
type Report struct {
	Log      Extent            `json:"log"`
	Events   map[string]uint64 `json:"events"`  // by what became of them
	Records  map[string]uint64 `json:"records"` // of SUMMARIES, by type
	Threads  uint64            `json:"threads"`
	Totals   Totals            `json:"totals"`       // of what is on record
	Proved   map[string]uint64 `json:"proved"`       // how often each check held
	Unproved []Unproved        `json:"not_provable"` // what could be neither borne out nor contradicted
	// Losses are the accepted losses of events on record, and Voided what is on record and void by them: records by
	// type, which keep their places in their chains and are part of no state.
	Losses []AcceptedLoss    `json:"accepted_losses"`
	Voided map[string]uint64 `json:"voided"`
	// Known says that the log holds what the filter names, whenever it was.
	Known bool `json:"-"`
	// Pending is how much was decided at the log's end and is not on record yet.
	Pending  uint64    `json:"pending"`
	Findings []Finding `json:"findings"`
	// More counts the findings that are not listed.
	More uint64 `json:"findings_not_listed"`
	// Store says what counters were held against; empty where nothing was.
	Store   string        `json:"store"`
	Took    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	// EventsPerSecond counts what was read, all of the log.
	EventsPerSecond float64 `json:"events_per_second"`
}

// AcceptedLoss is a loss of events that an operator has accepted.
type AcceptedLoss struct {
	EventsSeq  uint64    `json:"events_seq"`  // the last event that was kept
	AppliedSeq uint64    `json:"applied_seq"` // the last one that was applied before
	AcceptedAt time.Time `json:"accepted_at"`
}

// Extent is what was read of EVENTS.
type Extent struct {
	FirstSeq uint64    `json:"first_seq"` // 1, unless what was before is gone
	LastSeq  uint64    `json:"last_seq"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Read     uint64    `json:"events_read"`
	// Whole says that nothing is missing at the start: every state can be proved.
	Whole bool `json:"whole"`
	// Excused is the last sequence that a retention on record may have removed; 0: none.
	Excused uint64 `json:"excused_seq"`
	// Cut counts the threads that are known to have lost their beginning so: by the store, where one is held against
	// the log, else by their records.
	Cut uint64 `json:"threads_cut"`
}

// Unproved is a reason and how often it was met.
type Unproved struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Matched says that something in the log is what the filter asks for.
func (r *Report) Matched() bool { return r.Known && len(r.Events)+len(r.Records) > 0 }

// Clean says that nothing was found.
func (r *Report) Clean() bool { return len(r.Findings) == 0 }
