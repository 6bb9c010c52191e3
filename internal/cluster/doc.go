// Package cluster shares partitions among the processors of one set of streams: who is alive, who has which partition, and who is to
// have it. It decides nothing about a partition's state. That a processor without a partition can't write to it is the claims' work
// (internal/processor); what is here says when to claim, and up to when a processor may answer for what it has.
//
// One bucket of NATS KV holds everything:
//
//	member.<id>       a lease: its member writes it again and again, each time on condition of the revision before
//	partition.<n>     who has the partition; the revision counts the changes
//	plan              who is to have which partition, and who follows it, written by the live member with the smallest id
//	together          where it exists, the plan gives all partitions to one member
//
// # Leases
//
// A partition's lease is that of its owner, so that 1,024 partitions cost no more writes than one. A member may answer for what it
// has up to three quarters of the lease's time after it began the last write that succeeded. Another one that has seen no
// change of the lease for the whole time deletes it, on condition of the revision that it has seen last, and only then takes the partitions. So
// the owner's time has always ended by then, however long either was stopped, and if a renewal was under way, one of the two
// writes fails. Both measure durations by their own monotonic clocks: it does not matter what time these show.
// A machine that is suspended stops its monotonic clock; the claims fence its writes then, and nothing its reads.
//
// # Plan
//
// Each member has a share by its weight. A member keeps what it has up to its share; what is beyond, or of no live member, goes to those below
// theirs. So a join moves the joiner's share and nothing else, and a leave the leaver's.
//
// A member that can't have partitions for now (its disk is full) says so with its lease. It counts as none for the plan, and hands over what it
// has, unless no member can have any: then they keep what they have.
//
// Each partition has standbys among the other members, which follow it (internal/standby). What a dead member had goes to its first live
// standby, whatever the shares are then, and moves on later.
//
// # Hand-over
//
// A member also follows what it is to have and another one has. The owner keeps a partition that is planned elsewhere until the next owner has
// said that it is near. It drains the partition then, and writes that it is free; the next owner waits for that, or for the owner's end.
//
// A member that is about to leave says that it can't have partitions, and keeps what it has until the next owners are near: then it leaves with all of it
// at once, because a partition that is freed by a write of its own stands still for as long as those before it take.
//
// With its lease a member says how far each of its partitions is on record, which is how far others may follow. That stays true whatever
// happens to the member: it was written while the member had the partition, and its next owner begins with what is on record.
package cluster
