package audit

import "precis/events"

// Finding is something that the log does not bear out.
type Finding struct {
	Thread   events.OrNull `json:"thread"`
	Summary  events.OrNull `json:"summary"`
	Check    string        `json:"check"`
	Want     string        `json:"want"`
	Got      string        `json:"got"`
	EventSeq uint64        `json:"event_seq"` // in EVENTS; 0 where no event is concerned
}

// Checks, as findings name them.
const (
	// CheckEvents: EVENTS has no gap.
	CheckEvents = "events_unbroken"
	// CheckRejection: what can't be accepted stands in REJECTED as it came, with its code, and nothing else does.
	CheckRejection = "rejection"
	// CheckSummaries: SUMMARIES has no gap.
	CheckSummaries = "summaries_unbroken"
	// CheckReadable: a record is one of the contract's, under its own subject and id.
	CheckReadable = "record_readable"
	// CheckOrder: a thread's records stand in SUMMARIES in the order of their chain.
	CheckOrder = "chain_order"
	// CheckChain: every record follows on the one before it, unaltered.
	CheckChain = "chain"
	// CheckBegan: a record knows where its thread began.
	CheckBegan = "thread_began"
	// CheckEvent: the event that a record was decided at is the one that stood there then.
	CheckEvent = "event_at"
	// CheckConfig: every partition works under the same configuration.
	CheckConfig = "configuration"
	// CheckTrigger: what was decided follows from its event under the configuration in force then.
	CheckTrigger = "trigger"
	// CheckMissed: what follows from an event was decided.
	CheckMissed = "trigger_missed"
	// CheckInvalidations: every edit is followed by the invalidation of what was made from its message.
	CheckInvalidations = "edit_invalidates"
	// CheckCause: every invalidation has a cause that bears it out.
	CheckCause = "invalidation_cause"
	// CheckSources: every source is there, with the digest that it had.
	CheckSources = "sources"
	// CheckPlaces: every message that is not deleted stands verbatim, or inside exactly one of the leaves that the
	// prompt's compaction was made from.
	CheckPlaces = "message_places"
	// CheckRemade: a summary by rules says what its rules say.
	CheckRemade = "summary_remade"
	// CheckJob: a summary that took its time is the one that was started, and so is what a call was made for.
	CheckJob = "started"
	// CheckEnded: what is started has ended.
	CheckEnded = "started_ended"
	// CheckCost: a cost is the usage times the prices of the table that it names.
	CheckCost = "cost"
	// CheckCounter: the live store's counters are the log's.
	CheckCounter = "counter"
	// CheckStore: the live store's other rows are the log's.
	CheckStore = "store"
)

// shown bounds what a finding shows of a text.
const shown = 160

// short cuts a text for a finding, visibly.
func short(text string) string {
	runes := []rune(text)
	if len(runes) <= shown {
		return text
	}
	return string(runes[:shown-1]) + "…"
}

// apart shows two texts from shortly before where they first differ.
func apart(want, got string) (string, string) {
	a, b := []rune(want), []rune(got)
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	const lead = 20
	if from := at - lead; from > 0 && max(len(a), len(b)) > shown {
		return short("…" + string(a[from:])), short("…" + string(b[from:]))
	}
	return short(want), short(got)
}
