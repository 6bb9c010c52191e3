// Package audit checks the log against itself, and a store against the log: it folds EVENTS and SUMMARIES
// from the start into a scratch store, with the code that runs live, and inspects every step.
//
//   - A run makes the scratch store: it opens the streams and the store, stages what is on record (recovery.Tail), and deals
//     EVENTS to one lane for each partition. Nothing is published.
//   - Compare reports every row, of those that the log determines, in which a store differs from the scratch store.
//   - Replay watches the lanes from inside (fold.Watch): an auditor checks each record with the state in which it is adopted, and
//     compares it with what the fold decides at the same event under the configuration then in force. Export, Tell and Imagine are
//     runs that watch for something else, too.
//
// No rule is implemented twice: what an event leads to, what a rule-based summary says and what a call costs
// come from the packages that run live. Only which causes a kind of record may have is a table of its own (causes). What can't be recomputed (a model's text, a timer, a request) is
// taken from the record, and the report counts it.
//
// # Invariants
//
// A fold over an untouched log has no findings, whenever and however often it runs. A finding names the
// thread, the summary, the check and the event.
//
// # Limits
//
// A message altered before anything was made from it leaves no trace in SUMMARIES; the live store knows its
// digest. Memory is bounded by partitions, batches and kept findings, not by the log: the scratch store is
// on disk. Only two things grow with the log: the code and digest of each rejection and, if EVENTS has lost
// its beginning, 16 bytes for each thread of the store or, without one, that has a record.
package audit
