// Package processor runs the partitions: it folds the log, makes batches durable, and publishes what is
// decided.
//
//	EVENTS ─▶ broker.Subscriber ─▶ Watermill Router ─▶ handlers ─▶ fold.Step ─▶ state.Partition (open batch)
//	             one lane per partition                                              │ Flush: one synced commit
//	SUMMARIES, REJECTED ◀─ broker.Publisher ◀──────────── outbox ◀───────────────────┘
//
// A partition has one lane, one goroutine at a time, one open batch and one outbox. The lane hands over an
// event once the previous one is applied; Flush makes the applied events durable together with their
// position; only then may the outbox publish what they decided, under the processor's claim of the partition
// (claims): what another one, or an earlier life, has in flight is stored in front of the claim or refused. What the outbox learns (the server has
// stored a row) comes back as a turn in the lane.
//
// By file: Open and what a start checks (processor, streams, progress), Run and its end (run); a partition's batch (partition), what
// becomes durable and who waits for it (durable, position), its events (lanes; bulk, far behind the log) and what no event triggers
// (tend, jobs, call, reload); publishing (outbox, claims, delivered); what clients and operators ask (backend, serve, probes, metrics).
//
// Failures are loud: an error that a retry can't fix ends the process and discards the open batch, and the
// next start reads the log from the last durable position.
package processor
