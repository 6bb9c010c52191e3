// Package fold takes one event of the log, a request, the end of a job, or one record read back from SUMMARIES, through the same step
// in every context: live, in recovery, when a partition is taken over, and in an audit.
//
//	load    what the step touches, from the store and the log    step, earlier, ledger
//	apply   thread.Apply, and what decides on the next cut       event, track
//	decide  what is summarized: tool outputs, compactions,       output, compact, back, history
//	        histories; what is stale, and what follows           stale, renew
//	record  chain the records and fold them in                   record
//	save    into the partition's open batch, with the outbox     event, step
//
// What an event of a type does, and in which order, is in package handlers: its walks call the exported methods of Step. Steps
// without an event are requests (request), idle threads (idle), sweeps and expiry (stale), jobs (job) and configurations (config).
// A fork is a step of two partitions (fork); a rewind (rewind) is an edit that takes messages away. keep decides which outputs prompts
// hold whole, bounds how many records a step may have. Records are adopted in adopt; mend holds what a damaged SUMMARIES needs; watch
// is how an audit looks on.
//
// Invariants: neither a thread's rows nor a record are in the open batch before their step ends, so an event's step that can't read
// what it needs is abandoned and can be retried. What it may leave is written the same by the next try: the references of a tool
// output, and staged records that took effect before the event. A failure behind that, and one of a step that counts a cost (the end
// of a job), is fatal or ErrHalfDone: the batch must be discarded. A record of a thread changes the state in Step.take alone, whether
// it was just decided or is adopted.
//
// What can't be recomputed (a model's text, an expired timer, the configuration in force) is a record in SUMMARIES. Recovery
// stages those records, and the fold adopts each one at the event at which it took effect. While a thread has staged records
// left, the record stands and nothing is decided again; a last step that was cut short is decided again and compared.
package fold
