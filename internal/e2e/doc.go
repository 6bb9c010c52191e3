// Package e2e holds what the contract promises to the outside against a running processor, as a client
// would that has never seen the code: plain nats.go in, streams, service and metrics out.
//
// There is no code here but tests. They take nothing from the packages under test but the way to start
// one: subject tokens, chains, digests and counts are worked out again from the contract's letter.
//
// A test starts its own server and processor on free ports in a directory of its own, and tries many
// cases in it, each in a thread of its own.
package e2e
