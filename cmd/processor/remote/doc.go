// Package remote is what commands share that talk to a server: the flags of a connection, requests to the service with
// errors that say what to do, and the three streams read as entries, in order, each of which can describe itself in a line.
//
// A Server belongs to one command. A request that the user has no right to make ends with the server's refusal instead of a
// timeout.
package remote
