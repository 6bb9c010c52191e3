package audit

import "precis/events"

// Finding is a discrepancy within the log, or between the log and a store.
type Finding struct {
	Thread   events.OrNull `json:"thread"`
	Summary  events.OrNull `json:"summary"`
	Check    string        `json:"check"`
	Want     string        `json:"want"`
	Got      string        `json:"got"`
	EventSeq uint64        `json:"event_seq"` // in EVENTS; 0 if no event is involved
}

// Checks, as findings name them.
const (
	// CheckEvents: EVENTS has no gap.
	CheckEvents = "events_unbroken"
	// CheckRejection: REJECTED holds every event that can't be accepted, unchanged and with its code, and nothing
	// else.
	CheckRejection = "rejection"
	// CheckSummaries: SUMMARIES has no gap.
	CheckSummaries = "summaries_unbroken"
	// CheckReadable: a record conforms to the contract, under its own subject and id.
	CheckReadable = "record_readable"
	// CheckOrder: SUMMARIES holds a thread's records in chain order.
	CheckOrder = "chain_order"
	// CheckChain: every record continues the one before it, unaltered.
	CheckChain = "chain"
	// CheckBegan: a record states correctly where its thread began.
	CheckBegan = "thread_began"
	// CheckEvent: the event at which a record was decided is the one that EVENTS holds there.
	CheckEvent = "event_at"
	// CheckConfig: every partition runs under the same configuration.
	CheckConfig = "configuration"
	// CheckStep: every record has its place in its step, and follows from the step's cause.
	CheckStep = "step"
	// CheckTrigger: every decision follows from its event under the configuration then in force.
	CheckTrigger = "trigger"
	// CheckMissed: every decision that follows from an event was made.
	CheckMissed = "trigger_missed"
	// CheckInvalidations: every edit is followed by the invalidation of what was made from its message.
	CheckInvalidations = "edit_invalidates"
	// CheckCause: every invalidation has a cause that justifies it.
	CheckCause = "invalidation_cause"
	// CheckSources: every source exists, with the digest that it had.
	CheckSources = "sources"
	// CheckPlaces: every message that is not deleted stands verbatim, or inside exactly one of the leaves from which
	// the prompt's compaction was made.
	CheckPlaces = "message_places"
	// CheckRemade: recomputing a rule-based summary gives the same text.
	CheckRemade = "summary_remade"
	// CheckJob: a summary made by a job, and every call, belongs to the job that was started.
	CheckJob = "started"
	// CheckEnded: every started job has ended.
	CheckEnded = "started_ended"
	// CheckCost: a cost is the usage times the prices of the table that it names.
	CheckCost = "cost"
	// CheckCounter: the live store's counters equal the log's.
	CheckCounter = "counter"
	// CheckStore: the live store's other rows equal the log's.
	CheckStore = "store"
)

// shown is the number of characters of a text that a finding shows at most.
const shown = 160

// short truncates a text for a finding and marks the cut.
func short(text string) string {
	runes := []rune(text)
	if len(runes) <= shown {
		return text
	}
	return string(runes[:shown-1]) + "…"
}

// apart returns both texts from shortly before their first difference.
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
