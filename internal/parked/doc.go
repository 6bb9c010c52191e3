// Package parked keeps the rows of threads that nothing happens to in a stream of NATS.
//
// An object is named by what it holds, so that writing it again changes nothing, whichever processor does. It is one message, or several if it is
// large, each with a subject of its own: precis.parked.<partition>.<object>.<part>. A message costs the server one subject, and an object of
// the object store two. An agent that may publish to precis.*.*.* can't publish to it.
//
// A processor needs no right to purge: an object is replaced with empty messages that end a second later.
package parked
