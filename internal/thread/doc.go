// Package thread is the fold of a thread's log: it computes how an event, or a record read back from the SUMMARIES stream,
// changes the state of its thread.
//
// Everything here is pure: no clock, no I/O, no randomness. Time is the event's, and the caller provides the function that
// measures sizes. Live processing, recovery, the takeover of a partition and audits all run this code, so that a counter that a
// replay proves is the counter that was served.
//
//   - Header is what is kept once per thread: counters, the chain, the policy in force.
//   - Message, Summary, Slot and Waiting are separate rows, so that an event costs the same in a thread of 100,000 events
//     as in one of 100.
//   - Fork and Branch are where a fork comes from, and what it begins with.
//   - State is the part of a thread that one step can touch. The caller loads it, calls Apply for an event or the method
//     for a record (Created, Invalidated, ...), and writes back what is marked as changed.
//
// Invariants: Header.Events counts every event on a thread's subjects exactly once; an event has exactly one outcome: accepted,
// duplicate, ignored, held or rejected; the outcome depends only on the event, the thread's earlier events (a fork's include those of its parent before it) and
// the limits in force.
package thread
