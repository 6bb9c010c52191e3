// Package tracing passes the W3C trace context of an event on to the records that follow from it, so that an agent's trace
// has its summaries, and makes spans of events, commits, jobs, calls and records where OpenTelemetry's variables ask for them (Open).
//
// The context stands in the headers of messages alone. No record, id, digest or chain depends on it, and a replay does not look at it. It is
// kept in memory: records that a restart publishes have none. Spans have ids, names, numbers and outcomes, no contents.
package tracing
