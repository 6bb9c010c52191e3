package brokertest

import "go.uber.org/goleak"

// Leftovers ignores the goroutines of a stream's files that a server in this process does not end with its shutdown. It
// keeps the messages of an atomic batch in a store of their own, and a batch whose messages it takes from its queue after
// it has stopped the stream keeps that store: for ten seconds, or for good if the batch was complete. A server that
// was not shut down has many others.
func Leftovers() []goleak.Option {
	const path = "github.com/nats-io/nats-server/v2/server"
	return []goleak.Option{
		goleak.IgnoreAnyFunction(path + ".(*msgBlock).flushLoop"),
		goleak.IgnoreAnyFunction(path + ".(*fileStore).flushStreamStateLoop"),
		goleak.IgnoreAnyFunction(path + "/ats.Register.func1"),
	}
}
