// Package roster lists threads: sorted by what an operator sorts them by, filtered, searched, and summed up by agent and policy.
//
// An Index keeps a few numbers of each thread in memory: about 60 bytes and the thread's id. The store reports each thread that a
// batch has written (state.Options.Wrote), and nothing is written for the index: rows ordered by time, size and cost would be deleted and
// put again with nearly every event. A query looks at each thread once, in memory, and the rows of a page come from the store.
//
// Nothing is kept, and nothing costs anything, before the first query. That one reads the headers of all threads, some seconds for each million,
// while batches go on.
//
// Invariants: a thread is in the index once its batch is applied; a partition's lane is its shard's only writer after the first reading, which adds
// only threads that no batch has added meanwhile, from a snapshot that is taken after the shard begins to take batches.
//
// Limits: times sort by the second; sizes and costs beyond 4,294,967,295 (tokens, micro-dollars) sort and add up as that.
package roster
