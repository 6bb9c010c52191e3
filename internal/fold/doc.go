// Package fold takes one event of the log, or one record read back from SUMMARIES, through the same steps in every context:
// live, in recovery, when a partition is taken over, and in an audit.
//
//	load    what the event can touch, from the store and the log   may fail; nothing has changed yet
//	apply   thread.Apply                                           pure
//	decide  policies and rules: what is summarized, what is stale  pure
//	emit    chain the records, fold them in, put them in the outbox
//	save    into the partition's open batch                        can't fail
//
// A failed step can be retried: none of it is in the batch. The one exception is a recovery step that fails between saving the
// event and adopting its records; it returns ErrHalfDone, and the batch must be discarded.
//
// What can't be recomputed (a model's text, an expired timer, the configuration in force) is a record in SUMMARIES. Recovery
// stages those records, and the fold adopts each one at the event at which it took effect. While a thread has staged records
// left, the record stands and nothing is decided again; a last step that was cut short is decided again and compared.
package fold
