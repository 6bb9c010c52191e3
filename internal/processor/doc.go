// Package processor runs the partitions: it takes the log through the fold, makes batches durable,
// and publishes what is decided.
//
//	EVENTS ─▶ broker.Subscriber ─▶ Watermill Router ─▶ handlers ─▶ fold.Step ─▶ state.Partition (open batch)
//	             one lane a partition                                                │ Flush: one synced commit
//	SUMMARIES, REJECTED ◀─ broker.Publisher ◀──────────── outbox ◀───────────────────┘
//
// A partition has one lane, one goroutine at a time, one open batch and one outbox. The lane hands an
// event over when the one before it is applied; Flush makes what was applied durable with the position
// it was made from; only then may the outbox publish it. What the outbox learns (the server has stored
// a row) comes back as a turn in the lane.
//
// Failing is loud: an error that a retry can't mend ends the process, the open batch with it, and the
// next start reads the log from the last durable position.
package processor
