// Package thread is the fold of a thread's log: it says what an event, or a record that came back
// from the SUMMARIES stream, makes of the state of its thread.
//
// Everything here is pure: no clock, no I/O, no randomness. Time is the event's, sizes are measured
// by a function that the caller gives. Live processing, recovery, the take-over of a partition and
// audits all run this code, so that a counter proved by a replay is the counter that was served.
//
//   - Header is what is kept once per thread: counters, the chain, the policy in force.
//   - Message, Summary, Slot and Waiting are rows of their own, so that a thread of 100,000 events
//     costs per event what one of 100 does.
//   - State is the part of a thread that one step can touch. The caller loads it, calls Apply (for
//     an event) or Adopt (for a record), and writes back what is marked as changed.
//
// Invariants: every event of a thread's subjects is counted exactly once in Header.Events; an event
// is accepted, a duplicate, ignored, waiting or rejected, never two of them; which one depends on the
// event, the thread's earlier events and the limits in force alone.
package thread
