// Package fold takes one event of the log, or one record that came back from SUMMARIES, through the
// same steps wherever it is done: live, in recovery, when a partition is taken over, in an audit.
//
//	load    what the event can touch, from the store and the log   may fail; nothing has changed yet
//	apply   thread.Apply                                           pure
//	decide  policies and rules: what is summarized, what is stale  pure
//	emit    chain the records, fold them in, put them in the outbox
//	save    into the partition's open batch                        can't fail
//
// A step that fails may be tried again: nothing of it is in the batch. The one exception is a step in
// recovery that fails between saving the event and adopting its records; it says so with ErrHalfDone,
// and the batch must be given up.
//
// What can't be computed again (a model's text, a timer that ran out, the configuration in force) is a
// record in SUMMARIES. Recovery stages those records and the fold adopts each at the event at which it
// took effect; while a thread has staged records left, what is on record stands and nothing is decided
// anew.
package fold
