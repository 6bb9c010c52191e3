// Package state keeps what the processor must know after a crash, in Pebble. It is the only package
// that imports Pebble.
//
// # Keys
//
// Every key starts with its partition (2 bytes, big-endian), so that a partition can be dropped,
// copied or checked as one range; then one byte says the kind. A thread, and a name that is followed
// by more, is written with its length before it (2 bytes), so that no id runs into what follows.
//
//	kind  key                             value
//	m     -                               Meta: position in the log, in SUMMARIES and REJECTED
//	c     -                               the config.applied in force
//	t     thread                          thread.Header, and the thread.Compaction of a thread that can be compacted
//	i     thread message                  thread.Message
//	o     thread ordinal                  message id: the thread's order
//	v     thread message revision         EVENTS sequence of that revision
//	e     thread message sha256(edit key) -: the edit is known
//	w     thread message sequence         thread.Waiting: an edit before its message
//	x     thread deadline sequence        message id of the waiting edit
//	s     thread summary                  thread.Summary
//	S     summary                         thread of the summary
//	a     thread chain sequence           SUMMARIES sequence of that summary.created, which holds the text of a replaced summary
//	l     thread slot                     thread.Slot
//	r     thread source summary           -: the active summary is made from the source
//	j     thread summary                  thread.Job: started and not ended
//	g     thread summary                  the artifact ledger of a leaf or node; it can be made again
//	f     thread                          identifiers seen, up to an ordinal; they can be read again
//	u     provider day                    micro-dollars spent in this partition
//	b     number                          Outgoing: what is decided and not yet stored by the server
//	R     effective sequence, configuration, thread, chain sequence   Staged: a record that the fold has not reached yet
//	Q     thread                          the last chain sequence staged for the thread
//	J     EVENTS sequence                 -: a rejection that REJECTED holds already
//	z     thread rank summary             -: the stale summary waits to be made again
//	X     time, thread, summary           -: the active summary expires then
//	I     thread                          when to check whether the thread is idle; set again by its next event
//	D     time, thread                    -: the same, in the order of time
//	p     parent child                    -: the thread names the other one as its parent; the parent may be another partition's
//	h     sequence partition kind key     what the thread.forked at the sequence, an event of that partition, begins with: copies of rows
//	P     thread                          Parked: what stands for the thread's rows of i, o, v, e, s, a, l, r, g and f
//	U     object                          Unparked: it has had the rows of a thread that came back
//	y     -                               Sweep: how far the summaries were compared with a changed configuration
//
// Contents of messages stay in the log; a row holds sizes, digests and the sequences to fetch them by.
//
// # Format
//
// A store names the format of its rows, and only a program of the same format opens it: there are no conversions, since
// a store is rebuilt from the log. Within a format, rows are read whole: bytes or members that this program does not
// know, and fields that are missing, are ErrDamaged. testdata/layout has a row of each kind as the format writes it.
//
// # Crash safety
//
// A partition collects the effects of many events in one open batch and commits it with the position
// that it was made from, in one synced write. A crash loses the open batch whole: position and effects
// fall back together, and the log is read again from there. What has to leave the process is an outbox
// row in that same batch and is published only when the batch is durable; a row is deleted after the
// server has confirmed it. That deletion is not synced: when it is lost, the tail of SUMMARIES, read
// at start from Meta.SummariesSeq, says that the row was stored.
//
// A large batch may become a table of the store instead (Ingest): written, synced, and part of the store with one
// synced entry in Pebble's manifest. Every batch has the partition's Meta, so that Pebble never puts a table before
// an earlier batch that is still in memory: it makes that one durable first.
//
// A full disk makes Pebble call its logger's Fatalf, and if that returned, Commit would return nil
// and reads would serve what was lost; ours ends the process.
//
// # Parked threads
//
// The rows of a thread that nothing happens to may be in an object that a server has (Options.Objects). View reads them there as if they were here, and whatever
// writes to the thread has them back first, in the same batch (parked.go). Export copies what stands for them. The format of a store is another
// one from its first parked thread on, which programs without them refuse.
//
// # In memory
//
// A Partition keeps the headers and compactions of the threads that it has written last, decoded, as the
// store has them ([hotBytes] at most in all partitions together); those of the open batch stand apart until it is applied. The
// partition is the only writer of these rows, so there is nothing to invalidate; the crash schedules compare them with the store.
// The store knows in which partitions a thread may have children (kin), at most 8 MiB with 1,024 partitions.
// It also knows the message ids of these threads, so that a new id needs no read of the store ([idsBytes] in all). Pebble has two memtables of 32 MiB beside these, and a block cache of 64 MiB.
// Of parked threads that were read last it holds up to 16 MiB.
//
// # Limits
//
// One process per directory (a lock file; OWNER says who holds it). One goroutine per partition
// writes; any may read what is committed through a View, which may be ahead
// of the disk.
package state
