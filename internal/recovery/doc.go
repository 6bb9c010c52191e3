// Package recovery reconciles a store with the streams: after a crash, with an empty or an older data
// directory, and for an audit's scratch store.
//
// One mechanism serves all of these. Every start reads what SUMMARIES and REJECTED hold beyond what the
// store knows: this settles which outbox rows were stored before the process ended, and stages the records
// that the fold has yet to reach. The processor then claims its partitions and reads on up to the claims: from there on
// the server refuses the records of any other processor.
//
// Because a start must read what a processor has written, both ways of a record's headers are here too (Header, Expect): the outbox
// publishes with them, under the claim. So is Deal, by which a log is dealt to partitions where no router runs: in bulk and in audits;
// CollectLess, for as long as that takes; and the record by which an operator accepts that a stream has lost messages (accept).
package recovery
