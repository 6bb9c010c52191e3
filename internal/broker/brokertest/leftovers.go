package brokertest

import "go.uber.org/goleak"

// Leftovers ignores goroutines that libraries do not end. Some are of a stream's files, which a server in this process does not end with its shutdown. It
// keeps the messages of an atomic batch in a store of their own, and a batch whose messages it takes from its queue after
// it has stopped the stream keeps that store: for ten seconds, or for good if the batch was complete. A server that
// was not shut down has many others. Another is a publisher's (nats.go 1.55.0): one that is cleaned up before its goroutine has read the channel
// of its connection's states waits for a channel that is nil.
func Leftovers() []goleak.Option {
	const path = "github.com/nats-io/nats-server/v2/server"
	return []goleak.Option{
		goleak.IgnoreAnyFunction(path + ".(*msgBlock).flushLoop"),
		goleak.IgnoreAnyFunction(path + ".(*fileStore).flushStreamStateLoop"),
		goleak.IgnoreAnyFunction(path + "/ats.Register.func1"),
		goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"),
	}
}
