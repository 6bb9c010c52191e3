// Package snapshot keeps the rows of partitions in an object store of NATS, from which a processor without them begins instead of folding the
// whole log.
//
// A partition has two objects, of which the older one is written over: while one is written, the other one is whole. An object's chunks share one
// subject, and the first of them rolls up what was there, so that nothing is left of former ones, whenever a processor dies, and none needs the
// right to purge. An object is whole if it has the size and the digest that it is announced with, and refused if not: half of one, or what two
// processors wrote at the same time. The layout is that of NATS object stores: "nats object get" reads them.
//
// What an object says of itself proves nothing. Whether rows are of the streams as they are is for those to check who read them.
package snapshot
