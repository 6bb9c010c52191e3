// Package recovery brings a store and the streams together again: after a crash, with an empty or an
// older data directory, and for an audit's scratch store.
//
// One mechanism serves all of these. What SUMMARIES and REJECTED hold beyond what the store knows is
// read at every start: it settles which outbox rows were stored before the process ended, and stages
// the records that the fold has yet to reach.
package recovery
