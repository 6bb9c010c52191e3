// Package standby follows partitions that other processors own: it keeps their rows in this processor's store near the owners', so that a
// take-over has little left to fold. It publishes nothing and decides nothing.
//
// A round does what a start does (internal/recovery), without a claim: it reads the tails of SUMMARIES and REJECTED, stages the records that
// the rows lack, and folds EVENTS, which adopts them. It folds up to a sequence that the owner has reported: everything that was
// decided up to there is on record, so that the fold finds a record wherever it would have to decide. What a round leaves is a store
// like that of a processor that has ended; a take-over opens it in the same way, and does not ask how it came about.
//
// Rows that contradict the record, of a processor that had the partition when another one took it, are dropped and made again from the
// log.
//
// A fork whose parent is in another partition needs what that one hands over. If both are followed, the child's partition waits for
// the parent's; else it is followed up to the fork.
package standby
