// Package audit holds the log against itself, and a store against the log: it folds EVENTS and SUMMARIES
// from the start into a scratch store, with the code that runs live, and looks at every step.
//
//   - Rebuild makes the scratch store. Nothing is published.
//   - Compare reports every row in which a store differs from it.
//   - Replay also watches the fold from inside (fold.Watch): what stands on record is held against what
//     the fold decides at the same event under the configuration in force then.
//
// No rule stands here a second time: what an event leads to, what a summary by rules says and what a
// call costs comes from the packages that say so live. What can't be made again (a model's text, a timer,
// a request) is taken from the record, and the report says how much of that there was.
//
// # Invariants
//
// A fold over a log that nobody touched has no findings, whenever and however often it is done. A
// finding names the thread, the summary, what was checked, and the event.
//
// # Limits
//
// A message that was altered before anything was made from it leaves no trace in SUMMARIES; the live
// store knows its digest. Memory is bounded by partitions, batches and kept findings, not by the log: the
// scratch store is on disk. What is held in memory of the log's length is the code and
// the digest of each rejection, and, where EVENTS has lost its beginning and there is no store, 16 bytes for each
// thread that has a record.
package audit
