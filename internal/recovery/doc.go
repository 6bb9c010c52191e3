// Package recovery reconciles a store with the streams: after a crash, with an empty or an older data
// directory, and for an audit's scratch store.
//
// One mechanism serves all of these. Every start reads what SUMMARIES and REJECTED hold beyond what the
// store knows: this settles which outbox rows were stored before the process ended, and stages the records
// that the fold has yet to reach. The processor then claims its partitions and reads on up to the claims: from there on
// the server refuses the records of any other processor.
package recovery
